"""What was set aside: people look at it, and try it again or let it go."""

from __future__ import annotations

from falai.host.ledger.port import DeadRow, Place, Statement, Work

__all__ = ["dead", "drop_dead", "retry_dead"]

_INPUTS = """
    SELECT 'input', tenant, session, key, kind, body, attempts, error, settled_at FROM falai_inbox
    WHERE agent = ? AND state = 'dead' AND tenant = coalesce(?, tenant) AND session = coalesce(?, session)
    ORDER BY settled_at LIMIT ?"""
_MESSAGES = """
    SELECT 'message', tenant, session, key, 'message', body, attempts, error, settled_at FROM falai_outbox
    WHERE agent = ? AND state = 'dead' AND tenant = coalesce(?, tenant) AND session = coalesce(?, session)
    ORDER BY settled_at LIMIT ?"""
_TAKE_INPUT = """
    DELETE FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead'
    RETURNING tenant, agent, session, key, kind, body, attachments"""
_AGAIN_INPUT = """
    INSERT INTO falai_inbox
        (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_TAKE_MESSAGE = """
    DELETE FROM falai_outbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead'
    RETURNING tenant, agent, session, revision, position, key, body, by_person, channel, address, after_ms"""
_AGAIN_MESSAGE = """
    INSERT INTO falai_outbox
        (tenant, agent, session, revision, position, key, body, by_person, channel, address, after_ms, due_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
# The key of an input stays known: what was dropped does not come back with a repeated delivery.
_DROP_INPUT = """
    UPDATE falai_inbox SET state = 'done', body = '', attachments = '[]', settled_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead' RETURNING key"""
_DROP_JOURNAL = "DELETE FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"


def dead(agent: str, *, limit: int, tenant: str | None = None, session: str | None = None) -> Work[tuple[DeadRow, ...]]:
    """What is set aside, the oldest first; of one tenant, or of one session too."""
    asked = (agent, tenant, session, limit)
    inputs, messages = yield (Statement(_INPUTS, asked), Statement(_MESSAGES, asked))
    rows = sorted((*inputs, *messages), key=lambda row: row[8])[:limit]
    return tuple(DeadRow(what, Place(of, agent, whose), *rest) for what, of, whose, *rest in rows)


def retry_dead(row: DeadRow, *, now_ms: int) -> Work[bool]:
    """Puts it back with no failed attempts. False: it is not set aside any more.

    An input stands behind those that wait already, as if it came in now; a message stands where it stood.
    """
    of_input = row.what == "input"
    (found,) = yield (Statement(_TAKE_INPUT if of_input else _TAKE_MESSAGE, _which(row)),)
    if found:
        sql, more = (_AGAIN_INPUT, (now_ms, now_ms, now_ms)) if of_input else (_AGAIN_MESSAGE, (now_ms,))
        yield (Statement(sql, (*found[0], *more)),)
    return found != []


def drop_dead(row: DeadRow, *, now_ms: int) -> Work[bool]:
    """Lets it go for good. False: it is not set aside any more."""
    if row.what == "message":
        return (yield (Statement(_TAKE_MESSAGE, _which(row)),))[0] != []
    (dropped,) = yield (Statement(_DROP_INPUT, (now_ms, *_which(row))),)
    if dropped:
        yield (Statement(_DROP_JOURNAL, _which(row)),)
    return dropped != []


def _which(row: DeadRow) -> tuple[str, str, str, str]:
    return row.place.tenant, row.place.agent, row.place.session, row.key
