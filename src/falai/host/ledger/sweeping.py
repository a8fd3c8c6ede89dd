"""What is finished is kept for a stated time; a step of a sweep is bounded, so that nobody waits for it.

What waits still, and what was set aside, is not finished. The conversation and the log are finished when
they are written, and numbered in that order: a sweep walks there from where it stopped the last time, up to
the first line whose time has not come, and needs no index for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from falai.host.ledger.port import Keep, Row, Statement, Work

__all__ = ["sweep"]

# What an input said goes first; its key stays longer.
_SAID = """
    UPDATE falai_inbox SET body = '', attachments = '[]' WHERE seq IN (
        SELECT seq FROM falai_inbox WHERE agent = ? AND state = 'done' AND body <> '' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING seq"""
_KEYS = """
    DELETE FROM falai_inbox WHERE seq IN (
        SELECT seq FROM falai_inbox WHERE agent = ? AND state = 'done' AND body = '' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING seq"""
_DEAD_INPUTS = """
    UPDATE falai_inbox SET state = 'done', body = '', attachments = '[]', error = NULL WHERE seq IN (
        SELECT seq FROM falai_inbox WHERE agent = ? AND state = 'dead' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING tenant, agent, session, key"""
_JOURNAL = "DELETE FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"
_MESSAGES = """
    DELETE FROM falai_outbox WHERE (tenant, agent, session, revision, position) IN (
        SELECT tenant, agent, session, revision, position FROM falai_outbox
        WHERE agent = ? AND state IN ('sent', 'withheld') AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING key"""
_DEAD_MESSAGES = """
    DELETE FROM falai_outbox WHERE (tenant, agent, session, revision, position) IN (
        SELECT tenant, agent, session, revision, position FROM falai_outbox
        WHERE agent = ? AND state = 'dead' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING key"""

_TRANSCRIPT = (
    "SELECT seq, agent, kept_at FROM falai_transcript WHERE seq > ? ORDER BY seq LIMIT ?",
    "DELETE FROM falai_transcript WHERE seq = ?",
)
_LOG = (
    "SELECT seq, agent, at FROM falai_run_log WHERE seq > ? ORDER BY seq LIMIT ?",
    "DELETE FROM falai_run_log WHERE seq = ?",
)
_FROM = "SELECT seq FROM falai_swept WHERE agent = ? AND rule = ?"
_UPTO = """
    INSERT INTO falai_swept (agent, rule, seq) VALUES (?, ?, ?)
    ON CONFLICT (agent, rule) DO UPDATE SET seq = excluded.seq"""


def sweep(agent: str, *, now_ms: int, keep: Keep, limit: int) -> Work[bool]:
    """Takes away at most `limit` rows of each table that were kept long enough; whether there may be more."""
    more = False
    for sql, kept in _rules(keep):
        (rows,) = yield (Statement(sql, (agent, now_ms - kept, limit)),)
        if sql is _DEAD_INPUTS and rows:
            yield (Statement(_JOURNAL, rows, many=True),)
        more |= len(rows) >= limit
    if keep.transcript is not None:
        more |= yield from _walk(agent, "transcript", _TRANSCRIPT, now_ms - keep.transcript, limit)
    if keep.log is not None:
        more |= yield from _walk(agent, "log", _LOG, now_ms - keep.log, limit)
    return more


def _rules(keep: Keep) -> Iterator[tuple[str, int]]:
    said = min((kept for kept in (keep.inputs, keep.keys) if kept is not None), default=None)
    for sql, kept in (
        (_DEAD_INPUTS, keep.dead),
        (_SAID, said),
        (_KEYS, keep.keys),
        (_MESSAGES, keep.messages),
        (_DEAD_MESSAGES, keep.dead),
    ):
        if kept is not None:
            yield sql, kept


def _walk(agent: str, rule: str, sql: tuple[str, str], before: int, limit: int) -> Work[bool]:
    look, take = sql
    (found,) = yield (Statement(_FROM, (agent, rule)),)
    (rows,) = yield (Statement(look, (found[0][0] if found else 0, limit)),)
    passed = _passed(agent, rows, before)
    if passed:
        old = [(row[0],) for row in passed if row[1] == agent]
        yield (Statement(take, old, many=True), Statement(_UPTO, (agent, rule, passed[-1][0])))
    return len(passed) == limit


def _passed(agent: str, rows: Sequence[Row], before: int) -> Sequence[Row]:
    """The rows up to the first of this agent whose time has not come."""
    for place, (_, whose, at) in enumerate(rows):
        if whose == agent and at >= before:
            return rows[:place]
    return rows
