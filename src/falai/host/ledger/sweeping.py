"""What is finished is kept for a stated time; a step of a sweep is bounded, so that nobody waits for it.

Rows are numbered in the order in which they came, so the old ones stand at the front. A sweep walks from
where it stopped the last time, up to the first row whose time has not come: no index is needed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from falai.host.ledger.port import Keep, Row, Statement, Work

__all__ = ["sweep"]

_FROM = "SELECT seq FROM falai_swept WHERE agent = ? AND rule = ?"
_UPTO = """
    INSERT INTO falai_swept (agent, rule, seq) VALUES (?, ?, ?)
    ON CONFLICT (agent, rule) DO UPDATE SET seq = excluded.seq"""

# rule → the rows behind a number, and what is done with one of them. What an input said goes first, its key later.
_WALKS = {
    "inputs": (
        "SELECT seq, agent, state, settled_at FROM falai_inbox WHERE seq > ? ORDER BY seq LIMIT ?",
        "UPDATE falai_inbox SET body = '', attachments = '[]' WHERE seq = ?",
    ),
    "keys": (
        "SELECT seq, agent, state, settled_at FROM falai_inbox WHERE seq > ? ORDER BY seq LIMIT ?",
        "DELETE FROM falai_inbox WHERE seq = ?",
    ),
    "messages": (
        "SELECT seq, agent, state, settled_at FROM falai_outbox WHERE seq > ? ORDER BY seq LIMIT ?",
        "DELETE FROM falai_outbox WHERE seq = ?",
    ),
    "transcript": (
        "SELECT seq, agent, 'done', kept_at FROM falai_transcript WHERE seq > ? ORDER BY seq LIMIT ?",
        "DELETE FROM falai_transcript WHERE seq = ?",
    ),
    "log": (
        "SELECT seq, agent, 'done', at FROM falai_run_log WHERE seq > ? ORDER BY seq LIMIT ?",
        "DELETE FROM falai_run_log WHERE seq = ?",
    ),
}
_DEAD_INPUTS = """
    UPDATE falai_inbox SET state = 'done', body = '', attachments = '[]' WHERE seq IN (
        SELECT seq FROM falai_inbox WHERE agent = ? AND state = 'dead' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING tenant, agent, session, key"""
_JOURNAL = "DELETE FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"
_DEAD_MESSAGES = """
    DELETE FROM falai_outbox WHERE seq IN (
        SELECT seq FROM falai_outbox WHERE agent = ? AND state = 'dead' AND settled_at < ?
        ORDER BY settled_at LIMIT ?) RETURNING key"""


def sweep(agent: str, *, now_ms: int, keep: Keep, limit: int) -> Work[bool]:
    """Looks at no more than `limit` rows of each table; whether there may be more to do.

    What waits still, or is set aside, is kept: an old input that waits even ends the walk, since it
    will have to be kept for its time when it has been played.
    """
    more = False
    for rule, kept in _rules(keep):
        more |= yield from _walk(agent, rule, now_ms - kept, limit)
    if keep.dead is not None:
        asked = (agent, now_ms - keep.dead, limit)
        inputs, messages = yield (Statement(_DEAD_INPUTS, asked), Statement(_DEAD_MESSAGES, asked))
        if inputs:
            yield (Statement(_JOURNAL, inputs, many=True),)
        more |= max(len(inputs), len(messages)) >= limit
    return more


def _rules(keep: Keep) -> Iterator[tuple[str, int]]:
    said = min((kept for kept in (keep.inputs, keep.keys) if kept is not None), default=None)
    for rule, kept in (
        ("inputs", said),
        ("keys", keep.keys),
        ("messages", keep.messages),
        ("transcript", keep.transcript),
        ("log", keep.log),
    ):
        if kept is not None:
            yield rule, kept


def _walk(agent: str, rule: str, before: int, limit: int) -> Work[bool]:
    look, act = _WALKS[rule]
    (found,) = yield (Statement(_FROM, (agent, rule)),)
    (rows,) = yield (Statement(look, (found[0][0] if found else 0, limit)),)
    passed = _passed(agent, rows, before)
    if passed:
        old = [(row[0],) for row in passed if row[1] == agent and row[2] != "dead"]
        acts = (Statement(act, old, many=True),) if old else ()
        yield (*acts, Statement(_UPTO, (agent, rule, passed[-1][0])))
    return len(passed) == limit


def _passed(agent: str, rows: Sequence[Row], before: int) -> Sequence[Row]:
    """The rows up to the first of this agent that has to stay."""
    for place, (_, whose, state, at) in enumerate(rows):
        if whose == agent and (state == "new" or (state != "dead" and at >= before)):
            return rows[:place]
    return rows
