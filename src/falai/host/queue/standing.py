"""How the queue of a database stands: its jobs, and the workers that take them. Nothing here changes anything."""

from __future__ import annotations

from msgspec import Struct

from falai.host.ledger.port import Statement, Work
from falai.host.queue.worker import DEAD_AFTER_S

__all__ = ["QueueStanding", "queue_standing"]

_IS_THERE = "SELECT to_regclass('falai_parked') IS NOT NULL"
_JOBS = """
    SELECT count(*) FILTER (WHERE j.status = 'todo'), count(*) FILTER (WHERE j.status = 'doing'),
        count(*) FILTER (WHERE j.status = 'doing'
            AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => $1::FLOAT8)))
    FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
    WHERE j.task_name LIKE 'falai.%' AND j.status IN ('todo', 'doing')"""
_LATER = "SELECT (SELECT count(*) FROM falai_due), (SELECT count(*) FROM falai_parked)"
_WORKERS = """
    SELECT count(*) FILTER (WHERE last_heartbeat >= now() - make_interval(secs => $1::FLOAT8)), count(*)
    FROM procrastinate_workers"""


class QueueStanding(Struct, frozen=True):
    """Jobs that wait and are done, `stalled` ones whose worker died; sessions that are due `later`, and those `parked`
    since their tenant has its share; `workers` that live, and `lost` ones that ended without a word."""

    jobs: int
    doing: int
    stalled: int
    later: int
    parked: int
    workers: int
    lost: int


def queue_standing() -> Work[QueueStanding | None]:
    """None when the database has no queue yet."""
    (there,) = yield (Statement(_IS_THERE, ()),)
    if not there[0][0]:
        return None
    jobs, later, workers = yield (
        Statement(_JOBS, (DEAD_AFTER_S,)),
        Statement(_LATER, ()),
        Statement(_WORKERS, (DEAD_AFTER_S,)),
    )
    alive, known = workers[0]
    counted: tuple[int, int, int, int, int] = (*jobs[0], *later[0])
    return QueueStanding(*counted, alive, known - alive)
