"""The flows of the playground as text: shown, checked while they are edited, and deployed in this playground only.

A text is JSON: a list of flow specs, all flows of the agent. What is wrong is told all at once, with line and
column; a text with mistakes changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from falai.agent import Agent
from falai.errors import FlowConfigurationError, Problem
from falai.flow.advice import advice
from falai.flow.analysis import analyse
from falai.flow.documents import read_json
from falai.flow.drawing.flows import plan_of
from falai.flow.places import Finding, Notice, Place, flow_place, is_list, is_object
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries
from falai.flow.spec import check_flow, to_spec
from falai.flow.spots import RefusedError, Span, json_spots, span_of, spot_at
from falai.flow.unreadable import unreadable
from falai.flow.wire import flow_from_wire, to_wire
from falai.session.jsontext import quoted, show
from falai.session.keys import is_blank_id

__all__ = ["Checked", "check", "is_editable", "text_of"]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a text. `flows` are in wire form; `findings` have what stops and what is only odd."""

    flows: Sequence[Any]
    findings: Sequence[tuple[Finding, Span | None]]

    @property
    def problems(self) -> Sequence[tuple[Finding, Span | None]]:
        """What has to be mended before the flows can be played."""
        return [(finding, span) for finding, span in self.findings if isinstance(finding, Problem)]

    def plans(self) -> Iterator[FlowPlan]:
        """The flows whose shape lets them be drawn."""
        for flow in self.flows:
            try:
                yield plan_of(flow)
            except FlowConfigurationError:  # which is among the findings
                continue


def is_editable(agent: Agent[Any]) -> bool:
    """Whether the agent's flows are data: one with a layer of its own on top has other sources."""
    return _specs(agent) is not None


def text_of(agent: Agent[Any]) -> str:
    """The flows of an agent, as `check` reads them; none of one whose flows are no data."""
    text = json.dumps(_specs(agent) or [], ensure_ascii=False, indent=2)
    return text.encode("utf-8", "replace").decode() + "\n"


@lru_cache(maxsize=4)  # an agent never changes, and the page is told of it with every answer
def _specs(agent: Agent[Any]) -> list[dict[str, Any]] | None:
    if agent.plan.listener is not None:
        return None
    try:
        return [to_spec(flow.flow) for flow in agent.plan.flows.values()]
    except (FlowConfigurationError, TypeError):  # a value that has no JSON form
        return None


def check(text: str, agent: Agent[Any]) -> Checked:
    """The flows of a text, and all that is wrong or odd in them for this agent."""
    try:
        content = read_json(text)
        spots = json_spots(text)
    except (ValueError, RecursionError, RefusedError) as error:
        problem, span = unreadable(text, error)
        return Checked((), [(problem, span)])
    if not is_list(content):
        what = f"the text holds {show(content)}"
        problem = Place("flows").problem("not-a-list", what, "Write a list of flows: [{…}, {…}]")
        return Checked((), [(problem, span_of(text, spots))])
    flows = [to_wire(flow) for flow in content]
    found = list(_found(flows, agent))
    return Checked(flows, [(finding, span_of(text, spot_at(spots, finding.path))) for finding in found])


def _found(flows: Sequence[Any], agent: Agent[Any]) -> Iterator[Finding]:
    ids = tuple(flow["id"] for flow in flows if is_object(flow) and not is_blank_id(flow.get("id")))
    names = replace(Registries.of(agent.plan), flows=ids)
    found = [finding for at, flow in enumerate(flows) for finding in check_flow(flow, names, f"[{at}]")]
    found += _repeated(flows)
    yield from found
    if not any(isinstance(finding, Problem) for finding in found):
        yield from _beyond(flows, agent)


def _repeated(flows: Sequence[Any]) -> Iterator[Problem]:
    seen: set[str] = set()
    for at, flow in enumerate(flows):
        id = flow.get("id") if is_object(flow) else None
        if isinstance(id, str) and id in seen:
            what = f"an earlier flow has the id {quoted(id)} as well"
            place = flow_place(flow, f"[{at}]").key("id")
            yield place.problem("duplicate-flow-id", what, "Give each flow an id of its own")
        elif isinstance(id, str):
            seen.add(id)


def _beyond(flows: Sequence[Any], agent: Agent[Any]) -> Iterator[Notice]:
    """What is odd in flows that are right."""
    plan = replace(agent.plan, flows={flow["id"]: FlowPlan(flow_from_wire(flow)) for flow in flows})
    places: Mapping[str, int] = {id: at for at, id in enumerate(plan.flows)}
    told: set[tuple[str, str]] = set()
    for notice in (*analyse(plan.flows, Registries.of(plan)), *advice(plan)):
        if (notice.code, notice.text) not in told:
            told.add((notice.code, notice.text))
            yield replace(notice, path=_placed(notice, places))


def _placed(notice: Notice, places: Mapping[str, int]) -> str:
    """The notice's path within the text; it speaks of one flow, which it names first."""
    named = next((at for id, at in places.items() if _is_of(notice.where, id)), None)
    inside = notice.path.partition("].")[2] if notice.path.startswith("flows[") else notice.path
    return inside if named is None else ".".join(part for part in (f"[{named}]", inside) if part)


def _is_of(where: str, id: str) -> bool:
    flow = f"flow {quoted(id)}"
    return where == flow or where.startswith(f"{flow},")
