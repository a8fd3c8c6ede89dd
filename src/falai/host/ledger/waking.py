"""Timers: only those that are due are looked at, and what is due becomes an input in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from falai.host.ledger.port import Place, Row, Statement, Work

__all__ = ["due_wakes", "next_due"]

_NEXT = "SELECT min(due_at) FROM falai_wakes WHERE agent = ?"
_TAKE = """
    DELETE FROM falai_wakes WHERE (tenant, agent, session, key) IN (
        SELECT tenant, agent, session, key FROM falai_wakes
        WHERE agent = ? AND due_at <= ? ORDER BY due_at LIMIT ? {unlocked})
    RETURNING tenant, session, key, due_at,
        EXISTS (SELECT 1 FROM falai_sessions s WHERE s.tenant = falai_wakes.tenant AND s.agent = falai_wakes.agent
            AND s.session = falai_wakes.session AND s.blob IS NOT NULL)"""
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

    Which is earlier or later than the host's own hours is for the turn to say. A timer whose session is gone
    goes too. One of a silence that is more than `max_late` milliseconds late goes as well, with a line
    in the run log: it would disturb, and nothing waits for it. All others come, however late.
    """
    (taken,) = yield (Statement(_TAKE, (agent, now_ms, limit)),)
    due = sorted((row for row in taken if row[4]), key=lambda row: row[3])
    late = [row for row in due if max_late is not None and row[2].startswith(_SILENCE) and now_ms - row[3] > max_late]
    fresh = [row for row in due if row not in late]
    statements: list[Statement] = []
    if fresh:
        statements.append(Statement(_INSERT, [_input(agent, row, now_ms) for row in fresh], many=True))
    if late:
        statements.append(Statement(_LOG, [_line(agent, row, now_ms) for row in late], many=True))
    if statements:
        yield statements
    return tuple(dict.fromkeys(Place(row[0], agent, row[1]) for row in fresh))


def next_due(agent: str) -> Work[int | None]:
    """When the next timer is due."""
    due: int | None = (yield (Statement(_NEXT, (agent,)),))[0][0][0]
    return due


def _input(agent: str, row: Row, now_ms: int) -> Sequence[object]:
    tenant, session, key, due_at, _ = row
    body = msgspec.json.encode({"key": key}).decode()
    return tenant, agent, session, f"wake:{due_at}:{key}", body, now_ms, now_ms, due_at


def _line(agent: str, row: Row, now_ms: int) -> Sequence[object]:
    tenant, session, key, due_at, _ = row
    log = msgspec.json.encode({"skipped": "late", "wake": key, "due": due_at}).decode()
    return tenant, agent, session, f"wake:{due_at}:{key}", now_ms, log
