"""Lines that come through a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cli.program import PATIENCE, chatting

_TAKES_ONE_LINE = """
import asyncio, threading
from falai.cli.chat.typing_in import piped_lines

async def first():
    async for line in piped_lines():
        return line

print(asyncio.run(first()), flush=True)
for thread in threading.enumerate():
    if thread.name == "falai-stdin":
        thread.join()
"""


def test_a_line_that_comes_after_the_end_is_dropped() -> None:
    """Whoever writes into the pipe may be later than `/quit`: nothing is printed about it."""
    command = [sys.executable, "-c", _TAKES_ONE_LINE]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("/quit\n")
        program.stdin.flush()
        assert program.stdout.readline() == "/quit\n"
        rest, errors = program.communicate("too late\n", timeout=PATIENCE)
    assert (rest, errors) == ("", "")


def test_a_chat_that_is_left_while_its_input_is_open_ends_well(tmp_path: Path) -> None:
    """`/quit` from a pipe whose writer is still there: the exit code is 0."""
    with chatting(tmp_path / "chat.sqlite") as talk:
        talk.type("/quit")
        assert talk.ended() == 0
