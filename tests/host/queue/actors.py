"""Those who are at a session at the same time, each with a connection of its own and a list of steps.

A step is what is done between two moments at which somebody else may come in: some statements of a transaction, or
its end. One that waits for another's lock is left alone until that is gone.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Literal, TypeVar

import psycopg

from falai.host.ledger.committing import commit
from falai.host.ledger.dead import dead, retry_dead
from falai.host.ledger.dialect import POSTGRES, in_dialect
from falai.host.ledger.gating import hold
from falai.host.ledger.playing import next_job, set_aside, try_later
from falai.host.ledger.port import Arrival, Done, Gate, Kind, Limits, Place, Row, Statement, Undo, Work
from falai.host.ledger.taking import take_in
from falai.host.queue.works import job_ended, look_for_due, queue_of

__all__ = ["Actor", "holder", "interleaved", "looker", "reaper", "retrier", "signaller", "taker", "writer"]

T = TypeVar("T")
Step = Callable[[], Awaitable[None]]
Outcome = Literal["commit", "later", "aside"]

NOW = 1_000_000
_BLOCKED_S = 0.04
_TAKE = b"SELECT id, priority FROM procrastinate_fetch_job_v2(ARRAY[%s]::VARCHAR[], %s)"
_WORKER = b"INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id"
_SIGNAL = b"SELECT falai_job('turn', %s, %s, %s, 10, 0)"
_FREE = b"""
    SELECT procrastinate_retry_job_v2(id, '2000-01-01', NULL, NULL, NULL) FROM procrastinate_jobs
    WHERE queue_name = %s AND status = 'doing'"""


class Actor:
    """Its `steps` are done one after another; `at` is how many were begun."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], place: Place) -> None:
        self.db, self.place = connection, place
        self.steps: list[Step] = []
        self.at = 0
        self._now: asyncio.Task[None] | None = None

    async def carry_out(self, work: Work[T]) -> T:
        """A work, in the transaction that is open, which stays open."""
        try:
            step = next(work)
            while True:
                step = work.send([await self._said(statement) for statement in step])
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # as the ledger's own
        except Undo as end:
            await self.db.rollback()
            return end.value  # type: ignore[no-any-return]

    async def _said(self, statement: Statement) -> Sequence[Row]:
        numbers = count(1)
        sql = re.sub(r"\?", lambda _: f"${next(numbers)}", in_dialect(statement.sql, POSTGRES)).encode()
        rows: list[Row] = []
        for params in statement.params if statement.many else [statement.params]:
            cursor = psycopg.AsyncRawCursor(self.db)
            await cursor.execute(sql, params)
            rows = await cursor.fetchall() if cursor.description else []
        return rows

    async def queue(self) -> str:
        return await self.carry_out(queue_of("turn", self.place.agent))

    async def goes_on(self, *, to_its_end: bool = False) -> bool:
        """Does its next step, or waits for the one that is blocked; whether nothing is left to do."""
        if self._now is None and self.at < len(self.steps):
            self._now = asyncio.ensure_future(self.steps[self.at]())
            self.at += 1
        if self._now is not None:
            done, _ = await asyncio.wait([self._now], timeout=None if to_its_end else _BLOCKED_S)
            if done:
                self._now.result()
                self._now = None
        return self._now is None and self.at == len(self.steps)


async def interleaved(actors: Sequence[Actor], order: Sequence[int]) -> None:
    """All their steps, in this order of whose is next, as far as locks allow it."""
    for which in order:
        await actors[which].goes_on()
    async with asyncio.timeout(60):
        while not all([await actor.goes_on() for actor in actors]):
            pass


def writer(actor: Actor, key: str, *, kind: Kind = "message", kept: bool = True) -> Actor:
    """Brings an input; its transaction is kept, or rolled back."""
    arrival = Arrival(key, kind, "{}")

    async def come() -> None:
        await actor.carry_out(take_in(actor.place, [arrival], now_ms=NOW, limits=Limits(None, None)))

    actor.steps = [come, actor.db.commit if kept else actor.db.rollback]
    return actor


def taker(actor: Actor, outcome: Outcome = "commit") -> Actor:
    """A worker: takes a job, plays the next input as far as `outcome`, and ends the job."""
    job: dict[str, Any] = {"more": False}
    place = actor.place

    async def take() -> None:
        row = await (await actor.db.execute(_WORKER)).fetchone()
        assert row is not None
        job["worker"] = row[0]
        row = await (await actor.db.execute(_TAKE, (await actor.queue(), job["worker"]))).fetchone()
        assert row is not None
        job["id"], job["priority"] = row
        await actor.db.commit()

    async def read() -> None:
        job["turn"] = None if job["id"] is None else await actor.carry_out(_next(place))
        await actor.db.commit()

    async def play() -> None:
        if job["turn"] is not None:
            job["more"] = await actor.carry_out(_played(job["turn"], outcome))

    async def end() -> None:
        if job["id"] is not None:
            whose = {"job": job["id"], "worker": job["worker"], "priority": job["priority"]}
            await actor.carry_out(job_ended("turn", place, **whose, more=job["more"], begun_ms=NOW))

    actor.steps = [take, read, play, actor.db.commit, end, actor.db.commit]
    return actor


def reaper(actor: Actor) -> Actor:
    """Gives back all jobs that somebody has."""

    async def free() -> None:
        with suppress(psycopg.errors.RaiseException):  # it was just finished
            await actor.db.execute(_FREE, (await actor.queue(),))

    actor.steps = [free, actor.db.commit]
    return actor


def signaller(actor: Actor) -> Actor:
    """A job that has nothing to do any more, as that of a worker that died when all was done."""

    async def signal() -> None:
        await actor.db.execute(_SIGNAL, (actor.place.tenant, actor.place.agent, actor.place.session))

    actor.steps = [signal, actor.db.commit]
    return actor


def holder(actor: Actor) -> Actor:
    """A person takes the session over: a turn that is being played does not count."""

    async def take_over() -> None:
        await actor.carry_out(hold(actor.place, Gate(reason="a person"), now_ms=NOW))

    actor.steps = [take_over, actor.db.commit]
    return actor


def retrier(actor: Actor) -> Actor:
    """Brings back what was set aside."""

    async def bring_back() -> None:
        for row in await actor.carry_out(dead(actor.place.agent, limit=9)):
            await actor.carry_out(retry_dead(row, now_ms=NOW))

    actor.steps = [bring_back, actor.db.commit]
    return actor


def looker(actor: Actor) -> Actor:
    """Makes jobs of what is due."""

    async def look() -> None:
        queue = await actor.queue()
        await actor.carry_out(look_for_due(actor.place.agent, queue, now_ms=NOW, max_late=10**9, room=100))

    actor.steps = [look, actor.db.commit]
    return actor


def _next(place: Place) -> Work[Any]:
    return next_job(place, now_ms=NOW, history_items=0)


def _played(turn: Any, outcome: Outcome) -> Work[bool]:
    if outcome == "later":
        yield from try_later(turn, "no", NOW)
        return True
    if outcome == "aside":
        yield from set_aside(turn, "no", now_ms=NOW)
        return True
    try:
        yield from commit(turn, Done(blob="{}"), now_ms=NOW)
    except Undo:
        raise Undo(True) from None  # it is lost, and played again
    return (yield from _next(turn.place)) is not None
