"""Static analysis: what an author of flows got wrong and no name gives away.

A small model checker. A flow is a graph of steps; its states are a step and what is known of one
field; its moves are those of the turn's rules (T-5 to T-17). Two searches walk it, breadth first, so
that the way to a state is the shortest:

- `facts` takes every way that the turn could take, and more. What it does not reach, no run reaches.
  From it come the findings that say *never* and *always*.
- `witness` takes only ways that a run can take. From it come the findings that say *some path*.

The rule of soundness: no finding is false. Where a function, a host condition, the gate or an action
decides, it can go either way, and does so well. An action or a tool may write any field, and moves
a run only to where it declares, each of which is a way (`exits.moves_of`); what a
session holds when a run starts may be anything that `clearOnStart` leaves; a message may bring any
field of mode `anywhere`; other runs of the session go on while this one waits. Not looked at is what
a host writes into a session beside its actions, and a session that was saved under another version
of the flow. Each field is walked alone: the cost is steps times fields.

What the analysis cannot see it does not guess: it has said nothing of a flow when it finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from falai.flow.analysis.chains import chains
from falai.flow.analysis.codes import CODES
from falai.flow.analysis.facts import Facts
from falai.flow.analysis.forks import forks
from falai.flow.analysis.loops import confirmations, loops
from falai.flow.analysis.silence import pattern_of, silenced
from falai.flow.analysis.spots import at_flow
from falai.flow.analysis.starts import starts
from falai.flow.analysis.unset import forgotten_for_good, never_set, unset
from falai.flow.analysis.witness import Paths
from falai.flow.analysis.world import World
from falai.flow.places import Notice
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries

__all__ = ["CODES", "analyse", "pattern_of", "silenced", "suspicions"]

_INDEX = re.compile(r"(on|steps)\[(\d+)\]")


def analyse(flows: Mapping[str, FlowPlan], names: Registries) -> tuple[Notice, ...]:
    """What is wrong, or odd, in checked flows beyond names: flow by flow, in the order of their places.

    `flows` are those of one agent, in its order; they have passed `validate_flow`. `names` are the
    agent's (`Registries.of(plan)`). What needs the whole agent is left out unless `names.flows` is
    given and each of them is in `flows`. Paths are those below the flow. Nothing is raised.
    """
    world = World(flows, names)
    facts = {flow.id: Facts(world, flow) for flow in flows.values()}
    between = list(chains(facts))
    found: list[Notice] = []
    for one in facts.values():
        mine = [*_findings(one), *(notice for notice in between if _is_of(notice, one.flow))]
        found += sorted(mine, key=_place)
    return tuple(found)


def suspicions(flow: FlowPlan, names: Registries) -> Iterator[Notice]:
    """The findings of which an agent warns when it is built: texts that go out with a gap, questions without end.

    The flow is looked at alone: what others do to its fields is not known.
    """
    facts = Facts(World({flow.id: flow}, replace(names, flows=None)), flow)
    for notice in unset(facts, Paths(facts)):
        if notice.code == "maybe-unset" and not notice.path.endswith(".question"):
            yield notice
    yield from confirmations(facts)


def _findings(facts: Facts) -> Iterator[Notice]:
    paths = Paths(facts)
    yield from starts(facts.world, facts.flow)
    yield from forks(facts)
    yield from never_set(facts)
    yield from unset(facts, paths)
    yield from forgotten_for_good(facts)
    yield from loops(facts, paths)
    yield from confirmations(facts)


def _is_of(notice: Notice, flow: FlowPlan) -> bool:
    where = at_flow(flow).where
    return notice.where == where or notice.where.startswith(f"{where}, ")


def _place(notice: Notice) -> tuple[int, int]:
    found = _INDEX.match(notice.path)
    return (0, 0) if found is None else (("on", "steps").index(found[1]) + 1, int(found[2]))
