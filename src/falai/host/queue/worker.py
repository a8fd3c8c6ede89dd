"""This process among the workers of a database: it takes jobs, shows that it lives, and frees the jobs of the dead.

It has a few connections of its own, so that a crowd of turns never keeps it from saying that it lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from falai.host.ledger.postgres import UNHEARD, watchful
from falai.host.queue.works import What
from falai.host.trouble import tell_trouble

if TYPE_CHECKING:
    from procrastinate.jobs import Job
    from procrastinate.manager import JobManager
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

__all__ = ["Worker"]

DEAD_AFTER_S: Final = 6.0
"""A worker that was not heard of for so long is dead: its jobs are done by others."""

_HEARTBEAT_S: Final = DEAD_AFTER_S / 3
_LOOK_S: Final = 1.0
_KILLS: Final = 5
_SUSPECT: Final = 3  # of so many deaths on, a job is tried alone: it may only have been beside the one that kills
_FORGOTTEN_AFTER_S: Final = 86_400.0
_CONNECTIONS: Final = 4
_WAIT_S: Final = 5.0
_ONE_REAPER: Final = 7_130_003
# A queue is empty most of the time, and the planner takes it for that when it is full: then each job that is taken
# costs a look at all of them. These leave it the way along the indexes.
_BY_INDEX: Final = "; ".join(
    f"SET enable_{way} = off" for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin", "sort")
)
_SUSPECT_IS_TRIED = """
    SELECT 1 FROM procrastinate_jobs
    WHERE queue_name = %s AND attempts >= %s AND status IN ('todo', 'doing') AND id <> ALL(%s) LIMIT 1"""
# The one that has waited longest of those for whom nobody waits becomes the first of all. By the index of priorities.
_ITS_TURN = """
    UPDATE procrastinate_jobs SET priority = 11 WHERE id = (
        SELECT min(j.id) FROM (VALUES (0), (5)) AS calm (priority) CROSS JOIN LATERAL (
            SELECT id FROM procrastinate_jobs
            WHERE status = 'todo' AND queue_name = %s AND priority = calm.priority
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) j)"""
_LONG_AGO: Final = datetime(2000, 1, 1, tzinfo=UTC)


class Worker:
    """Takes jobs of the queues while `live` runs.

    `came` is called when a job came into that queue. `set_aside` is given a job that was with a worker each of the
    `_KILLS` times when that died; it takes what the job is about out of the way, and ends the job.
    """

    def __init__(
        self,
        url: str,
        queues: Mapping[What, str],
        *,
        came: Callable[[What], None],
        set_aside: Callable[[What, Job], Awaitable[None]],
    ) -> None:
        self._url = url
        self._queues = queues
        self._came = came
        self._set_aside = set_aside
        self._pool: AsyncConnectionPool[Any] | None = None
        self._jobs: JobManager | None = None
        self._at: set[int] = set()
        self._strange: set[int] = set()
        self.id = 0

    async def open(self) -> None:
        from procrastinate import App, PsycopgConnector  # an extra
        from procrastinate.exceptions import ConnectorException
        from psycopg_pool import AsyncConnectionPool

        self._pool = AsyncConnectionPool(
            self._url,
            kwargs={"prepare_threshold": 1, **watchful(self._url)},
            configure=_configure,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_WAIT_S,
            reconnect_timeout=0,
            open=False,
        )
        await self._pool.open()
        try:
            app = App(connector=PsycopgConnector())
            await app.connector.open_async(self._pool)
            self._jobs = app.job_manager
            self.id = await self._jobs.register_worker()
        except BaseException as error:
            await self.close()
            if isinstance(error, ConnectorException) and error.__cause__ is not None:
                raise error.__cause__ from None  # it says what is wrong
            raise

    async def close(self) -> None:
        """What it still has is others' at once."""
        if self.id:
            try:
                await self._manager.unregister_worker(self.id)
            except Exception as error:  # noqa: BLE001  # then it is dead to the others in a few seconds
                tell_trouble("say that it ends", error)
        if self._pool is not None:
            await self._pool.close()

    # --- jobs -------------------------------------------------------------------------------------

    async def take(self, what: What, *, calm: bool = False) -> Job | None:
        """The next job of a queue whose lock nobody has; it is this worker's now.

        With `calm`, one for which nobody waits goes before those for which somebody does.
        """
        from procrastinate.exceptions import ConnectorException, UniqueViolation

        try:
            if calm:
                await self._pass_by_the_urgent(what)
            job = await self._manager.fetch_job(queues=[self._queues[what]], worker_id=self.id)
        except UniqueViolation:  # two jobs of a lock, of which another worker took the one at the same moment
            self._came(what)
            return None
        except ConnectorException as error:
            if await self._is_forgotten(error):
                return None
            raise
        if job is not None and job.id is not None:
            self._at.add(job.id)
        return job

    async def _pass_by_the_urgent(self, what: What) -> None:
        assert self._pool is not None
        async with self._pool.connection() as connection:
            await connection.execute(_ITS_TURN, (self._queues[what],))

    def let_go(self, job: Job) -> None:
        """Nothing is done for it any more."""
        if job.id is not None:
            self._at.discard(job.id)

    # --- living -----------------------------------------------------------------------------------

    async def live(self) -> None:
        """Shows that it lives, and looks after the dead, until it is cancelled."""
        await asyncio.gather(
            self._each(_HEARTBEAT_S, self._beat, "show that it lives"),
            self._each(_LOOK_S, self._reap, "look for workers that died"),
            self._each(_LOOK_S, self._give_back, "look for jobs that it does not know of"),
            self._listen(),
        )

    async def _each(self, pause_s: float, act: Callable[[], Awaitable[None]], what: str) -> None:
        while True:
            await asyncio.sleep(pause_s)
            try:
                await act()
            except Exception as error:  # noqa: BLE001  # the next time may go well
                tell_trouble(what, error)

    async def _beat(self) -> None:
        await self._manager.update_heartbeat(self.id)

    async def _listen(self) -> None:
        async def heard(*, channel: str, notification: object) -> None:  # noqa: ARG001  # the engine's form
            for what, queue in self._queues.items():
                if channel.endswith(queue):
                    self._came(what)

        while True:
            try:
                await self._manager.listen_for_jobs(on_notification=heard, queues=list(self._queues.values()))
            except Exception as error:  # noqa: BLE001  # jobs are asked for all the same, five times a second
                tell_trouble("listen for jobs", error)
            await asyncio.sleep(_LOOK_S)

    async def _reap(self) -> None:
        """One worker at a time gives the jobs of dead ones back, or takes them out of the way."""
        assert self._pool is not None
        async with self._pool.connection() as connection, connection.transaction():
            if not await _alone(connection):
                return
            for what, queue in self._queues.items():
                stalled = await self._manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=DEAD_AFTER_S)
                for job in await _now_free(connection, queue, list(stalled)):
                    await self._free(what, job)
            await self._manager.prune_stalled_workers(_FORGOTTEN_AFTER_S)

    async def _give_back(self) -> None:
        """Jobs that the database has given to this worker, of which it never heard: the connection was lost just then."""
        theirs = {job.id: job for job in await self._manager.list_jobs_async(worker_id=self.id, status="doing")}
        strange = {id for id in theirs if id is not None and id not in self._at}
        for id in strange & self._strange:  # twice, since one may be on its way
            await self._manager.retry_job(theirs[id], retry_at=_LONG_AGO)
        self._strange = strange

    async def _free(self, what: What, job: Job) -> None:
        from procrastinate.exceptions import ConnectorException

        if _deaths(job) >= _KILLS:
            await self._set_aside(what, job)
        else:
            try:
                await self._manager.retry_job(job, retry_at=_LONG_AGO)
            except ConnectorException:  # it was finished meanwhile: its worker was slow, not dead
                return
        self._came(what)

    async def _is_forgotten(self, error: Exception) -> bool:
        """A process that slept for a day is no worker any more, and becomes one again."""
        from psycopg.errors import ForeignKeyViolation

        if not isinstance(error.__cause__, ForeignKeyViolation):
            return False
        self.id = await self._manager.register_worker()
        return True

    @property
    def _manager(self) -> JobManager:
        assert self._jobs is not None
        return self._jobs


def _deaths(job: Job) -> int:
    """How many workers died that had it, with the one that has it."""
    return job.attempts + 1


async def _now_free(connection: AsyncConnection[Any], queue: str, stalled: Sequence[Job]) -> Sequence[Job]:
    """Those that are to be freed now: of the suspects one at a time, those first for whom somebody waits."""
    suspects = sorted(
        (job for job in stalled if _SUSPECT <= _deaths(job) < _KILLS), key=lambda job: (-job.priority, job.id)
    )
    others = [job for job in stalled if job not in suspects]
    if not suspects:
        return others
    ids = [job.id for job in stalled]
    tried = await (await connection.execute(_SUSPECT_IS_TRIED, (queue, _SUSPECT, ids))).fetchone()
    return others if tried else [*others, suspects[0]]


async def _alone(connection: AsyncConnection[Any]) -> bool:
    row: Sequence[Any] | None = await (
        await connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (_ONE_REAPER,))
    ).fetchone()
    return bool(row and row[0])


async def _configure(connection: AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)  # not by an argument: who listens gives that one too
    await connection.execute(f"{_BY_INDEX}; {UNHEARD}".encode())
