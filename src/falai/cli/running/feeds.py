"""Where lines come from: standard input, or files in a folder.

A feed hands each line to `take`, one after the other, and goes on when it returns: then the line is
durable, or refused. `take` gives why it was refused, or `None`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import BinaryIO, Final

from falai.cli.stdin import own_stdin
from falai.log import line

__all__ = ["LONGEST", "Take", "feed_from_folder", "feed_from_stdin"]

Take = Callable[[bytes], Awaitable[str | None]]

_LOG: Final = logging.getLogger("falai.cli")

LONGEST: Final = 1_000_000
"""So many bytes may a line have, without its end; of a longer one the rest is read away."""
_AHEAD: Final = 10
_LOOK_S: Final = 0.2


async def feed_from_stdin(take: Take) -> None:
    """Takes the lines of standard input up to its end. A sender that is too quick waits at its end of the pipe."""
    async for read in _lines_of_stdin():
        if read.strip():
            await take(read)


async def feed_from_folder(folder: Path, take: Take, *, once: bool) -> None:
    """Takes the lines of each `*.jsonl` file, in the order of their names, and removes the file.

    A file is written under another name and renamed when it is whole. Lines that were refused are
    added to the file of that name in `refused/`. With `once` it ends when no file is left, else never.
    """
    while True:
        for file in _waiting(folder):
            try:
                await _take_file(file, take)
            except OSError as error:
                why = f"the file {file} cannot be taken in, and is tried again: {error.strerror or error}"
                _LOG.error(why, extra=line("run.file_failed", error=type(error).__name__))  # its place says all
        if once and not _waiting(folder):
            return
        await asyncio.sleep(_LOOK_S)


async def _take_file(file: Path, take: Take) -> None:
    refused: list[bytes] = []
    with file.open("rb") as opened:
        while read := _read_line(opened):
            if read.strip() and await take(read) is not None:
                refused.append(read.rstrip(b"\r\n") + b"\n")
    _put_away(file, b"".join(refused))


def _waiting(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.jsonl") if file.is_file())  # to open a pipe may take for ever


def _put_away(file: Path, refused: bytes) -> None:
    """Every line is durable or kept aside by now: who is killed before the end of this repeats known ids only."""
    if refused:
        place = file.parent / "refused"
        place.mkdir(exist_ok=True)
        with (place / file.name).open("ab") as kept:  # of an earlier file of that name too
            kept.write(refused)
    file.unlink(missing_ok=True)


async def _lines_of_stdin() -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue(_AHEAD)

    def pass_on() -> None:
        # RuntimeError: the loop is closed; CancelledError: it is about to be.
        with suppress(RuntimeError, CancelledError), own_stdin() as stdin:
            read = b"first"
            while read:
                read = _read_line(stdin)
                asyncio.run_coroutine_threadsafe(lines.put(read), loop).result()

    # A daemon: nobody waits for the next line when the program is to end.
    Thread(target=pass_on, name="falai-stdin", daemon=True).start()
    while read := await lines.get():
        yield read


def _read_line(stream: BinaryIO) -> bytes:
    """The next line, empty at the end; of one that is too long a piece that is still too long."""
    begin = rest = stream.readline(LONGEST + 1)
    while len(rest) > LONGEST and not rest.endswith(b"\n"):
        rest = stream.readline(LONGEST + 1)
    return begin
