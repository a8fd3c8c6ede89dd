"""Signals: watched for in every message, their handlers called before and after the conversation moves (D-69 to D-79).

They are judged with everything else in the turn's one understanding (D-71): the core looks for them as
for mentions. Which of them are looked for at all, code says first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Final, Literal

from falai.classic.compiling_values import texts
from falai.classic.directive import BEFORE_MODEL, MEMBERS, POSITIONS, Directive, members_of
from falai.classic.handling import HandlerContext, Wants
from falai.classic.hooks import all_hold, settled, tell_raised
from falai.classic.merging import merge
from falai.classic.named import named
from falai.classic.phases import Merged, act_on, merged
from falai.classic.response import Firing
from falai.classic.sessions import OWN, ClassicSession, own_state
from falai.classic.state import TurnState, check_emitted
from falai.classic.writing import write_context, write_data
from falai.errors import words_of
from falai.flow.places import Wire, is_object
from falai.log import line
from falai.model.redaction import without_secrets
from falai.session.dates import read_date
from falai.session.inputs import Message
from falai.session.jsontext import quoted, to_plain

__all__ = ["SignalContext", "after_turn", "call_signals", "not_looked_for"]

_LOG: Final = logging.getLogger(__name__)

Moment = Literal["pre", "post"]
_STOPS: Final = "stopOtherSignals"
_EXTRA: Final = (_STOPS, "replyWith")
_NO_VALUES: Final = "the signal matched, and the model found none of the values to extract"


@dataclass(slots=True, kw_only=True)
class SignalContext(HandlerContext):
    """What a signal's handler gets (D-72)."""

    signal: Mapping[str, Any]
    phase: Moment
    reason: str
    extracted: Mapping[str, Any] | None
    session: ClassicSession
    last_user_message: str
    triggered_at: str
    matched: Literal[True] = True


async def not_looked_for(state: TurnState) -> frozenset[str]:
    """The signals that cannot fire on this message, by what code knows (D-69)."""
    return frozenset([signal["id"] for signal in state.compiled.signals if not await _may_fire(state, signal)])


async def call_signals(state: TurnState, phase: Moment) -> None:
    """Calls the handlers of the signals that match, in order; what they want is emitted."""
    for signal in state.compiled.signals:
        if signal["phase"] in (phase, "both") and _matches(state, signal, phase):
            state.phase = "signals"
            if await _fire(state, signal, phase):
                return


async def after_turn(state: TurnState) -> None:
    """The signals that follow the turn, and what they want: some of it now, a redirect at the next turn (D-74)."""
    await call_signals(state, "post")
    found = merged(state.taken())
    members = {name: value for name, value in found.members.items() if name not in BEFORE_MODEL}
    position = next((name for name in POSITIONS if name in members), None)
    if position in ("goTo", "goToStep", "reset"):
        own = own_state(state.turn.session)
        pending = to_plain({position: _plain(members.pop(position))}, "pendingDirective")
        state.turn.session.metadata[OWN] = {**own, "pendingDirective": pending}
        found = Merged(members, None, found.emissions)
    await act_on(state, Merged(members, found.position, found.emissions), state.current())


# --- which fire ---------------------------------------------------------------------------------


async def _may_fire(state: TurnState, signal: Wire) -> bool:
    if not state.compiled.checked.is_enabled(signal["id"]):
        return False
    known = _triggers(state).get(signal["id"])
    if known is not None and _is_used_up(state, signal, known):
        return False
    return await all_hold(state, signal.get("if"), f"the signal {quoted(signal['id'])}")


def _is_used_up(state: TurnState, signal: Wire, known: Mapping[str, Any]) -> bool:
    if _recurs(signal):
        return False
    if signal["behavior"] == "once":
        return True
    since = read_date(known.get("lastTriggeredAt"))
    return since is not None and state.turn.now_ms - since < signal["cooldownMs"]


def _recurs(signal: Wire) -> bool:
    """Whether nothing limits how often it fires; a cooldown that says no time limits nothing (D-69)."""
    behavior = signal.get("behavior", "always")
    return behavior == "always" or (behavior == "cooldown" and "cooldownMs" not in signal)


def _matches(state: TurnState, signal: Wire, phase: Moment) -> bool:
    id = signal["id"]
    if id in state.unwanted_signals or (phase == "post" and id in state.fired and not _recurs(signal)):
        return False
    return not texts(signal.get("when")) or state.turn.judged.mentions.get(id) is True


def _reason(signal: Wire) -> str:
    """Why it fires (D-70)."""
    if texts(signal.get("when")):
        return "matched"
    return "code-only" if "if" in signal else "unconditional"


# --- firing -------------------------------------------------------------------------------------


async def _fire(state: TurnState, signal: Wire, phase: Moment) -> bool:
    """Calls a handler; says whether the others of this phase are to be left alone."""
    id, begun, wants = signal["id"], perf_counter(), Wants(state, f"signal:{signal['id']}")
    values = dict(state.turn.judged.extract.get(id, {})) or None if "extract" in signal else None
    given = _context(wants, signal, phase, values)
    firing = Firing(id=id, phase=phase, reason=given.reason, extracted=values)
    if "extract" in signal and values is None:
        firing = replace(firing, extraction_error=_NO_VALUES)
        _LOG.warning("signal %s: %s", id, _NO_VALUES, extra=line("signal.no_values", signal=id))
    try:
        returned = await settled(signal["handler"](given))
        directives = [await _resolved(raw, given) for raw in (*wants.directives, returned)]
    except Exception as error:  # noqa: BLE001  what an author's function raises is known to nobody (D-75)
        tell_raised(f"signal:{id}", error)
        state.firings.append(replace(firing, handler_error=without_secrets(words_of(error)), duration_ms=_since(begun)))
        return False
    await write_data(state, wants.data, [wants.emitter])
    await write_context(state, wants.context)
    stops, whole = False, Directive()
    for raw in directives:
        directive, last = _read(raw, wants.emitter)
        stops, whole = stops or last, merge(whole, directive)
        state.emit(wants.emitter, directive)
    emitted = whole if members_of(whole) else None
    state.firings.append(replace(firing, directive=emitted, duration_ms=_since(begun)))
    _remember(state, given)
    return stops


def _context(wants: Wants, signal: Wire, phase: Moment, values: Mapping[str, Any] | None) -> SignalContext:
    state, turn = wants.state, wants.state.turn
    return SignalContext(
        signal=signal,
        phase=phase,
        reason=_reason(signal),
        extracted=values,
        session=state.session,
        context=dict(state.context) if is_object(state.context) else state.context,
        data=dict(turn.session.data),
        history=state.history,
        last_user_message=turn.input.text if isinstance(turn.input, Message) else "",
        triggered_at=turn.now,
        _wants=wants,
    )


async def _resolved(raw: Any, given: SignalContext) -> Any:
    """What a handler gave, with the text that its `replyWith` gives (D-73)."""
    if not is_object(raw):
        return raw
    own = named(raw, (*MEMBERS, *_EXTRA))
    reply = own.pop("replyWith", None)
    text = await settled(reply(given)) if callable(reply) else reply
    return own if text is None else {**own, "reply": str(text)}


def _read(raw: Any, emitter: str) -> tuple[Any, bool]:
    """A signal's directive without `stopOtherSignals`, and whether it says so (D-73)."""
    if raw is None:
        return Directive(), False
    directive = {name: value for name, value in raw.items() if name != _STOPS} if is_object(raw) else raw
    check_emitted(emitter, directive)
    return directive, is_object(raw) and raw.get(_STOPS) is True


def _since(begun: float) -> float:
    return (perf_counter() - begun) * 1000


# --- what is known of them between turns --------------------------------------------------------


def _triggers(state: TurnState) -> dict[str, Any]:
    known = own_state(state.turn.session).get("signals")
    triggers: Any = known.get("triggers") if is_object(known) else None
    return dict(triggers) if is_object(triggers) else {}


def _remember(state: TurnState, given: SignalContext) -> None:
    """D-78."""
    id = given.signal["id"]
    state.fired.add(id)
    session, triggers = state.turn.session, _triggers(state)
    known: Any = triggers.get(id, {})
    triggers[id] = {
        "firstTriggeredAt": known.get("firstTriggeredAt", given.triggered_at),
        "lastTriggeredAt": given.triggered_at,
        "count": known.get("count", 0) + 1,
        "lastReason": given.reason,
        "lastPhase": given.phase,
    }
    session.metadata[OWN] = {**own_state(session), "signals": {"triggers": triggers}}


def _plain(position: Any) -> Any:
    return dict(position) if is_object(position) else position
