"""How flows begin: flows that nothing starts, triggers that nothing looks at, runs that end at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from falai.flow.analysis.judging import tested
from falai.flow.analysis.moves import closure
from falai.flow.analysis.spots import at_flow, at_trigger
from falai.flow.analysis.world import World
from falai.flow.definition import OnAnyMessage, OnEvent, OnMention, OnMessage, OnSilence, Predicate, Trigger
from falai.flow.places import Notice
from falai.flow.plan import FlowPlan
from falai.session.jsontext import json_equal, quoted

__all__ = ["starts"]


def starts(world: World, flow: FlowPlan) -> Iterator[Notice]:
    """Every finding of this file."""
    yield from _host_start_only(world, flow)
    for index, trigger in enumerate(flow.triggers):
        earlier = flow.triggers[:index]
        why = _not_looked_at(trigger, earlier)
        if why:
            fix = "Take it out, or make a flow of its own for it"
            yield at_trigger(flow, index).notice("ignored-trigger", why, fix)
    yield from _shadowed_catch_all(world, flow)
    yield from _ends_at_once(world, flow)


def _host_start_only(world: World, flow: FlowPlan) -> Iterator[Notice]:
    """Flows that lead to each other and to which no other leads are told once, at the first of them."""
    if not world.closed or world.moves_by_template:
        return
    before = _leading(world, flow.id)
    triggered = any(world.flows[other].triggers or other in world.begun_by_tools for other in before)
    if triggered or flow.id != next(other for other in world.flows if other in before):
        return
    if all(_leading(world, other) == before for other in before):
        alone = "no other flow leads to it" if len(before) == 1 else "only flows lead to it to which it leads itself"
        what = f"it has no trigger, and {alone}: only the host can start it"
        fix = "Give it a trigger, lead a step to it, or silence this when the host starts it"
        yield at_flow(flow).key("on").notice("host-start-only", what, fix)


def _leading(world: World, flow_id: str) -> set[str]:
    """The flows from which chains lead to this one, itself among them."""
    return closure([flow_id], lambda at: world.chained.get(at, ()))


def _not_looked_at(trigger: Trigger, earlier: tuple[Trigger, ...]) -> str:
    """Why a trigger, or what is said beside its phrases, has no effect (T-8.2, T-8.3, T-8.6, T-15.13, T-5.13)."""
    alike: list[Any] = [other for other in earlier if type(other) is type(trigger)]
    if not alike:
        return ""
    match trigger:
        case OnMessage() | OnMention():
            kind = "message" if isinstance(trigger, OnMessage) else "mention"
            if kind == "mention" and not (trigger.phrases and alike[0].phrases):
                return "it starts nothing: only the flow's first mention trigger does"
            if _says_alike(trigger, alike[0]) or not _tells(trigger):
                return ""
            return f"its phrases count, its if and repeat start nothing: those of the flow's first {kind} trigger do"
        case OnAnyMessage():
            return "it starts nothing: only the flow's first trigger for any message does"
        case OnSilence():
            return "it starts nothing: only the flow's first silence trigger does"
        case OnEvent():
            same = [o for o in alike if isinstance(o, OnEvent) and o.event == trigger.event and o.if_ is None]
            always = [o for o in same if o.repeat in (None, "always")]
            return f"an earlier trigger takes every {quoted(trigger.event)}" if always else ""


def _tells(trigger: OnMessage | OnMention) -> bool:
    return trigger.if_ is not None or trigger.repeat not in (None, "once")


def _says_alike(trigger: Trigger, other: Trigger) -> bool:
    same_if = trigger.if_ is other.if_ or (_is_data(trigger.if_) and json_equal(trigger.if_, other.if_))
    return same_if and json_equal(trigger.repeat or "once", other.repeat or "once")


def _is_data(predicate: Predicate | None) -> bool:
    return predicate is not None and not callable(predicate)


def _shadowed_catch_all(world: World, flow: FlowPlan) -> Iterator[Notice]:
    """An earlier flow's catch-all is always eligible (T-8.3)."""
    if flow.catch_all is None:
        return
    for other in world.flows.values():
        if other is flow:
            return
        first = other.catch_all
        if first is not None and not first.if_ and not callable(first.if_) and first.repeat == "always":
            what = f"the flow {quoted(other.id)}, which stands earlier, takes every message that this trigger is for"
            place = at_trigger(flow, flow.triggers.index(flow.catch_all))
            yield place.notice(
                "shadowed-catch-all", what, "Put this flow first, or give the other one an if or a repeat"
            )
            return


def _ends_at_once(world: World, flow: FlowPlan) -> Iterator[Notice]:
    """`while` needs a field that `clearOnStart` has just deleted, and nothing can bring it before the first step."""
    needed = tested(flow.flow.while_) or set[str]()
    delayed = any(isinstance(trigger, OnEvent) for trigger in flow.triggers)
    if delayed or world.writes_unseen:
        return
    for slug in flow.flow.clear_on_start or ():
        if slug in needed and not world.anywhere(slug):
            what = (
                f"while needs {quoted(slug)}, which the flow forgets at its start: each run ends before its first step"
            )
            fix = "Take it out of clearOnStart, or out of while"
            yield at_flow(flow).key("while").notice("ends-at-once", what, fix)
