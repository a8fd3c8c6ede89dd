"""Where a run goes from a step: its branches in order, then the next step, then the end (D-82, D-90)."""

from __future__ import annotations

from typing import Any, Literal

from falai.classic.compiling import FlowPart, StepPart
from falai.classic.compiling_values import texts
from falai.classic.completing import complete
from falai.classic.directive import is_directive
from falai.classic.flows import ids_of
from falai.classic.hooks import all_hold
from falai.classic.phases import act_on, merged
from falai.classic.positions import apply_position, go_to_step
from falai.classic.state import Emission, TurnState
from falai.flow.places import is_list
from falai.session.jsontext import quoted
from falai.session.keys import branch_id
from falai.session.model import Run
from falai.turn.lines import key_of, kind_of, run_line

__all__ = ["ask_about", "branch", "is_last", "move_on", "next_step"]

Code = Literal["branch"]


async def branch(
    state: TurnState, run: Run, flow: FlowPart, part: StepPart, *, judged: bool, asking: bool = False
) -> bool:
    """Takes the first entry that holds, else goes on to the next step; says whether the run was moved.

    `judged`: the model was asked about the entries with a `when`; without it they do not match. While
    the step is still `asking`, the fallback and the next step are for later (D-90).
    """
    for place, entry in enumerate(part.branches):
        is_fallback = not texts(entry.get("when")) and not _listed(entry.get("if"))
        if not (asking and is_fallback) and await _matches(state, run, part, place, judged=judged):
            await _take(state, run, flow, part, place)
            return True
    if asking:
        return False
    await move_on(state, run, flow, part)
    return True


async def move_on(state: TurnState, run: Run, flow: FlowPart, part: StepPart, *, passed_over: bool = False) -> None:
    """On to the next step; behind the last one the flow is complete (D-13)."""
    following = next_step(flow, part)
    _note(state, run, following or "end", as_if=passed_over)
    if following is None:
        state.marks.add("last_step")
        await complete(state, run)
    else:
        plan = state.turn.flow_of(run)
        assert plan is not None
        await go_to_step(state, run, plan, following, "completed")


def next_step(flow: FlowPart, part: StepPart) -> str | None:
    """The id, in the core, of the step behind a user's step."""
    parts = list(flow.steps.values())
    last = max(place for place, other in enumerate(parts) if other.own == part.own)
    return parts[last + 1].id if last + 1 < len(parts) else None


def is_last(flow: FlowPart, part: StepPart) -> bool:
    """Whether the flow is complete as soon as this step is done (D-90)."""
    return not part.branches and next_step(flow, part) is None


async def ask_about(state: TurnState, run: Run, part: StepPart) -> None:
    """Notes which branches the model is to be asked about: those whose `if` holds (S-5)."""
    for place in part.asked:
        owner = f"branches[{place}] of the step {quoted(part.own)}"
        if await all_hold(state, part.branches[place].get("if"), owner):
            state.asked.add((run.flow_id, part.id, place))


async def _matches(state: TurnState, run: Run, part: StepPart, place: int, *, judged: bool) -> bool:
    entry = part.branches[place]
    if not await all_hold(state, entry.get("if"), f"branches[{place}] of the step {quoted(part.own)}"):
        return False
    if not texts(entry.get("when")):
        return True
    if not judged or place not in part.asked:
        return False
    return state.turn.judged.branches.get(branch_id(run.id, part.id, part.asked[place])) is True


async def _take(state: TurnState, run: Run, flow: FlowPart, part: StepPart, place: int) -> None:
    """Goes where the entry says: a step of the flow, else a flow; or applies its directive, by itself (D-65)."""
    then: Any = part.branches[place]["then"]
    emission = Emission(f"branch:{flow.id}.{part.own}[{place}]", then if is_directive(then) else {"goTo": then})
    step_id = flow.entrance(then) if isinstance(then, str) else None
    plan = state.turn.flow_of(run)
    assert plan is not None
    if step_id is not None:
        _note(state, run, step_id, "branch")
        await go_to_step(state, run, plan, step_id, "completed")
    elif isinstance(then, str):
        [target] = ids_of([then], state.compiled.named, emission.emitter)
        _note(state, run, f"flow:{target}", "branch")
        await apply_position(state, emission, run)
    elif not await act_on(state, merged([emission]), run):
        await move_on(state, run, flow, part)


def _note(state: TurnState, run: Run, target: str, code: Code | None = None, *, as_if: bool = False) -> None:
    plan = state.turn.flow_of(run)
    kind = "if" if as_if else kind_of(None if plan is None else plan.step(run.step_id))
    run_line(state.turn, run, kind, "ok", code, key=key_of(run), next=target)


def _listed(given: Any) -> bool:
    return given is not None and not (is_list(given) and not given)
