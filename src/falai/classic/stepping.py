"""What happens at a step of a driven flow before the core executes it, if it does (D-16, D-90, D-94).

A step that has spoken stays where it is, and asks: its branches are judged when the next message
comes. A run that arrives at a step which speaks after this turn's reply waits there, unspoken.
"""

from __future__ import annotations

from typing import Any

from falai.classic.branching import branch, move_on
from falai.classic.compiling import FlowPart, StepPart
from falai.classic.completing import complete
from falai.classic.hooks import all_hold, any_holds, call_hook
from falai.classic.phases import act_on, merged
from falai.classic.positions import begin, go_to_step, was_opened
from falai.classic.response import ExecutedStep
from falai.classic.state import TurnState
from falai.classic.toolcalls import call_shorthand
from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import Collect, Prompt
from falai.flow.places import listing
from falai.flow.plan import FlowPlan
from falai.flow.values import is_known
from falai.session.jsontext import quoted
from falai.session.model import Run
from falai.turn.advance import enter, place
from falai.turn.lines import key_of, run_line
from falai.turn.talk import collects, pending, report_given_up

__all__ = ["at_step", "enter_flow", "enter_hooks", "freeze", "has_spoken", "stop_at"]


async def at_step(state: TurnState, run: Run) -> bool:
    """Whether the core is to execute the step on which the run stands; else the run has moved, or waits."""
    flow, part, plan = state.compiled.flows[run.flow_id], state.compiled.part(run), state.turn.flow_of(run)
    assert part is not None  # the core asks for a step that is there
    assert plan is not None
    state.acting = state.stepping = run
    try:
        if await _arrive(state, run, flow, part):
            return False
        if part.kind == "auto":
            await _auto(state, run, flow, part)
            return False
        return await _speaking_step(state, run, plan, flow, part)
    finally:
        state.acting = state.stepping = None


async def _arrive(state: TurnState, run: Run, flow: FlowPart, part: StepPart) -> bool:
    """On the arrival at a step: the data of a new run is put in place, and `if` and `skip` may pass the step over."""
    if run.step_id is not None and not run.visits.get(run.step_id):
        enter(run, run.step_id)
    note = state.note(run)
    if note.stood_at == key_of(run):
        return False
    if note.stood_at is None:
        await begin(state, run, flow)
    note.stood_at = key_of(run)
    is_unjudged, note.is_unjudged = note.is_unjudged, False
    if is_unjudged or not part.is_first:
        return False
    owner = f"the step {quoted(part.own)} of the flow {quoted(flow.id)}"
    wanted = await all_hold(state, part.wire.get("if"), owner)
    if wanted and not await any_holds(state, part.wire.get("skip"), owner):
        return False
    await move_on(state, run, flow, part, passed_over=True)
    return True


# --- a step that speaks -------------------------------------------------------------------------


async def _speaking_step(state: TurnState, run: Run, plan: FlowPlan, flow: FlowPart, part: StepPart) -> bool:
    turn, step = state.turn, plan.step(run.step_id)
    assert isinstance(step, Collect | Prompt)  # as it was compiled
    left = pending(run, step, turn.session.data)
    if _is_answered_elsewhere(state, run):
        turn.suspend([run])
        return False
    if has_spoken(run) and part.kind != "requires":
        if left and not await branch(state, run, flow, part, judged=True, asking=True):
            return True
        if not left:
            report_given_up(turn, run, step)
            await branch(state, run, flow, part, judged=True)
        return False
    if collects(step) and not left:
        run_line(turn, run, "collect", "skipped", "already-known", key=key_of(run))
        await _go_on(state, run, plan, flow, part)
        return False
    if turn.speak_done:
        turn.suspend(turn.others_asking(run))
        run.status = "asking"
        return False
    return True


def _is_answered_elsewhere(state: TurnState, run: Run) -> bool:
    """Whether the message has gone to another run, which is live."""
    turn = state.turn
    return turn.phase == "run" and turn.floor != run.id and any(live.id == turn.floor for live in turn.session.runs)


def has_spoken(run: Run) -> bool:
    """Whether the run has spoken at its step in this visit."""
    key = key_of(run)
    return any(line.key == key and line.status == "ok" and line.code in (None, "asked-fixed") for line in run.outcomes)


async def _go_on(state: TurnState, run: Run, plan: FlowPlan, flow: FlowPart, part: StepPart) -> None:
    """Nothing is left to ask, and nobody has answered the step: what follows is up to code (D-90)."""
    if part.kind == "requires":
        await go_to_step(state, run, plan, part.own, "completed")
    else:
        await branch(state, run, flow, part, judged=False)


def stop_at(state: TurnState, run: Run, kind: Any) -> None:
    """A halt keeps the run where it is; a line tells of it, so that the next turn knows that the step was entered."""
    state.turn.suspend(state.turn.others_asking(run))
    run.status = "asking"
    run_line(state.turn, run, kind, "skipped", key=key_of(run), detail="halt")


def freeze(state: TurnState) -> None:
    """Nothing moves any more in this turn: runs on their way wait where they are."""
    turn = state.turn
    turn.queue.clear()
    for run in [run for run in turn.session.runs if run.status == "running"]:
        turn.suspend(turn.others_asking(run))
        if run.step_id is None and run.flow_id in state.compiled.flows:
            place(run, turn.plan.flows[run.flow_id].steps[0].id)
        run.status = "asking"


# --- hooks and auto steps -----------------------------------------------------------------------


async def enter_flow(state: TurnState, run: Run, flow: FlowPart) -> None:
    """`onEnter` of the flow, before the first thing that it does (D-80)."""
    if not was_opened(state, run):
        state.opened.add(run.id)
        await call_hook(state, f"hook:onEnter:{flow.id}", flow.hooks.get("onEnter"))


async def enter_hooks(state: TurnState, run: Run, flow: FlowPart, part: StepPart) -> None:
    """`onEnter` of flow and step, each once per entry, and what is called before each utterance (D-63, D-80)."""
    await enter_flow(state, run, flow)
    if not was_opened(state, run, key_of(run)):
        state.opened.add(key_of(run))
        await call_hook(state, f"hook:onEnter:{part.own}", part.hooks.get("onEnter"))
    emitter = f"auto:{part.own}" if part.kind == "auto" else f"hook:prepare:{part.own}"
    await call_shorthand(state, emitter, part.wire.get("prepare"))
    await call_hook(state, emitter, part.hooks.get("prepare"))


async def _auto(state: TurnState, run: Run, flow: FlowPart, part: StepPart) -> None:
    if not part.own:
        await complete(state, run)
        return
    _count(state, part)
    _require(state, flow, part)
    outer = state.taken()
    await enter_hooks(state, run, flow, part)
    found = merged(state.taken())
    state.emissions = outer
    state.executed.append(ExecutedStep(part.own, flow.id))
    halted = found.members.get("halt") is True and state.utterance is None
    moved = await act_on(state, found, run)
    if halted and not moved:
        stop_at(state, run, "do")
    elif halted:
        freeze(state)
    elif not moved:
        await branch(state, run, flow, part, judged=False)


def _count(state: TurnState, part: StepPart) -> None:
    state.auto_steps.append(part.own)
    limit = state.compiled.limit("maxAutoStepsPerTurn")
    if len(state.auto_steps) > limit:
        what = f"more auto steps ran in one turn than maxAutoStepsPerTurn allows, which is {limit}: "
        what += ", ".join(state.auto_steps)
        fix = "Let one of them lead to a step that speaks, or raise maxAutoStepsPerTurn"
        raise FlowConfigurationError(Problem("auto-step-limit", "agent", what, fix, "maxAutoStepsPerTurn"))


def _require(state: TurnState, flow: FlowPart, part: StepPart) -> None:
    """An auto step cannot ask for what it requires (D-87)."""
    data = state.turn.session.data
    missing = [field for field in part.wire.get("requires", ()) if not is_known(data.get(field))]
    if missing:
        where = f"flow {quoted(flow.id)}, step {quoted(part.own)}"
        what = f"the auto step requires {listing([quoted(field) for field in missing], 'and')}, and nothing is known"
        fix = "Let an earlier step collect it: an auto step asks nothing"
        raise FlowConfigurationError(Problem("missing-required", where, what, fix))
