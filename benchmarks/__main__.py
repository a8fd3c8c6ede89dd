"""What a turn costs: measured, beside its limit. Exit code 1 when something is over its limit.

Ours and the floor's are measured in turn, in one run, and of each message the least of many counts:
what else runs on the machine can only add. Times are CPU of this process.

What both prompts, a call through the port, a store and a host cost is measured behind it, each in a process
of its own: what one has loaded must not slow down another.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean, median
from time import process_time
from typing import NamedTuple

from benchmarks.conversation import CHAT, MESSAGES, Answers, message_id, sales_desk
from benchmarks.floor import Floor
from falai import Agent, Message, Start, TurnResult
from falai.session.model import Session
from falai.store.sqlite import SQLiteStore

PAIRS = 200
LATE = 200
OTHERS = (
    "benchmarks.prompts", "benchmarks.adapter", "benchmarks.stores", "benchmarks.host", "benchmarks.host_timers",
    "benchmarks.host_growth", "benchmarks.host_crowd", "benchmarks.distributed", "benchmarks.distributed_timers",
    "benchmarks.distributed_slow", "benchmarks.web", "benchmarks.web_streams",
)  # fmt: skip
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)


class Row(NamedTuple):
    """A line of the table."""

    what: str
    measured: float
    limit: float
    unit: str


def text_of(number: int) -> str:
    """What the customer writes."""
    return MESSAGES[number] if number < len(MESSAGES) else CHAT


class Ours:
    """Answers a message with falai: load, turn, save."""

    def __init__(self, db: sqlite3.Connection, answers: Answers, *, stays: bool = False) -> None:
        self.store = SQLiteStore(db)
        self.answers, self.stays = answers, stays
        self.agent: Agent[None] = sales_desk(answers, lambda: NOW + timedelta(minutes=answers.number), stays=stays)

    async def answer(self, session_id: str, text: str, number: int) -> Session:
        result, session = await self.play(session_id, Message(text, id=message_id(number)))
        assert result.llm_calls == 2, f"message {number} took {result.llm_calls} calls"
        assert len(result.messages) == 1
        return session

    async def play(self, session_id: str, given: Message | Start) -> tuple[TurnResult, Session]:
        session = await self.store.load(session_id)
        result = await self.agent.turn(session_id, given, session=session)
        return result, await self.store.save(result.session, 0 if session is None else session.version)


def database(folder: str) -> sqlite3.Connection:
    """One file for both sides, with the settings of the store's own connection."""
    db = sqlite3.connect(Path(folder) / "bench.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


class Bench:
    """Both sides over one database."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.answers = Answers()
        self.ours = Ours(db, self.answers)
        self.floor = Floor(db, self.answers)

    async def turn(self, session_id: str, number: int) -> tuple[float, float]:
        """CPU of one message, ours and the floor's."""
        self.answers.number = number
        text = text_of(number)
        begun = process_time()
        await self.ours.answer(session_id, text, number)
        between = process_time()
        await self.floor.answer(session_id, text, message_id(number))
        return between - begun, process_time() - between

    async def conversation(self, session_id: str) -> list[tuple[float, float]]:
        return [await self.turn(session_id, number) for number in range(len(MESSAGES))]


async def ratios(bench: Bench) -> Iterator[Row]:
    """CPU per message beside the floor's: over the first six, and from message 200 on."""
    await bench.ours.store.initialize()
    await bench.conversation("warm")
    early = [await bench.conversation(f"s{pair}") for pair in range(PAIRS)]
    for number in range(len(MESSAGES), LATE):
        await bench.turn("s0", number)
    late = [await bench.turn("s0", LATE + pair) for pair in range(PAIRS)]
    six = [_least(pairs) for pairs in zip(*early, strict=True)]
    return iter(
        [
            Row("CPU of a turn beside the floor, messages 1 to 6", _ratio(six), 6, "times"),
            Row("CPU of a turn beside the floor, message 6", _ratio(six[-1:]), 6, "times"),
            Row("CPU of a turn beside the floor, from message 200 on", _ratio([_least(late)]), 6, "times"),
            Row("CPU of a turn", mean(ours for ours, _ in six) * 1e6, float("inf"), "µs"),
            Row("CPU of the floor", mean(floor for _, floor in six) * 1e6, float("inf"), "µs"),
        ]
    )


def _least(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The least of ours, and the least of the floor's."""
    ours, floor = zip(*pairs, strict=True)
    return min(ours), min(floor)


def _ratio(pairs: list[tuple[float, float]]) -> float:
    return sum(ours for ours, _ in pairs) / sum(floor for _, floor in pairs)


async def sizes(db: sqlite3.Connection) -> Iterator[Row]:
    """The stored session, in kB of JSON text. A run keeps its last fifty lines, each with the run's id
    twice; so a run that a message with a long id started is the largest."""
    ends = await _growth(Ours(db, Answers()), "ends")
    started = await _growth(Ours(db, Answers(), stays=True), "started", Start("quote", "deal-20260920"))
    routed = await _growth(Ours(db, Answers(), stays=True), "routed")
    return iter(
        [
            Row("session after 6 messages", ends[5], 1.5, "kB"),
            Row("session after 200 messages, no live run", ends[-1], 6, "kB"),
            Row("session after 200 messages, a live run", started[-1], 16, "kB"),
            Row("  the same, started by a message", routed[-1], float("inf"), "kB"),
        ]
    )


async def _growth(ours: Ours, session_id: str, first: Start | None = None) -> list[float]:
    """The size after each message."""
    if first is not None:
        await ours.play(session_id, first)
    found: list[float] = []
    for number in range(LATE):
        ours.answers.number = number
        session = await ours.answer(session_id, text_of(number), number)
        found.append(len(session.to_json().encode()) / 1000)
    assert bool(session.runs) is (ours.stays)
    return found


IMPORT = """
import time
begun = time.process_time()
import falai
bare = time.process_time() - begun
falai.Agent
held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(bare * 1000, (time.process_time() - begun) * 1000, int(held) / 1000)
"""


def imports() -> Iterator[Row]:
    """`import falai` in fresh interpreters: CPU, and the memory of the whole process at its peak (Linux tells)."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(9)
    ]
    return iter(
        [
            Row("import falai, CPU", min(float(bare) for bare, _, _ in runs), 100, "ms"),
            Row("  and the name Agent, CPU", min(float(spent) for _, spent, _ in runs), float("inf"), "ms"),
            Row("  memory of the process then", median(float(held) for _, _, held in runs), 30, "MB"),
        ]
    )


async def measure() -> list[Row]:
    """All rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        db = database(folder)
        rows = [*await ratios(Bench(db)), *await sizes(db), *imports()]
        db.close()
    return rows


def others(modules: Sequence[str] = OTHERS) -> int:
    """Runs the other benchmarks, each of which prints its own lines; 1 when one is over its limit."""
    sys.stdout.flush()
    codes = [subprocess.run([sys.executable, "-m", module], check=False).returncode for module in modules]
    return int(any(codes))


def main() -> int:
    """Prints the table; 1 when a row is over its limit."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    rows = asyncio.run(measure())
    for row in rows:
        limit = "" if row.limit == float("inf") else f"at most {row.limit:g} {row.unit}"
        over = "  OVER" if row.measured > row.limit else ""
        print(f"{row.what:<55}{row.measured:>9.2f} {row.unit:<6}{limit}{over}")
    return int(any(row.measured > row.limit for row in rows)) | others()


if __name__ == "__main__":
    sys.exit(main())
