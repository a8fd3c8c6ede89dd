"""The flows of an agent as its users see them: ids, titles, and how far the required fields are (D-3, D-15)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falai.classic.options import is_core_flow
from falai.errors import FlowConfigurationError, Problem
from falai.flow.places import listing
from falai.flow.values import is_known
from falai.flow.wire import to_wire
from falai.session.jsontext import quoted

__all__ = ["ClassicFlow", "flow_of", "flows_of", "ids_of"]


@dataclass(frozen=True, slots=True)
class ClassicFlow:
    """A flow of the agent. `required_fields` never complete it by themselves (D-13)."""

    id: str
    title: str
    required_fields: tuple[str, ...] = ()

    def missing_required_fields(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        """The required fields that are not known."""
        return tuple(field for field in self.required_fields if not is_known(data.get(field)))

    def is_complete(self, data: Mapping[str, Any]) -> bool:
        """Whether every required field is known; never without required fields."""
        return bool(self.required_fields) and not self.missing_required_fields(data)

    def completion_progress(self, data: Mapping[str, Any]) -> float:
        """How many of the required fields are known, from 0 to 1; 0 without required fields."""
        if not self.required_fields:
            return 0.0
        return 1 - len(self.missing_required_fields(data)) / len(self.required_fields)


def flows_of(options: Mapping[str, Any]) -> tuple[ClassicFlow, ...]:
    """The flows of checked options, in their order; those of the core too, which have no required fields."""
    return tuple(_flow(flow) for flow in options.get("flows", ()))


def flow_of(name: str, flows: Sequence[ClassicFlow]) -> ClassicFlow | None:
    """The flow with this id, else the first with this title (D-3)."""
    by_title = (flow for flow in flows if flow.title == name)
    return next((flow for flow in flows if flow.id == name), next(by_title, None))


def ids_of(names: Iterable[str], flows: Sequence[ClassicFlow], where: str) -> frozenset[str]:
    """The ids of the flows with these ids or titles (D-3), which were named at this place.

    Raises FlowConfigurationError (`unknown-flow`) with all names that no flow has, and the flows there are.
    """
    found = {name: flow_of(name, flows) for name in names}
    unknown = [quoted(name) for name, flow in found.items() if flow is None]
    if unknown:
        there = listing([f"{quoted(flow.id)} ({flow.title})" for flow in flows], "and") if flows else "none"
        what = f"there is no flow {listing(unknown)}"
        raise FlowConfigurationError(Problem("unknown-flow", where, what, f"The flows are: {there}", where))
    return frozenset(flow.id for flow in found.values() if flow is not None)


def _flow(given: Any) -> ClassicFlow:
    if is_core_flow(given):
        wire = to_wire(given)
        id = wire.get("id", "")  # the core tells of one that is missing
        return ClassicFlow(id, wire.get("name") or id)
    return ClassicFlow(given["id"], given["title"], tuple(given.get("requiredFields", ())))
