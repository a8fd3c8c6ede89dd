"""Where a run goes from a step: a target or a move, the end of the flow, another flow (T-12.2 to T-12.11)."""

from __future__ import annotations

from falai.flow.definition import Collect, Move, Prompt, Reset, Step, To, ToFlow
from falai.flow.plan import FlowPlan
from falai.session import keys
from falai.session.model import Run
from falai.turn.advance import end_run, enter, stay_at
from falai.turn.lines import key_of
from falai.turn.start import refuse, start_run
from falai.turn.state import Turn

__all__ = ["begin", "end_of_flow", "follow", "inherit"]


def follow(turn: Turn, run: Run, flow: FlowPlan, step: Step, target: Move | None) -> None:
    """Follows a target, or the move of an action or a tool, from a step (T-12.2)."""
    match target:
        case None:
            behind = flow.after(step.id)
            end_of_flow(turn, run, flow) if behind is None else enter(run, behind.id)
        case "end":
            end_of_flow(turn, run, flow)
        case To():
            _clear(turn, run, target)
            _go(turn, run, flow, target.step)
        case ToFlow():
            _chain(turn, run, target)
        case Reset():
            _reset(turn, run, flow)
        case _:
            _go(turn, run, flow, target)


def begin(turn: Turn, move: ToFlow) -> None:
    """Starts a flow when there is no run to leave: a tool of the idle speaker said so (D-92).

    A flow that this input has started already is not started again: both runs would have the same keys.
    """
    key, flow = turn.trigger_key, turn.plan.flows.get(move.flow)
    if flow is None:
        refuse(turn, move.flow, turn.session.id, key, "flow-gone")
    elif any(started.run_id == keys.run_id(flow.id, key) for started in turn.started):
        refuse(turn, flow.id, turn.anchor_of(flow), key, "already-claimed")
    else:
        inherit(turn, start_run(turn, flow, "start", key, payload=move.input))


def _go(turn: Turn, run: Run, flow: FlowPlan, step_id: str) -> None:
    if flow.step(step_id) is None:
        end_run(turn, run, "skipped", "step-gone")
    else:
        enter(run, step_id)


def _clear(turn: Turn, run: Run, target: To) -> None:
    turn.forget(target.clear or ())
    for field in target.clear or ():
        run.asked.pop(field, None)


def _chain(turn: Turn, run: Run, target: ToFlow) -> None:
    """Ends the run and starts another flow (T-12.6)."""
    trigger_key = key_of(run)
    flow_id = turn.render(target.flow, run)
    payload = run.input if target.input is None else target.input
    end_run(turn, run, "flow")
    flow = turn.plan.flows.get(flow_id)
    if flow is None:
        refuse(turn, flow_id, turn.session.id, trigger_key, "flow-gone")
    else:
        inherit(turn, start_run(turn, flow, "flow", trigger_key, payload=payload, hop=run.hop + 1))


def inherit(turn: Turn, child: Run | None) -> None:
    """Gives a child the floor that its parent held, or that nobody held (T-12.7)."""
    if child is None:
        return
    if not any(run.id == turn.floor for run in turn.session.runs):
        turn.floor = child.id
        turn.floor_taken = turn.floor_taken or turn.phase == "ingest"
    turn.queue.append(child)


def end_of_flow(turn: Turn, run: Run, flow: FlowPlan) -> None:
    """What comes after the last step, by the flow's `onEnd` (T-12.8)."""
    match flow.flow.on_end:
        case "stay" if flow.talk_steps:
            _stay(turn, run, flow)
        case "reset" if flow.steps:
            _reset(turn, run, flow)
        case _:
            end_run(turn, run, "end")


def _reset(turn: Turn, run: Run, flow: FlowPlan) -> None:
    last = flow.steps[-1].id
    trigger_key = keys.step_key(run.id, last, run.visits.get(last, 0))
    end_run(turn, run, "reset")
    fresh = start_run(turn, flow, "flow", trigger_key, payload=run.input, hop=run.hop + 1, clear=False)
    inherit(turn, fresh)


def _stay(turn: Turn, run: Run, flow: FlowPlan) -> None:
    """Puts the run back on a talk step, where it answers every later message (T-12.9 to T-12.11)."""
    stay_at(run, _step_to_stay_on(run, flow))
    others = turn.others_asking(run)
    if others and not (turn.is_message and turn.floor == run.id):
        turn.suspend([run])
        return
    turn.suspend(others)
    answers_now = turn.is_message and turn.gate is None and not turn.speak_done and not turn.spoke_by
    if answers_now and turn.phase != "ingest":
        run.status = "running"


def _step_to_stay_on(run: Run, flow: FlowPlan) -> str:
    for line in reversed(run.outcomes):
        if line.kind in ("prompt", "collect") and isinstance(flow.step(line.step_id), Collect | Prompt):
            return line.step_id or ""
    return flow.talk_steps[-1].id
