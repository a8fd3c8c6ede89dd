"""A second dispatcher behind the host's port: FIFO groups, as PGMQ has them, over a table of its own.

A prototype, to see what the port asks for: a host that runs on it keeps every promise but one (what is `find_lost`
of the first one is left out). A job of a group is visible when it is the group's oldest; who reads it hides it for a
while, and says again and again that it is still at it. Workers read several jobs in one statement and end several in
one, which is where it is faster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple, Self

import psycopg

from falai.flow.durations import parse_duration
from falai.host import Host
from falai.host.dispatching import Doing
from falai.host.engine import Engine
from falai.host.ledger.port import Job, Place, Statement, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.queue.asking import ask, look_for_answers, tell
from falai.host.queue.clock import DatabaseClock
from falai.host.queue.installing import install
from falai.host.queue.works import What, look_for_due
from falai.host.setup import Setup
from falai.host.waiting import Waiters
from falai.host.watching import Watchers
from falai.turn.result import OutMessage

__all__ = ["Fifo", "FifoHost"]

TABLES = """
    CREATE TABLE IF NOT EXISTS fifo_jobs (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        what TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL,
        visible TIMESTAMPTZ NOT NULL DEFAULT '-infinity', reads INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX IF NOT EXISTS fifo_groups ON fifo_jobs (what, agent, session, tenant, id);
    CREATE INDEX IF NOT EXISTS fifo_order ON fifo_jobs (what, agent, id);
    CREATE OR REPLACE FUNCTION falai_job(what TEXT, tenant TEXT, agent TEXT, session TEXT, priority INTEGER, at BIGINT)
    RETURNS VOID LANGUAGE sql VOLATILE AS $$
        INSERT INTO fifo_jobs (what, tenant, agent, session) VALUES ($1, $2, $3, $4)
    $$"""
READ = """
    UPDATE fifo_jobs SET visible = now() + INTERVAL '30 s', reads = reads + 1 WHERE id = ANY (ARRAY(
        SELECT id FROM fifo_jobs j WHERE what = ? AND agent = ? AND visible <= now() AND NOT EXISTS (
            SELECT 1 FROM fifo_jobs b WHERE b.what = j.what AND b.agent = j.agent AND b.session = j.session
                AND b.tenant = j.tenant AND b.id < j.id)
        ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED))
    RETURNING id, tenant, session"""
STILL = "UPDATE fifo_jobs SET visible = now() + INTERVAL '30 s' WHERE id = ANY (?)"
END = "DELETE FROM fifo_jobs WHERE id = ?"
AGAIN = """
    SELECT falai_job(?, ?, ?, ?, 0, 0) WHERE NOT EXISTS (
        SELECT 1 FROM fifo_jobs WHERE what = ? AND tenant = ? AND agent = ? AND session = ? AND reads = 0)"""
NEXT_INPUT = """
    SELECT falai_look_at('turn', tenant, agent, session, min(not_before)) FROM falai_inbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' AND not_before > ?
    GROUP BY tenant, agent, session"""
NEXT_MESSAGE = """
    SELECT falai_look_at('deliver', tenant, agent, session, min(due_at)) FROM falai_outbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' GROUP BY tenant, agent, session"""
ANY = "SELECT 1 FROM fifo_jobs WHERE what = ? AND agent = ? LIMIT 1"
BUSY = "SELECT 1 FROM fifo_jobs WHERE what = 'deliver' AND tenant = ? AND agent = ? AND session = ? AND visible > now()"

POLL_S, LOOK_S, STILL_S, AT_A_TIME = 0.05, 0.1, 10.0, 50


class Taken(NamedTuple):
    """A job."""

    id: int
    place: Place


class FifoLane:
    """A `Dispatcher`."""

    def __init__(self, setup: Setup, what: What, work: Callable[[Place], Awaitable[bool]]) -> None:
        self._setup, self._what, self._work = setup, what, work
        self._doing: dict[asyncio.Task[None], int] = {}
        self._hint, self._stopped = asyncio.Event(), False

    @property
    def in_flight(self) -> int:
        return len(self._doing)

    def ready(self, place: Place, *, urgent: bool = False) -> None:  # noqa: ARG002 - the port's
        self._hint.set()

    def refill(self) -> None:
        self._hint.set()

    async def run(self) -> None:
        while not self._stopped:
            self._hint.clear()
            room = min(self._setup.settings.at_once - len(self._doing), AT_A_TIME)
            jobs = await self._setup.ledger.run(_read(self._what, self._setup.name, room)) if room > 0 else []
            for job in jobs:
                task = asyncio.create_task(self._one(job))
                self._doing[task] = job.id
                task.add_done_callback(self._done)
            if not jobs:
                await self._wait()

    async def still(self) -> None:
        """Says what it is still at."""
        while True:
            await asyncio.sleep(STILL_S)
            await self._setup.ledger.run(_rows(STILL, list(self._doing.values())))

    async def idle(self) -> None:
        while await self._setup.ledger.run(_rows(ANY, self._what, self._setup.name)):  # noqa: ASYNC110 - others' too
            await asyncio.sleep(POLL_S)

    async def stop(self, grace_s: float) -> None:
        self._stopped = True
        tasks = list(self._doing)
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(POLL_S):
                await self._hint.wait()
        except TimeoutError:
            return

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._doing[task]
        self._hint.set()

    async def _one(self, job: Taken) -> None:
        more, now = True, self._setup.now_ms()
        try:
            more = await self._work(job.place)
        finally:
            await self._setup.ledger.run(_end(self._what, job, more=more, begun_ms=now))


class Fifo:
    """A `Dispatching`."""

    def __init__(self, setup: Setup, doing: Doing, waiters: Waiters, _watchers: Watchers) -> None:
        self._setup, self._waiters = setup, waiters
        self.turns = FifoLane(setup, "turn", doing.turn)
        self.deliveries = FifoLane(setup, "deliver", doing.deliver)
        self._late_ms = parse_duration(setup.settings.max_late)

    async def open(self) -> None:
        assert isinstance(self._setup.ledger, PostgresLedger)
        async with await psycopg.AsyncConnection.connect(self._setup.ledger.url, autocommit=True) as db:
            await install(db)
            await db.execute("SELECT pg_advisory_lock(7130009)")
            await db.execute(TABLES)

    def loops(self) -> Sequence[Coroutine[Any, Any, None]]:
        lanes = (self.turns, self.deliveries)
        return (*(lane.run() for lane in lanes), *(lane.still() for lane in lanes), self._each())

    async def close(self) -> None:
        """It has nothing of its own."""

    async def look(self) -> None:
        clock, name = self._setup.clock, self._setup.name
        now = None if isinstance(clock, DatabaseClock) else self._setup.now_ms()
        work = look_for_due(name, "", now_ms=now, max_late=self._late_ms, room=1000)
        found = await self._setup.ledger.run(work)
        if isinstance(clock, DatabaseClock):
            clock.set(found.now_ms)

    def refill(self) -> None:
        self.turns.refill()

    def due(self, what: str, at_ms: int) -> None:
        """The next look finds it."""

    async def asked(self, place: Place, key: str) -> None:
        await self._setup.ledger.run(ask(place, key))

    def tell(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:
        return tell(job, messages)

    async def watched(self, place: Place) -> None:
        """Nobody does."""

    async def held(self, place: Place) -> None:
        for _ in range(20):
            if not await self._setup.ledger.run(_rows(BUSY, place.tenant, place.agent, place.session)):
                return
            await asyncio.sleep(POLL_S)

    async def _each(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()
            if asked := self._waiters.asked():
                for heard in await self._setup.ledger.run(look_for_answers(asked)):
                    self._waiters.hear(heard.asked, heard.messages, heard.refused)


class FifoHost(Host[None]):
    """A host on it."""

    async def __aenter__(self) -> Self:
        await self._setup.ledger.open()
        self._engine = Engine(self._setup, dispatching=Fifo)
        await self._engine.start()
        return self


def _read(what: What, agent: str, limit: int) -> Work[Sequence[Taken]]:
    (rows,) = yield (Statement(READ, (what, agent, limit)),)
    return [Taken(id, Place(tenant, agent, session)) for id, tenant, session in rows]


def _end(what: What, job: Taken, *, more: bool, begun_ms: int) -> Work[None]:
    who = (job.place.tenant, job.place.agent, job.place.session)
    if more:
        then = Statement(AGAIN, (what, *who, what, *who))
    elif what == "turn":
        then = Statement(NEXT_INPUT, (*who, begun_ms))
    else:
        then = Statement(NEXT_MESSAGE, who)
    yield (Statement(END, (job.id,)), then)


def _rows(sql: str, *params: Any) -> Work[bool]:
    return bool((yield (Statement(sql, params),))[0])
