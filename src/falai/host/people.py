"""A person takes over: the gate closes, what the assistant had under way stays back, the person's words go out.

All of it is one transaction beside the inbox: a person waits for no turn and no back-off.
"""

from __future__ import annotations

from typing import Final

from falai.host.ledger.committing import commit
from falai.host.ledger.gating import hold
from falai.host.ledger.looking import session
from falai.host.ledger.port import Arrival, Done, Gate, InputRow, Job, Limits, Place, Statement, Work
from falai.host.ledger.taking import take_in

__all__ = ["speak_as_person"]

_NO_LIMITS: Final = Limits(session=None, host=None)
_REVISION = "SELECT revision FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ?"


def speak_as_person(place: Place, arrival: Arrival, done: Done, *, reason: str, now_ms: int) -> Work[bool]:
    """Sends a person's message and keeps the assistant silent from now on; False: it was sent before."""
    taken = yield from take_in(place, (arrival,), now_ms=now_ms, limits=_NO_LIMITS)
    if not taken.new:
        return False
    found = yield from session(place)
    if found is None or found.gate.reason is None:
        yield from hold(place, Gate(reason=reason), now_ms=now_ms)
        found = yield from session(place)
    assert found is not None  # the input that was taken in has made it
    rows = yield (Statement(_REVISION, (place.tenant, place.agent, place.session)),)
    job = Job(
        place=place,
        inputs=(InputRow(arrival.key, arrival.kind, arrival.body, arrival.attachments, now_ms),),
        revision=rows[0][0][0],
        version=found.version,
        blob=None,
        gate=found.gate,
        opted_out=found.opted_out,
        customer=found.customer,
        channel=found.channel,
        address=found.address,
        history=(),
        held={},
        active=(),
        journal={},
        attempts=0,
    )
    yield from commit(job, done, now_ms=now_ms)
    return True
