"""Thousands of sessions in one process: what memory they take, and whether a slow one holds up others.

Exit code 1 when over a limit. Memory is what the process has at its peak (Linux tells), less what it had
after its first turn: twenty thousand sessions with a message each stand beside two thousand. A part of it
is SQLite's cache, which is full by then.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.conversation import MESSAGES, Answers, message_id, sales_desk
from benchmarks.hosted import Line, Null, tell
from falai import Message
from falai.channel import Outgoing, Sent
from falai.host import Host
from falai.model.port import ModelReply, ModelRequest
from falai.session.dates import system_now

LIMIT = 32.0
CROWD, SMALLER = 20_000, 2_000
BRINGERS = 100
SLOW, OTHERS, SLOW_S = 100, 1_000, 6.0


class Slow(Answers):
    """A model that takes long for the sessions of whoever says so."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        if "slow" in request.prompt:
            await asyncio.sleep(SLOW_S)
        return await super().complete(request)


class Noting(Null):
    """Takes every message, and notes when."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, float] = {}

    async def send(self, out: Outgoing) -> Sent:
        self.at[out.session] = perf_counter()
        return await super().send(out)


# --- memory ------------------------------------------------------------------------------------


def megabytes(name: str) -> float:
    """Of this process: VmRSS now, or VmHWM at its peak."""
    status = Path("/proc/self/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1000


async def grown(folder: Path, sessions: int) -> float:
    """Megabytes that a message in each of so many sessions needs at most; as many come as are taken in."""
    channel = Null()
    async with Host(sales_desk(Answers(), system_now), folder / "host.db", channel=channel) as host:
        message, numbers = Message(MESSAGES[0], id=message_id(0)), iter(range(sessions))
        await host.receive("first", message)
        await host.drained()
        before = megabytes("VmRSS")

        async def bring() -> None:
            for number in numbers:
                await host.receive(f"s{number}", message)

        await asyncio.gather(*(bring() for _ in range(BRINGERS)))
        await host.drained()
    assert channel.taken == sessions + 1
    return megabytes("VmHWM") - before


def of_a_process(sessions: int) -> float:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.host_crowd", str(sessions)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# --- slow ones -----------------------------------------------------------------------------------


async def others(folder: Path) -> float:
    """Seconds until the last of a thousand others has its answer, while a hundred wait for the model."""
    channel = Noting()
    async with Host(sales_desk(Slow(), system_now), folder / "slow.db", channel=channel) as host:
        for number in range(SLOW):
            await host.receive(f"slow-{number}", Message("This one is slow.", id=message_id(number)))
        begun = perf_counter()
        for number in range(OTHERS):
            await host.receive(f"s{number}", Message(MESSAGES[0], id=message_id(number)))
        await host.drained()
    assert len(channel.at) == SLOW + OTHERS
    return max(at for session, at in channel.at.items() if not session.startswith("slow")) - begun


async def measure() -> list[Line]:
    """The lines of the table."""
    small, large = of_a_process(SMALLER), of_a_process(CROWD)
    with tempfile.TemporaryDirectory() as folder:
        last = await others(Path(folder))
    return [
        Line(f"memory for a message in each of {SMALLER} sessions", small, "MB", LIMIT),
        Line(f"  of {CROWD} sessions", large, "MB", LIMIT),
        Line(f"{OTHERS} answers while {SLOW} sessions wait {SLOW_S:g} s for the model", last, "s", SLOW_S),
    ]


def main() -> int:
    """Prints the table; 1 when a line is over its limit. With a number: the memory for so many sessions."""
    logging.disable(logging.CRITICAL)
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            print(asyncio.run(grown(Path(folder), int(sys.argv[1]))))
        return 0
    return tell(asyncio.run(measure()))


if __name__ == "__main__":
    sys.exit(main())
