"""What changed between two versions of flows, in words.

Flows and steps are matched by their ids. What lost its id and came under another one with the same
content is told as renamed: a person sees it so, and a run that stands there does not (F-8.8).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from falai.errors import FlowConfigurationError, Problem
from falai.flow.comparing.steps import Difference, Kind, each, instruction_changes, kind_of, step_changes
from falai.flow.comparing.words import listed_changes, reordered, same, trigger_words, value_change
from falai.flow.definition import Flow
from falai.flow.names import check_names
from falai.flow.places import Wire
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries
from falai.flow.shape import flow_shape
from falai.flow.wire import TRIGGERS, flow_from_wire, to_wire
from falai.session.jsontext import quoted

__all__ = ["Change", "Comparison", "Version", "compare"]

_ID_PROBLEMS = ("no-flow-id", "no-step-id", "reserved-step-id", "duplicate-step-id")
AnyFlow = FlowPlan | Flow | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `step` is set when it is about a step, under its new id where it has one."""

    kind: Kind
    flow: str
    step: str | None
    what: str

    @property
    def where(self) -> str:
        """`flow "lead"`, or `flow "lead", step "ask"`."""
        return f"flow {quoted(self.flow)}" + (f", step {quoted(self.step)}" if self.step is not None else "")


class Version:
    """The flows of one version, by id: as plans, and in wire form without anything that is not read."""

    def __init__(self, flows: Iterable[AnyFlow]) -> None:
        plans = [flow if isinstance(flow, FlowPlan) else _plan(flow) for flow in flows]
        self.plans: Mapping[str, FlowPlan] = {plan.id: plan for plan in plans}

    @cached_property
    def wire(self) -> Mapping[str, Wire]:
        return {flow_id: to_wire(plan.flow) for flow_id, plan in self.plans.items()}

    def step(self, flow_id: str, step_id: str) -> Wire | None:
        """A step in wire form, if it is there."""
        steps: Sequence[Wire] = self.wire[flow_id]["steps"] if flow_id in self.wire else ()
        return next((step for step in steps if step["id"] == step_id), None)


def _plan(flow: Flow | Mapping[str, Any]) -> FlowPlan:
    wire = to_wire(flow)
    problems = list(flow_shape(wire)) or [one for one in _problems(wire) if one.code in _ID_PROBLEMS]
    if problems:
        raise FlowConfigurationError(problems)
    return FlowPlan(flow_from_wire(wire))


def _problems(wire: Wire) -> Iterator[Problem]:
    return (one for one in check_names(wire, Registries()) if isinstance(one, Problem))


@dataclass(frozen=True)
class Comparison:
    """Two versions of flows and everything that is different, flow by flow."""

    old: Version
    new: Version
    changes: tuple[Change, ...]
    renamed_flows: Mapping[str, str]
    """Old id → new id, of flows that are probably the same."""
    renamed_steps: Mapping[tuple[str, str], str]
    """(flow, old id) → new id, of steps that are probably the same."""


def compare(old: Iterable[AnyFlow], new: Iterable[AnyFlow]) -> Comparison:
    """What changed. Raises FlowConfigurationError when the shape of a flow, or an id in it, is wrong."""
    before, after = Version(old), Version(new)
    flows = _renamed(before.wire, after.wire)
    steps: dict[tuple[str, str], str] = {}
    changes: list[Change] = []
    for flow_id in (flow_id for flow_id in before.wire if flow_id in after.wire):
        found = _renamed(_steps(before.wire[flow_id]), _steps(after.wire[flow_id]))
        steps |= {(flow_id, was): now for was, now in found.items()}
    for flow_id in dict.fromkeys([*before.wire, *after.wire]):
        changes += _flow(flow_id, before, after, flows, steps)
    return Comparison(before, after, tuple(changes), flows, steps)


def _flow(
    flow_id: str,
    old: Version,
    new: Version,
    flows: Mapping[str, str],
    steps: Mapping[tuple[str, str], str],
) -> Iterator[Change]:
    before, after = old.wire.get(flow_id), new.wire.get(flow_id)
    if before is not None and after is not None:
        renamed = {was: now for (flow, was), now in steps.items() if flow == flow_id}
        yield from (Change(kind, flow_id, None, what) for kind, what in _own(before, after))
        yield from _of_steps(flow_id, _steps(before), _steps(after), renamed)
    elif before is not None and flow_id in flows:
        yield Change("flow-renamed", flow_id, None, f"it is called {quoted(flows[flow_id])} now, it seems")
    elif before is not None:
        yield Change("flow-removed", flow_id, None, f"it is gone, with {_count(before)}")
    elif after is not None and flow_id not in flows.values():
        yield Change("flow-added", flow_id, None, f"it is new, with {_count(after)}")


def _count(flow: Wire) -> str:
    number = len(flow["steps"])
    return f"{number} step{'' if number == 1 else 's'}"


def _steps(flow: Wire) -> Mapping[str, Wire]:
    return {step["id"]: step for step in flow["steps"]}


def _renamed(old: Mapping[str, Wire], new: Mapping[str, Wire]) -> dict[str, str]:
    """What left and came again under another id with the same content; where two could be meant, nothing is."""
    gone = {name: _content(part) for name, part in old.items() if name not in new}
    come = {name: _content(part) for name, part in new.items() if name not in old}
    pairs = [(was, now) for was, content in gone.items() for now, other in come.items() if same(content, other)]
    olds, news = [was for was, _ in pairs], [now for _, now in pairs]
    return {was: now for was, now in pairs if olds.count(was) == 1 and news.count(now) == 1}


def _content(part: Wire) -> dict[str, Any]:
    """What a flow or a step does: without its id, its label, and where it leads, since what it leads to may be renamed."""
    return {key: value for key, value in part.items() if key not in ("id", "name", "label", "then", "ui")}


# --- a flow's own ------------------------------------------------------------------------------


def _own(old: Wire, new: Wire) -> Iterator[Difference]:
    yield from _triggers(old.get("on", ()), new.get("on", ()))
    if not same(old.get("while"), new.get("while")):
        yield "condition", value_change("while", old.get("while"), new.get("while"))
    yield from _lists(old, new)
    for key in ("name", "description", "anchor", "onEnd"):
        if old.get(key) != new.get(key):
            yield "setting", value_change(key, old.get(key), new.get(key))
    yield from instruction_changes(old.get("instructions", ()), new.get("instructions", ()))


def _lists(old: Wire, new: Wire) -> Iterator[Difference]:
    needs = ("it needs as well", "it no longer needs", "the fields that it needs stand in another order")
    forgets = ("at its start it forgets as well", "at its start it no longer forgets", "it forgets in another order")
    tools = ("it may use as well the tools", "it may no longer use the tools", "its tools stand in another order")
    for key, words in (("collect", needs), ("clearOnStart", forgets)):
        yield from each("fields", listed_changes(old.get(key, ()), new.get(key, ()), *words))
    if (old.get("tools") is None) != (new.get("tools") is None):
        yield "setting", value_change("the list of tools", old.get("tools"), new.get("tools"))
    else:
        yield from each("setting", listed_changes(old.get("tools", ()), new.get("tools", ()), *tools))


def _triggers(old: Sequence[Wire], new: Sequence[Wire]) -> Iterator[Difference]:
    """Triggers of one kind are matched in their order, those that stayed as they were aside."""
    for kind in TRIGGERS:
        before = [one for one in old if kind in one and not any(same(one, other) for other in new)]
        after = [one for one in new if kind in one and not any(same(one, other) for other in old)]
        for was, now in zip(before, after, strict=False):
            yield from _trigger(was, now)
        yield from each("trigger", (f"it no longer starts by {trigger_words(one)}" for one in before[len(after) :]))
        yield from each("trigger", (f"it starts by {trigger_words(one)}, too" for one in after[len(before) :]))
    if reordered(old, new):
        yield "trigger", "its triggers stand in another order: the first of a kind counts"


def _trigger(old: Wire, new: Wire) -> Iterator[Difference]:
    for key in dict.fromkeys([*old, *new]):
        if key in ("message", "mention"):
            words = (f"its {key} trigger has as well", f"its {key} trigger no longer has", f"its {key} phrases moved")
            yield from each("trigger", listed_changes(old[key], new[key], *words))
        elif not same(old.get(key), new.get(key)):
            yield "trigger", f"at {trigger_words(new)}, {value_change(key, old.get(key), new.get(key))}"


# --- steps -------------------------------------------------------------------------------------


def _of_steps(
    flow_id: str, old: Mapping[str, Wire], new: Mapping[str, Wire], renamed: Mapping[str, str]
) -> Iterator[Change]:
    for step_id, step in old.items():
        if step_id in renamed:
            now = renamed[step_id]
            yield Change("step-renamed", flow_id, now, f"before, it was called {quoted(step_id)}, it seems")
            yield from (Change(kind, flow_id, now, what) for kind, what in step_changes(step, new[now]))
        elif step_id not in new:
            yield Change("step-removed", flow_id, step_id, f"it is gone; it was a {kind_of(step)} step")
        else:
            yield from (Change(kind, flow_id, step_id, what) for kind, what in step_changes(step, new[step_id]))
    for step_id, step in new.items():
        if step_id not in old and step_id not in renamed.values():
            yield Change("step-added", flow_id, step_id, f"it is new, a {kind_of(step)} step")
    yield from _moved(flow_id, [renamed.get(name, name) for name in old], list(new))


def _moved(flow_id: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """The fewest steps that must move to make one order of the other."""
    places = {name: place for place, name in enumerate(old)}
    common = [name for name in new if name in places]
    kept = _longest_rising([places[name] for name in common])
    for name in common:
        if places[name] not in kept:
            before = new[new.index(name) - 1] if new.index(name) else None
            what = "it stands first now" if before is None else f"it stands behind {quoted(before)} now"
            yield Change("step-moved", flow_id, name, what)


def _longest_rising(places: Sequence[int]) -> set[int]:
    """A longest part of the list that rises all the way."""
    tails: list[list[int]] = []
    for place in places:
        at = bisect_left([chain[-1] for chain in tails], place)
        chain = [*(tails[at - 1] if at else ()), place]
        tails[at : at + 1] = [chain]
    return set(tails[-1]) if tails else set()
