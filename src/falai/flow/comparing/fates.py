"""What becomes of a stored run when the flows change: what the next turn that moves it does (T-10.4, F-8.8).

A run keeps its place by ids alone. It is lost when its flow or step is gone (`flow-gone`,
`step-gone`, S-47) or when what must hold no longer does (`premise-changed`, T-7.4). Everything else
goes on where it stands, on whatever the step is now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from falai.flow.comparing.changes import Comparison
from falai.flow.comparing.steps import Difference, step_changes
from falai.flow.conditions import holds
from falai.flow.definition import (
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Predicate,
    Step,
    Wait,
    WaitEvent,
)
from falai.flow.handlers import View
from falai.flow.plan import FlowPlan
from falai.session.jsontext import quoted
from falai.session.model import Run

__all__ = ["Fate", "fate"]

FateKind = Literal["goes-on", "changed", "restarts", "ends", "lost"]
_TRIGGERS: Mapping[str, tuple[type[Any], ...]] = {
    "message": (OnMessage, OnAnyMessage),
    "mention": (OnMention,),
    "silence": (OnSilence,),
    "event": (OnEvent,),
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a run, why in words, and at which occasion.

    `changed` is going on at a step that does something else than before; `changes` says what.
    `restarts` and `ends` follow the flow's `onEnd`; `lost` has the code of the line that the turn writes.
    """

    kind: FateKind
    why: str
    when: str
    code: Literal["flow-gone", "step-gone", "premise-changed"] | None = None
    changes: tuple[str, ...] = ()


def fate(run: Run, comparison: Comparison, data: Mapping[str, Any] | None = None) -> Fate:
    """What the next turn that moves the run does with it on the new flows.

    `data` are the fields of its session: with them, a premise that is JSON is judged as things stand.
    What code decides (functions, host conditions, the gate) is taken to go well.
    """
    when = _when(run)
    flow = comparison.new.plans.get(run.flow_id)
    if flow is None:
        return Fate("lost", _flow_gone(run, comparison), when, "flow-gone")
    step = flow.step(run.step_id)
    if data is not None and _premise(run, flow, data) is False:
        return _premise_changed(run, comparison, data, when)
    released = run.status == "waiting" and isinstance(step, Wait | WaitEvent)
    if run.staying and flow.flow.on_end != "stay" and not released:
        return _at_the_end(flow, "the flow no longer stays at its end (onEnd)", when)
    if run.step_id is None:
        return _not_begun(flow, when)
    if step is None:
        return Fate("lost", _step_gone(run, comparison), when, "step-gone")
    return _goes_on(run, comparison, flow, step, when)


def _when(run: Run) -> str:
    parked = run.waiting
    if run.status == "waiting" and parked is not None:
        due = f"at {parked.until}" if parked.until else "when its time is up"
        return due if parked.event is None else f"when the event {quoted(parked.event)} arrives, or {due}"
    occasions = {"asking": "when the customer writes next", "suspended": "when it is taken up again"}
    return occasions.get(run.status, "at the next turn")


def _flow_gone(run: Run, comparison: Comparison) -> str:
    now = comparison.renamed_flows.get(run.flow_id)
    hint = "" if now is None else f"; it seems to be {quoted(now)} now: keep the id, and change the name instead"
    return f"its flow is gone{hint}"


def _step_gone(run: Run, comparison: Comparison) -> str:
    now = comparison.renamed_steps.get((run.flow_id, run.step_id or ""))
    hint = "" if now is None else f"; it seems to be {quoted(now)} now: keep the id, and change the label instead"
    return f"the step {quoted(run.step_id or '')} is gone{hint}"


def _at_the_end(flow: FlowPlan, why: str, when: str) -> Fate:
    if flow.flow.on_end == "reset" and flow.steps:
        return Fate("restarts", f"{why}: it starts again with the first step", when)
    return Fate("ends", f"{why}: the run is over", when)


def _not_begun(flow: FlowPlan, when: str) -> Fate:
    if flow.steps:
        return Fate("goes-on", "it has not begun, and begins with the first step", when)
    return _at_the_end(flow, "the flow has no steps", when)


# --- the premise -------------------------------------------------------------------------------


def _premise_changed(run: Run, comparison: Comparison, data: Mapping[str, Any], when: str) -> Fate:
    before = comparison.old.plans.get(run.flow_id)
    if before is not None and _premise(run, before, data) is False:
        return Fate("ends", "what must hold does not, on the old flows neither", when, "premise-changed")
    return Fate("lost", "what must hold for it (while, or the if of its trigger) does not", when, "premise-changed")


def _premise(run: Run, flow: FlowPlan, data: Mapping[str, Any]) -> bool | None:
    """Whether the run may go on; `None` where code has a word in it."""
    if flow.flow.while_ is not None:
        return _holds(flow.flow.while_, data)
    kinds = _TRIGGERS.get(run.trigger.kind, ())
    verdicts = [_holds(trigger.if_, data) for trigger in flow.triggers if isinstance(trigger, kinds)]
    if not verdicts or True in verdicts:
        return True
    return None if None in verdicts else False


def _holds(predicate: Predicate | None, data: Mapping[str, Any]) -> bool | None:
    if predicate is None:
        return True
    if callable(predicate) or not predicate.keys() <= {"equals", "known"}:
        return None
    return holds(predicate, _view(data), {})


def _view(data: Mapping[str, Any]) -> View[None]:
    """Only the fields are looked at."""
    return View(None, data, None, None, None, datetime.min.replace(tzinfo=UTC))


# --- going on ----------------------------------------------------------------------------------


def _goes_on(run: Run, comparison: Comparison, flow: FlowPlan, step: Step, when: str) -> Fate:
    before = comparison.old.step(run.flow_id, step.id)
    after = comparison.new.step(run.flow_id, step.id)
    if before is None or after is None:
        return Fate("goes-on", f"it goes on at {quoted(step.id)}, which the old flows do not have", when)
    found: list[Difference] = step_changes(before, after)
    said = [*(what for _, what in found), *_behind(comparison.old.plans[flow.id], flow, step.id)]
    if not said:
        return Fate("goes-on", f"it goes on at {quoted(step.id)}", when)
    if any(kind in ("wait", "step-kind") for kind, _ in found):
        said += _still_parked(run)
    return Fate("changed", f"it goes on at {quoted(step.id)}, which is different now", when, changes=tuple(said))


def _behind(old: FlowPlan, new: FlowPlan, step_id: str) -> Iterator[str]:
    """Whether another step follows now, where no target says which."""
    was, now = old.step(step_id), new.step(step_id)
    if was is None or now is None or was.then is not None or now.then is not None:
        return
    before, after = old.after(step_id), new.after(step_id)
    if (before and before.id) != (after and after.id):
        yield f"behind it comes {_called(after)} instead of {_called(before)}"


def _called(step: Step | None) -> str:
    return "the end" if step is None else quoted(step.id)


def _still_parked(run: Run) -> Sequence[str]:
    """A wait that has begun is not measured anew."""
    parked = run.waiting
    if run.status != "waiting" or parked is None:
        return ()
    event = "" if parked.event is None else f" for the event {quoted(parked.event)}"
    return (f"it still waits{event} until {parked.until}, as when the wait began",)
