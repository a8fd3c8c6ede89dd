"""Phase 5: every run that can move is moved; the message is handed down until somebody answers (T-10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator, Iterable
from typing import Any

from falai.flow.definition import OnAnyMessage, OnEvent, OnMention, OnMessage, OnSilence
from falai.flow.plan import FlowPlan
from falai.session.model import Run
from falai.turn.advance import end_run, enter
from falai.turn.decide import fire_branch
from falai.turn.effects import Effect, Reached
from falai.turn.follow import end_of_flow
from falai.turn.state import Turn
from falai.turn.steps import execute

__all__ = ["drain", "hand_down", "last_suspended", "resume", "run_phase"]

MAX_STEPS = 50
_TRIGGERS = {
    "message": OnMessage | OnAnyMessage,
    "mention": OnMention,
    "silence": OnSilence,
    "event": OnEvent,
}


def run_phase(turn: Turn) -> Generator[Effect, Any, None]:
    """Moves the runs, and hands the message down while nobody has answered it (T-10.1 to T-10.3)."""
    turn.phase = "run"
    _take_back(turn)
    turn.queue = deque(turn.session.runs)
    yield from hand_down(turn)


def hand_down(turn: Turn) -> Generator[Effect, Any, None]:
    """Moves the queued runs; then the suspended ones get the message, the latest first, until somebody answers."""
    yield from drain(turn)
    if not turn.is_message or turn.gate is not None:
        return
    for _ in range(len(turn.session.runs)):
        if turn.talk is not None or turn.spoke_by:
            return
        back = _take_back(turn)
        if back is None:
            return
        turn.queue.append(back)
        yield from drain(turn)


def resume(turn: Turn, barred: Collection[str] = ()) -> Run | None:
    """If nobody asks, the run that was suspended last asks again (T-13.5)."""
    latest = None if turn.asking() is not None else last_suspended(turn.session.runs, barred)
    if latest is not None:
        latest.status, latest.suspended_at = "asking", None
    return latest


def last_suspended(runs: Iterable[Run], barred: Collection[str] = ()) -> Run | None:
    """The run that was suspended last, of equals the last in the list; those of `barred` flows do not count."""
    suspended = [run for run in runs if run.status == "suspended" and run.flow_id not in barred]
    return max(reversed(suspended), key=lambda run: run.suspended_at or run.started_at, default=None)


def _take_back(turn: Turn) -> Run | None:
    """Resumes a run; its branches of code alone may move it (T-13.6)."""
    back = resume(turn, turn.barred)
    if back is not None and turn.is_message:
        fire_branch(turn, back, {})
    return back


def drain(turn: Turn) -> Generator[Effect, Any, None]:
    """Moves the queued runs, and those that they start (T-10.2)."""
    while turn.queue:
        run = turn.queue.popleft()
        if turn.is_live(run):
            yield from _move(turn, run)


def _move(turn: Turn, run: Run) -> Generator[Effect, Any, None]:
    """T-10.4."""
    passed_over = run.status in ("waiting", "suspended") or (run.status == "asking" and not turn.is_message)
    if passed_over:
        return
    flow = turn.flow_of(run)
    if flow is None:
        end_run(turn, run, "skipped", "flow-gone")
    elif (broken := _broken_premise(turn, run, flow)) is not None:
        end_run(turn, run, "skipped", broken)
    elif run.staying and flow.flow.on_end != "stay":
        end_of_flow(turn, run, flow)
    else:
        yield from _go_on(turn, run, flow)


def _go_on(turn: Turn, run: Run, flow: FlowPlan) -> Generator[Effect, Any, None]:
    """Executes steps until the run stops, parks or ends (T-10.7 to T-10.9)."""
    resuming = run.status == "asking"
    run.status = "running"
    if run.step_id is None:
        if not flow.steps:
            end_of_flow(turn, run, flow)
            return
        enter(run, flow.steps[0].id)
    executed, driven = 0, flow.id in turn.plan.driven
    limit = turn.plan.max_driven_steps if driven else MAX_STEPS
    while run.status == "running" and turn.is_live(run):
        step = flow.step(run.step_id)
        if executed == limit:
            end_run(turn, run, "failed", "step-loop")
        elif step is None:
            end_run(turn, run, "skipped", "step-gone")
        elif not driven or (yield Reached("step", turn, run)):
            yield from execute(turn, run, flow, step, resuming=resuming)
        resuming, executed = False, executed + 1


def _broken_premise(turn: Turn, run: Run, flow: FlowPlan) -> str | None:
    """Why a run may not go on, if it may not (T-7.4)."""
    kind = run.trigger.kind
    if kind == "silence" and turn.kind == "wake" and turn.customer_wrote_since(flow, run.started_at):
        return "customer-replied"
    return None if _premise_holds(turn, run, flow) else "premise-changed"


def _premise_holds(turn: Turn, run: Run, flow: FlowPlan) -> bool:
    if flow.flow.while_ is not None:
        return turn.holds(flow.flow.while_, run)
    classes = _TRIGGERS.get(run.trigger.kind)
    if classes is None:
        return True
    triggers = [trigger for trigger in flow.triggers if isinstance(trigger, classes)]
    return not triggers or any(turn.holds(trigger.if_, run) for trigger in triggers)
