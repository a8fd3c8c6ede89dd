"""The transactions over the queue's tables. They are PostgreSQL's only, and work on any of its ledgers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from falai.host.ledger.campaigning import due_starts
from falai.host.ledger.port import Place, Statement, Work
from falai.host.ledger.waking import due_wakes

__all__ = ["Look", "What", "find_lost", "is_at_work", "job_ended", "look_for_due", "queue_of", "unfinished"]

What = Literal["turn", "deliver"]

_DUE_AT_ONCE: Final = 500
_CAMPAIGN_KEEPS_FREE: Final = 80  # of a hundred: the starts of a campaign come behind all others

_QUEUE = "SELECT falai_queue(?, ?)"
_NOW = """
    SELECT t.now, t.now - (SELECT min(due_at) FROM falai_wakes WHERE agent = ?) >= 0,
        t.now - (SELECT min(due_at) FROM falai_due WHERE agent = ?) >= 0,
        t.now - (SELECT min(due_at) FROM falai_starts WHERE agent = ?) >= 0
    FROM (SELECT coalesce(?::BIGINT, (extract(epoch FROM now()) * 1000)::BIGINT) AS now) t"""
_DEPTH = """
    SELECT count(*) FROM (
        SELECT 1 FROM procrastinate_jobs WHERE queue_name = ? AND status = 'todo' LIMIT ?) AS waiting"""
# What is due later becomes a job; the order of the lock is that of the jobs, and no place is twice in it.
_MAKE_JOBS = """
    WITH due AS (
        SELECT tenant, agent, session, what FROM falai_due WHERE agent = ? AND due_at <= ?
        ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM falai_due d USING due
        WHERE d.tenant = due.tenant AND d.agent = due.agent AND d.session = due.session AND d.what = due.what
        RETURNING d.*
    )
    SELECT falai_job(what, tenant, agent, session, 5, due_at) FROM gone"""

# The engine's own way to end a job does not ask whose it is: a worker that was slow, not dead, would end another's.
_GONE = """
    DELETE FROM procrastinate_jobs WHERE id = ? AND worker_id IS NOT DISTINCT FROM ? AND status = 'doing' RETURNING id"""
_AGAIN = "SELECT falai_job(?, ?, ?, ?, ?, 0)"
_NEXT_INPUT = """
    SELECT falai_look_at('turn', i.tenant, i.agent, i.session, min(i.not_before)) FROM falai_inbox i
    WHERE i.tenant = ? AND i.agent = ? AND i.session = ? AND i.state = 'new' AND i.not_before > ?
    GROUP BY i.tenant, i.agent, i.session"""
_NEXT_MESSAGE = """
    SELECT falai_look_at('deliver', o.tenant, o.agent, o.session, o.due_at) FROM falai_outbox o
    WHERE o.tenant = ? AND o.agent = ? AND o.session = ? AND o.state = 'new' ORDER BY o.revision, o.position LIMIT 1"""
_UNFINISHED = "SELECT 1 FROM procrastinate_jobs WHERE queue_name = ? AND status IN ('todo', 'doing') LIMIT 1"
_AT_WORK = "SELECT 1 FROM procrastinate_jobs WHERE lock = falai_lock(?, ?, ?, ?) AND status = 'doing'"

# There is neither a job, nor is it due later or parked.
_LOST_INPUTS = """
    SELECT falai_look_at('turn', r.tenant, r.agent, r.session, min(r.not_before)) FROM falai_inbox r
    WHERE r.agent = ? AND r.state = 'new'
        AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j
            WHERE j.lock = falai_lock('turn', r.tenant, r.agent, r.session) AND j.status IN ('todo', 'doing'))
        AND NOT EXISTS (SELECT 1 FROM falai_due d
            WHERE d.tenant = r.tenant AND d.agent = r.agent AND d.session = r.session AND d.what = 'turn')
        AND NOT EXISTS (SELECT 1 FROM falai_parked p
            WHERE p.agent = r.agent AND p.tenant = r.tenant AND p.session = r.session)
    GROUP BY r.tenant, r.agent, r.session"""
_LOST_MESSAGES = """
    SELECT falai_look_at('deliver', r.tenant, r.agent, r.session, min(r.due_at)) FROM falai_outbox r
    WHERE r.agent = ? AND r.state = 'new'
        AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs j
            WHERE j.lock = falai_lock('deliver', r.tenant, r.agent, r.session) AND j.status IN ('todo', 'doing'))
        AND NOT EXISTS (SELECT 1 FROM falai_due d
            WHERE d.tenant = r.tenant AND d.agent = r.agent AND d.session = r.session AND d.what = 'deliver')
    GROUP BY r.tenant, r.agent, r.session"""


class Look(NamedTuple):
    """What a look did: at which instant, and whether as much as one look may do, so that there may be more."""

    now_ms: int
    more: bool


def queue_of(what: What, agent: str) -> Work[str]:
    """The name of an agent's queue."""
    name: str = (yield (Statement(_QUEUE, (what, agent)),))[0][0][0]
    return name


def look_for_due(agent: str, queue: str, *, now_ms: int | None, max_late: int, room: int) -> Work[Look]:
    """Makes inputs of due timers, and jobs of what is due. Without `now_ms` the database says what time it is.

    Several may look at once, and each finds something else. Timers wait while `room` jobs of `queue` do: a storm
    would hold up those who write.
    """
    (rows,) = yield (Statement(_NOW, (agent, agent, agent, now_ms)),)
    now, wakes, due, starts = rows[0]
    more = False
    if wakes or starts:
        (depth,) = yield (Statement(_DEPTH, (queue, room)),)
        free = room - depth[0][0]
        if wakes and free > 0:
            places = yield from due_wakes(agent, now_ms=now, limit=min(_DUE_AT_ONCE, free), max_late=max_late)
            more, free = bool(places), free - len(places)
        if starts and (few := free - room * _CAMPAIGN_KEEPS_FREE // 100) > 0:
            more = bool((yield from due_starts(agent, now_ms=now, limit=few))) or more
    if due:
        (made,) = yield (Statement(_MAKE_JOBS, (agent, now, _DUE_AT_ONCE)),)
        more = more or len(made) == _DUE_AT_ONCE
    return Look(now, more)


def job_ended(
    what: What, place: Place, *, job: int | None, worker: int | None, priority: int, more: bool, begun_ms: int
) -> Work[bool]:
    """The job is gone, if it is still this worker's, and what is to be done for the place later is asked for.

    Gives whether it was this worker's. With `more` another job takes over at once, behind those of the other places.
    Later is what was not due when the work began, at `begun_ms`: what became due since then may have been seen or not.
    """
    who = (place.tenant, place.agent, place.session)
    if more:
        then = Statement(_AGAIN, (what, *who, priority))
    elif what == "turn":
        then = Statement(_NEXT_INPUT, (*who, begun_ms))
    else:
        then = Statement(_NEXT_MESSAGE, who)
    _, gone = yield then, Statement(_GONE, (job, worker))
    return gone != []


def unfinished(queue: str) -> Work[bool]:
    """Whether a job of the queue waits, or is being done."""
    (rows,) = yield (Statement(_UNFINISHED, (queue,)),)
    return bool(rows)


def is_at_work(what: What, place: Place) -> Work[bool]:
    """Whether somebody does a job of the place."""
    (rows,) = yield (Statement(_AT_WORK, (what, place.tenant, place.agent, place.session)),)
    return bool(rows)


def find_lost(agent: str) -> Work[int]:
    """Asks for what nobody has asked for. There should be nothing: it is what a look each minute makes sure of."""
    found: Sequence[object] = yield (Statement(_LOST_INPUTS, (agent,)), Statement(_LOST_MESSAGES, (agent,)))
    return sum(len(rows) for rows in found if isinstance(rows, list))
