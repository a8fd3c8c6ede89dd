"""Whether a host's turn costs more with many sessions, or late in a long conversation. Exit code 1 when it does.

Beside ten sessions stand fifty thousand, each time others of them; both sides' sessions are equal, row by
row. Of a conversation its 11th turn stands beside its 2,001st, and, since what a turn is given of the
conversation is bounded, beside the one at which that bound is reached. Both sides take turns in one run,
and the least counts. Times are CPU of this process.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

from benchmarks.conversation import CHAT, MESSAGES, Answers, message_id, sales_desk
from benchmarks.hosted import Line, Null, Watched, tell
from falai import Message
from falai.host import Host

LIMIT = 1.25
MANY, FEW, ROUNDS = 50_000, 10, 60
SHORT, FULL, LONG = 10, 60, 2_000
TURNS = 20
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)
TABLES = ("sessions", "inbox", "outbox", "transcript", "run_log")


class Side:
    """A host on a file of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers, self.channel, self.ledger = Answers(), Null(), Watched(path)
        agent = sales_desk(self.answers, lambda: NOW + timedelta(minutes=self.answers.number))
        self.host = Host(agent, self.ledger, channel=self.channel)

    async def message(self, ids: Sequence[str], number: int) -> float:
        """CPU of a message, per session."""
        self.answers.number = number
        message = Message(MESSAGES[number] if number < len(MESSAGES) else CHAT, id=message_id(number))
        sent, begun = self.channel.taken, process_time()
        await asyncio.gather(*(self.host.receive(id, message) for id in ids))
        await self.ledger.delivered(self.channel, sent + len(ids))
        return (process_time() - begun) / len(ids)


# --- many sessions -----------------------------------------------------------------------------


def copied(path: Path, first: int, count: int) -> list[str]:
    """Copies all rows of the session `model` to so many new ones; gives their ids."""
    db = sqlite3.connect(path)
    with db:
        for table in TABLES:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info(falai_{table})") if row[1] != "seq"]
            values = [_value(column) for column in columns]
            db.execute(
                "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
                f" INSERT INTO falai_{table} ({', '.join(columns)}) SELECT {', '.join(values)}"
                f" FROM n CROSS JOIN falai_{table} t WHERE t.session = 'model'",
                (first, first + count),
            )
    db.close()
    return [f"s{number:06d}" for number in range(first, first + count)]


def _value(column: str) -> str:
    match column:
        case "session":
            return "printf('s%06d', i)"
        case "blob":
            return 'replace(blob, \'"id":"model"\', printf(\'"id":"s%06d"\', i))'
        case _:
            return f"t.{column}"


async def sessions(folder: Path) -> tuple[float, float]:
    """CPU of a turn beside ten sessions, and beside fifty thousand."""
    few, many = Side(folder / "few.db"), Side(folder / "many.db")
    async with few.host, many.host:
        for side in (few, many):
            for number in range(3):
                await side.message(["model"], number)
        stock = copied(many.path, 0, MANY)
        found = [await _round(few, many, stock, number) for number in range(ROUNDS)]
    return min(ours for ours, _ in found), min(theirs for _, theirs in found)


async def _round(few: Side, many: Side, stock: Sequence[str], number: int) -> tuple[float, float]:
    """A message in ten sessions of each side that have had none since they were copied."""
    fresh = copied(few.path, number * FEW, FEW)
    spread = stock[number :: MANY // FEW][:FEW]
    found = await few.message(fresh, 3), await many.message(spread, 3)
    for id in fresh:
        await few.host.erase(id)
    return found


# --- a long conversation -----------------------------------------------------------------------


async def conversations(folder: Path) -> tuple[float, float, float]:
    """CPU of a turn after so many turns: few, as many as a turn is given, very many."""
    side = Side(folder / "long.db")
    async with side.host:
        ids = [f"c{number}" for number in range(FEW)]
        found = [await side.message(ids, number) for number in range(LONG + TURNS)]
    return min(found[SHORT : SHORT + TURNS // 2]), min(found[FULL : FULL + TURNS]), min(found[LONG:])


async def measure() -> Iterator[Line]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = await sessions(Path(folder))
        short, full, long = await conversations(Path(folder))
    return iter(
        [
            Line(f"a turn beside {FEW} sessions", few * 1e6, "µs"),
            Line(f"  beside {MANY}", many * 1e6, "µs"),
            Line("  so many times as much", many / few, "times", LIMIT),
            Line(f"a turn after {SHORT} others", short * 1e6, "µs"),
            Line(f"  after {FULL}, when all that is given of the conversation is full", full * 1e6, "µs"),
            Line(f"  after {LONG}", long * 1e6, "µs"),
            Line(f"  so many times as much as after {FULL}", long / full, "times", LIMIT),
            Line(f"  so many times as much as after {SHORT}", long / short, "times", LIMIT),
        ]
    )


def main() -> int:
    """Prints the table; 1 when a turn costs more."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    return tell([*asyncio.run(measure())])


if __name__ == "__main__":
    sys.exit(main())
