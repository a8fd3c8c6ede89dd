"""Every way out of a step, as the author wrote it: what the checks walk and the drawings show (F-8.5).

An exit is an edge of the flow's graph. It says nothing of when it is taken; that is the turn's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from falai.flow.definition import Branch, Collect, Do, If, Prompt, Step, Target, To, ToFlow, Wait, WaitEvent
from falai.flow.moves import Aim
from falai.flow.plan import FlowPlan, branches_of, target_of
from falai.flow.registries import Registries

__all__ = ["Exit", "exits", "moves_of"]

ExitKind = Literal["next", "then", "else", "onFail", "branch", "move"]


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out. Of `step` (an id of this flow) and `flow` (a flow's id or its template) at most one
    is set; with neither the flow ends. `path` is where it is written, below the step
    (`branches[0].then`); empty for `next`, which is not written. `branch` is set for a branch alone.
    A `move` is one that code may make at the step, by an action or a tool that declares it; `resets` is
    set for one that begins the flow again."""

    kind: ExitKind
    path: str
    step: str | None = None
    flow: str | None = None
    clear: tuple[str, ...] = ()
    branch: Branch | None = None
    resets: bool = False

    @property
    def ends(self) -> bool:
        """Whether the flow is over, as after its last step: `onEnd` decides what comes (T-12.8)."""
        return self.step is None and self.flow is None


def exits(flow: FlowPlan, step: Step) -> tuple[Exit, ...]:
    """The ways out of a step of a checked flow, in the order in which a reader expects them.

    First the one that is taken when all goes well, `then` or the next step in the list; then `else`
    (its default, the end, included) and `onFail` where the step has them; then the branches.
    """
    return tuple(_exits(flow, step))


def moves_of(flow: FlowPlan, step: Step, names: Registries) -> tuple[Exit, ...]:
    """The ways on which code may send a run from a step: its action, or a tool that may be called there."""
    match step:
        case Do():
            return tuple(_move("do", aim) for aim in names.action_moves.get(names.called(step.do) or "", ()))
        case Collect() | Prompt() if names.tool_moves:
            offered = step.tools if step.tools is not None else flow.flow.tools
            tools = names.tools if offered is None else offered
            aims = dict.fromkeys(aim for tool in tools for aim in names.tool_moves.get(tool, ()))
            return tuple(_move("tools", aim) for aim in aims if aim.kind != "step" or flow.step(aim.name))
        case _:
            return ()


def _move(path: str, aim: Aim) -> Exit:
    step, flow = (aim.name if aim.kind == kind else None for kind in ("step", "flow"))
    return Exit("move", path, step=step, flow=flow, resets=aim.kind == "reset")


def _exits(flow: FlowPlan, step: Step) -> Iterator[Exit]:
    then = target_of(step.then)
    yield _next(flow, step) if then is None else _exit("then", "then", then)
    if isinstance(step, If | WaitEvent):
        yield _exit("else", "else", target_of(step.else_) or "end")
    elif isinstance(step, Wait) and step.else_ is not None:
        yield _exit("else", "else", target_of(step.else_))
    elif isinstance(step, Do) and step.on_fail is not None:
        yield _exit("onFail", "onFail", target_of(step.on_fail))
    if isinstance(step, Collect | Prompt | Wait):
        for index, branch in enumerate(branches_of(step)):
            yield _exit("branch", f"branches[{index}].then", target_of(branch.then), branch)


def _next(flow: FlowPlan, step: Step) -> Exit:
    behind = flow.after(step.id)
    return Exit("next", "", step=None if behind is None else behind.id)


def _exit(kind: ExitKind, path: str, target: Target | None, branch: Branch | None = None) -> Exit:
    match target:
        case ToFlow():
            return Exit(kind, path, flow=target.flow, branch=branch)
        case To():
            return Exit(kind, path, step=target.step, clear=tuple(target.clear or ()), branch=branch)
        case None | "end":
            return Exit(kind, path, branch=branch)
        case _:
            return Exit(kind, path, step=target, branch=branch)
