"""Timers: only those that are due are looked at, and what is due becomes an input in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from falai.host.ledger.port import Place, Row, Statement, Work

__all__ = ["due_wakes", "next_due"]

_NEXT = "SELECT min(due_at) FROM falai_wakes WHERE agent = ?"
_DUE = """
    SELECT tenant, session, key, due_at, EXISTS (
        SELECT 1 FROM falai_sessions s WHERE s.tenant = w.tenant AND s.agent = w.agent AND s.session = w.session
            AND s.blob IS NOT NULL)
    FROM falai_wakes w WHERE agent = ? AND due_at <= ? ORDER BY due_at LIMIT ? {unlocked}"""
_TAKE = "DELETE FROM falai_wakes WHERE tenant = ? AND agent = ? AND session = ? AND key = ?"
# The due time is in the key: a timer that is set again under the same key is another input.
_INSERT = """
    INSERT INTO falai_inbox
        (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)
    VALUES (?, ?, ?, ?, 'wake', ?, '[]', ?, ?, ?)
    ON CONFLICT (tenant, agent, session, key) DO NOTHING"""
_LOG = "INSERT INTO falai_run_log (tenant, agent, session, key, at, log) VALUES (?, ?, ?, ?, ?, ?)"
_SILENCE = "silence:"


def due_wakes(agent: str, *, now_ms: int, limit: int, max_late: int | None = None) -> Work[tuple[Place, ...]]:
    """Makes inputs of at most `limit` due timers, the oldest first, and gives their places, each once.

    A timer whose session is gone goes too. One of a silence that is more than `max_late` milliseconds late goes as well, with a line
    in the run log: it would disturb, and nothing waits for it. All others come, however late.
    """
    (found,) = yield (Statement(_DUE, (agent, now_ms, limit)),)
    if not found:
        return ()
    due = [row for row in found if row[4]]
    past = None if max_late is None else now_ms - max_late
    late = [row for row in due if _is_late(row, past)]
    fresh = [row for row in due if not _is_late(row, past)]
    yield (
        Statement(_TAKE, [(row[0], agent, row[1], row[2]) for row in found], many=True),
        Statement(_INSERT, [_input(agent, row, now_ms) for row in fresh], many=True),
        Statement(_LOG, [_line(agent, row, now_ms) for row in late], many=True),
    )
    return tuple(dict.fromkeys(Place(row[0], agent, row[1]) for row in fresh))


def next_due(agent: str) -> Work[int | None]:
    """When the next timer is due."""
    due: int | None = (yield (Statement(_NEXT, (agent,)),))[0][0][0]
    return due


def _is_late(row: Row, past: int | None) -> bool:
    key, due_at = row[2], row[3]
    return past is not None and due_at < past and key.startswith(_SILENCE)


def _input(agent: str, row: Row, now_ms: int) -> Sequence[object]:
    tenant, session, key, due_at, _ = row
    body = msgspec.json.encode({"key": key}).decode()
    return tenant, agent, session, f"wake:{due_at}:{key}", body, now_ms, now_ms, due_at


def _line(agent: str, row: Row, now_ms: int) -> Sequence[object]:
    tenant, session, key, due_at, _ = row
    log = msgspec.json.encode({"skipped": "late", "wake": key, "due": due_at}).decode()
    return tenant, agent, session, f"wake:{due_at}:{key}", now_ms, log
