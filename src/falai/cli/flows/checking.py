"""Everything that is wrong or odd in the sources of a command, as one list in reading order.

Problems and warnings come from the checks of `falai.flow`, findings from its analysis; sources that
use one agent's names (`--agent`) are looked at together. No function of an author's is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from falai.cli.flows.documents import has_flows, stray_keys
from falai.cli.flows.sources import Source
from falai.errors import Problem
from falai.flow.advice import advice
from falai.flow.analysis import analyse
from falai.flow.build import examine
from falai.flow.places import Finding, Notice, flow_place, is_object
from falai.flow.plan import AgentPlan, FlowPlan
from falai.flow.registries import Registries
from falai.flow.spec import check_flow
from falai.flow.spots import Located
from falai.flow.wire import flow_from_wire
from falai.session.jsontext import parse_json, quoted

__all__ = ["Found", "check_sources"]

# What only someone who knows the agent can say.
_NEEDS_NAMES = ("unknown-field", "unknown-tool", "unknown-action", "unknown-event", "unknown-condition", "ask-missing")
_FLOW = re.compile(r'flow ("(?:[^"\\]|\\.)*")')
_IN_PLAN = re.compile(r"flows\[\d+\]\.?")


@dataclass(frozen=True, slots=True)
class Found:
    """A problem or a warning, the source that it is about, and where it stands."""

    source: Source
    finding: Finding
    place: Located | None

    @property
    def is_problem(self) -> bool:
        return isinstance(self.finding, Problem)


def check_sources(sources: Sequence[Source]) -> list[Found]:
    """Everything that was found: source by source, and in each from top to bottom."""
    lent = [source for source in sources if source.lent]
    groups = [[source] for source in sources if not source.lent] + ([lent] if lent else [])
    found = [Found(source, finding, source.place(finding)) for group in groups for source, finding in _in_group(group)]
    order = {id(source): index for index, source in enumerate(sources)}
    return sorted(found, key=lambda one: (order[id(one.source)], *_position(one)))


def _position(one: Found) -> tuple[str, int, int]:
    return ("", 0, 0) if one.place is None else (one.place.file, one.place.span.line, one.place.span.column)


def _in_group(group: Sequence[Source]) -> Iterator[tuple[Source, Finding]]:
    """What was found in sources whose flows know each other. Advice is for flows without a problem."""
    found = [(source, finding) for source in group for finding in _in_source(source)]
    found += _repeated_ids(group)
    yield from found
    if not any(isinstance(finding, Problem) for _, finding in found):
        yield from _beyond(group)


def _in_source(source: Source) -> Iterator[Finding]:
    yield from source.problems
    if has_flows(source.document):
        yield from stray_keys(source.document)
    if source.options is not None:
        yield from examine(source.options)[1]  # advice comes with that of the others
        return
    names = source.registries
    for flow, base in zip(source.flows, source.bases, strict=True):
        for finding in check_flow(flow, names or Registries(), base):
            if names is not None or finding.code not in _NEEDS_NAMES:
                yield finding


def _repeated_ids(group: Sequence[Source]) -> Iterator[tuple[Source, Finding]]:
    """A3, for flows that no agent was made of yet."""
    earlier: dict[str, Source] = {}
    for source in group:
        for flow, base in zip(source.flows, source.bases, strict=True) if source.options is None else ():
            flow_id = flow.get("id") if is_object(flow) else None
            if isinstance(flow_id, str) and flow_id in earlier:
                place = flow_place(flow, base).key("id")
                what = f"there is a flow with the id {quoted(flow_id)} in {earlier[flow_id].target} as well"
                yield source, place.problem("duplicate-flow-id", what, "Give each flow an id of its own")
            elif isinstance(flow_id, str):
                earlier[flow_id] = source


# --- beyond names: advice and analysis ---------------------------------------------------------


def _beyond(group: Sequence[Source]) -> Iterator[tuple[Source, Finding]]:
    """What is odd in flows that are right. It needs the agent's names: without them nothing is claimed."""
    plan = group[0].plan
    if plan is None:
        return
    homes = _homes(group)
    lent = group[0].lent
    whole = _with_flows(plan, {flow_id: flow for flow_id, (_, flow, _) in homes.items()}) if lent else plan
    for notice in _each_once([*analyse(whole.flows, Registries.of(whole)), *advice(whole)]):
        named = _FLOW.match(notice.where)
        home = homes.get(parse_json(named[1])) if named else None
        if home is not None:
            source, _, base = home
            yield source, replace(notice, path=_below(base, notice.path))


def _homes(group: Sequence[Source]) -> dict[str, tuple[Source, Any, str]]:
    """Flow id → the source, the flow in wire form, and its wire path."""
    return {
        flow["id"]: (source, flow, base)
        for source in group
        for flow, base in zip(source.flows, source.bases, strict=True)
    }


def _with_flows(plan: AgentPlan, flows: Mapping[str, Any]) -> AgentPlan:
    """The agent as it would be with these flows in the place of its own of the same ids."""
    return replace(plan, flows={**plan.flows, **{name: FlowPlan(flow_from_wire(flow)) for name, flow in flows.items()}})


def _each_once(notices: Iterable[Notice]) -> Iterator[Notice]:
    """Of two that say the same of one place, the first: advice has some of the analysis, without its trail."""
    first: dict[tuple[str, str], Notice] = {}
    for notice in notices:
        first.setdefault((notice.code, notice.text), notice)
    yield from first.values()


def _below(base: str, path: str) -> str:
    inside = _IN_PLAN.sub("", path, count=1)
    return ".".join(part for part in (base, inside) if part)
