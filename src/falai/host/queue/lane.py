"""Takes the jobs of one kind, a bounded number at a time, and does them: the dispatcher in place of an embedded lane.

Nothing is kept here but what is being done. A place is not told to anybody: its job is in the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from falai.host.dispatching import CALM_EACH
from falai.host.ledger.port import Place
from falai.host.queue.worker import Worker
from falai.host.queue.works import What, job_ended, unfinished
from falai.host.setup import Setup
from falai.host.trouble import Patience, tell_trouble

if TYPE_CHECKING:
    from procrastinate.jobs import Job

__all__ = ["QueueLane", "place_of"]

_POLL_S: Final = 0.2
_PAUSE_S: Final = 1.0
_IDLE_S: Final = 0.01
_NEARLY_MS: Final = 100
_URGENT: Final = 10


class QueueLane:
    """A `Dispatcher` of one kind of work, whose jobs come from the database."""

    def __init__(
        self, setup: Setup, worker: Worker, what: What, queue: str, work: Callable[[Place], Awaitable[bool]]
    ) -> None:
        self._setup = setup
        self._worker = worker
        self._what: What = what
        self._queue = queue
        self._work = work
        self._doing: set[asyncio.Task[None]] = set()
        self._patience = Patience()
        self._hint = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._asked = 0

    @property
    def in_flight(self) -> int:
        """How many places this process works on."""
        return len(self._doing)

    def ready(self, place: Place, *, urgent: bool = False) -> None:  # noqa: ARG002  # its job says both
        self.refill()

    def refill(self) -> None:
        self._hint.set()

    async def run(self) -> None:
        self._loop = asyncio.current_task()
        while not self._stop.is_set():
            self._hint.clear()
            if len(self._doing) >= self._setup.settings.at_once or (job := await self._taken()) is None:
                await self._wait()
            elif self._stop.is_set():
                await self._end(job, more=True, begun_ms=0)
            else:
                self._begin(job)

    async def idle(self) -> None:
        while bool(self._doing) or await self._setup.ledger.run(unfinished(self._queue)):  # noqa: ASYNC110 - others' too
            await asyncio.sleep(_IDLE_S)

    async def stop(self, grace_s: float) -> None:
        self._stop.set()
        self.refill()
        if self._loop is not None:
            await asyncio.wait([self._loop], timeout=_PAUSE_S)
        if tasks := list(self._doing):
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _taken(self) -> Job | None:
        self._asked += 1
        try:
            return await self._worker.take(self._what, calm=self._asked % CALM_EACH == 0)
        except Exception as error:  # noqa: BLE001  # the jobs stay where they are
            tell_trouble("take a job", error)
            await asyncio.sleep(_PAUSE_S)
            return None

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(_POLL_S):
                await self._hint.wait()
        except TimeoutError:
            return

    def _begin(self, job: Job) -> None:
        task = asyncio.create_task(self._one(job))
        self._doing.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._doing.discard(task)
        self.refill()

    async def _one(self, job: Job) -> None:
        place, more, begun_ms = place_of(job), True, 0
        try:
            await self._due(job)
            begun_ms = self._setup.now_ms()
            more = await self._work(place)
            self._patience.well()
        except Exception as error:  # noqa: BLE001  # nothing is lost: the ledger still has what was to be done
            tell_trouble("work on a session", error, place.session)
            await asyncio.sleep(self._patience.pause_s(asyncio.get_running_loop().time()))
        finally:  # also when it is cancelled: then another process goes on
            await self._end(job, more=more, begun_ms=begun_ms)

    async def _due(self, job: Job) -> None:
        """The clock of whoever asked for it may be a moment ahead of this one."""
        early_ms = int(str(job.task_kwargs["at"])) - self._setup.now_ms()
        if 0 < early_ms <= _NEARLY_MS:
            await asyncio.sleep(early_ms / 1000)

    async def _end(self, job: Job, *, more: bool, begun_ms: int) -> None:
        """Until the database knows it; a process that ends leaves it to those who find it dead."""
        while not await self._ended(job, more=more, begun_ms=begun_ms) and not self._stop.is_set():  # noqa: ASYNC110 - see `_ended`
            await asyncio.sleep(_PAUSE_S)
        self._worker.let_go(job)

    async def _ended(self, job: Job, *, more: bool, begun_ms: int) -> bool:
        assert job.id is not None
        ids = {"job": job.id, "worker": self._worker.id, "priority": min(job.priority, _URGENT)}
        try:
            ended = job_ended(self._what, place_of(job), **ids, more=more, begun_ms=begun_ms)
            await self._setup.ledger.run(ended)
        except Exception as error:  # noqa: BLE001  # it is done: only the database does not know
            tell_trouble("end a job", error)
            return False
        return True


def place_of(job: Job) -> Place:
    """Which place a job is about."""
    told = job.task_kwargs
    return Place(str(told["tenant"]), str(told["agent"]), str(told["session"]))
