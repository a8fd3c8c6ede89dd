"""The host at work: who hands out its work, a broom, and what the parts tell one another.

inbox   ▸ turns       plays inputs                 dispatching   says when, and for which session
outbox  ▸ deliveries  sends messages               broom         forgets what is kept long enough
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Final

from falai.flow.durations import parse_duration
from falai.host.delivering import Deliveries
from falai.host.dispatching import Dispatching, Doing, What
from falai.host.embedded import Embedded
from falai.host.ledger.campaigning import next_start
from falai.host.ledger.playing import next_job
from falai.host.ledger.port import Arrival, Done, Job, Limits, Place, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.ready import places_to_deliver, ready_places
from falai.host.ledger.sweeping import sweep
from falai.host.ledger.waking import next_due
from falai.host.metrics import count_set_aside, count_turn
from falai.host.receiving import Intake, Received, overloaded
from falai.host.setup import Setup
from falai.host.trouble import tell_trouble
from falai.host.turning import Turns
from falai.host.waiting import Waiters
from falai.host.watching import SetAside, Telling, Turned, Watcher, Watchers
from falai.turn.result import OutMessage, TurnResult

__all__ = ["Engine"]

_PLACES_AT_ONCE: Final = 1000
_ROWS_AT_ONCE: Final = 500
_SWEEP_EACH_S: Final = 60.0


class Engine:
    """Runs from `start` to `stop`. Without a `dispatching` the ledger says which it is."""

    def __init__(
        self, setup: Setup, *, dispatching: Callable[[Setup, Doing, Waiters, Watchers], Dispatching] | None = None
    ) -> None:
        self._setup = setup
        self.waiters = Waiters()
        self.watchers = Watchers()
        limits = Limits(session=setup.settings.session_limit, host=setup.settings.host_limit)
        self._intake = Intake(setup.name, limits)
        doing = Doing(Turns(setup, self).play, Deliveries(setup, self).deliver)
        self.work = (dispatching or _dispatching)(setup, doing, self.waiters, self.watchers)
        self._closing: Counter[Place] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begins to work."""
        await self.work.open()
        loops = (*self.work.loops(), self._sweep_each_minute())
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """Begins nothing new, waits for what was begun as long as the settings say, gives back the rest."""
        grace_s = parse_duration(self._setup.settings.grace) / 1000
        await asyncio.gather(self.work.turns.stop(grace_s), self.work.deliveries.stop(grace_s))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self.work.close()
        finally:  # whoever waits is released, whatever the database says
            self.waiters.close()
            self.watchers.close()

    async def take(self, place: Place, arrival: Arrival) -> Received:
        """Takes an input in. Raises `OverloadedError`, and what the ledger raises."""
        now = self._setup.now_ms()
        taken = await self._setup.ledger.run(self._intake.take_in(place, arrival, now_ms=now))
        if taken.full is not None:
            raise overloaded(place, taken.full, self._setup.settings)
        await self._setup.checkpoint("received")
        if taken.new:
            self.changed(place)
        if arrival.not_before > now:
            self.due("input", arrival.not_before)
        else:
            self.work.turns.ready(place, urgent=arrival.kind == "message")
        return Received(arrival.key, bool(taken.new))

    @asynccontextmanager
    async def watching(self, place: Place) -> AsyncGenerator[Watcher, None]:
        """Someone who is told what happens with a session from now on, whichever process does it."""
        with self.watchers.watching(place) as watcher:
            await self.work.watched(place)
            yield watcher

    async def drained(self) -> None:
        """Returns when nothing is left to be done at the clock's now."""
        while True:
            await self.work.look()
            await self.work.turns.idle()
            await self.work.deliveries.idle()
            now = self._setup.now_ms()
            if not await self._setup.ledger.run(self._any_left(now)):
                return
            self.work.refill()
            await asyncio.sleep(0)

    async def sweep(self) -> None:
        """Forgets what is kept long enough, a few rows at a time."""
        keep, name, more = self._setup.settings.keep.in_ms(), self._setup.name, True
        while more:
            work = sweep(name, now_ms=self._setup.now_ms(), keep=keep, limit=_ROWS_AT_ONCE)
            more = await self._setup.ledger.run(work)

    # --- what the parts tell ----------------------------------------------------------------------

    def telling(self, job: Job) -> AbstractContextManager[Telling]:
        return self.watchers.telling(job)

    def committed(self, job: Job, done: Done, result: TurnResult | None) -> None:
        messages = result.messages if result else ()
        self.waiters.tell(job, done, messages)
        keys = tuple(row.key for row in job.inputs)
        self.watchers.turned(job.place, Turned(keys, messages, result, job.revision + 1))
        count_turn(self._setup.name, job, done, now_ms=self._setup.now_ms())
        if done.outbox:
            self.work.deliveries.ready(job.place, urgent=True)
        if done.wakes:
            self.work.due("wake", min(wake.due_at for wake in done.wakes))

    def answers(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:
        return self.work.tell(job, messages)

    def failed(self, job: Job, why: str) -> None:
        self.waiters.refuse(job, why)
        for row in job.inputs:
            self.watchers.tell(job.place, SetAside(row.key, why))
        count_set_aside(self._setup.name, job)

    def changed(self, *places: Place) -> None:
        self.watchers.changed(places)

    def silenced(self, *places: Place) -> None:
        """A gate is closed, or a session erased: a turn of it that is under way will not count."""
        for place in places:
            self.watchers.silence(place)
        self.changed(*places)

    def due(self, what: What, at_ms: int) -> None:
        self.work.due(what, at_ms)

    def is_closing(self, place: Place) -> bool:
        return place in self._closing

    @contextmanager
    def closing(self, place: Place) -> Generator[None, None, None]:
        """While the gate of a place closes, nothing of it is sent that was read before; what is being said is not shown."""
        self._closing[place] += 1
        self.watchers.silence(place)
        try:
            yield
            self.silenced(place)
        finally:
            self._closing[place] -= 1
            self._closing += Counter()  # without those that are at nought

    # --- in the background ------------------------------------------------------------------------

    def _any_left(self, now: int) -> Work[bool]:
        name = self._setup.name
        for place in (yield from ready_places(name, now_ms=now, limit=_PLACES_AT_ONCE)):
            if (yield from next_job(place, now_ms=now, history_items=0)) is not None:
                return True  # else it is a burst whose last pause is not over
        if (yield from places_to_deliver(name, now_ms=now, limit=1)):
            return True
        soonest = ((yield from next_due(name)), (yield from next_start(name)))
        return any(at is not None and at <= now for at in soonest)

    async def _sweep_each_minute(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EACH_S)
            self.work.refill()
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001  # another minute will do
                tell_trouble("forget old rows", error)


def _dispatching(setup: Setup, doing: Doing, waiters: Waiters, watchers: Watchers) -> Dispatching:
    """A database of PostgreSQL may have several hosts, and knows of their work itself."""
    if not isinstance(setup.ledger, PostgresLedger):
        return Embedded(setup, doing)
    from falai.host.queue.dispatching import Queued  # a host that has its database alone needs no queue

    return Queued(setup, setup.ledger, doing, waiters, watchers)
