"""So many turns of a tenant at a time, in all processes together: who is beyond that is parked until one of them ends.

A worker looks after it has taken a job, when all that were taken can be seen. So the tenant never has
more; two that are taken at the same moment may both be parked, and one of them comes with the next look.
"""

from __future__ import annotations

from typing import Final

from falai.host.ledger.port import Place, Statement, Work

__all__ = ["park", "unpark"]

_MANY: Final = 1_000_000_000

_AT_WORK = """
    SELECT count(*) FROM procrastinate_jobs WHERE queue_name = ? AND status = 'doing' AND args ->> 'tenant' = ?"""
_PARK = """
    INSERT INTO falai_parked (agent, tenant, session, priority)
    SELECT $1, $2, $3, CASE WHEN EXISTS (
        SELECT 1 FROM falai_inbox WHERE tenant = $2 AND agent = $1 AND session = $3 AND state = 'new'
            AND kind = 'message') THEN 10 ELSE 0 END
    ON CONFLICT (agent, tenant, session) DO NOTHING"""
_UNPARK = """
    WITH capped AS (
        SELECT tenant, greatest(0, $3 - (
            SELECT count(*) FROM procrastinate_jobs j
            WHERE j.queue_name = $2 AND j.status = 'doing' AND j.args ->> 'tenant' = t.tenant)) AS room
        FROM (SELECT DISTINCT tenant FROM falai_parked WHERE agent = $1) t
    ), chosen AS (
        SELECT p.tenant, p.session FROM capped c CROSS JOIN LATERAL (
            SELECT q.tenant, q.session FROM falai_parked q WHERE q.agent = $1 AND q.tenant = c.tenant
            ORDER BY q.priority DESC, q.since LIMIT c.room FOR UPDATE SKIP LOCKED) p
    ), gone AS (
        DELETE FROM falai_parked d USING chosen c
        WHERE d.agent = $1 AND d.tenant = c.tenant AND d.session = c.session RETURNING d.*
    )
    SELECT falai_job('turn', tenant, agent, session, priority, (extract(epoch FROM now()) * 1000)::BIGINT) FROM gone"""


def park(place: Place, queue: str, *, at_once: int) -> Work[bool]:
    """Whether there is no room for the job of this place, which this worker has taken; then it is parked."""
    (rows,) = yield (Statement(_AT_WORK, (queue, place.tenant)),)
    if rows[0][0] <= at_once:
        return False
    yield (Statement(_PARK, (place.agent, place.tenant, place.session)),)
    return True


def unpark(agent: str, queue: str, *, at_once: int | None) -> Work[int]:
    """Makes jobs of as many as there is room for, those who wait first; of all without a limit. Gives how many."""
    (rows,) = yield (Statement(_UNPARK, (agent, queue, _MANY if at_once is None else at_once)),)
    return len(rows)
