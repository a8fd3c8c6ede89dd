"""The picture of a whole agent: its flows, what starts each, and which leads to which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from falai.flow.definition import Flow
from falai.flow.drawing.flows import chained, path_of, plan_of, trigger_nodes
from falai.flow.drawing.picture import Picture, PictureEdge, PictureNode
from falai.flow.drawing.trail import taken_ways
from falai.flow.exits import exits
from falai.flow.plan import FlowPlan
from falai.session.model import Run

__all__ = ["picture_of_agent"]

_ANY = "any"


def picture_of_agent(
    flows: Iterable[FlowPlan | Flow | Mapping[str, Any]], *, title: str = "", runs: Iterable[Run] = ()
) -> Picture:
    """A map of flows: one box for each, with its triggers, and an arrow for each chain.

    An arrow says at which steps it leaves. A target that is a template leads to a box "any flow", one that
    names no flow of these to a box that says so. `runs`, those of a session, mark where conversations stand.
    Raises FlowConfigurationError when the shape of a flow is wrong.
    """
    plans = {plan.id: plan for plan in map(plan_of, flows)}
    live = {run.flow_id: run for run in runs}
    chains = {plan.id: _chains(plan, live.get(plan.id)) for plan in plans.values()}
    nodes = [node for plan in plans.values() for node in _nodes(plan, live.get(plan.id))]
    nodes += _elsewhere(chains, plans)
    edges = [edge for plan in plans.values() for edge in _edges(plan, chains[plan.id])]
    said = f"it is in {', '.join(live) or 'no flow'}" if live else None
    return Picture(title=title or "Flows", nodes=tuple(nodes), edges=tuple(edges), run=said)


def _chains(plan: FlowPlan, run: Run | None) -> dict[str, list[tuple[str, int]]]:
    """The targets, as written, and the steps that lead to each."""
    taken = taken_ways(plan, run)
    found: dict[str, list[tuple[str, int]]] = {}
    for step in plan.steps:
        for way in exits(plan, step):
            if way.flow is not None:
                found.setdefault(way.flow, []).append((step.id, taken[step.id, way.path]))
    return found


def _nodes(plan: FlowPlan, run: Run | None) -> Iterator[PictureNode]:
    if plan.triggers:
        yield from trigger_nodes(plan)
    about = plan.flow.description or ("one step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps")
    title = plan.name if plan.name == plan.id else f"{plan.name} ({plan.id})"
    yield PictureNode(
        id=_id(plan.id),
        kind="flow",
        title=title,
        words=about,
        flow=plan.id,
        visits=int(run is not None),
        here=run is not None,
    )


def _elsewhere(chains: Mapping[str, Mapping[str, Any]], plans: Mapping[str, FlowPlan]) -> Iterator[PictureNode]:
    targets = dict.fromkeys(target for flow in chains.values() for target in flow)
    if any(chained(target) is None for target in targets):
        words = "whichever one the conversation names"
        yield PictureNode(id=_ANY, kind="flow", title="any flow", words=words)
    for target in targets:
        if chained(target) is not None and target not in plans:
            yield PictureNode(id=_id(target), kind="missing", title=target, words=f"there is no flow {target}")


def _edges(plan: FlowPlan, chains: Mapping[str, list[tuple[str, int]]]) -> Iterator[PictureEdge]:
    for node in trigger_nodes(plan) if plan.triggers else ():
        yield PictureEdge(source=node.id, target=_id(plan.id), kind="start")
    for target, ways in chains.items():
        steps = ", ".join(dict.fromkeys(step for step, _ in ways))
        to = _ANY if chained(target) is None else _id(target)
        taken = sum(count for _, count in ways)
        yield PictureEdge(source=_id(plan.id), target=to, kind="then", label=f"from {steps}", taken=taken)
    if plan.flow.on_end == "reset":
        yield PictureEdge(source=_id(plan.id), target=_id(plan.id), kind="onEnd", label="begins again")


def _id(flow: str) -> str:
    return path_of("flow", flow)
