"""What the benchmarks of a host share: a channel that does nothing, a ledger that tells when it is quiet, lines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from os import PathLike
from typing import NamedTuple, TypeVar

from falai.channel import Channel, Outgoing, Sent
from falai.host.ledger.port import Work
from falai.host.ledger.sqlite import SQLiteLedger

__all__ = ["Line", "Null", "Watched", "tell"]

T = TypeVar("T")


class Null(Channel):
    """Takes every message."""

    def __init__(self) -> None:
        self.name = "null"
        self.taken = 0

    async def send(self, out: Outgoing) -> Sent:
        self.taken += 1
        return Sent(out.idempotency_key)


class Watched(SQLiteLedger):
    """A ledger that tells when nothing is under way in it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self._under_way = 0
        self._quiet = asyncio.Event()

    async def run(self, work: Work[T]) -> T:
        self._under_way += 1
        try:
            return await super().run(work)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._quiet.set()

    async def delivered(self, channel: Null, messages: int) -> None:
        """Returns when the channel has taken so many messages in all, and the ledger knows it."""
        while channel.taken < messages or self._under_way:
            self._quiet.clear()
            await self._quiet.wait()


class Line(NamedTuple):
    """A line of a table; without a limit it is there to be read."""

    what: str
    measured: float
    unit: str
    limit: float | None = None


def tell(lines: Sequence[Line]) -> int:
    """Prints the lines; 1 when one of them is over its limit."""
    for what, measured, unit, limit in lines:
        bound = "" if limit is None else f"at most {limit:g} {unit}{'  OVER' if measured > limit else ''}"
        print(f"{what:<78}{measured:>9.2f} {unit:<6}{bound}".rstrip())
    return int(any(limit is not None and measured > limit for _, measured, _, limit in lines))
