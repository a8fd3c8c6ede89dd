"""Every way out of a step, as the author wrote it: what the checks walk and the drawings show (F-8.5).

An exit is an edge of the flow's graph. It says nothing of when it is taken; that is the turn's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from falai.flow.definition import Branch, Collect, Do, If, Prompt, Step, Target, To, ToFlow, Wait, WaitEvent
from falai.flow.plan import FlowPlan, branches_of, target_of

__all__ = ["Exit", "exits"]

ExitKind = Literal["next", "then", "else", "onFail", "branch"]


@dataclass(frozen=True, slots=True)
class Exit:
    """One way out. Of `step` (an id of this flow) and `flow` (a flow's id or its template) at most one
    is set; with neither the flow ends. `path` is where it is written, below the step
    (`branches[0].then`); empty for `next`, which is not written. `branch` is set for a branch alone."""

    kind: ExitKind
    path: str
    step: str | None = None
    flow: str | None = None
    clear: tuple[str, ...] = ()
    branch: Branch | None = None

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
