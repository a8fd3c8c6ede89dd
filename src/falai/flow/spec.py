"""Flows as JSON: from a spec, to a spec, and the checks of either (06-flowspec).

A spec and a flow are the same to the checks: both are looked at in wire form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, TypedDict

from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import Flow
from falai.flow.names import check_names
from falai.flow.places import Finding, Notice, Place, Wire, flow_place, is_list, is_object, step_place, trigger_place
from falai.flow.registries import Registries, read_registries
from falai.flow.shape import flow_shape
from falai.flow.wire import body_kinds, flow_from_wire, to_wire
from falai.session.jsontext import to_plain
from falai.session.keys import is_blank_id

__all__ = ["Checked", "check_flow", "from_spec", "to_spec", "validate_flow"]


class Checked(TypedDict):
    """What `validate_flow` gives back: the warnings, in the order of 06-flowspec 5.4."""

    warnings: list[str]


def from_spec(spec: Mapping[str, Any]) -> Flow:
    """The flow of a spec (S-6 to S-10). Names are not looked up; the argument is not changed.

    Raises FlowConfigurationError with every problem of its shape.
    """
    wire = to_wire(spec)
    _raise(flow_shape(wire))
    return flow_from_wire(wire)


def to_spec(flow: Flow | Mapping[str, Any]) -> dict[str, Any]:
    """The plain JSON of a flow, with `kind` and `name` and without nulls (S-12 to S-16).

    Raises FlowConfigurationError for functions, which no spec can hold (S-14), and for a wrong shape, and
    `TypeError`, naming the place, for a value that has no JSON form.
    """
    wire = to_wire(flow)
    _raise(_unspeakable(wire))
    _raise(flow_shape(wire))
    spec = _plain(to_wire(flow_from_wire(wire)), flow_place(wire, "").where)
    steps = [_with_kind(step) for step in spec.pop("steps")]
    head = {key: spec.pop(key) for key in ("id", "name", "description") if key in spec}
    named = {} if "name" in head or is_blank_id(head.get("id")) else {"name": head["id"]}
    return {**head, **named, **spec, "steps": steps}


def validate_flow(flow: Flow | Mapping[str, Any], registries: Registries | Mapping[str, Any]) -> Checked:
    """Checks a flow or a spec against the names that it may use (S-17 to S-43).

    `registries` is `{fields, actions, events, conditions, tools, flows}` in wire form, or `Registries`.
    Raises FlowConfigurationError with every problem, in the order of the specification.
    """
    names, problems = (
        (registries, list[Problem]()) if isinstance(registries, Registries) else read_registries(registries)
    )
    wire = to_wire(flow)
    unread = any(problem.where == "agent" for problem in problems)  # of which no name is known (F-19.5)
    findings: list[Finding] = [*problems, *(flow_shape(wire) if unread else check_flow(wire, names))]
    _raise(finding for finding in findings if isinstance(finding, Problem))
    return {"warnings": [finding.text for finding in findings if isinstance(finding, Notice)]}


def check_flow(wire: Any, names: Registries, base: str = "") -> Iterator[Finding]:
    """Problems and warnings of a flow in wire form: no name is looked up in a wrong shape (F-19.5)."""
    problems = list(flow_shape(wire, base))
    yield from problems or check_names(wire, names, base)


def _raise(findings: Iterator[Problem]) -> None:
    problems = list(findings)
    if problems:
        raise FlowConfigurationError(problems)


def _plain(value: Any, path: str) -> Any:
    """The same as plain JSON data; text stays as it is, to the last character (S-15)."""
    if is_object(value):
        return {key: _plain(part, f"{path}.{key}") for key, part in value.items()}
    if is_list(value):
        return [_plain(part, f"{path}[{index}]") for index, part in enumerate(value)]
    if isinstance(value, float) and not isfinite(value):
        raise TypeError(f"{path} is {value}, which JSON cannot hold")
    return value if type(value) is str else to_plain(value, path)


def _with_kind(step: Wire) -> dict[str, Any]:
    return {**({"id": step["id"]} if "id" in step else {}), "kind": body_kinds(step)[0], **step}


# --- what no spec can hold (S-14) --------------------------------------------------------------


def _unspeakable(flow: Any) -> Iterator[Problem]:
    if not is_object(flow):
        return
    place = flow_place(flow, "")
    own = {key: part for key, part in flow.items() if key not in ("on", "steps")}
    yield from _functions(own, place, f"{place.where},")
    for index, trigger in enumerate(_objects(flow.get("on"))):
        there = trigger_place(place, index)
        yield from _functions(trigger, there, there.where)
    for index, step in enumerate(_objects(flow.get("steps"))):
        there = step_place(place, step, index)
        yield from _functions({**step, "do": ""} if callable(step.get("do")) else step, there, there.where)
        yield from _halves(step, there)


def _objects(value: Any) -> list[Wire]:
    return [entry if is_object(entry) else {} for entry in value] if is_list(value) else []


def _functions(value: Any, place: Place, where: str) -> Iterator[Problem]:
    """Every function below a place, named as S-14 names it: `step "a" branches[0].if`."""
    if is_object(value):
        for key, part in value.items():
            yield from _functions(part, place.key(str(key)), where)
    elif is_list(value):
        for index, part in enumerate(value):
            yield from _functions(part, place.item(index), where)
    elif callable(value):
        what = f"{where} {place.name} is a function, and a spec holds none"
        yield place.problem("function-predicate", what, 'Write a condition object, such as {"known": ["<field>"]}')


def _halves(step: Wire, place: Place) -> Iterator[Problem]:
    if not body_kinds(step):
        fix = "Give it a prompt, or list fields in collect"
        yield place.problem("empty-talk-step", "a talk step has neither prompt nor collect", fix)
    elif "question" in step and "collect" not in step:
        what = "question stands without collect"
        yield place.key("question").problem("question-without-collect", what, "List what it asks for in collect")
