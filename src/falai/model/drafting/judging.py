"""Judges an answer: the flow in it, what is wrong with that (S-61), and what is odd in it beside the agent's other flows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from falai.errors import Problem
from falai.flow.analysis import analyse
from falai.flow.places import Finding, Notice, Wire, flow_place, is_list, is_object
from falai.flow.plan import FlowPlan
from falai.flow.spec import check_flow
from falai.flow.wire import flow_from_wire, to_wire
from falai.model.drafting.naming import Naming
from falai.model.lenient import salvage_json
from falai.model.port import ModelReply
from falai.session.jsontext import json_text, quoted, to_plain

__all__ = ["Attempt", "judged"]

_NO_FLOW: Final = Problem(
    "not-an-object", "flow", "the answer holds no JSON object with steps", "Answer with the whole flow as JSON"
)
_CUT: Final = Problem(
    "not-an-object", "flow", "the answer was cut off at the limit of output tokens", "Write a shorter flow"
)
_MOST_LEVELS: Final = 100
"""How deep an answer may be nested; far less than what anything that handles a flow can take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call: the model's reply, the object in it as it came, and what was found in that.

    Without `problems` it is a flow that can run; `notices` never stop one.
    """

    reply: ModelReply
    spec: Mapping[str, Any] | None
    problems: tuple[Problem, ...]
    notices: tuple[Notice, ...]

    @property
    def answer(self) -> str:
        """The spec as JSON text; where there is none, what the model wrote."""
        return self.reply.message if self.spec is None else json_text(self.spec)


def judged(reply: ModelReply, names: Naming, taken: Collection[str]) -> Attempt:
    """What came of a call. Raises nothing: a model may write anything."""
    spec = _flow_in(reply)
    if spec is None:
        found: list[Finding] = [_CUT if reply.finish_reason == "length" else _NO_FLOW]
    else:
        found = _findings(spec, names, taken)
    return Attempt(
        reply=reply,
        spec=spec,
        problems=tuple(finding for finding in found if isinstance(finding, Problem)),
        notices=tuple(finding for finding in found if isinstance(finding, Notice)),
    )


def _flow_in(reply: ModelReply) -> Mapping[str, Any] | None:
    """The flow in an answer, as plain data. An object without steps in a text is a piece of one that was cut off."""
    found: Any = reply.structured if is_object(reply.structured) else salvage_json(reply.message)
    if found is None or (found is not reply.structured and "steps" not in found):
        return None
    try:
        plain = to_plain(found)
    except TypeError:
        return None
    return plain if _levels(plain) <= _MOST_LEVELS else None


def _levels(value: Any) -> int:
    parts = value.values() if is_object(value) else value if is_list(value) else ()
    return 1 + max(map(_levels, parts), default=0)


def _findings(spec: Mapping[str, Any], names: Naming, taken: Collection[str]) -> list[Finding]:
    wire = to_wire(spec)
    found = [*_taken(wire, taken), *check_flow(wire, _with_itself(wire, names))]
    if any(isinstance(finding, Problem) for finding in found):
        return found
    said = {(finding.code, finding.where) for finding in found}
    return [*found, *(notice for notice in _analysed(wire, names) if (notice.code, notice.where) not in said)]


def _taken(wire: Wire, taken: Collection[str]) -> Iterator[Problem]:
    if wire.get("id") in taken:
        what = f"another flow has the id {quoted(wire['id'])}"
        yield flow_place(wire, "").key("id").problem("duplicate-flow-id", what, "Give the flow an id of its own")


def _with_itself(wire: Wire, names: Naming) -> Any:
    own = wire.get("id")
    flows = (*(names.registries.flows or ()), *([own] if isinstance(own, str) else []))
    return replace(names.registries, flows=flows)


def _analysed(wire: Wire, names: Naming) -> Iterator[Notice]:
    """What is odd in the flow; the agent's other flows are looked at for what leads to it and from it."""
    flow = FlowPlan(flow_from_wire(wire))
    others: Mapping[str, FlowPlan] = names.plan.flows if names.plan else {}
    known = _with_itself(wire, names) if names.plan else replace(names.registries, flows=None)
    where = flow_place(wire, "").where
    for notice in analyse({**others, flow.id: flow}, known):
        if notice.where == where or notice.where.startswith(f"{where}, "):
            yield notice
