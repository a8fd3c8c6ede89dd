"""Campaigns: starts of many sessions, each due at its time; only those that are due become inputs.

The key of a start is that of its flow and its campaign, so the inbox knows for good whom it has started.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from falai.host.ledger.port import Place, Row, Statement, Work
from falai.host.ledger.taking import NOTE

__all__ = ["PlannedStart", "begin_campaign", "due_starts", "next_start", "plan_starts", "stop_campaign"]

_BEGIN = """
    INSERT INTO falai_campaigns (tenant, agent, campaign, begins_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (tenant, agent, campaign) DO UPDATE SET stopped = 0 RETURNING begins_at"""
_GOES_ON = """
    SELECT 1 FROM falai_campaigns WHERE tenant = ? AND agent = ? AND campaign = ? AND stopped = 0 {locked}"""
_STOP = "UPDATE falai_campaigns SET stopped = 1 WHERE tenant = ? AND agent = ? AND campaign = ?"
_UNPLAN = "DELETE FROM falai_starts WHERE tenant = ? AND agent = ? AND campaign = ? RETURNING session"
_NEXT = "SELECT min(due_at) FROM falai_starts WHERE agent = ?"
_DUE = """
    SELECT tenant, session, campaign, key, body, customer, channel, address FROM falai_starts
    WHERE agent = ? AND due_at <= ? ORDER BY due_at LIMIT ? {unlocked}"""
_TAKE = "DELETE FROM falai_starts WHERE tenant = ? AND agent = ? AND session = ? AND campaign = ?"
_INSERT = """
    INSERT INTO falai_inbox
        (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)
    VALUES (?, ?, ?, ?, 'start', ?, '[]', ?, ?, ?)
    ON CONFLICT (tenant, agent, session, key) DO NOTHING"""


class PlannedStart(Struct, frozen=True):
    """A start of a session, and when it is due; what else it says is noted on the session."""

    session: str
    key: str
    body: str
    due_at: int
    customer: str | None = None
    channel: str | None = None
    address: str | None = None


def begin_campaign(agent: str, *, tenant: str, campaign: str, begins_at: int) -> Work[int]:
    """When its first start is due: `begins_at`, or what was said when it was begun before. One that was stopped goes on."""
    (rows,) = yield (Statement(_BEGIN, (tenant, agent, campaign, begins_at)),)
    first: int = rows[0][0]
    return first


def plan_starts(agent: str, starts: Sequence[PlannedStart], *, tenant: str, campaign: str) -> Work[int | None]:
    """Plans those that are neither planned nor in the inbox; gives how many, or None when the campaign was stopped."""
    (goes_on,) = yield (Statement(_GOES_ON, (tenant, agent, campaign)),)
    if not goes_on:
        return None
    params: list[object] = []
    for start in starts:
        whose = (start.customer, start.channel, start.address)
        params += (tenant, agent, start.session, campaign, start.key, start.body, *whose, start.due_at)
    (planned,) = yield (Statement(_plan(len(starts)), params),)
    return len(planned)


def stop_campaign(agent: str, *, tenant: str, campaign: str) -> Work[int]:
    """Takes back what is not yet in the inbox; gives how much that was."""
    which = (tenant, agent, campaign)
    _, gone = yield (Statement(_STOP, which), Statement(_UNPLAN, which))
    return len(gone)


def due_starts(agent: str, *, now_ms: int, limit: int) -> Work[tuple[Place, ...]]:
    """Makes inputs of at most `limit` starts that are due, the oldest first, and gives their places."""
    (found,) = yield (Statement(_DUE, (agent, now_ms, limit)),)
    if not found:
        return ()
    due = sorted(found, key=lambda row: (row[0], row[1]))  # one order: no deadlock
    yield (
        Statement(_TAKE, [(row[0], agent, row[1], row[2]) for row in due], many=True),
        Statement(NOTE, [(row[0], agent, row[1], *row[5:8], now_ms, now_ms) for row in due], many=True),
        Statement(_INSERT, [_input(agent, row, now_ms) for row in due], many=True),
    )
    return tuple(dict.fromkeys(Place(row[0], agent, row[1]) for row in found))


def next_start(agent: str) -> Work[int | None]:
    """When the next start is due."""
    due: int | None = (yield (Statement(_NEXT, (agent,)),))[0][0][0]
    return due


@cache
def _plan(count: int) -> str:
    """So many rows in one statement; the names of their columns are the same in both databases."""
    rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * count)
    return f"""
        INSERT INTO falai_starts
            (tenant, agent, session, campaign, key, body, customer, channel, address, due_at)
        SELECT * FROM (VALUES {rows}) v WHERE NOT EXISTS (
            SELECT 1 FROM falai_inbox i
            WHERE i.tenant = v.column1 AND i.agent = v.column2 AND i.session = v.column3 AND i.key = v.column5)
        ON CONFLICT (tenant, agent, campaign, session) DO NOTHING RETURNING session"""  # noqa: S608 - fixed


def _input(agent: str, row: Row, now_ms: int) -> Sequence[object]:
    return row[0], agent, row[1], row[3], row[4], now_ms, now_ms, now_ms
