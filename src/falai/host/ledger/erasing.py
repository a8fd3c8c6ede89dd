"""Erasure: of a session nothing is left, in no table; a turn that is being played for it will not count."""

from __future__ import annotations

from falai.host.ledger.port import Place, Statement, Work

__all__ = ["TABLES", "erase", "erase_customer"]

TABLES = (
    "falai_inbox",
    "falai_journal",
    "falai_outbox",
    "falai_wakes",
    "falai_starts",
    "falai_claims",
    "falai_live_runs",
    "falai_transcript",
    "falai_run_log",
)
_SESSION = "DELETE FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ? RETURNING session"
_ALL = tuple(f"DELETE FROM {table} WHERE tenant = ? AND agent = ? AND session = ?" for table in TABLES)  # noqa: S608 - fixed
_OPTOUT = "DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'session' AND id = ?"
_CUSTOMERS_OPTOUT = "DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'customer' AND id = ?"
_OF_CUSTOMER = """
    SELECT session FROM falai_sessions WHERE tenant = ? AND agent = ? AND customer = ? {locked}"""


def erase(place: Place) -> Work[bool]:
    """Erases all that is kept of a session; False when nothing was. Its customer's opt-out stays."""
    who = (place.tenant, place.agent, place.session)
    first, *_ = yield (Statement(_SESSION, who), *(Statement(sql, who) for sql in (*_ALL, _OPTOUT)))
    return first != []


def erase_customer(agent: str, *, tenant: str, customer: str) -> Work[tuple[str, ...]]:
    """Erases all sessions of a customer and its opt-out; gives the ids of the sessions.

    A customer who wrote "stop" and is erased may be written to again, for nobody knows that any more.
    """
    (rows,) = yield (Statement(_OF_CUSTOMER, (tenant, agent, customer)),)
    sessions = sorted(row[0] for row in rows)
    for session in sessions:
        yield from erase(Place(tenant, agent, session))
    yield (Statement(_CUSTOMERS_OPTOUT, (tenant, agent, customer)),)
    return tuple(sessions)
