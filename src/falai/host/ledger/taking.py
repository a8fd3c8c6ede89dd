"""What comes in: it is durable when the transaction is, and a key that is known is dropped for good."""

from __future__ import annotations

from collections.abc import Sequence

from falai.host.ledger.port import Arrival, Limits, Place, Statement, TakenIn, Undo, Work

__all__ = ["NOTE", "room", "take_in"]

# In PostgreSQL this locks the session's row, so inputs of a place are numbered in the order in which they become real.
NOTE = """
    INSERT INTO falai_sessions (tenant, agent, session, customer, channel, address, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session) DO UPDATE SET
        customer = coalesce(excluded.customer, falai_sessions.customer),
        channel = coalesce(excluded.channel, falai_sessions.channel),
        address = coalesce(excluded.address, falai_sessions.address)
    WHERE coalesce(excluded.customer, falai_sessions.customer, '') <> coalesce(falai_sessions.customer, '')
        OR coalesce(excluded.channel, falai_sessions.channel, '') <> coalesce(falai_sessions.channel, '')
        OR coalesce(excluded.address, falai_sessions.address, '') <> coalesce(falai_sessions.address, '')"""
_INSERT = """
    INSERT INTO falai_inbox
        (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session, key) DO NOTHING
    RETURNING key"""
_WAITING = """SELECT count(*) FROM (
    SELECT 1 FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' LIMIT ?) AS waiting"""
_ALL_WAITING = """SELECT count(*) FROM (
    SELECT 1 FROM falai_inbox WHERE agent = ? AND state = 'new' LIMIT ?) AS waiting"""


def take_in(place: Place, arrivals: Sequence[Arrival], *, now_ms: int, limits: Limits) -> Work[TakenIn]:
    """Takes in the inputs of a place, all of them or, when too many would wait then, none."""
    who = (place.tenant, place.agent, place.session)
    noted = [Statement(NOTE, (*who, a.customer, a.channel, a.address, now_ms, now_ms)) for a in _tellers(arrivals)]
    inserted = [Statement(_INSERT, (*who, *_row(a, now_ms))) for a in arrivals]
    counted = [] if limits.session is None else [Statement(_WAITING, (*who, limits.session + 1))]
    rows = yield (*noted, *inserted, *counted)
    new = tuple(row[0] for found in rows[len(noted) : len(noted) + len(inserted)] for row in found)
    if new and limits.session is not None and rows[-1][0][0] > limits.session:
        raise Undo(TakenIn(full="session"))
    if new and limits.host is not None and (yield from room(place.agent, limit=limits.host)) < 0:
        raise Undo(TakenIn(full="host"))
    return TakenIn(new)


def room(agent: str, *, limit: int) -> Work[int]:
    """How many more inputs of the agent may wait; -1 when too many do. Each one that waits is walked over."""
    (rows,) = yield (Statement(_ALL_WAITING, (agent, limit + 1)),)
    waiting: int = rows[0][0]
    return limit - waiting


def _tellers(arrivals: Sequence[Arrival]) -> Sequence[Arrival]:
    """Those that say something of the session; at least one, since it makes the row of a new session."""
    told = [a for a in arrivals if a.customer is not None or a.channel is not None or a.address is not None]
    return told or arrivals[:1]


def _row(arrival: Arrival, now_ms: int) -> tuple[str | int, ...]:
    not_before = max(arrival.not_before, now_ms)
    pause_until = not_before if arrival.kind == "message" else now_ms
    return arrival.key, arrival.kind, arrival.body, arrival.attachments, now_ms, pause_until, not_before
