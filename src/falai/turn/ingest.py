"""Phase 2: the input is recorded, parked runs are released, event, start and silence runs start (T-5)."""

from __future__ import annotations

from typing import Literal

from falai.flow.definition import Step, Target, Wait, WaitEvent
from falai.flow.plan import FlowPlan, branches_of, target_of
from falai.session.dates import iso, read_date
from falai.session.inputs import Event, Message, Start, Wake
from falai.session.keys import is_blank_id, parse_silence_key
from falai.session.model import Run, Waiting
from falai.turn.advance import unpark
from falai.turn.follow import follow
from falai.turn.lines import label, run_line, turn_line
from falai.turn.start import refuse, start_run
from falai.turn.state import Turn

__all__ = ["ingest"]

MAX_INPUTS = 50
Ignored = Literal["no-session", "duplicate-input", "stale-wake", "silence-broken"]


def ingest(turn: Turn) -> None:
    """Takes in what happened."""
    match turn.input:
        case Message():
            _message(turn, turn.input)
        case Wake() if turn.given.session is None:
            _ignore(turn, "no-session", turn.input.key)
        case Wake() if turn.input.key.startswith("silence:"):
            _silence_wake(turn, turn.input.key)
        case Wake():
            _wake(turn, turn.input.key)
        case Event():
            _event(turn, turn.input)
        case Start():
            _start(turn, turn.input)


def _ignore(turn: Turn, code: Ignored, key: str) -> None:
    """The input is void: one line, and nothing else happens (T-5.15)."""
    turn.ignored = True
    turn_line(turn, "wait", "skipped", code, key=key)


# --- a message ----------------------------------------------------------------------------------


def _message(turn: Turn, message: Message) -> None:
    if message.id is not None and not is_blank_id(message.id):
        if message.id in turn.session.inputs:
            _ignore(turn, "duplicate-input", message.id)
            return
        turn.session.inputs.append(message.id)
        del turn.session.inputs[:-MAX_INPUTS]
    turn.session.last_user_at = _written_at(message.at, turn.now)
    _release_by_reply(turn)


def _written_at(at: str | None, now: str) -> str:
    """A readable date in the written form, an unreadable one as given (T-5.2)."""
    if at is None:
        return now
    at_ms = read_date(at)
    return at if at_ms is None else iso(at_ms)


def _release_by_reply(turn: Turn) -> None:
    """The customer wrote: timer waits that have an `else` are over (T-5.3)."""
    for run in tuple(turn.session.runs):
        flow, step = _standing(turn, run)
        if flow is None or not isinstance(step, Wait) or step.else_ is None or not _park_of(turn, run, "timer"):
            continue
        unpark(run)
        target = _reply_target(turn, run, step)
        run_line(turn, run, "wait", "ok", "replied", next=label(target))
        _move_on(turn, run, flow, step, target)


def _reply_target(turn: Turn, run: Run, step: Wait) -> Target | None:
    """The first branch of code alone that holds, else the `else`: nothing judges a `when` here."""
    for branch in branches_of(step):
        if branch.when is None and branch.if_ is not None and turn.holds(branch.if_, run):
            return target_of(branch.then)
    return target_of(step.else_)


def _move_on(turn: Turn, run: Run, flow: FlowPlan, step: Step, target: Target | None) -> None:
    """Follows the target; the run takes the floor if nobody has (T-5.3, nos. 4 to 6)."""
    if not turn.floor_taken:
        turn.floor = run.id
    follow(turn, run, flow, step, target)
    if turn.is_live(run) and not turn.floor_taken:
        turn.floor_taken, turn.floor = True, run.id


# --- a wake -------------------------------------------------------------------------------------


def _wake(turn: Turn, key: str) -> None:
    run = next((run for run in turn.session.runs if run.waiting and run.waiting.key == key), None)
    if run is None or run.waiting is None:
        _ignore(turn, "stale-wake", key)
        return
    set_at = run.waiting.set_at or run.started_at
    unpark(run)
    turn.floor = run.id
    flow, step = _standing(turn, run)
    if flow is None:
        return
    if isinstance(step, Wait):
        _time_is_up(turn, run, flow, step, set_at)
    elif isinstance(step, WaitEvent):
        target = target_of(step.else_) or "end"
        run_line(turn, run, "wait", "ok", "no-event", next=label(target))
        follow(turn, run, flow, step, target)


def _time_is_up(turn: Turn, run: Run, flow: FlowPlan, step: Wait, set_at: str) -> None:
    replied = step.else_ is not None and turn.customer_wrote_since(flow, set_at)
    target = target_of(step.else_ if replied else step.then)
    run_line(turn, run, "wait", "ok", "replied" if replied else "no-reply", next=label(target))
    follow(turn, run, flow, step, target)


def _silence_wake(turn: Turn, key: str) -> None:
    """A silence has lasted long enough, if it is still the same one (T-5.7, T-5.8)."""
    session = turn.session
    flow_id, ms = parse_silence_key(key, session.id)
    flow = turn.plan.flows.get(flow_id)
    if flow is None:
        refuse(turn, flow_id, session.id, ms, "flow-gone")
        return
    spoken = read_date(session.last_assistant_at)
    if spoken is None or str(spoken) != ms or turn.customer_wrote_since(flow, session.last_assistant_at):
        _ignore(turn, "silence-broken", key)
    elif flow.silence is None:
        _ignore(turn, "stale-wake", key)
    else:
        run = start_run(turn, flow, "silence", ms, trigger=flow.silence)
        turn.floor = run.id if run else turn.floor


# --- an event, a start --------------------------------------------------------------------------


def _event(turn: Turn, event: Event) -> None:
    declared = turn.plan.events.get(event.name)
    direction = None if declared is None else declared.direction
    if direction == "inbound":
        turn.session.last_user_at = turn.now
        _release_by_reply(turn)
    elif direction == "outbound":
        turn.session.last_assistant_at = turn.now
    _release_by_event(turn, event)
    for flow in turn.plan.flows.values():
        _start_by_event(turn, flow, event)


def _release_by_event(turn: Turn, event: Event) -> None:
    """Runs that wait for this event go on (T-5.12)."""
    for run in tuple(turn.session.runs):
        park = _park_of(turn, run, "event")
        if park is None or park.event != event.name:
            continue
        unpark(run)
        flow, step = _standing(turn, run)
        if flow is not None and step is not None:
            target = target_of(step.then)
            run_line(turn, run, "wait", "ok", "event-arrived", next=label(target))
            _move_on(turn, run, flow, step, target)


def _start_by_event(turn: Turn, flow: FlowPlan, event: Event) -> None:
    for trigger in flow.events:
        if trigger.event == event.name and start_run(
            turn, flow, "event", event.key, trigger=trigger, payload=event.payload, hop=event.hop
        ):
            return


def _start(turn: Turn, start: Start) -> None:
    flow = turn.plan.flows.get(start.flow)
    if flow is None:
        refuse(turn, start.flow, turn.session.id, start.key, "flow-gone")
    else:
        start_run(turn, flow, "start", start.key, payload=start.input, hop=start.hop)


# --- looking ------------------------------------------------------------------------------------


def _standing(turn: Turn, run: Run) -> tuple[FlowPlan | None, Step | None]:
    """The flow and the step where a run stands; `None` for what is gone."""
    flow = turn.flow_of(run)
    return flow, None if flow is None else flow.step(run.step_id)


def _park_of(turn: Turn, run: Run, kind: Literal["timer", "event"]) -> Waiting | None:
    """What a run is parked on, if it is of this kind. The run may have ended since the list was looked at."""
    parked = run.waiting if run.status == "waiting" and turn.is_live(run) else None
    return parked if parked is not None and parked.kind == kind else None
