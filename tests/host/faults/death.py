"""How a host dies: at a moment that a seed chooses, between any two statements, calls or steps.

`Death.point` is called at every such moment and counts them. `Killed` stands for the end of the process where
there is none of its own: from then on nothing runs, and nothing reaches the outside.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any, TypeVar

from falai.host import Host
from falai.host.ledger.port import Ledger, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from host.faults.loop import JumpingLoop

__all__ = ["Death", "InlineLedger", "Killed", "MortalHost", "MortalLedger", "MortalPostgres", "Rewrite"]

T = TypeVar("T")
Rewrite = Callable[[Work[Any]], Work[Any]]


class Killed(BaseException):
    """The process ends here."""


class Death:
    """Comes at the `after`-th point, or never; `between` transactions only, or anywhere."""

    def __init__(self, after: int | None, *, real: bool, between: bool = False) -> None:
        self._left = after
        self._between = between
        self._real = real
        self.dead = False
        self.where = ""

    def point(self, where: str, *, within: bool = False) -> None:
        """A moment at which the process may end; `within` a transaction, its two ends included."""
        if self.dead:
            raise asyncio.CancelledError
        if self._left is None or (within and self._between):
            return
        self._left -= 1
        if self._left <= 0:
            self.where = where
            self._die()

    def spare(self) -> None:
        """It does not come any more."""
        self._left = None

    def _die(self) -> None:
        if self._real:
            os.kill(os.getpid(), signal.SIGKILL)
        self.dead = True
        asyncio.get_running_loop().stop()
        raise Killed


class MortalHost(Host[Any]):
    """A host that may die between any two steps."""

    death: Death

    async def checkpoint(self, name: str) -> None:
        self.death.point(name)


class InlineLedger(SQLiteLedger):
    """SQLite's ledger without a thread, so that a seed plays in the same way each time.

    As with the thread, a work is done between two turns of the loop: who is cancelled meanwhile does not know.
    """

    async def open(self) -> None:
        self._begin()

    async def run(self, work: Work[T]) -> T:
        await asyncio.sleep(0)
        value = self._transact(work)
        await asyncio.sleep(0)
        return value

    async def close(self) -> None:
        self._end()


class MortalLedger:
    """Another ledger, whose process may die between any two statements; `rewrite` plants a fault in its works."""

    def __init__(self, inner: Ledger, death: Death, rewrite: Rewrite | None = None) -> None:
        self._inner = inner
        self._death = death
        self._rewrite = rewrite

    async def open(self) -> None:
        with _busy():
            await self._inner.open()

    async def run(self, work: Work[T]) -> T:
        self._death.point("before a transaction", within=True)
        with _busy():
            value: T = await self._inner.run(mortal(self._rewrite(work) if self._rewrite else work, self._death))
        self._death.point("after a transaction", within=True)
        return value

    async def close(self) -> None:
        with _busy():
            await self._inner.close()


class MortalPostgres(PostgresLedger):
    """The same in PostgreSQL, whose hosts ask for its own kind of ledger."""

    def __init__(self, url: str, death: Death, rewrite: Rewrite | None = None) -> None:
        super().__init__(url, connections=2)
        self._death = death
        self._rewrite = rewrite

    async def run(self, work: Work[T]) -> T:
        self._death.point("before a transaction", within=True)
        value = await super().run(mortal(self._rewrite(work) if self._rewrite else work, self._death))
        self._death.point("after a transaction", within=True)
        return value


def mortal(work: Work[T], death: Death) -> Work[T]:
    """The same work, one statement after the other."""
    try:
        step = next(work)
        while True:
            found = list[Any]()
            for statement in step:
                death.point(statement.sql.split(None, 1)[0], within=True)
                rows: list[Any] = list((yield (statement,)))
                found += rows
            death.point("before the commit", within=True)
            step = work.send(found)
    except StopIteration as end:
        death.point("before the commit", within=True)
        value: T = end.value
        return value


def _busy() -> Any:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    return loop.busy()
