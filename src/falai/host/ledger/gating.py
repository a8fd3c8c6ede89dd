"""The gate of a session, and who wants no follow-ups.

A gate that closes withholds what the assistant said and has not been sent. What is being sent at that
moment is sent.
"""

from __future__ import annotations

from falai.host.ledger.port import Gate, Place, Statement, Work

__all__ = ["hold", "opt_in", "opt_out", "opted_out", "release"]

_MAKE = """
    INSERT INTO falai_sessions (tenant, agent, session, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session) DO NOTHING"""
# A gate that is closed stays in its epoch: an action that holds its own session would else lose its turn for ever.
CLOSE = """
    UPDATE falai_sessions SET epoch = CASE WHEN gate_reason IS NULL THEN epoch + 1 ELSE epoch END, gate_reason = ?, gate_understand = ?, gate_skip = ?
    WHERE tenant = ? AND agent = ? AND session = ?"""
_OPEN = """
    UPDATE falai_sessions SET epoch = epoch + 1, gate_reason = NULL, gate_understand = 0, gate_skip = 0
    WHERE tenant = ? AND agent = ? AND session = ? AND gate_reason IS NOT NULL RETURNING epoch"""
_WITHHOLD = """
    UPDATE falai_outbox SET state = 'withheld', settled_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' AND by_person = 0 RETURNING key"""
_UNSAY = """
    UPDATE falai_transcript SET unsent = 1 WHERE tenant = ? AND agent = ? AND session = ? AND id = ?"""

OPT_OUT_SESSION = """
    INSERT INTO falai_optouts (tenant, agent, whose, id, at) VALUES (?, ?, 'session', ?, ?)
    ON CONFLICT (tenant, agent, whose, id) DO NOTHING"""
OPT_OUT_CUSTOMER = """
    INSERT INTO falai_optouts (tenant, agent, whose, id, at)
    SELECT tenant, agent, 'customer', customer, CAST(? AS BIGINT) FROM falai_sessions
    WHERE tenant = ? AND agent = ? AND session = ? AND customer IS NOT NULL
    ON CONFLICT (tenant, agent, whose, id) DO NOTHING"""
_OPT_IN_SESSION = "DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'session' AND id = ?"
_OPT_IN_CUSTOMER = """
    DELETE FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'customer' AND id =
        (SELECT customer FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ?)"""
_OPTED_OUT = """
    SELECT 1 FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'session' AND id = ?
    UNION ALL
    SELECT 1 FROM falai_optouts WHERE tenant = ? AND agent = ? AND whose = 'customer' AND id =
        (SELECT customer FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ?)"""


def hold(place: Place, gate: Gate, *, now_ms: int) -> Work[int]:
    """Closes the gate with the reason and the flags of `gate`, also before the first message of a session.

    Gives how many messages it withheld. A turn that is being played with an open gate will not count.
    """
    who = (place.tenant, place.agent, place.session)
    *_, withheld = yield (
        Statement(_MAKE, (*who, now_ms, now_ms)),
        Statement(CLOSE, (gate.reason or "", int(gate.understand), int(gate.skip), *who)),
        Statement(_WITHHOLD, (now_ms, *who)),
    )
    if withheld:
        yield tuple(Statement(_UNSAY, (*who, key)) for (key,) in withheld)
    return len(withheld)


def release(place: Place) -> Work[bool]:
    """Opens the gate; False when it was open."""
    return (yield (Statement(_OPEN, (place.tenant, place.agent, place.session)),))[0] != []


def opt_out(place: Place, *, now_ms: int) -> Work[None]:
    """Ends follow-ups for this session, and for all sessions of its customer when that is known."""
    who = (place.tenant, place.agent, place.session)
    yield (Statement(OPT_OUT_SESSION, (*who, now_ms)), Statement(OPT_OUT_CUSTOMER, (now_ms, *who)))


def opt_in(place: Place) -> Work[None]:
    """Takes back what `opt_out` said of this place."""
    who = (place.tenant, place.agent, place.session)
    yield (Statement(_OPT_IN_SESSION, who), Statement(_OPT_IN_CUSTOMER, (place.tenant, place.agent, *who)))


def opted_out(place: Place) -> Work[bool]:
    """Whether the session or its customer wants no follow-ups."""
    who = (place.tenant, place.agent, place.session)
    return (yield (Statement(_OPTED_OUT, (*who, place.tenant, place.agent, *who)),))[0] != []
