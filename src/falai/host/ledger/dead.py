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
# Inputs of a burst whose answers are noted come back together.
_RETRY_INPUT = """
    UPDATE falai_inbox SET state = 'new', attempts = 0, settled_at = NULL, not_before = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'dead' AND (key = ? OR lead = (
        SELECT b.lead FROM falai_inbox b
        WHERE b.tenant = ? AND b.agent = ? AND b.session = ? AND b.key = ? AND b.state = 'dead'))
    RETURNING key"""
_RETRY_MESSAGE = """
    UPDATE falai_outbox SET state = 'new', attempts = 0, settled_at = NULL, due_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead' RETURNING key"""
# The key of an input stays known: what was dropped does not come back with a repeated delivery.
_DROP_INPUT = """
    UPDATE falai_inbox SET state = 'done', body = '', attachments = '[]', error = NULL, settled_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead' RETURNING key"""
_DROP_JOURNAL = "DELETE FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"
_DROP_MESSAGE = """
    DELETE FROM falai_outbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'dead' RETURNING key"""


def dead(agent: str, *, limit: int, tenant: str | None = None, session: str | None = None) -> Work[tuple[DeadRow, ...]]:
    """What is set aside, the oldest first; of one tenant, or of one session too."""
    asked = (agent, tenant, session, limit)
    inputs, messages = yield (Statement(_INPUTS, asked), Statement(_MESSAGES, asked))
    rows = sorted((*inputs, *messages), key=lambda row: row[8])[:limit]
    return tuple(DeadRow(what, Place(of, agent, whose), *rest) for what, of, whose, *rest in rows)


def retry_dead(row: DeadRow, *, now_ms: int) -> Work[bool]:
    """Puts it back where it stood, with no failed attempts. False: it is not set aside any more."""
    if row.what == "input":
        again = Statement(_RETRY_INPUT, (now_ms, *_which(row), *_which(row)))
    else:
        again = Statement(_RETRY_MESSAGE, (now_ms, *_which(row)))
    return (yield (again,))[0] != []


def drop_dead(row: DeadRow, *, now_ms: int) -> Work[bool]:
    """Lets it go for good. False: it is not set aside any more."""
    if row.what == "message":
        return (yield (Statement(_DROP_MESSAGE, _which(row)),))[0] != []
    (dropped,) = yield (Statement(_DROP_INPUT, (now_ms, *_which(row))),)
    if dropped:
        yield (Statement(_DROP_JOURNAL, _which(row)),)
    return dropped != []


def _which(row: DeadRow) -> tuple[str, str, str, str]:
    return row.place.tenant, row.place.agent, row.place.session, row.key
