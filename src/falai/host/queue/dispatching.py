"""The work of a host by the jobs of its database: what the engine has in place of its own lanes and alarm."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from falai.flow.durations import parse_duration
from falai.host.dispatching import Doing
from falai.host.ledger.playing import next_job, set_aside
from falai.host.ledger.port import Job as Turn
from falai.host.ledger.port import Place, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sending import next_message, send_failed
from falai.host.queue.asking import ask, forget_old, look_for_answers, tell
from falai.host.queue.capping import park, unpark
from falai.host.queue.clock import DatabaseClock
from falai.host.queue.installing import install
from falai.host.queue.lane import QueueLane, place_of
from falai.host.queue.watching import Elsewhere
from falai.host.queue.worker import Worker
from falai.host.queue.works import What, find_lost, is_at_work, job_ended, look_for_due, queue_of
from falai.host.setup import Setup
from falai.host.trouble import tell_trouble
from falai.host.waiting import Waiters
from falai.host.watching import Watchers
from falai.turn.result import OutMessage

if TYPE_CHECKING:
    from procrastinate.jobs import Job

__all__ = ["Queued"]

_LOOK_S: Final = 0.1
_ASKED_S: Final = 0.05
_WATCHED_S: Final = 0.5
_ROOM: Final = 1000
_SENDING_S: Final = 1.0
_MINUTE_S: Final = 60.0


class Queued:
    """A `Dispatching` of any number of processes on one database."""

    def __init__(
        self, setup: Setup, ledger: PostgresLedger, doing: Doing, waiters: Waiters, watchers: Watchers
    ) -> None:
        self._setup = setup
        self._ledger = ledger
        self._doing = doing
        self._waiters = waiters
        self._elsewhere = Elsewhere(setup, watchers)
        self._late_ms = parse_duration(setup.settings.max_late)
        self._lost = False

    async def open(self) -> None:
        from psycopg import AsyncConnection  # an extra

        async with await AsyncConnection.connect(self._ledger.url, autocommit=True) as connection:
            await install(connection)
        name = self._setup.name
        queues: dict[What, str] = {what: await self._ledger.run(queue_of(what, name)) for what in ("turn", "deliver")}
        self._queues = queues
        self._worker = Worker(self._ledger.url, queues, came=self._came, set_aside=self._set_aside)
        await self._worker.open()
        self.turns = QueueLane(self._setup, self._worker, "turn", queues["turn"], self._turn)
        self.deliveries = QueueLane(self._setup, self._worker, "deliver", queues["deliver"], self._doing.deliver)
        await self.look()

    def loops(self) -> Sequence[Coroutine[Any, Any, None]]:
        return (
            *(self.turns.run(), self.deliveries.run(), self._worker.live()),
            *(_each(_LOOK_S, self.look), _each(_ASKED_S, self._answers), _each(_MINUTE_S, self._find_lost)),
            _each(_WATCHED_S, self._elsewhere.look),
        )

    async def close(self) -> None:
        await self._worker.close()

    # --- what is due ------------------------------------------------------------------------------

    async def look(self) -> None:
        clock, more = self._setup.clock, True
        if self._lost:
            await self._find_lost()
        if (at_once := self._setup.settings.tenant_at_once) is not None:
            await self._ledger.run(unpark(self._setup.name, self._queues["turn"], at_once=at_once))
        while more:
            now = None if isinstance(clock, DatabaseClock) else self._setup.now_ms()
            work = look_for_due(self._setup.name, self._queues["turn"], now_ms=now, max_late=self._late_ms, room=_ROOM)
            found = await self._ledger.run(work)
            if isinstance(clock, DatabaseClock):
                clock.set(found.now_ms)
            more = found.more

    def refill(self) -> None:
        self._lost = True

    def due(self, what: str, at_ms: int) -> None:
        """It is in the database, where the next look finds it when it is due."""

    async def _turn(self, place: Place) -> bool:
        at_once = self._setup.settings.tenant_at_once
        if at_once is not None and await self._ledger.run(park(place, self._queues["turn"], at_once=at_once)):
            return False
        return await self._doing.turn(place)

    async def _find_lost(self) -> None:
        self._lost = False
        await self._ledger.run(find_lost(self._setup.name))
        if self._setup.settings.tenant_at_once is None:  # who was parked while there was a share
            await self._ledger.run(unpark(self._setup.name, self._queues["turn"], at_once=None))
        await self._ledger.run(forget_old())

    def _came(self, what: What) -> None:
        lane = self.turns if what == "turn" else self.deliveries
        lane.refill()

    # --- other processes --------------------------------------------------------------------------

    async def asked(self, place: Place, key: str) -> None:
        await self._ledger.run(ask(place, key))

    async def watched(self, place: Place) -> None:
        await self._elsewhere.begin(place)

    def tell(self, job: Turn, messages: Sequence[OutMessage]) -> Work[None]:
        return tell(job, messages)

    async def held(self, place: Place) -> None:
        """Another process may be sending a message that it read before the gate was closed."""
        try:
            async with asyncio.timeout(_SENDING_S):
                while await self._ledger.run(is_at_work("deliver", place)):  # noqa: ASYNC110 - another's work
                    await asyncio.sleep(_ASKED_S)
        except TimeoutError:
            return

    async def _answers(self) -> None:
        if asked := self._waiters.asked():
            for heard in await self._ledger.run(look_for_answers(asked)):
                self._waiters.hear(heard.asked, heard.messages, heard.refused)

    async def _set_aside(self, what: What, job: Job) -> None:
        """Its input, or its message, is among the dead ones; the place goes on without it."""
        await self._ledger.run(_put_aside(what, job, self._setup.now_ms()))


def _put_aside(what: What, job: Job, now: int) -> Work[None]:
    """In one transaction with the end of the job: done twice, it would take the next one too."""
    place, whose = place_of(job), {"job": job.id, "worker": job.worker_id}
    if not (yield from job_ended(what, place, **whose, priority=job.priority, more=True, begun_ms=now)):
        return  # its worker was slow, not dead
    why = "each worker that had it died"
    if what == "turn":
        turn = yield from next_job(place, now_ms=now, history_items=0)
        if turn is not None:
            yield from set_aside(turn, why, now_ms=now)
        return
    message = yield from next_message(place)
    if message is not None:
        yield from send_failed(message, why, now_ms=now)


async def _each(pause_s: float, act: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(pause_s)
        try:
            await act()
        except Exception as error:  # noqa: BLE001  # the database keeps what is due
            tell_trouble("look for what is due", error)
            await asyncio.sleep(_SENDING_S)
