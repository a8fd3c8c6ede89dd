"""The work of a host that has its database alone: two lanes, told in memory, and an alarm."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, NamedTuple

from falai.flow.durations import parse_duration
from falai.host.capping import TenantCap
from falai.host.dispatching import Doing, Lane, What
from falai.host.ledger.campaigning import due_starts, next_start
from falai.host.ledger.port import Job, Place, Work
from falai.host.ledger.ready import next_delivery, next_not_before, places_to_deliver, ready_places
from falai.host.ledger.waking import due_wakes, next_due
from falai.host.setup import Setup
from falai.host.timing import Alarm
from falai.turn.result import OutMessage

__all__ = ["Embedded"]

_QUEUE: Final = 1000
_WAKES_AT_ONCE: Final = 500
_NO_ROOM_MS: Final = 100
_CAMPAIGN_KEEPS_FREE: Final = 800  # of the queue: the starts of a campaign come behind all timers


class _Due(NamedTuple):
    """What a look found: places with a timer that is due, and when the next of each kind will be."""

    places: Sequence[Place]
    soonest: Mapping[What, int | None]
    wakes: int | None


class Embedded:
    """A `Dispatching` in this process."""

    def __init__(self, setup: Setup, doing: Doing) -> None:
        self._setup = setup
        at_once = setup.settings.at_once
        cap = TenantCap(setup.settings.tenant_at_once)
        self.turns = Lane(doing.turn, self._ready, at_once=at_once, queue=_QUEUE, cap=cap)
        self.deliveries = Lane(doing.deliver, self._unsent, at_once=at_once, queue=_QUEUE)
        self._alarm = Alarm(setup.now_ms, self._look)
        self._soonest: dict[What, int | None] = {"input": None, "message": None}

    async def open(self) -> None:
        """There is nothing to open."""

    def loops(self) -> Sequence[Coroutine[Any, Any, None]]:
        return self.turns.run(), self.deliveries.run(), self._alarm.run()

    async def close(self) -> None:
        """Nor to close."""

    async def look(self) -> None:
        await self._alarm.look()

    def refill(self) -> None:
        self.turns.refill()
        self.deliveries.refill()

    def due(self, what: What, at_ms: int) -> None:
        if what != "wake":
            known = self._soonest[what]
            self._soonest[what] = at_ms if known is None else min(known, at_ms)
        self._alarm.note(at_ms)

    # Who asks is in this process, and so is who sends.

    async def asked(self, place: Place, key: str) -> None:
        """`Waiters` knows it."""

    def tell(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:  # noqa: ARG002  # nobody else asks
        yield from ()

    async def watched(self, place: Place) -> None:
        """Who plays tells it."""

    async def held(self, place: Place) -> None:
        """`Engine.closing` has seen to it."""

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
        full = self.turns.room <= _CAMPAIGN_KEEPS_FREE
        wakes = max(found.wakes, now + _NO_ROOM_MS) if full and found.wakes is not None else found.wakes
        return _sooner(*found.soonest.values(), wakes)

    def _refill(self, now: int) -> None:
        lanes: dict[What, Lane] = {"input": self.turns, "message": self.deliveries}
        for what, lane in lanes.items():
            at = self._soonest[what]
            if at is not None and at <= now:
                self._soonest[what] = None
                lane.refill()

    def _due(self, now: int, room: int) -> Work[_Due]:
        """Due timers become inputs, no more of them than find room: a storm would hold up those who write."""
        name, late = self._setup.name, parse_duration(self._setup.settings.max_late)
        places: Sequence[Place] = ()
        if room > 0:
            places = yield from due_wakes(name, now_ms=now, limit=room, max_late=late)
        if (few := self.turns.room - _CAMPAIGN_KEEPS_FREE - len(places)) > 0:
            places = (*places, *(yield from due_starts(name, now_ms=now, limit=few)))
        inputs = yield from next_not_before(name, now_ms=now)
        messages = yield from next_delivery(name, now_ms=now)
        wakes = _sooner((yield from next_due(name)), (yield from next_start(name)))
        return _Due(places, {"input": inputs, "message": messages}, wakes)

    async def _ready(self, limit: int) -> Sequence[Place]:
        return await self._setup.ledger.run(ready_places(self._setup.name, now_ms=self._setup.now_ms(), limit=limit))

    async def _unsent(self, limit: int) -> Sequence[Place]:
        now = self._setup.now_ms()
        return await self._setup.ledger.run(places_to_deliver(self._setup.name, now_ms=now, limit=limit))


def _sooner(*instants: int | None) -> int | None:
    return min((at for at in instants if at is not None), default=None)
