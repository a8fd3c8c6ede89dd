"""What goes out: in order, until it is sent, dead or withheld.

A message that was sent before the ledger heard of it is sent again, under the same key.
"""

from __future__ import annotations

from falai.host.ledger.port import OutMessage, Place, Statement, Work

__all__ = ["next_message", "receipt", "send_failed", "send_later", "sent"]

_NEXT = """
    SELECT revision, position, key, body, due_at, attempts, channel, address, calm, lined FROM falai_outbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' ORDER BY revision, position LIMIT 1"""
# What was sent was sent, though it may have been withheld meanwhile.
_SENT = """
    UPDATE falai_outbox SET state = 'sent', settled_at = ?, provider_id = ?, error = NULL
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND position = ? AND key = ? AND state <> 'sent'
    RETURNING key"""
_SAID = """
    UPDATE falai_transcript SET unsent = 0
    WHERE tenant = ? AND agent = ? AND session = ? AND unsent = 1 AND id = ?"""
_PAUSE = """
    UPDATE falai_outbox SET due_at = {larger}(due_at, ? + after_ms)
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND position = ? AND state = 'new'"""
_LATER = """
    UPDATE falai_outbox SET attempts = attempts + 1, error = ?, due_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND position = ? AND key = ? AND state = 'new'
    RETURNING key"""
_FAILED = """
    UPDATE falai_outbox SET state = 'dead', attempts = attempts + 1, error = ?, settled_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND position = ? AND key = ? AND state = 'new'
    RETURNING key"""
_TOLD = """
    UPDATE falai_outbox SET status = ?, error = coalesce(?, error)
    WHERE agent = ? AND channel = ? AND provider_id = ? AND tenant = coalesce(?, tenant)
        AND (status IS NULL OR (status <> 'read' AND ? <> 'sent'))
    RETURNING tenant, session"""
_WAS_SENT = """
    UPDATE falai_outbox SET state = 'sent', settled_at = ?, provider_id = ?, status = ?, error = ?
    WHERE agent = ? AND key = ? AND tenant = coalesce(?, tenant) AND state = 'new'
    RETURNING tenant, session"""
_WAS_SENT_THOUGH_DEAD = _WAS_SENT.replace("state = 'new'", "state = 'dead'")  # each by an index of its own
_BY_KEY = (_WAS_SENT, _WAS_SENT_THOUGH_DEAD)


def next_message(place: Place) -> Work[OutMessage | None]:
    """The oldest message of the place that is still to be sent, whether its time has come or not."""
    (rows,) = yield (Statement(_NEXT, (place.tenant, place.agent, place.session)),)
    return OutMessage(place, *rows[0]) if rows else None


def sent(message: OutMessage, *, now_ms: int, provider_id: str | None) -> Work[bool]:
    """Notes that the channel took it; the next one's pause begins. False: it was noted before, or is erased."""
    who = (message.place.tenant, message.place.agent, message.place.session)
    rows = yield (
        Statement(_SENT, (now_ms, provider_id, *_which(message))),
        Statement(_SAID, (*who, message.key)),
        Statement(_PAUSE, (now_ms, *who, message.revision, message.position + 1)),
    )
    return rows[0] != []


def send_later(message: OutMessage, error: str, due_at: int) -> Work[bool]:
    """Counts a failed attempt; the message, and those after it, wait. False: it is no longer to be sent."""
    return (yield (Statement(_LATER, (error, due_at, *_which(message))),))[0] != []


def send_failed(message: OutMessage, error: str, *, now_ms: int) -> Work[bool]:
    """Sets the message aside; those after it go on. False: it is no longer to be sent."""
    return (yield (Statement(_FAILED, (error, now_ms, *_which(message))),))[0] != []


def receipt(
    agent: str,
    *,
    channel: str,
    provider_id: str,
    status: str,
    error: str | None = None,
    key: str | None = None,
    at: int,
    tenant: str | None = None,
) -> Work[Place | None]:
    """Notes what the vendor tells of a message (of this tenant); gives its place, or None for one that is not known.

    Receipts come late and out of order: after `read` nothing is noted, and `sent` only as the first. With the idempotency `key`, a
    message is found whose sending ended without an answer, and counts as sent from then on.
    """
    (rows,) = yield (Statement(_TOLD, (status, error, agent, channel, provider_id, tenant, status)),)
    if not rows and key is not None:
        found = yield tuple(Statement(sql, (at, provider_id, status, error, agent, key, tenant)) for sql in _BY_KEY)
        rows = found[0] or found[1]
    return Place(rows[0][0], agent, rows[0][1]) if rows else None


def _which(message: OutMessage) -> tuple[str, str, str, int, int, str]:
    place = message.place
    return place.tenant, place.agent, place.session, message.revision, message.position, message.key
