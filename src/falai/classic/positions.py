"""A directive's position becomes a move of the core (D-54, D-57, D-67, D-92, D-93).

The moves are the turn's own: `end_run`, `start_run`, `follow`. Here is said which run is moved, what
is cleared and written on the way, and which hooks hear of it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, Literal

from falai.classic.compiling import FlowPart
from falai.classic.directive import OBJECT_FORMS, POSITIONS, Directive, members_of
from falai.classic.flows import ids_of
from falai.classic.hooks import call_quietly
from falai.classic.named import named
from falai.classic.sessions import OWN
from falai.classic.state import Emission, Link, TurnState
from falai.classic.writing import check_data, notice_data
from falai.errors import FlowConfigurationError, Problem
from falai.flow.places import Wire, is_object
from falai.flow.plan import FlowPlan
from falai.session.jsontext import quoted
from falai.session.keys import run_id
from falai.session.model import Run, TriggerKind
from falai.turn.advance import end_run, enter
from falai.turn.follow import follow, inherit
from falai.turn.lines import key_of, kind_of, run_line
from falai.turn.start import start_run

__all__ = ["ExitReason", "apply_position", "begin", "go_to_step", "leave", "position_of", "was_opened"]

ExitReason = Literal["completed", "goto_flow", "goto_step", "aborted"]
Form = Mapping[str, Any]

_SHORT: Final = {"goTo": "flow", "goToStep": "step", "abort": "reason"}
"""What the short form of a position says."""


def position_of(directive: Directive | Wire) -> tuple[str, dict[str, Any]] | None:
    """The position member of a valid directive, in its object form; `None` when it has none (D-50, D-51)."""
    members = members_of(directive)
    name = next((name for name in POSITIONS if name in members), None)
    if name is None:
        return None
    given = members[name]
    form = named(given, OBJECT_FORMS[name]) if is_object(given) else {_SHORT[name]: given} if name in _SHORT else {}
    form = {key: value for key, value in form.items() if value is not None}
    return ("goToStep", form) if name == "goTo" and "flow" not in form else (name, form)


async def apply_position(state: TurnState, emission: Emission, run: Run | None) -> None:
    """Applies a directive's position, if it has one, to the current run, or to one that has just completed.

    Raises FlowConfigurationError for a target that is not there (D-57) and a chain that is too long (D-67).
    """
    found = position_of(emission.directive)
    if found is not None:
        name, form = found
        await _MOVES[name](state, run, form, emission.emitter)


# --- entering and leaving -----------------------------------------------------------------------


async def begin(state: TurnState, run: Run, flow: FlowPart) -> None:
    """What is done to the data when a run enters its flow: a completed one is forgotten, `initialData` is laid over."""
    note = state.note(run)
    if note.has_begun:
        return
    note.has_begun = True
    session, claim = state.turn.session, flow.claim(state.turn.session.id)
    if flow.wire.get("reentrant") and claim in session.claims:
        state.turn.forget(flow.owned)
        del session.claims[claim]
    _lay_over(state, flow.wire.get("initialData", {}))
    await notice_data(state)


async def leave(state: TurnState, run: Run, reason: ExitReason, *, flow_too: bool = True) -> None:
    """Tells the step on which the run stands, and its flow, that they are left, when they had been entered (D-80)."""
    flow, part = state.compiled.flows.get(run.flow_id), state.compiled.part(run)
    if flow is None or state.note(run).was_left:
        return
    if part is not None and part.kind != "requires" and was_opened(state, run, key_of(run)):
        await call_quietly(state, f"hook:onExit:{part.own}", part.hooks.get("onExit"), reason)
    if flow_too:
        state.note(run).was_left = True
        if was_opened(state, run):
            await call_quietly(state, f"hook:onExit:{flow.id}", flow.hooks.get("onExit"), reason)


def was_opened(state: TurnState, run: Run, key: str | None = None) -> bool:
    """Whether `onEnter` was called, in this turn or an earlier one: of the step with this key, else of the run's flow."""
    return (run.id if key is None else key) in state.opened


def _lay_over(state: TurnState, data: Wire) -> None:
    for field, value in data.items():
        state.turn.write(field, value, "action")


# --- the moves ----------------------------------------------------------------------------------


async def _go_to(state: TurnState, run: Run | None, form: Form, emitter: str) -> None:
    plan = _flow(state, form["flow"], emitter)
    flow = state.compiled.flows.get(plan.id)
    step_id = _entrance(plan, flow, form["step"], emitter) if "step" in form else None
    check_data(state, form.get("data", {}), [emitter])
    _count(state, f"goTo:{plan.id}", emitter)
    state.marks.add("goto")
    key, kind = await _leave_for(state, run, plan, "flow")
    child = start_run(state.turn, plan, kind, key, hop=len(state.links), max_hop=_no_limit(state))
    inherit(state.turn, child)
    if child is None:
        return
    if flow is not None:
        if form.get("carry") == "reset":
            state.turn.forget(flow.owned)
        await begin(state, child, flow)
    _lay_over(state, form.get("data", {}))
    await notice_data(state)
    if step_id is not None:
        enter(child, step_id)
        state.note(child).is_unjudged = True


async def _go_to_step(state: TurnState, run: Run | None, form: Form, emitter: str) -> None:
    named_flow = _flow(state, form["flow"], emitter).id if "flow" in form else None
    if named_flow is not None and (run is None or run.flow_id != named_flow or not state.turn.is_live(run)):
        await _go_to(state, run, form, emitter)
        return
    plan = None if run is None else state.turn.flow_of(run)
    if run is None or plan is None or not state.turn.is_live(run):
        raise _unknown_step(form["step"], emitter, "no flow is under way")
    flow = state.compiled.flows.get(plan.id)
    step_id = _entrance(plan, flow, form["step"], emitter)
    check_data(state, form.get("data", {}), [emitter])
    _count(state, f"goToStep:{form['step']}", emitter)
    state.marks.add("goto")
    _lay_over(state, form.get("data", {}))
    await notice_data(state)
    _note_left(state, run, plan, step_id, emitter)
    await go_to_step(state, run, plan, step_id, "goto_step")
    state.note(run).is_unjudged = True


def _note_left(state: TurnState, run: Run, plan: FlowPlan, target: str, emitter: str) -> None:
    """A line for a step that is left before it did anything: by it, later turns know that its flow was entered."""
    key = key_of(run)
    if was_opened(state, run, key) and not any(line.key == key for line in run.outcomes):
        kind = kind_of(plan.step(run.step_id))
        run_line(state.turn, run, kind, "skipped", key=key, detail=emitter, next=target)


async def go_to_step(state: TurnState, run: Run, plan: FlowPlan, step_id: str | None, reason: ExitReason) -> None:
    """Moves a run to a step, or to the one behind its own, and puts it into the queue when nobody moves it now."""
    turn, here = state.turn, plan.step(run.step_id)
    await leave(state, run, reason, flow_too=False)
    if here is None or (step_id is not None and run.step_id is None):
        enter(run, step_id or plan.steps[0].id)
    else:
        follow(turn, run, plan, here, step_id)
    if turn.talk is not None and turn.talk.run is run:
        turn.talk = None
    if run is not state.stepping and run not in turn.queue:
        turn.queue.append(run)


async def _complete(state: TurnState, run: Run | None, form: Form, emitter: str) -> None:
    from falai.classic.completing import complete  # which applies what follows, by this file

    if run is None or not state.turn.is_live(run):
        return
    _count(state, "complete(chained)" if emitter == "complete.next" else "complete", emitter)
    state.marks.add("completed")
    state.completed.add(run.id)
    await complete(state, run, form.get("next"))


async def _abort(state: TurnState, run: Run | None, form: Form, emitter: str) -> None:  # noqa: ARG001  as all moves
    turn = state.turn
    state.marks.add("aborted")
    for live in list(turn.session.runs):
        await leave(state, live, "aborted")
        end_run(turn, live, "skipped", "aborted", form["reason"])
    turn.messages.clear()
    turn.spoke_by.clear()
    turn.queue.clear()
    turn.spoke, turn.halted, state.silent, state.left = False, True, True, Directive()
    if form.get("clearSession"):
        turn.forget(list(turn.session.data))
        turn.session.claims.clear()
        turn.session.metadata.pop(OWN, None)
        turn.session.history = None
        state.is_cleared = True
        await notice_data(state)


async def _reset(state: TurnState, run: Run | None, form: Form, emitter: str) -> None:
    plan = None if run is None else state.turn.flow_of(run)
    if run is None or plan is None:
        return
    turn, flow = state.turn, state.compiled.flows.get(plan.id)
    step_id = _entrance(plan, flow, form["step"], emitter) if "step" in form else None
    _count(state, "reset", emitter)
    state.marks.add("reset")
    key, _ = await _leave_for(state, run, plan, "reset")
    fresh = start_run(
        turn, plan, "flow", key, payload=run.input, hop=len(state.links), max_hop=_no_limit(state), clear=False
    )
    inherit(turn, fresh)
    if fresh is None:
        return
    if flow is not None and form.get("clearData"):
        turn.forget(flow.owned)
        await begin(state, fresh, flow)
    state.note(fresh).has_begun = True
    await notice_data(state)
    if step_id is not None:
        enter(fresh, step_id)
        state.note(fresh).is_unjudged = True


_MOVES: Final[Mapping[str, Callable[[TurnState, Run | None, Form, str], Coroutine[Any, Any, None]]]] = {
    "goTo": _go_to,
    "goToStep": _go_to_step,
    "complete": _complete,
    "abort": _abort,
    "reset": _reset,
}


async def _leave_for(
    state: TurnState, run: Run | None, plan: FlowPlan, reason: Literal["flow", "reset"]
) -> tuple[str, TriggerKind]:
    """Ends the run that is left, and any other of the flow that is entered; gives the new run's trigger."""
    turn = state.turn
    if run is not None and turn.is_live(run):
        await leave(state, run, "goto_flow")
        end_run(turn, run, reason)
    for rival in [live for live in turn.session.runs if live.flow_id == plan.id]:
        await leave(state, rival, "goto_flow")
        end_run(turn, rival, "replaced")
    if run is not None:
        return key_of(run), "flow"
    taken = any(start.run_id == run_id(plan.id, turn.trigger_key) for start in turn.started)
    return f"{turn.trigger_key}:{len(state.links)}" if taken else turn.trigger_key, "start"


def _no_limit(state: TurnState) -> int:
    """The hops of directives are limited by their chain (D-93)."""
    return len(state.links) + 1


# --- targets ------------------------------------------------------------------------------------


def _flow(state: TurnState, name: str, emitter: str) -> FlowPlan:
    [found] = ids_of([name], state.compiled.named, emitter)
    return state.turn.plan.flows[found]


def _entrance(plan: FlowPlan, flow: FlowPart | None, step: str, emitter: str) -> str:
    """The core's step that a move to the user's step enters."""
    found = (step if plan.step(step) else None) if flow is None else flow.entrance(step)
    if found is None:
        raise _unknown_step(step, emitter, f"the flow {quoted(plan.id)} has no such step")
    return found


def _unknown_step(step: str, emitter: str, why: str) -> FlowConfigurationError:
    what = f"the directive goes to the step {quoted(step)}, and {why}"
    return FlowConfigurationError(
        Problem("unknown-step", emitter, what, "Name a step of the current flow, or its flow")
    )


def _count(state: TurnState, description: str, emitter: str) -> None:
    """One more position in this turn; raises when there are too many (D-67)."""
    state.links.append(Link(description, emitter))
    limit, count = state.compiled.limit("maxDirectiveChain"), len(state.links)
    if count > limit:
        links = ", ".join(f"{link.description} ({link.emitter})" for link in state.links)
        what = f"directives redirect in a cycle: {count} in this turn, maxDirectiveChain is {limit}: {links}"
        fix = "Break the cycle, or raise maxDirectiveChain"
        raise FlowConfigurationError(Problem("directive-chain", "agent", what, fix, "maxDirectiveChain"))
