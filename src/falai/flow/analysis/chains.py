"""Chains of flows that have no end of their own: each move to a flow is a hop, and the fifth is refused (T-6.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from falai.flow.analysis.facts import Facts
from falai.flow.analysis.moves import is_short
from falai.flow.analysis.spots import at_flow, at_step
from falai.flow.definition import If, Say, Step
from falai.flow.exits import Exit
from falai.flow.places import Notice
from falai.session.jsontext import quoted

__all__ = ["chains"]


def chains(flows: Mapping[str, Facts]) -> Iterator[Notice]:
    """Flows whose every end is a move to a flow that has no end either."""
    endless = _without_end(flows)
    told: set[str] = set()
    for flow_id in endless:
        facts = flows[flow_id]
        if facts.flow.flow.on_end == "reset" and any(way.ends for _, way in _leaving(facts)):
            yield _resets(facts)
        ring = _ring(flows, flow_id)
        if ring and not told & set(ring):
            told |= set(ring)
            yield _rounds(facts, ring)


def _without_end(flows: Mapping[str, Facts]) -> list[str]:
    """The greatest set of flows that only ever lead to each other."""
    left = [flow_id for flow_id, facts in flows.items() if _leaving(facts)]
    while True:
        kept = [
            flow_id
            for flow_id in left
            if all(_goes_on(flows[flow_id], way, left) for _, way in _leaving(flows[flow_id]))
        ]
        if kept == left:
            return kept
        left = kept


def _leaving(facts: Facts) -> list[tuple[Step, Exit]]:
    """The ways out of the flow that a run may take."""
    return [
        (step, move.exit)
        for step in facts.flow.steps
        if step.id in facts.reachable
        for move in facts.graph.moves[step.id]
        if move.exit.step is None
    ]


def _goes_on(facts: Facts, way: Exit, endless: list[str]) -> bool:
    """Whether the way only leads on; a move is made by code, which ends the chain in its own time."""
    if way.kind == "move":
        return False
    if way.flow is not None:
        return way.flow in endless
    return facts.flow.flow.on_end == "reset" and all(_at_once(facts, step) for step in facts.flow.steps)


def _at_once(facts: Facts, step: Step) -> bool:
    """Whether a run is through with the step in the same move: an action may defer, and so may end in its own time."""
    return isinstance(step, Say | If) or is_short(facts.flow, step)


def _resets(facts: Facts) -> Notice:
    what = "it starts again in the same turn, and again, until the hop limit: nothing in it waits"
    fix = "Ask or wait in it, or leave onEnd out"
    return at_flow(facts.flow).key("onEnd").notice("hop-limit", what, fix)


def _ring(flows: Mapping[str, Facts], flow_id: str) -> list[str]:
    """The flows that come one after the other, from this one to the one before it comes again."""
    ring: list[str] = []
    ahead: str | None = flow_id
    while ahead is not None and ahead not in ring:
        ring.append(ahead)
        ahead = next((way.flow for _, way in _leaving(flows[ahead]) if way.flow is not None), None)
    return ring if ahead == flow_id else []


def _rounds(facts: Facts, ring: list[str]) -> Notice:
    step, way = next((step, way) for step, way in _leaving(facts) if way.flow is not None)
    behind = [*ring[1:], ring[0]]
    trail = (*facts.trail(step.id), *(f"the flow {quoted(flow_id)} takes over" for flow_id in behind))
    named = " → ".join(quoted(flow_id) for flow_id in (ring[0], *behind))
    what = f"{named} has no end of its own: the fifth move in a row is refused, in silence"
    return (
        at_step(facts.flow, step).key(way.path).key("flow").notice("hop-limit", what, "Let one of the flows end", trail)
    )
