"""What an agent's author may not have meant: warnings beside those of the specification.

Each looks at a plan that passed every check, and says nothing rather than a false alarm: wherever a
function decides, it is taken to do so well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falai.flow.conditions import BUILT_IN
from falai.flow.definition import (
    Collect,
    Do,
    If,
    OnAnyMessage,
    OnEvent,
    OnMessage,
    OnSilence,
    Predicate,
    Prompt,
    Say,
    Step,
    To,
    Wait,
)  # fmt: skip
from falai.flow.places import Notice, Place, flow_place, is_list, is_object, step_place, trigger_place
from falai.flow.plan import AgentPlan, FlowPlan, branches_of, target_of
from falai.flow.templates import placeholders
from falai.session.jsontext import quoted

__all__ = ["advice"]


def advice(plan: AgentPlan) -> Iterator[Notice]:
    """Every warning of this room, flow by flow."""
    gated = _uses_gate(plan)
    for flow in plan.flows.values():
        yield from _hours_without_function(flow, plan)
        yield from _used_up_by_gate(flow) if gated else ()
        yield from _unset_placeholders(flow)
        yield from _endless_confirmations(flow, plan)


def _hours_without_function(flow: FlowPlan, plan: AgentPlan) -> Iterator[Notice]:
    """`businessHours: true` on a trigger or a wait, and the agent has no `business_hours` (F-11.4)."""
    if plan.business_hours is not None:
        return
    fix = 'Give the agent business_hours, such as BusinessHours("09:00", "18:00")'
    what = "businessHours is true, and the agent has no business_hours: times stay as they are"
    for index, trigger in enumerate(flow.triggers):
        if isinstance(trigger, OnSilence | OnEvent) and trigger.business_hours:
            yield trigger_place(_place(flow), index).key("businessHours").notice("no-business-hours", what, fix)
    for step in flow.steps:
        if isinstance(step, Wait) and step.business_hours:
            yield _step_place(flow, step).key("businessHours").notice("no-business-hours", what, fix)


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
            yield trigger_place(_place(flow), index).notice("used-up-by-gate", what, fix)


# --- placeholders that may be unset ------------------------------------------------------------


def _unset_placeholders(flow: FlowPlan) -> Iterator[Notice]:
    """A `say` or `do` names `{{data.x}}` and stands behind a step that asks for x, which gives up after
    `maxAsks` asks; no fork between them asks whether x is known (or what it equals), and no function or
    host condition forks between them. A `while` that needs x makes it safe everywhere."""
    asked: dict[str, str] = {}
    safe = set(_tested(flow.flow.while_) or ())
    for step in flow.steps:
        if isinstance(step, Collect):
            asked |= {slug: step.id for slug in step.collect if slug not in safe}
        elif isinstance(step, If):
            tested = _tested(step.if_)
            asked = {} if tested is None else {slug: by for slug, by in asked.items() if slug not in tested}
        for slug in dict.fromkeys(_placed(step)):
            if slug in asked:
                what = f"{{{{data.{slug}}}}} may have no value: the step {quoted(asked[slug])} gives up asking after a while"
                fix = f'Put a step before it with {{"known": [{quoted(slug)}]}} as its if, or another text'
                yield _step_place(flow, step).notice("maybe-unset", what, fix)


def _tested(predicate: Predicate | None) -> set[str] | None:
    """The fields that have a value when the condition holds; `None` when code decides."""
    if predicate is None:
        return set()
    if not is_object(predicate) or any(name not in BUILT_IN for name in predicate):
        return None
    return {*predicate.get("known", ()), *predicate.get("equals", ())}


def _placed(step: Step) -> Iterator[str]:
    """The fields that a fixed text or an action's parameters name."""
    texts = [step.say] if isinstance(step, Say) else _texts(step.with_) if isinstance(step, Do) else ()
    for text in texts:
        yield from (path[1] for path in placeholders(text) if path[0] == "data" and len(path) > 1)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    parts: Sequence[Any] = list(value.values()) if is_object(value) else value if is_list(value) else ()
    for part in parts:
        yield from _texts(part)


# --- confirmations without end -----------------------------------------------------------------


def _endless_confirmations(flow: FlowPlan, plan: AgentPlan) -> Iterator[Notice]:
    """A step leads back and clears a field that is read only where it is asked for; from there the flow
    comes through the step that asks for it to this one again, and on the way no function and no host
    condition decides. Clearing sets the count of asks back (F-8.6), so `maxAsks` never ends it."""
    for step in flow.steps:
        for target in _targets(step):
            if not isinstance(target, To) or flow.positions[target.step] > flow.positions[step.id]:
                continue
            for slug in target.clear or ():
                if plan.fields[slug].mode == "asked" and _comes_back(flow, target.step, step, slug):
                    what = f"it clears {quoted(slug)} and goes back, and nothing ends that: it may be asked for ever"
                    fix = "Put an if with a function in between that looks at view.run.visits"
                    yield _step_place(flow, step).notice("endless-confirmation", what, fix)


def _comes_back(flow: FlowPlan, start: str, end: Step, slug: str) -> bool:
    """Whether the flow can go from `start` through a step that asks for `slug` to `end` without code deciding."""
    if _guarded(end):
        return False
    asking = [s for s in flow.steps if isinstance(s, Collect) and slug in s.collect]
    behind_start = _reachable(flow, start)
    return any(s.id in behind_start and end.id in _reachable(flow, s.id) for s in asking)


def _reachable(flow: FlowPlan, start: str) -> set[str]:
    """The steps to which the flow can come from `start`, itself among them, without passing a guard."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        step = flow.step(ahead.pop())
        if step is None or step.id in found or _guarded(step):
            continue
        found.add(step.id)
        ahead += _next_ids(flow, step)
    return found


def _next_ids(flow: FlowPlan, step: Step) -> Iterator[str]:
    after = flow.after(step.id)
    if after is not None and step.then is None:
        yield after.id
    for target in _targets(step):
        if isinstance(target, str | To):
            yield target if isinstance(target, str) else target.step


def _targets(step: Step) -> Iterator[Any]:
    for name in ("then", "else_", "on_fail"):
        target = target_of(getattr(step, name, None))
        if target is not None:
            yield target
    if isinstance(step, Collect | Prompt | Wait):
        yield from (target_of(branch.then) for branch in branches_of(step))


def _guarded(step: Step) -> bool:
    """Whether code has a word in where this step leads."""
    predicates = [step.if_] if isinstance(step, If) else []
    if isinstance(step, Collect | Prompt | Wait):
        predicates += [branch.if_ for branch in branches_of(step) if branch.if_ is not None]
    return any(_tested(predicate) is None for predicate in predicates)


def _place(flow: FlowPlan) -> Place:
    return flow_place({"id": flow.id}, "")


def _step_place(flow: FlowPlan, step: Step) -> Place:
    return step_place(_place(flow), {"id": step.id}, flow.positions[step.id])
