"""Which session is next: one task for a place at a time, a bounded number of tasks, in a fair order.

`Dispatching` is all that a host needs of whatever hands out its work. There are two: `embedded` with
the lanes below, and `queue` for several processes on one database.

A lane knows places that have something to do, not what: the ledger knows that. So a lane may forget:
what finds no room is found again by `refill`, which asks the ledger. Memory is bounded by what is in
flight and two queues of fixed length. Places where somebody waits for an answer go before the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from falai.host.capping import TenantCap
from falai.host.ledger.port import Job, Place, Work
from falai.host.trouble import Patience, tell_trouble
from falai.turn.result import OutMessage

__all__ = ["CALM_EACH", "Dispatcher", "Dispatching", "Doing", "Lane", "What"]

What = Literal["input", "message", "wake"]

_PAUSE_S: Final = 1.0  # after the ledger itself failed
CALM_EACH: Final = 8  # so often those for whom nobody waits have their turn, however many are urgent


class Dispatcher(Protocol):
    """What a host needs of whatever hands out its work: the lane below, or a job queue in its place.

    It calls `work(place)` for every place that was said to be ready, never twice at once for the same.
    """

    @property
    def in_flight(self) -> int:
        """How many places this process works on."""
        ...

    def ready(self, place: Place, *, urgent: bool = False) -> None:
        """Something is to be done for a place; `urgent` when a person waits for it."""
        ...

    def refill(self) -> None:
        """Places may have become ready that nobody named: look in the ledger."""
        ...

    async def run(self) -> None:
        """Hands out work until it is cancelled."""
        ...

    async def idle(self) -> None:
        """Returns when no work is at hand and none is being done."""
        ...

    async def stop(self, grace_s: float) -> None:
        """Begins nothing new, waits that long for what was begun, and gives back the rest (by cancelling it)."""
        ...


class Doing(NamedTuple):
    """What there is to do for a place: each does one piece, and says whether there may be more at once."""

    turn: Callable[[Place], Awaitable[bool]]
    deliver: Callable[[Place], Awaitable[bool]]


class Dispatching(Protocol):
    """Who hands out the work of a host, and finds what is due. Its ledger is open while this is."""

    @property
    def turns(self) -> Dispatcher: ...

    @property
    def deliveries(self) -> Dispatcher: ...

    async def open(self) -> None: ...

    def loops(self) -> Sequence[Coroutine[Any, Any, None]]:
        """What runs from `open` to `close`, the dispatchers too; it is cancelled at the end."""
        ...

    async def close(self) -> None:
        """Called once nothing runs any more."""
        ...

    async def look(self) -> None:
        """Finds now what is due."""
        ...

    def refill(self) -> None:
        """What was told of and is not yet done, for whatever reason, is to be found again."""
        ...

    def due(self, what: What, at_ms: int) -> None:
        """At this instant one of these is due; the ledger has it."""
        ...

    async def asked(self, place: Place, key: str) -> None:
        """Somebody will wait for the turn of an input that is not taken in yet."""
        ...

    def tell(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:
        """In the transaction of its commit: what the turn said, for those who asked in other processes."""
        ...

    async def watched(self, place: Place) -> None:
        """Somebody watches from now on: what other processes do with this place is to be told."""
        ...

    async def held(self, place: Place) -> None:
        """A gate was closed: returns when nobody sends what was read before, or after a moment."""
        ...


class Lane:
    """The embedded dispatcher.

    `work` does one piece and says whether there may be more; `look` gives ready places of the ledger, at
    most so many. What `work` raises is logged, and the place is looked at again after a pause.
    """

    def __init__(
        self,
        work: Callable[[Place], Awaitable[bool]],
        look: Callable[[int], Awaitable[Sequence[Place]]],
        *,
        at_once: int,
        queue: int,
        cap: TenantCap | None = None,
    ) -> None:
        self._work = work
        self._look = look
        self._at_once = at_once
        self._room = queue
        self._cap = cap or TenantCap(None)
        self._urgent: dict[Place, None] = {}
        self._calm: dict[Place, None] = {}
        self._running: dict[Place, asyncio.Task[None]] = {}
        self._again: dict[Place, bool] = {}
        self._patience = Patience()
        self._begun = 0
        self._unseen = True
        self._looking = False
        self._open = False
        self._wanted = asyncio.Event()
        self._quiet = asyncio.Event()

    @property
    def in_flight(self) -> int:
        """How many places are being worked on."""
        return len(self._running)

    @property
    def room(self) -> int:
        """How many more places that are not urgent find room."""
        return self._room - len(self._calm)

    def ready(self, place: Place, *, urgent: bool = False) -> None:
        if place in self._running:
            self._again[place] = urgent or self._again.get(place, False)
            return
        if place in self._urgent or (place in self._calm and not urgent):
            return
        self._calm.pop(place, None)
        queue = self._urgent if urgent else self._calm
        if len(queue) < self._room:
            queue[place] = None
        else:
            self._unseen = True
        self._go_on()

    def refill(self) -> None:
        self._unseen = True
        self._go_on()

    async def run(self) -> None:
        self._open = True
        self._go_on()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self._look_again()
            self._go_on()

    async def idle(self) -> None:
        while not self._is_idle():
            self._quiet.clear()
            await self._quiet.wait()

    async def stop(self, grace_s: float) -> None:
        self._open = False
        if tasks := list(self._running.values()):
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._go_on()

    def _go_on(self) -> None:
        """Begins what there is room for, and has what is unseen looked for when the queue is half empty."""
        while len(self._running) < self._at_once and self._open and self._begin():
            pass
        if self._unseen and not self._looking and len(self._calm) < self._room // 2:
            self._wanted.set()
        if self._is_idle():
            self._quiet.set()

    def _begin(self) -> bool:
        """Begins the next that may; False when there is none."""
        queues = (self._urgent, self._calm) if (self._begun + 1) % CALM_EACH else (self._calm, self._urgent)
        for queue in queues:
            if (place := self._cap.first(queue)) is not None:
                self._begun += 1
                del queue[place]
                self._cap.begin(place)
                self._running[place] = asyncio.create_task(self._one(place, urgent=queue is self._urgent))
                return True
        return False

    async def _one(self, place: Place, *, urgent: bool) -> None:
        try:
            more = await self._work(place)
            self._patience.well()
        except Exception as error:  # noqa: BLE001  # nothing is lost: the ledger still has what was to be done
            tell_trouble("work on a session", error, place.session)
            await asyncio.sleep(self._patience.pause_s(asyncio.get_running_loop().time()))
            more = True
        finally:
            del self._running[place]
            self._cap.end(place)
            again = self._again.pop(place, None)
        if more or again is not None:
            self.ready(place, urgent=(more and urgent) or bool(again))
        else:
            self._go_on()

    async def _look_again(self) -> None:
        self._unseen, self._looking = False, True
        limit = self._room + len(self._urgent) + len(self._running)  # else all that it finds may be known
        try:
            places = await self._look(limit)
        except Exception as error:  # noqa: BLE001  # likewise
            tell_trouble("look for sessions", error)
            await asyncio.sleep(_PAUSE_S)
            self.refill()
        else:
            for place in places:
                self.ready(place)
            self._unseen = self._unseen or len(places) >= limit
        finally:
            self._looking = False

    def _is_idle(self) -> bool:
        return not (self._running or self._urgent or self._calm or self._unseen or self._looking)
