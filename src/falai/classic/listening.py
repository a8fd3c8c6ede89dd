"""What the layer does at each moment of the core's turn (D-95)."""

from __future__ import annotations

from typing import Any

from falai.classic.branching import ask_about, is_last, move_on
from falai.classic.hooks import all_hold
from falai.classic.phases import act_on, merged
from falai.classic.positions import apply_position, go_to_step, leave, position_of
from falai.classic.sessions import OWN, own_state
from falai.classic.signals import after_turn, call_signals, not_looked_for
from falai.classic.speaking import on_speaking, on_spoken
from falai.classic.state import TurnState
from falai.classic.stepping import at_step, freeze, has_spoken
from falai.classic.templates import prepare
from falai.classic.writing import notice_data
from falai.flow.definition import Collect, Prompt
from falai.session.jsontext import quoted
from falai.session.model import Run
from falai.turn.effects import Reached

__all__ = ["listen"]


async def listen(state: TurnState, reached: Reached) -> Any:
    """The answer that the core waits for. What an author's function raises goes out of the turn."""
    for end in state.turn.ended:  # also those that the core ended by itself, since the last moment
        await leave(state, end.run, "aborted")
    await notice_data(state)
    match reached.moment:
        case "loaded":
            return await _loaded(state)
        case "judged":
            return await _judged(state)
        case "step":
            assert reached.run is not None
            state.phase = "step_preparation"
            return await at_step(state, reached.run)
        case "speaking":
            return await on_speaking(state)
        case "spoken":
            assert reached.outcome is not None
            return await on_spoken(state, reached.outcome)
        case "settled":
            return await _settled(state)


# --- before the message goes anywhere -----------------------------------------------------------


async def _loaded(state: TurnState) -> None:
    """What code knows is found out before the model is asked: who may be routed to, what is to be judged."""
    turn, state.phase = state.turn, "routing"
    redirects = _take_pending(state)
    for flow in state.compiled.flows.values():
        done = flow.claim(turn.session.id) in turn.session.claims and not flow.wire.get("reentrant")
        if done or not await all_hold(state, flow.wire.get("if"), f"the flow {quoted(flow.id)}"):
            state.closed.add(flow.id)
    state.unwanted_signals = await not_looked_for(state)
    _bar(state, all_flows=redirects)
    await _look_at_floor(state)


def _take_pending(state: TurnState) -> bool:
    """Takes the pending directive out of the session; says whether it leads anywhere."""
    session = state.turn.session
    own = own_state(session)
    pending = own.pop("pendingDirective", None)
    if pending is None:
        return False
    session.metadata[OWN] = own
    state.emit("pending", pending)
    return position_of(pending) is not None


def _bar(state: TurnState, *, all_flows: bool) -> None:
    """Who is no candidate for this message; a current flow that is not allowed gives way (D-29)."""
    turn = state.turn
    flows = frozenset(flow.id for flow in state.compiled.named)
    state.disallowed = frozenset() if state.allowed is None else flows - state.allowed
    turn.barred = state.unwanted_signals | (flows if all_flows else state.disallowed)
    turn.suspend([run for run in turn.session.runs if run.status == "asking" and run.flow_id in state.disallowed])


async def _look_at_floor(state: TurnState) -> None:
    """The branches and texts of the step that waits for this message."""
    turn = state.turn
    run, lives = turn.asking(), [turn.plan.persona]
    part = None if run is None else state.compiled.part(run)
    if run is not None and part is not None:
        plan = turn.plan.flows[run.flow_id]
        step = plan.step(run.step_id)
        lives += [step.prompt] if isinstance(step, Collect | Prompt) else []
        if has_spoken(run):
            await ask_about(state, run, part)
    await prepare(lives, state.scene())


async def _judged(state: TurnState) -> bool:
    """The signals, and the first merge; says whether the message goes where it was judged to go (D-95)."""
    turn = state.turn
    turn.barred = state.disallowed
    await call_signals(state, "pre")
    state.phase = "routing"
    found = merged(state.taken())
    halted = found.members.get("halt") is True
    moved = await act_on(state, found, state.current())
    if halted:
        turn.halted = True
        freeze(state)
    return not (moved or halted)


# --- when the reply is applied ------------------------------------------------------------------


async def _settled(state: TurnState) -> bool:
    """What the reply leads to, then the signals that follow; says whether runs are to be moved."""
    turn, state.phase = state.turn, "completion"
    if state.after_model is not None:
        emission, state.after_model = state.after_model, None
        await apply_position(state, emission, state.current())
    state.acting = None
    while turn.finished:
        run = turn.finished.pop(0)
        if turn.is_live(run) and has_spoken(run):
            await _advance(state, run)
    if not turn.queue and not state.is_over and turn.is_message:
        state.is_over = True
        await after_turn(state)
    return bool(turn.queue)


async def _advance(state: TurnState, run: Run) -> None:
    """A step has said all that it has to say: the last one ends its flow, others wait for the answer (D-90)."""
    flow, part = state.compiled.flows.get(run.flow_id), state.compiled.part(run)
    if flow is None or part is None:
        return
    if part.kind == "requires":
        await go_to_step(state, run, state.turn.plan.flows[flow.id], part.own, "completed")
    elif is_last(flow, part):
        await move_on(state, run, flow, part)
