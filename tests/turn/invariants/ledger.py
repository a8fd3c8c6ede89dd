"""Claims and limits (V-39 to V-42), data (V-43 to V-45), nothing raises (V-46, V-47)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from falai.errors import ProviderError
from falai.flow.values import is_known
from falai.session.codec import session_from_json, session_to_json, session_to_wire
from falai.session.model import OutcomeKind, OutcomeStatus, Run
from falai.session.outcomes import ADDED_MESSAGES, OUTCOME_MESSAGES
from strategies import FLOW_IDS, STEP_IDS
from turn.conversation import Played
from turn.invariants.registry import invariant, last_states

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

# --- claims and limits --------------------------------------------------------------------------


def _say_claims(played: Played) -> set[str]:
    return {f"{flow_id}:{step_id}:{played.before.id}" for flow_id in FLOW_IDS for step_id in STEP_IDS}


def _always_claims(played: Played) -> list[str]:
    """The keys with a nonce: none that ends with `:`, and none of a `say`."""
    says = _say_claims(played)
    return [key for key in played.after.claims if not key.endswith(":") and key not in says]


@invariant
def v_39(played: Played) -> None:
    """Every started run has its claim in *after*; so has every live run, unless younger ones pushed it out."""
    claims = played.after.claims
    assert all(run.dedupe_key in claims for run in played.done.started)
    for run in played.after.runs:
        assert run.dedupe_key in claims or len(_beside(played, run)) >= 50


def _beside(played: Played, run: Run) -> list[str]:
    return [key for key in _always_claims(played) if key.startswith(f"{run.flow_id}:{run.anchor}:")]


@invariant
def v_40(played: Played) -> None:
    """`once`, cooldown and `say` claims are never removed, and only cooldown claims are renewed."""
    after, started = played.after.claims, {run.dedupe_key for run in played.done.started}
    for key, claim in played.before.claims.items():
        lasting = key.endswith(":") or key in _say_claims(played)
        assert key in after or not lasting
        if key in after and after[key].at != claim.at:
            assert key in started
            assert key.endswith(":")
            assert _has_cooldown(played, key)


def _has_cooldown(played: Played, key: str) -> bool:
    """Whether a trigger of the claim's flow repeats by a cooldown."""
    flows = [flow for flow in played.agent.plan.flows.values() if key.startswith(f"{flow.id}:")]
    return any(isinstance(trigger.repeat, dict) for flow in flows for trigger in flow.triggers)


@invariant
def v_41(played: Played) -> None:
    """At most 50 `inputs`, no id twice; 50 lines on a run; 50 claims with a nonce per flow and anchor."""
    inputs = played.after.inputs
    assert len(inputs) == len(set(inputs)) <= 50
    assert all(len(run.outcomes) <= 50 for run in last_states(played))
    assert all(len(_beside(played, run)) <= 50 for run in played.after.runs)


@invariant
def v_42(played: Played) -> None:
    """A run executes at most 50 steps in one move: it enters at most 51, and is moved in few phases."""
    before = {run.id: run.visits for run in played.before.runs}
    for run in last_states(played):
        entered = sum(run.visits.values()) - sum(before.get(run.id, {}).values())
        assert entered <= 3 * 51


# --- data ---------------------------------------------------------------------------------------


@invariant
def v_43(played: Played) -> None:
    """Without actions and tools, what the turn wrote fits its field, and no key is new that is no field."""
    if played.acted or played.tools_used:
        return
    fields = played.agent.plan.fields
    for slug, value in played.after.data.items():
        if slug not in played.before.data or value != played.before.data[slug]:
            assert slug in fields
            assert _fits(fields[slug].type, value)
            assert fields[slug].enum is None or value in fields[slug].enum


def _fits(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, {"string": str, "integer": int, "number": int | float, "boolean": bool}[kind])


@invariant
def v_44(played: Played) -> None:
    """A field that is known when a step speaks is not in the envelope of that call."""
    assert played.watched is not None
    for data, task in played.watched.speaks:
        assert not [field.slug for field in task.fields if is_known(data.get(field.slug))]


@invariant
def v_45(played: Played) -> None:
    """The session survives a JSON round trip; every date in it is ISO text with milliseconds and `Z`."""
    text = session_to_json(played.after)
    assert session_to_json(session_from_json(text, played.before.id)) == text
    for date in _dates(session_to_wire(played.after), played):
        assert ISO.fullmatch(date), date


def _dates(wire: dict[str, Any], played: Played) -> Iterator[str]:
    """The dates of a session: what the host wrote into a message's `at` may be none (T-5.2)."""
    at = getattr(played.given.input, "at", None)
    spoken = [wire.get(key) for key in ("lastUserAt", "lastAssistantAt")]
    yield from (date for date in spoken if date is not None and date not in (at, played.before.last_user_at))
    yield from (claim["at"] for claim in wire["claims"].values())
    for run in wire["runs"]:
        waiting = run.get("waiting") or {}
        dates = [run["startedAt"], run.get("suspendedAt"), waiting.get("until"), waiting.get("setAt")]
        dates += [line.get(key) for line in run["outcomes"] for key in ("at", "until")]
        yield from (date for date in dates if date is not None)


# --- nothing raises -----------------------------------------------------------------------------


@invariant
def v_46(played: Played) -> None:
    """Only a failed understand call and an error in a condition go out of a turn."""
    match played.error:
        case None:
            assert played.result is not None
        case ProviderError():
            assert played.requests[-1].schema_name == "understand"
        case error:
            assert isinstance(error, ArithmeticError)


@invariant
def v_47(played: Played) -> None:
    """Every line has a known kind, status and code, a message with a code, a flow with a run."""
    sentences = OUTCOME_MESSAGES | ADDED_MESSAGES
    for line in played.done.outcomes:
        assert line.kind in get_args(OutcomeKind)
        assert line.status in get_args(OutcomeStatus)
        assert line.message == (sentences[line.code] if line.code else None)
        assert (line.flow_id is None) == (line.run_id is None)
