"""Which places have something to do: for the start of a process, and for whoever hands out the work.

A place is named once: by the input that is the next of its place, or by the message that is.
"""

from __future__ import annotations

from falai.host.ledger.port import Place, Statement, Work

__all__ = ["next_delivery", "next_not_before", "places_to_deliver", "ready_places"]

_READY = """
    SELECT i.tenant, i.session FROM falai_inbox i
    WHERE i.agent = ? AND i.state = 'new' AND i.not_before <= ? AND i.seq = (
        SELECT min(b.seq) FROM falai_inbox b
        WHERE b.tenant = i.tenant AND b.agent = i.agent AND b.session = i.session AND b.state = 'new'
            AND (b.not_before <= ? OR b.attempts > 0 OR b.kind IN ('message', 'human')))
    ORDER BY i.not_before LIMIT ?"""
_NOT_BEFORE = "SELECT min(not_before) FROM falai_inbox WHERE agent = ? AND state = 'new' AND not_before > ?"
_DELIVER = """
    SELECT o.tenant, o.session FROM falai_outbox o
    WHERE o.agent = ? AND o.state = 'new' AND o.due_at <= ? AND (o.revision, o.position) = (
        SELECT b.revision, b.position FROM falai_outbox b
        WHERE b.tenant = o.tenant AND b.agent = o.agent AND b.session = o.session AND b.state = 'new'
        ORDER BY b.revision, b.position LIMIT 1)
    ORDER BY o.due_at LIMIT ?"""
_DUE = "SELECT min(due_at) FROM falai_outbox WHERE agent = ? AND state = 'new' AND due_at > ?"


def ready_places(agent: str, *, now_ms: int, limit: int) -> Work[tuple[Place, ...]]:
    """Places whose next input may be played now, those that wait longest first."""
    (rows,) = yield (Statement(_READY, (agent, now_ms, now_ms, limit)),)
    return tuple(Place(tenant, agent, session) for tenant, session in rows)


def next_not_before(agent: str, *, now_ms: int) -> Work[int | None]:
    """When, after now, the next input may be played that may not be played yet."""
    at: int | None = (yield (Statement(_NOT_BEFORE, (agent, now_ms)),))[0][0][0]
    return at


def places_to_deliver(agent: str, *, now_ms: int, limit: int) -> Work[tuple[Place, ...]]:
    """Places whose next message may be sent now, those that wait longest first."""
    (rows,) = yield (Statement(_DELIVER, (agent, now_ms, limit)),)
    return tuple(Place(tenant, agent, session) for tenant, session in rows)


def next_delivery(agent: str, *, now_ms: int) -> Work[int | None]:
    """When, after now, the next message may be sent that may not be sent yet."""
    at: int | None = (yield (Statement(_DUE, (agent, now_ms)),))[0][0][0]
    return at
