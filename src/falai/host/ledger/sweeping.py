"""What is finished is kept for a stated time; a step of a sweep is bounded, so that nobody waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from falai.host.ledger.port import Keep, Statement, Work

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
    UPDATE falai_inbox SET state = 'done', body = '', attachments = '[]' WHERE seq IN (
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
_TRANSCRIPT = """
    DELETE FROM falai_transcript WHERE seq IN (
        SELECT seq FROM falai_transcript WHERE agent = ? AND kept_at < ? ORDER BY kept_at LIMIT ?) RETURNING seq"""
_LOG = """
    DELETE FROM falai_run_log WHERE seq IN (
        SELECT seq FROM falai_run_log WHERE agent = ? AND at < ? ORDER BY at LIMIT ?) RETURNING seq"""


def sweep(agent: str, *, now_ms: int, keep: Keep, limit: int) -> Work[bool]:
    """Takes away at most `limit` rows of each table that have been kept long enough; whether there may be more."""
    more = False
    for sql, kept in _rules(keep):
        (rows,) = yield (Statement(sql, (agent, now_ms - kept, limit)),)
        if sql is _DEAD_INPUTS and rows:
            yield tuple(Statement(_JOURNAL, row) for row in rows)
        more = more or len(rows) >= limit
    return more


def _rules(keep: Keep) -> Iterator[tuple[str, int]]:
    said = min((kept for kept in (keep.inputs, keep.keys) if kept is not None), default=None)
    for sql, kept in (
        (_SAID, said),
        (_KEYS, keep.keys),
        (_DEAD_INPUTS, keep.dead),
        (_MESSAGES, keep.messages),
        (_DEAD_MESSAGES, keep.dead),
        (_TRANSCRIPT, keep.transcript),
        (_LOG, keep.log),
    ):
        if kept is not None:
            yield sql, kept
