"""What a host adds to a turn, beside a floor. Exit code 1 when over the limit.

A host's turn is taken in, played, kept and handed to a channel that does nothing; the floor plays the same
turn and moves the same rows by hand; the bare turn is the same agent with the same session and history in
memory. What the host and the floor add is their CPU less the bare turn's. The three take turns in one run,
and of each message the least of many counts: what else runs on the machine can only add. Times are CPU of
this process, all of its threads.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from benchmarks.conversation import CHAT, MESSAGES, Answers, message_id, sales_desk, spoken, understood
from benchmarks.host_floor import HandWritten
from benchmarks.hosted import Line, Null, Watched, tell
from falai import Agent, Message, TurnResult
from falai.host import Host
from falai.host.ledger.sqlite import SQLiteLedger
from falai.session.model import Session

LIMIT = 2.0
ROUNDS, TOGETHER = 200, 25
LATE = 200
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)


class Spent(NamedTuple):
    """CPU seconds of a message."""

    host: float
    bare: float
    floor: float


class Sides:
    """The three, over the same messages."""

    def __init__(self, folder: Path) -> None:
        self.answers = Answers()
        self.agent: Agent[None] = sales_desk(self.answers, lambda: NOW + timedelta(minutes=self.answers.number))
        self.channel = Null()
        self.ledger = Watched(folder / "host.db")
        self.host = Host(self.agent, self.ledger, channel=self.channel)
        self.floor = HandWritten(self.agent, str(folder / "floor.db"), _settings())
        self.sessions: dict[str, Session] = {}
        self.lines: dict[str, list[Mapping[str, Any]]] = {}

    async def message(self, ids: Sequence[str], number: int) -> Spent:
        """CPU of a message in each of these sessions, per session."""
        self.answers.number = number
        text, sent = MESSAGES[number] if number < len(MESSAGES) else CHAT, self.channel.taken
        message = Message(text, id=message_id(number))
        answers = (("understand", {"message": understood(number)}), ("speak", {"message": spoken(number)}))
        replies = answers if number == len(MESSAGES) - 1 else ()
        begun = process_time()
        await asyncio.gather(*(self.host.receive(id, message) for id in ids))
        await self.ledger.delivered(self.channel, sent + len(ids))
        hosted = process_time()
        results = await asyncio.gather(*(self._bare(id, message) for id in ids))
        bare = process_time()
        await asyncio.gather(*(self.floor.answer(id, message, replies) for id in ids))
        ended = process_time()
        for id, result in zip(ids, results, strict=True):
            self._keep(id, text, result)
        return Spent((hosted - begun) / len(ids), (bare - hosted) / len(ids), (ended - bare) / len(ids))

    async def _bare(self, id: str, message: Message) -> TurnResult:
        return await self.agent.turn(id, message, session=self.sessions.get(id), history=self.lines.get(id))

    def _keep(self, id: str, text: str, result: TurnResult) -> None:
        said = [{"role": "user", "content": text}, {"role": "assistant", "content": result.messages[0].text}]
        self.sessions[id], self.lines[id] = result.session, [*self.lines.get(id, []), *said][-50:]


def _settings() -> Sequence[str]:
    """As the ledger's connection has them."""
    from falai.host.ledger.sqlite import _CACHE_KB, _PAGES_OF_WAL  # pyright: ignore[reportPrivateUsage] - to be the same

    return (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = NORMAL",
        f"PRAGMA wal_autocheckpoint = {_PAGES_OF_WAL}",
        f"PRAGMA cache_size = -{_CACHE_KB}",
    )


async def measure(together: int, rounds: int, late: int) -> Sequence[Spent]:
    """The least of each of the first six messages, and of those from message `late` on."""
    with tempfile.TemporaryDirectory() as folder:
        made = SQLiteLedger(Path(folder) / "floor.db")
        await made.open()
        await made.close()
        sides = Sides(Path(folder))
        await sides.floor.open()
        async with sides.host:
            await _conversation(sides, "warm", together)
            old, early, after = [f"old.{n}" for n in range(together)], list[Sequence[Spent]](), list[Spent]()
            for number in range(late):
                await sides.message(old, number)
            for turn in range(rounds):
                early.append(await _conversation(sides, f"r{turn}", together))
                after.append(await sides.message(old, late + turn))
        sides.floor.close()
    return [*map(_least, zip(*early, strict=True)), _least(after)]


async def _conversation(sides: Sides, name: str, together: int) -> Sequence[Spent]:
    ids = [f"{name}.{n}" for n in range(together)]
    return [await sides.message(ids, number) for number in range(len(MESSAGES))]


def _least(found: Sequence[Spent]) -> Spent:
    host, bare, floor = zip(*found, strict=True)
    return Spent(min(host), min(bare), min(floor))


def main() -> int:
    """Prints the table; 1 when the host adds more than the limit."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    return tell([line for together in (1, TOGETHER) for line in _lines(together)])


def _lines(together: int) -> Iterator[Line]:
    found = asyncio.run(measure(together, max(ROUNDS // together, 8), LATE))
    how = "one session" if together == 1 else f"{together} sessions at once"
    for what, spent in (("messages 1 to 6", _total(found[:-1])), (f"message {LATE}", found[-1])):
        added = (spent.host - spent.bare) / (spent.floor - spent.bare)
        yield Line(f"what a host adds beside the floor: {how}, {what}", added, "times", LIMIT)
        yield Line("  a turn of the host", spent.host * 1e6, "µs")
        yield Line("  of the floor", spent.floor * 1e6, "µs")
        yield Line("  the bare turn", spent.bare * 1e6, "µs")


def _total(found: Sequence[Spent]) -> Spent:
    host, bare, floor = (sum(side) / len(found) for side in zip(*found, strict=True))
    return Spent(host, bare, floor)


if __name__ == "__main__":
    sys.exit(main())
