"""The parameters of an author's function, read from its signature (its own types count).

The first parameter is the context; every other one is a parameter by its annotation. At a call the
values are matched without conversion (S-32), and a richer type makes its Python value of them.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin

from falai.flow.definition import Param
from falai.flow.places import is_list, listing
from falai.flow.plan import ParamPlan
from falai.flow.schema import to_wire_schema
from falai.flow.types import TypeReading, read_type, without_none
from falai.flow.values import in_enum
from falai.flow.withs import expected, fits, kind_of
from falai.session.jsontext import json_text, quoted

__all__ = ["Parameter", "arguments_of", "described", "json_schema", "read_signature", "takes_anything"]

_LISTS = (list, tuple, collections.abc.Sequence)
_EMPTY = inspect.Parameter.empty
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: the keyword it is passed by, its plan, and the type that makes its value."""

    keyword: str
    plan: ParamPlan
    reading: TypeReading
    nullable: bool


def read_signature(function: Callable[..., Any]) -> tuple[list[Parameter], list[str]]:
    """The parameters behind the context, and in words what cannot be one."""
    found, why = _signature(function)
    if not found or found[0].kind not in (*_NAMED, inspect.Parameter.POSITIONAL_ONLY):
        return [], [why or "it has no parameter for its context: write `ctx` first"]
    parameters: list[Parameter] = []
    problems: list[str] = []
    for parameter in found[1:]:
        try:
            parameters.append(_parameter(parameter, function))
        except TypeError as error:
            problems.append(f"its parameter {quoted(parameter.name)} {error}")
    return parameters, problems


def takes_anything(function: Callable[..., Any]) -> bool:
    """Whether the function takes any keyword, so that its signature says nothing."""
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in _signature(function)[0])


def arguments_of(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a call. Raises ValueError with everything that does not match."""
    values: dict[str, Any] = {}
    known = {parameter.plan.name for parameter in parameters}
    problems = [f"there is no parameter {quoted(name)}" for name in given if name not in known]
    for parameter in parameters:
        raw = given.get(parameter.plan.name)
        try:
            values |= _argument(parameter, raw)
        except ValueError as error:
            problems.append(f"{quoted(parameter.plan.name)}: {error}")
    if problems:
        raise ValueError("; ".join(problems))
    return values


def json_schema(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of a tool's parameters, with the formats that a wire schema does not have."""
    schema = to_wire_schema({p.plan.name: p.plan for p in parameters})
    for parameter in parameters:
        if parameter.reading.format:
            own = schema["properties"][parameter.plan.name]
            (own["items"] if parameter.plan.items else own)["format"] = parameter.reading.format
    return schema


def described(function: Callable[..., Any]) -> str | None:
    """The docstring of a function, without its indentation."""
    return inspect.getdoc(function) if inspect.isroutine(function) else None


def _signature(function: Callable[..., Any]) -> tuple[list[inspect.Parameter], str]:
    try:
        return list(inspect.signature(function).parameters.values()), ""
    except (TypeError, ValueError) as error:
        return [], f"its signature cannot be read: {error}"


def _parameter(parameter: inspect.Parameter, function: Callable[..., Any]) -> Parameter:
    """Raises TypeError with what is wrong, to follow the parameter's name."""
    if parameter.kind not in _NAMED:
        raise TypeError("cannot be passed by its name: write each parameter out")
    if parameter.annotation is _EMPTY:
        raise TypeError("has no annotation: say its type")
    annotation = _resolved(parameter.annotation, function)
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    param = next((mark for mark in marks if isinstance(mark, Param)), Param())
    kind, nullable = without_none(annotation)
    item = _item(kind)
    reading = _reading(kind if item is None else item)
    plan = ParamPlan(
        param.name or parameter.name,
        "array" if item is not None else reading.type,
        reading.enum if item is None else None,
        param.description,
        optional=nullable or parameter.default is not _EMPTY,
        items=None if item is None else ParamPlan("items", reading.type, reading.enum),
    )
    return Parameter(parameter.name, plan, reading, nullable and parameter.default is _EMPTY)


def _reading(kind: Any) -> TypeReading:
    try:
        return read_type(kind)
    except TypeError as error:
        raise TypeError(f"has a type that cannot be used: {error}") from None


def _item(kind: Any) -> Any:
    """The type of a list's entries; `None` for what is no list."""
    if kind in _LISTS:
        raise TypeError("lists something: say what, as in list[str]")
    arguments = get_args(kind)
    return arguments[0] if get_origin(kind) in _LISTS and arguments else None


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """The annotation itself, where it is kept as text. Only this one: the context's may name what is not there."""
    if not isinstance(annotation, str):
        return annotation
    bearer = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(bearer, _globals(function), include_extras=True)["it"]
    except Exception as error:  # noqa: BLE001  # an annotation is any expression
        raise TypeError(f"has an annotation that cannot be read, {annotation}: {error}") from None


def _globals(function: Any) -> dict[str, Any]:
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType]  # of whatever it was made
    plain = inspect.unwrap(getattr(function, "__func__", function))
    return getattr(plain, "__globals__", None) or getattr(type(plain).__call__, "__globals__", {})


def _argument(parameter: Parameter, raw: Any) -> dict[str, Any]:
    plan = parameter.plan
    if raw is None:
        if not plan.optional:
            raise ValueError("it is missing")
        return {parameter.keyword: None} if parameter.nullable else {}
    if plan.items is None:
        return {parameter.keyword: _value(raw, plan, parameter.reading)}
    if not is_list(raw):
        raise ValueError(f"it must be {expected(plan)}, and is {kind_of(raw)}")
    return {parameter.keyword: [_value(entry, plan.items, parameter.reading) for entry in raw]}


def _value(raw: Any, plan: ParamPlan, reading: TypeReading) -> Any:
    if not fits(raw, plan.type):
        raise ValueError(f"it must be {expected(plan)}, and is {kind_of(raw)}")
    if plan.enum is not None and not in_enum(raw, plan.enum):
        raise ValueError(f"it must be {listing([json_text(value) for value in plan.enum])}, and is {json_text(raw)}")
    whole = int(raw) if plan.type == "integer" else raw
    return whole if reading.parse is None else reading.parse(whole)
