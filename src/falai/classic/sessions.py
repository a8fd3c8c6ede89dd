"""The session as 3.x shows it, and how one is read from what a host kept (D-18, D-78, D-86).

It is the core's session, with a few things to read off it. The layer's own state between turns is in
`metadata`, under one key; nothing else of the session is extended.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import asdict, astuple

from falai.classic.directive import is_directive
from falai.classic.merging import merge
from falai.classic.validating import directive_problems
from falai.flow.places import Place, Wire, is_object
from falai.log import line
from falai.session.codec import copy_session
from falai.session.dates import iso
from falai.session.jsontext import copied, parse_json, show
from falai.session.keys import is_blank_id
from falai.session.migrate import migrate_session, read_legacy_date
from falai.session.model import Run, Session
from falai.turn.run import last_suspended

__all__ = [
    "OWN",
    "ClassicSession",
    "SignalState",
    "Signals",
    "as_classic",
    "copied_session",
    "own_state",
    "read_session",
]

_LOG: Final = logging.getLogger(__name__)

OWN: Final = "falai3"
"""The key in `session.metadata` that holds `pendingDirective`, `signals` and `schemaVersion`."""

_INTERNAL: Final = "!"
"""What the ids of the steps that stand beside an author's end with; it is cut wherever an id is shown (D-87)."""
_DATES = ("firstTriggeredAt", "lastTriggeredAt")


@dataclass(frozen=True, slots=True)
class SignalState:
    """When a signal fired in this session, how often, and why the last time (D-78). Dates are ISO text."""

    first_triggered_at: str | None
    last_triggered_at: str | None
    count: int
    last_reason: str | None
    last_phase: str | None


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of a session that have fired, by their id."""

    triggers: Mapping[str, SignalState]


class ClassicSession(Session):
    """A session of the core, equal to any other with the same content, on which the 3.x names can be read."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Session) and astuple(self) == astuple(other)

    __hash__ = None  # type: ignore[assignment]  # as its base: it can be changed

    @property
    def current_flow(self) -> str | None:
        """The id of the flow that asks, else of the one that was suspended last."""
        run = _current(self)
        return None if run is None else run.flow_id

    @property
    def current_step(self) -> str | None:
        """The id of the step at which that flow stands."""
        run = _current(self)
        return None if run is None or run.step_id is None else run.step_id.removesuffix(_INTERNAL)

    @property
    def signals(self) -> Signals:
        """What is known of the signals that have fired."""
        triggers = own_state(self).get("signals", {}).get("triggers", {})
        return Signals({id: _signal_state(state) for id, state in triggers.items()})


def as_classic(session: Session) -> ClassicSession:
    """The same session, on which the 3.x names can be read: what is in it is shared, as it costs time to copy."""
    return ClassicSession(**asdict(session))


def copied_session(session: Session) -> ClassicSession:
    """The session with the 3.x names, sharing nothing with the one that was given."""
    return as_classic(copy_session(session))


def own_state(session: Session) -> dict[str, Any]:
    """A copy of the layer's own state in the session; a change counts once it is put back."""
    own = session.metadata.get(OWN)
    return copied(own) if is_object(own) else {}


def read_session(given: object, default_id: str) -> ClassicSession:
    """The session of an object, of a v4 blob, or of a 3.x blob, which is migrated on the spot (D-86).

    `default_id` is the id of a 3.x blob that says none. Raises `ValueError` for what is no session at
    all, and `InvalidSessionError` for a blob that holds none.
    """
    if isinstance(given, Session):
        return copied_session(given)
    if not is_object(given):
        raise ValueError(f"session: {show(given)} was given, a Session or a stored blob is expected")
    own_id: Any = given.get("id")
    session = as_classic(migrate_session(given, default_id if is_blank_id(own_id) else own_id))
    if "v" not in given:
        _take_over(session, _state_of(given))
    return session


# --- a 3.x blob ---------------------------------------------------------------------------------


def _state_of(blob: Wire) -> Wire:
    """The state itself, or what a row keeps of it as `collectedData`; it has been read before, so it is whole."""
    inside = blob.get("collectedData")
    if "data" in blob or inside is None:
        return blob
    collected = parse_json(inside) if isinstance(inside, str) else inside
    return {**collected, **{key: value for key, value in blob.items() if value is not None}}


def _take_over(session: Session, state: Wire) -> None:
    """What chapter 08 leaves behind, and the claim that it writes for a flow that has not completed (D-87)."""
    completed = {visit["flowId"] for visit in state.get("flowHistory") or () if visit.get("completed") is True}
    for run in session.runs:
        if run.flow_id not in completed:
            session.claims.pop(run.dedupe_key, None)
    own = {"signals": _fired(state), "pendingDirective": _pending(state.get("pendingDirective"))}
    if kept := {key: value for key, value in own.items() if value}:
        session.metadata[OWN] = {**own_state(session), **kept}


def _fired(state: Wire) -> dict[str, Any]:
    signals: Wire = state.get("signals") or {}
    triggers: Mapping[str, Wire] = signals.get("triggers") or {}
    return {"triggers": {id: _dated(fired) for id, fired in triggers.items()}} if triggers else {}


def _dated(fired: Wire) -> dict[str, Any]:
    """The state of a signal with its dates as text."""
    dates = {key: read_legacy_date(fired.get(key)) for key in _DATES}
    return {**fired, **{key: None if at is None else iso(at) for key, at in dates.items()}}


def _pending(directive: Any) -> dict[str, Any] | None:
    """The redirect that waits for the next turn; one that is not valid is dropped."""
    if directive is None:
        return None
    wrong = [*directive_problems(directive, Place("pendingDirective"))] if is_directive(directive) else ["none"]
    if not wrong:
        return merge({}, directive).to_wire()
    _LOG.warning(
        "the pending directive of a 3.x session is not valid and is dropped", extra=line("session.bad_pending")
    )
    return None


# --- what is read off a session ------------------------------------------------------------------


def _current(session: Session) -> Run | None:
    """The run that asks, else the one that was suspended last (D-92)."""
    asking = next((run for run in session.runs if run.status == "asking"), None)
    return asking or last_suspended(session.runs)


def _signal_state(state: Wire) -> SignalState:
    return SignalState(
        state.get("firstTriggeredAt"), state.get("lastTriggeredAt"), state.get("count", 0), state.get("lastReason"),
        state.get("lastPhase"),
    )  # fmt: skip
