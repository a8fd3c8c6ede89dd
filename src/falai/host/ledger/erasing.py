"""Erasure: of a session nothing is left, in no table; a turn that is being played for it will not count.

The order counts where several are at work. A start is held by whoever makes an input of it, and the session
only then: so starts go before it. And a timer goes before the inbox: what is just becoming an input is waited
for, and found there.
"""

from __future__ import annotations

from falai.host.ledger.port import Place, Statement, Work

__all__ = ["erase", "erase_customer"]

_TABLES = (
    "falai_wakes",
    "falai_inbox",
    "falai_journal",
    "falai_outbox",
    "falai_claims",
    "falai_live_runs",
    "falai_transcript",
    "falai_run_log",
)
_STARTS = "DELETE FROM falai_starts WHERE tenant = ? AND agent = ? AND session = ?"
_SESSION = "DELETE FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ? RETURNING session"
_ALL = tuple(f"DELETE FROM {table} WHERE tenant = ? AND agent = ? AND session = ?" for table in _TABLES)  # noqa: S608 - fixed
_OPTOUT = "DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'session' AND id = ?"
_TOKENS = "DELETE FROM falai_tokens WHERE tenant = ? AND agent IN (?, '') AND session = ?"
_CUSTOMERS_OPTOUT = "DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'customer' AND id = ?"
_STARTS_OF_CUSTOMER = "DELETE FROM falai_starts WHERE tenant = ? AND agent = ? AND customer = ? RETURNING session"
_STARTS_OF_ITS_SESSIONS = """
    DELETE FROM falai_starts WHERE tenant = ? AND agent = ? AND session IN (
        SELECT session FROM falai_sessions WHERE tenant = ? AND agent = ? AND customer = ?)"""
_OF_CUSTOMER = """
    SELECT session FROM falai_sessions WHERE tenant = ? AND agent = ? AND customer = ? {locked}"""


def erase(place: Place) -> Work[bool]:
    """Erases all that is kept of a session; False when nothing was. Its customer's opt-out stays."""
    who = (place.tenant, place.agent, place.session)
    _, found, *_ = yield tuple(Statement(sql, who) for sql in (_STARTS, _SESSION, *_ALL, _OPTOUT, _TOKENS))
    return found != []


def erase_customer(agent: str, *, tenant: str, customer: str) -> Work[tuple[str, ...]]:
    """Erases all sessions of a customer, what is planned for it, and its opt-out; gives the ids of the sessions.

    A customer who wrote "stop" and is erased may be written to again, for nobody knows that any more.
    """
    whose = (tenant, agent, customer)
    planned, _, found = yield (
        Statement(_STARTS_OF_CUSTOMER, whose),
        Statement(_STARTS_OF_ITS_SESSIONS, (tenant, agent, *whose)),
        Statement(_OF_CUSTOMER, whose),
    )
    for session in sorted(row[0] for row in found):
        yield from erase(Place(tenant, agent, session))
    yield (Statement(_CUSTOMERS_OPTOUT, whose),)
    return tuple(sorted({row[0] for row in (*planned, *found)}))
