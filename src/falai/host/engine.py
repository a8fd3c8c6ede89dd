"""The host at work: two lanes, an alarm and a broom, and what they tell one another.

inbox   ▸ turns       plays inputs                 alarm   says when something is due
outbox  ▸ deliveries  sends messages               broom   forgets what is kept long enough
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Literal, NamedTuple

from falai.flow.durations import parse_duration
from falai.host.delivering import Deliveries
from falai.host.dispatching import Lane
from falai.host.ledger.playing import next_job
from falai.host.ledger.port import Done, Job, Limits, Place, Work
from falai.host.ledger.ready import next_delivery, next_not_before, places_to_deliver, ready_places
from falai.host.ledger.sweeping import sweep
from falai.host.ledger.waking import due_wakes, next_due
from falai.host.receiving import Intake
from falai.host.setup import Setup
from falai.host.timing import Alarm
from falai.host.trouble import tell_trouble
from falai.host.turning import Turns
from falai.host.waiting import Waiters
from falai.turn.result import OutMessage

__all__ = ["Engine"]

_QUEUE: Final = 1000
_WAKES_AT_ONCE: Final = 500
_ROWS_AT_ONCE: Final = 500
_SWEEP_EACH_S: Final = 60.0
_NO_ROOM_MS: Final = 100

What = Literal["input", "message"]


class _Due(NamedTuple):
    """What a look found: places with a timer that is due, and when the next of each kind will be."""

    places: Sequence[Place]
    soonest: Mapping[What, int | None]
    wakes: int | None


class Engine:
    """Runs from `start` to `stop`."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.waiters = Waiters()
        limits = Limits(session=setup.settings.session_limit, host=setup.settings.host_limit)
        self.intake = Intake(setup.name, limits)
        at_once = setup.settings.at_once
        self.turns = Lane(Turns(setup, self).play, self._ready, at_once=at_once, queue=_QUEUE)
        self.deliveries = Lane(Deliveries(setup, self).deliver, self._unsent, at_once=at_once, queue=_QUEUE)
        self.alarm = Alarm(setup.now_ms, self._look)
        self._soonest: dict[What, int | None] = {"input": None, "message": None}
        self._closing: Counter[Place] = Counter()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begins to work."""
        loops = (self.turns.run(), self.deliveries.run(), self.alarm.run(), self._sweep_each_minute())
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def stop(self) -> None:
        """Begins nothing new, waits for what was begun as long as the settings say, gives back the rest."""
        grace_s = parse_duration(self._setup.settings.grace) / 1000
        await asyncio.gather(self.turns.stop(grace_s), self.deliveries.stop(grace_s))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.waiters.close()

    async def drained(self) -> None:
        """Returns when nothing is left to be done at the clock's now."""
        while True:
            await self.alarm.look()
            await self.turns.idle()
            await self.deliveries.idle()
            now = self._setup.now_ms()
            if not await self._setup.ledger.run(self._any_left(now)):
                return
            self._refill_all()
            await asyncio.sleep(0)

    async def sweep(self) -> None:
        """Forgets what is kept long enough, a few rows at a time."""
        keep, name, more = self._setup.settings.keep.in_ms(), self._setup.name, True
        while more:
            work = sweep(name, now_ms=self._setup.now_ms(), keep=keep, limit=_ROWS_AT_ONCE)
            more = await self._setup.ledger.run(work)

    # --- what the parts tell ----------------------------------------------------------------------

    def committed(self, job: Job, done: Done, messages: Sequence[OutMessage]) -> None:
        self.waiters.tell(job, messages)
        if done.outbox:
            self.deliveries.ready(job.place, urgent=True)
        if done.wakes:
            self.alarm.note(min(wake.due_at for wake in done.wakes))

    def failed(self, job: Job, why: str) -> None:
        self.waiters.refuse(job, why)

    def due(self, what: What, at_ms: int) -> None:
        known = self._soonest[what]
        self._soonest[what] = at_ms if known is None else min(known, at_ms)
        self.alarm.note(at_ms)

    def is_closing(self, place: Place) -> bool:
        return place in self._closing

    @contextmanager
    def closing(self, place: Place) -> Generator[None, None, None]:
        """While the gate of a place closes, nothing of it is sent that was read before."""
        self._closing[place] += 1
        try:
            yield
        finally:
            self._closing[place] -= 1
            self._closing += Counter()  # without those that are at nought

    # --- what is due ------------------------------------------------------------------------------

    async def _look(self) -> int | None:
        """Moves what is due to where it is played; gives when to look again."""
        now = self._setup.now_ms()
        self._refill(now)
        room = min(self.turns.room, _WAKES_AT_ONCE)
        found = await self._setup.ledger.run(self._due(now, room))
        for place in found.places:
            self.turns.ready(place)
        self._soonest = {what: _sooner(at, self._soonest[what]) for what, at in found.soonest.items()}
        wakes = found.wakes if found.wakes is None or room > 0 else max(found.wakes, now + _NO_ROOM_MS)
        return _sooner(*found.soonest.values(), wakes)

    def _refill(self, now: int) -> None:
        lanes: dict[What, Lane] = {"input": self.turns, "message": self.deliveries}
        for what, lane in lanes.items():
            at = self._soonest[what]
            if at is not None and at <= now:
                self._soonest[what] = None
                lane.refill()

    def _refill_all(self) -> None:
        """What was told of and is not yet done, for whatever reason, is found again."""
        self.turns.refill()
        self.deliveries.refill()

    def _due(self, now: int, room: int) -> Work[_Due]:
        """Due timers become inputs, no more of them than find room: a storm would hold up those who write."""
        name, late = self._setup.name, parse_duration(self._setup.settings.max_late)
        places: Sequence[Place] = ()
        if room > 0:
            places = yield from due_wakes(name, now_ms=now, limit=room, max_late=late)
        inputs = yield from next_not_before(name, now_ms=now)
        messages = yield from next_delivery(name, now_ms=now)
        return _Due(places, {"input": inputs, "message": messages}, (yield from next_due(name)))

    def _any_left(self, now: int) -> Work[bool]:
        name = self._setup.name
        for place in (yield from ready_places(name, now_ms=now, limit=_QUEUE)):
            if (yield from next_job(place, now_ms=now, history_items=0)) is not None:
                return True  # else it is a burst whose last pause is not over
        if (yield from places_to_deliver(name, now_ms=now, limit=1)):
            return True
        due = yield from next_due(name)
        return due is not None and due <= now

    async def _ready(self, limit: int) -> Sequence[Place]:
        return await self._setup.ledger.run(ready_places(self._setup.name, now_ms=self._setup.now_ms(), limit=limit))

    async def _unsent(self, limit: int) -> Sequence[Place]:
        now = self._setup.now_ms()
        return await self._setup.ledger.run(places_to_deliver(self._setup.name, now_ms=now, limit=limit))

    async def _sweep_each_minute(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_EACH_S)
            self._refill_all()
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001  # another minute will do
                tell_trouble("forget old rows", error)


def _sooner(*instants: int | None) -> int | None:
    return min((at for at in instants if at is not None), default=None)
