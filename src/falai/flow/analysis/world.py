"""What the flows of an agent can do to its fields, taken together: a run is never alone in its session.

`closed` says whether every flow that the agent has is among those at hand. Where it is not, nothing
is claimed that another flow could belie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from falai.flow.analysis.moves import Graph
from falai.flow.definition import Collect, Do, Step
from falai.flow.exits import exits
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries

__all__ = ["World", "asked_in"]


@dataclass(frozen=True, eq=False)
class World:
    """The flows at hand, and the names that they may use."""

    flows: Mapping[str, FlowPlan]
    names: Registries

    @cached_property
    def closed(self) -> bool:
        """Whether no flow of the agent is missing."""
        return self.names.flows is not None and set(self.names.flows) <= self.flows.keys()

    @cached_property
    def graphs(self) -> Mapping[str, Graph]:
        """The graph of each flow."""
        return {flow.id: Graph(flow, self.names) for flow in self.flows.values()}

    @cached_property
    def writers(self) -> frozenset[str]:
        """The flows with an action: what it writes, or unsets, cannot be seen (T-11.20)."""
        return frozenset(id_ for id_ in self.flows if any(isinstance(step, Do) for step in self.steps_of(id_)))

    @cached_property
    def writes_unseen(self) -> bool:
        """Whether anything may happen to a field while a run waits: actions, tools (T-15.5), flows not at hand."""
        return bool(self.writers or self.names.tools) or not self.closed

    @cached_property
    def askers(self) -> Mapping[str, frozenset[str]]:
        """Field → the flows that ask for it in some step."""
        return _by_field((slug, id_) for id_ in self.flows for slug in asked_in(self.steps_of(id_)))

    @cached_property
    def listers(self) -> Mapping[str, frozenset[str]]:
        """Field → the flows that list it: with mode `anywhere`, messages are read for it (F-2.6)."""
        return _by_field((slug, flow.id) for flow in self.flows.values() for slug in flow.fields)

    @cached_property
    def forgetters(self) -> Mapping[str, frozenset[str]]:
        """Field → the flows that clear it, at their start or on a way."""
        pairs = [(slug, flow.id) for flow in self.flows.values() for slug in flow.flow.clear_on_start or ()]
        for flow in self.flows.values():
            pairs += [(slug, flow.id) for step in flow.steps for way in exits(flow, step) for slug in way.clear]
        return _by_field(iter(pairs))

    @cached_property
    def chained(self) -> Mapping[str, frozenset[str]]:
        """Flow, an id or a template → the flows that move to it."""
        ways = ((way, id_) for id_ in self.flows for s in self.steps_of(id_) for way in self.graphs[id_].ways[s.id])
        return _by_field((way.flow, id_) for way, id_ in ways if way.flow is not None)

    @cached_property
    def begun_by_tools(self) -> frozenset[str]:
        """The flows that a tool may start, whoever speaks."""
        return frozenset(aim.name for aims in self.names.tool_moves.values() for aim in aims if aim.kind == "flow")

    @cached_property
    def moves_by_template(self) -> bool:
        return any("{{" in target for target in self.chained)

    def steps_of(self, flow_id: str) -> Iterator[Step]:
        """The steps to which anything leads."""
        graph = self.graphs[flow_id]
        reached = graph.reach([graph.first] if graph.first is not None else [])
        return (step for step in graph.flow.steps if step.id in reached)

    def anywhere(self, slug: str) -> bool:
        """Whether any message may bring the field (T-9.8); of a definition that is wrong itself, nobody knows."""
        field = self.names.fields.get(slug)
        return slug in self.names.fields and (field is None or field.mode == "anywhere")

    def can_be_set(self, slug: str) -> bool:
        """Whether anything that can be seen gives the field a value, or something that cannot be seen may."""
        listed = self.anywhere(slug) and slug in self.listers
        return self.writes_unseen or (slug in self.names.fields and (slug in self.askers or listed))

    def brings(self, slug: str, flow: FlowPlan) -> bool:
        """Whether the field may have a value before a run of this flow first begins."""
        listed = self.anywhere(slug) and slug in self.listers
        return self.writes_unseen or listed or bool(self.askers.get(slug, frozenset()) - {flow.id})

    def sets(self, slug: str) -> bool:
        """Whether the field may get a value while a run waits."""
        return self.writes_unseen or self.anywhere(slug) or slug in self.askers

    def unsets(self, slug: str, flow: FlowPlan) -> bool:
        """Whether the field may lose its value while a run of this flow waits."""
        return self.writes_unseen or bool(self._meanwhile(self.forgetters.get(slug, frozenset()), flow))

    def gives(self, slug: str, flow: FlowPlan) -> bool:
        """Whether another run may give the field a value while one of this flow waits."""
        return not self.closed or bool(self._meanwhile(self.writers | self.askers.get(slug, frozenset()), flow))

    @staticmethod
    def _meanwhile(flows: frozenset[str], flow: FlowPlan) -> frozenset[str]:
        """Those of which a run can go on while one of this flow waits: itself only with an anchor of its own (T-6.5)."""
        return flows - ({flow.id} if flow.flow.anchor is None else set())


def asked_in(steps: Iterable[Step]) -> tuple[str, ...]:
    """The fields that these steps ask for."""
    return tuple(dict.fromkeys(slug for step in steps if isinstance(step, Collect) for slug in step.collect))


def _by_field(pairs: Iterator[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in found.items()}
