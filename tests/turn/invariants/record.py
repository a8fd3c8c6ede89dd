"""Nothing changed (V-28 to V-31), keys, replays, wakes (V-32 to V-38)."""

from __future__ import annotations

from collections import Counter

from falai import Message, Start, Wake
from falai.flow.plan import FlowPlan
from falai.session.codec import session_to_json, session_to_wire
from falai.session.dates import read_date, to_ms
from falai.session.keys import parse_silence_key
from turn.conversation import Played, since
from turn.invariants.registry import invariant, last_states, survivors

# --- nothing changed ----------------------------------------------------------------------------


@invariant
def v_28(played: Played) -> None:
    """If `changed` is false: *after* equals *before*, every list but the lines is empty, no action ran."""
    done = played.done
    if not done.changed:
        assert session_to_wire(done.session) == session_to_wire(played.before)
        assert not any([done.messages, done.schedule, done.started, done.ended, done.skipped])
        assert not played.acted
        assert not played.requests or isinstance(played.given.input, Message)


@invariant
def v_29(played: Played) -> None:
    """An ignored turn has exactly one line, with the input's key, and `changed` is false."""
    if played.ignored:
        given = played.given.input
        key = given.id if isinstance(given, Message) else given.key
        assert [line.key for line in played.done.outcomes] == [key]
        assert not played.done.changed


@invariant
def v_30(played: Played) -> None:
    """The session object that the host passed is the same after the turn as before it."""
    if played.given.session is not None:
        assert session_to_json(played.given.session) == played.before_json


@invariant
def v_31(played: Played) -> None:
    """`id`, `v`, `version`, `metadata` and `history` are those of *before*."""
    for name in ("id", "v", "version", "metadata", "history"):
        assert getattr(played.after, name) == getattr(played.before, name), name


# --- replays ------------------------------------------------------------------------------------


@invariant
def v_32(played: Played) -> None:
    """The same input, session, clock, context and answers give an equal result; any driver does."""
    assert played.watched is not None
    assert played.watched.result == played.result


@invariant
def v_37(played: Played) -> None:
    """Played again after its save: a message with an id, a wake and a start do nothing twice."""
    again = played.after_save
    if again is None:
        return
    match played.given.input:
        case Message():
            assert again.ignored
        case Wake():
            # ignored, refused by its claim, or its trigger's `if` fails on the data of the first time (T-6.2)
            assert again.ignored or not (again.done.started or again.acted or again.done.messages)
        case Start(flow=flow, key=key):
            assert f"{flow}#{key}" not in {run.run_id for run in again.done.started}
        case _:
            pass


@invariant
def v_38(played: Played) -> None:
    """A replay of a turn whose save failed runs its actions under the keys they had."""
    assert played.watched is not None
    assert played.watched.acted == [act.key for act in played.acted]


# --- keys ---------------------------------------------------------------------------------------


@invariant
def v_33(played: Played) -> None:
    """A step key is run id, step id and a visit; action keys are unique, message keys but for the question."""
    for line in played.done.outcomes:
        if line.key is not None and line.run_id is not None:
            assert _is_visit(played, line.run_id, line.step_id, line.key)
    for message in played.done.messages:
        if message.run_id is not None:
            assert _is_visit(played, message.run_id, message.step_id, message.key)
    for act in played.acted:
        assert _is_visit(played, act.run, act.step, act.key)
    assert len({act.key for act in played.acted}) == len(played.acted)
    _message_keys_differ(played)


def _is_visit(played: Played, run_id: str, step_id: str | None, key: str) -> bool:
    head, _, visit = key.rpartition(":")
    visits = [run.visits.get(step_id or "", 0) for run in last_states(played) if run.id == run_id]
    return head == f"{run_id}:{step_id}" and 0 <= int(visit) <= max(visits)


def _message_keys_differ(played: Played) -> None:
    messages = played.done.messages
    for key, count in Counter(message.key for message in messages).items():
        if count > 1:
            first, then = [message.kind for message in messages if message.key == key]
            by_tool = any(line.detail is not None and line.key == key for line in played.done.outcomes)
            assert (first, then) == ("verbatim" if by_tool else "ai", "verbatim")
            assert any(line.code == "asked-fixed" and line.key == key for line in played.done.outcomes)


# --- wakes --------------------------------------------------------------------------------------


@invariant
def v_34(played: Played) -> None:
    """A wake whose key no run waits on is ignored; it moves only the run that waits on its key."""
    if not isinstance(played.given.input, Wake) or played.given.input.key.startswith("silence:"):
        return
    key = played.given.input.key
    owners = {run.id for run in played.before.runs if run.waiting and run.waiting.key == key}
    assert played.ignored or owners
    for before, after in survivors(played):
        if before.id not in owners and before.status != "running":
            assert (before.step_id, before.visits) == (after.step_id, after.visits)


@invariant
def v_35(played: Played) -> None:
    """A silence wake starts a run only in that very silence."""
    given = played.given.input
    if not isinstance(given, Wake) or not given.key.startswith("silence:"):
        return
    flow_id, ms = parse_silence_key(given.key, played.before.id)
    if any(run.run_id == f"{flow_id}#{ms}" for run in played.done.started):
        spoken = played.before.last_assistant_at
        assert str(read_date(spoken)) == ms
        assert not since(played.before.last_user_at, spoken)
        assert not since(_inbound(played, played.agent.plan.flows[flow_id]), spoken)


def _inbound(played: Played, flow: FlowPlan) -> str | None:
    """When the customer last wrote at the flow's own anchor."""
    anchor = flow.flow.anchor
    if anchor in (None, "session"):
        return None
    return ((played.given.anchors or {}).get(anchor) or {}).get("lastInboundAt")


@invariant
def v_36(played: Played) -> None:
    """Every scheduled key is a live run's, a silence's of `lastAssistantAt`, or of a run that ended."""
    waiting = {run.waiting.key for run in played.after.runs if run.waiting}
    spoken = str(read_date(played.after.last_assistant_at))
    pending = {(wake.key, wake.at) for wake in played.agent.pending_wakes(played.after, **played.given.around)}
    for wake in played.done.schedule:
        silence = wake.key.startswith("silence:") and wake.key.endswith(f":{spoken}")
        if wake.key in waiting or silence:
            assert (wake.key, wake.at) in pending
        else:
            assert any(wake.key.startswith(f"{end.run.id}:") for end in played.done.ended)
        assert to_ms(wake.at) == int(wake.at.timestamp() * 1000)
