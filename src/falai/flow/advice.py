"""What an agent's author may not have meant: warnings beside those of the specification.

Each looks at a plan that passed every check, and says nothing rather than a false alarm: wherever a
function decides, it is taken to do so well. What takes a walk through the flow is found by `analysis`,
of which an agent is told the little that its author must hear at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from falai.flow.analysis import suspicions
from falai.flow.analysis.spots import at_step, at_trigger
from falai.flow.definition import (
    Collect,
    If,
    OnAnyMessage,
    OnEvent,
    OnMessage,
    OnSilence,
    Predicate,
    Prompt,
    Say,
    Wait,
)  # fmt: skip
from falai.flow.places import Notice
from falai.flow.plan import AgentPlan, FlowPlan, branches_of
from falai.flow.registries import Registries

__all__ = ["advice"]


def advice(plan: AgentPlan) -> Iterator[Notice]:
    """Every warning of this room, flow by flow."""
    gated, names = _uses_gate(plan), Registries.of(plan)
    for flow in plan.flows.values():
        yield from _hours_without_function(flow, plan)
        yield from _used_up_by_gate(flow) if gated else ()
        yield from suspicions(flow, names)


def _hours_without_function(flow: FlowPlan, plan: AgentPlan) -> Iterator[Notice]:
    """`businessHours: true` on a trigger or a wait, and the agent has no `business_hours` (F-11.4)."""
    if plan.business_hours is not None:
        return
    fix = 'Give the agent business_hours, such as BusinessHours("09:00", "18:00")'
    what = "businessHours is true, and the agent has no business_hours: times stay as they are"
    for index, trigger in enumerate(flow.triggers):
        if isinstance(trigger, OnSilence | OnEvent) and trigger.business_hours:
            yield at_trigger(flow, index).key("businessHours").notice("no-business-hours", what, fix)
    for step in flow.steps:
        if isinstance(step, Wait) and step.business_hours:
            yield at_step(flow, step).key("businessHours").notice("no-business-hours", what, fix)


# --- a closed gate uses up a start (T-17.7) ----------------------------------------------------


def _uses_gate(plan: AgentPlan) -> bool:
    """Whether any condition of the agent asks about `silenced`: then its host closes the gate."""
    predicates = [i.if_ for i in plan.instructions] + [p for f in plan.flows.values() for p in _predicates(f)]
    return any(_mentions_gate(predicate) for predicate in predicates)


def _predicates(flow: FlowPlan) -> Iterator[Predicate | None]:
    yield flow.flow.while_
    for trigger in flow.triggers:
        yield trigger.if_
    for step in flow.steps:
        if isinstance(step, If):
            yield step.if_
        if isinstance(step, Collect | Prompt | Wait):
            yield from (branch.if_ for branch in branches_of(step))


def _mentions_gate(predicate: Predicate | None) -> bool:
    return isinstance(predicate, Mapping) and "silenced" in predicate


def _used_up_by_gate(flow: FlowPlan) -> Iterator[Notice]:
    """A message trigger that starts once, on an agent that uses the gate, of a flow that begins with
    words, and whose `if` is a JSON condition (or absent) that does not ask about `silenced`: a message
    that comes while the gate is closed starts the flow for the last time, and nobody hears it."""
    if not flow.steps or not isinstance(flow.steps[0], Collect | Prompt | Say):
        return
    for index, trigger in enumerate(flow.triggers):
        once = isinstance(trigger, OnMessage | OnAnyMessage) and trigger.repeat in (None, "once")
        if once and not callable(trigger.if_) and not _mentions_gate(trigger.if_):
            what = "it starts once, and a message that comes while the assistant is silenced uses that up"
            fix = 'Add {"silenced": false} to its if, or say repeat'
            yield at_trigger(flow, index).notice("used-up-by-gate", what, fix)
