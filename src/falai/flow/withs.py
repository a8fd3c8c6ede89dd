"""The parameters that a `do` step gives to its action, and how a value is matched against a type (S-31 to S-36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falai.errors import Problem
from falai.flow.nearest import meant
from falai.flow.places import Place, Wire, is_list, is_object, listing
from falai.flow.plan import ParamPlan
from falai.flow.values import in_enum, is_number
from falai.session.jsontext import json_text, quoted, show

__all__ = ["allowed", "check_with", "expected", "fits", "kind_of"]

_EXPECTED = {"string": "a string", "number": "a number", "integer": "an integer", "boolean": "a boolean"}


def check_with(
    given: Wire, action: str, parameters: Mapping[str, ParamPlan | None] | None, place: Place
) -> Iterator[Problem]:
    """S11 to S13: the parameters in the action's order, then the names that it lacks."""
    if parameters is None:
        return
    for name, parameter in parameters.items():
        if parameter is not None and name in given:
            yield from _value(given[name], parameter, action, place.key(name))
        elif parameter is not None and not parameter.optional:
            what = f"the action {quoted(action)} needs the parameter {quoted(name)}"
            there = place.key(name) if given else place
            yield there.problem("missing-parameter", what, "Give it in with")
    for name in given:
        if name not in parameters:
            what = f"the action {quoted(action)} has no parameter {quoted(str(name))}"
            known = listing([quoted(known) for known in parameters], "and") if parameters else "none"
            fix = f"{meant(str(name), parameters)}Its parameters are: {known}"
            yield place.key(str(name)).problem("extra-parameter", what, fix)


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a scalar type, without any conversion (S-32)."""
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    return is_number(value) and (kind == "number" or value % 1 == 0)


def allowed(value: Any, enum: Sequence[Any] | None) -> bool:
    """Whether a value is listed; what a text with a placeholder becomes is known only later (S-33)."""
    return enum is None or in_enum(value, enum) or (isinstance(value, str) and "{{" in value)


def expected(parameter: ParamPlan) -> str:
    """What a parameter takes, as messages say it (S-36)."""
    if parameter.items is None:
        return _EXPECTED[parameter.type]
    return f"a list of {_EXPECTED[parameter.items.type].partition(' ')[2]}s"


def kind_of(value: Any) -> str:
    """What a value is called in messages (F-17.3)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if is_list(value) else "an object" if is_object(value) else show(value)


def _value(value: Any, parameter: ParamPlan, action: str, place: Place) -> Iterator[Problem]:
    who = f"the parameter {quoted(parameter.name)} of {quoted(action)}"
    scalar = parameter.items or parameter
    entries = value if parameter.items and is_list(value) else [value]
    wrong = [entry for entry in entries if not fits(entry, scalar.type)]
    if parameter.items and not is_list(value):
        what = f"{who} must be {expected(parameter)}, and is {kind_of(value)}"
        yield place.problem("parameter-type", what, "Write a list; values are not converted")
    elif wrong:
        inside = "holds" if parameter.items else "is"
        what = f"{who} must be {expected(parameter)}, and {inside} {kind_of(wrong[0])}"
        yield place.problem("parameter-type", what, "Write a value of that type; values are not converted")
    else:
        yield from _listed(entries, scalar, who, place)


def _listed(entries: Any, parameter: ParamPlan, who: str, place: Place) -> Iterator[Problem]:
    enum = parameter.enum
    off = [entry for entry in entries if not allowed(entry, enum)]
    if enum is not None and off:
        what = f"{who} cannot be {json_text(off[0])}"
        yield place.problem("parameter-not-in-enum", what, f"Write {listing([json_text(v) for v in enum])}")
