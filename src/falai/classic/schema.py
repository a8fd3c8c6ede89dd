"""The agent's JSON schema as fields, and which values fit it (D-5, D-56).

A property of one scalar type becomes a field of the core. Any other one is opaque: its schema goes
to the model as written, and a value fits by its outer JSON type alone. Nothing is coerced here:
what the model read is, by the core; what code writes has to be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from falai.classic.errors import DataProblem
from falai.errors import Problem
from falai.flow.fields import SCALARS, read_fields
from falai.flow.places import Place, Wire, is_list, is_object, listing
from falai.flow.plan import FieldPlan, WireType
from falai.flow.values import in_enum, is_number
from falai.session.jsontext import MISSING, quoted, show

__all__ = ["SchemaField", "misfits", "read_schema"]

_CODE = "bad-schema"
_OWN = ("ask", "extract")  # ours, no words of JSON schema


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One property of the schema.

    `plan` is the core's field, `None` for an opaque one. `schema` is the property as the model gets
    it, `types` the JSON types that a value may have, none for any. `ask` and `extract` mean what
    they mean in the core.
    """

    slug: str
    plan: FieldPlan | None
    schema: Mapping[str, Any]
    types: tuple[str, ...]
    ask: str | None
    extract: str


def read_schema(schema: Any) -> tuple[dict[str, SchemaField], list[Problem]]:
    """The fields of the option `schema`, none when it is not given, and what is wrong with it (D-4).

    A property that is wrong itself is left out.
    """
    if schema is None:
        return {}, []
    properties = schema.get("properties", MISSING) if is_object(schema) else MISSING
    if not is_object(schema) or schema.get("type") != "object" or not is_object(properties):
        fix = 'Write {"type": "object", "properties": {"<field>": {"type": "string"}}}'
        return {}, [Place("agent", "schema").problem(_CODE, f"schema {_shown(schema)}", fix)]
    fields: dict[str, SchemaField] = {}
    problems: list[Problem] = []
    for key, definition in properties.items():
        field = _field(str(key), definition)
        if isinstance(field, SchemaField):
            fields[field.slug] = field
        else:
            problems += field
    return fields, problems


def misfits(data: Wire, fields: Mapping[str, SchemaField]) -> Iterator[DataProblem]:
    """Every value that is of no field or does not fit its own; `None`, which makes a field unknown, always fits."""
    for key, value in data.items():
        field = fields.get(key)
        if field is None:
            there = listing([quoted(slug) for slug in fields], "and") if fields else "none"
            yield DataProblem(str(key), value, f"is no field of the schema; its fields: {there}", "properties")
        elif value is not None:
            yield from _misfit(field, value)


def _misfit(field: SchemaField, value: Any) -> Iterator[DataProblem]:
    path = f"properties.{field.slug}"
    if field.types and not any(_TYPES[kind](value) for kind in field.types):
        wanted = listing([quoted(kind) for kind in field.types])
        yield DataProblem(field.slug, value, f"is {show(value)}, and its type is {wanted}", f"{path}.type")
    elif field.plan and field.plan.enum is not None and not in_enum(value, field.plan.enum):
        wanted = listing([show(entry) for entry in field.plan.enum])
        yield DataProblem(field.slug, value, f"is {show(value)}, and the schema lists {wanted}", f"{path}.enum")


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": lambda value: is_number(value) and value % 1 == 0,
    "boolean": lambda value: isinstance(value, bool),
    "array": is_list,
    "object": is_object,
    "null": lambda value: value is None,
}


def _shown(schema: Any) -> str:
    """What is wrong with what should be an object schema."""
    if not is_object(schema):
        return f"is {show(schema)}"
    if schema.get("type") != "object":
        return f"has the type {show(schema.get('type', MISSING))}"
    return f"has as its properties: {show(schema.get('properties', MISSING))}"


def _field(slug: str, definition: Any) -> SchemaField | list[Problem]:
    place = Place(f"field {quoted(slug)}", f"schema.properties.{slug}")
    if not is_object(definition):
        return [place.problem(_CODE, f"its schema is {show(definition)}", 'Write {"type": "string"}')]
    types = _types(definition.get("type"))
    if unknown := [kind for kind in types if not isinstance(kind, str) or kind not in _TYPES]:
        what = f"its type is {show(unknown[0])}, which JSON schema does not have"
        return [place.key("type").problem(_CODE, what, f"Write {listing([quoted(kind) for kind in _TYPES])}")]
    names = [kind for kind in types if kind != "null"]
    scalar = names[0] if len(names) == 1 and names[0] in SCALARS else None
    plan, problems = _plan(slug, definition, scalar)
    if plan is None:
        return [_moved(problem, place) for problem in problems]
    schema = {key: value for key, value in definition.items() if key not in _OWN}
    return SchemaField(slug, plan if scalar else None, schema, tuple(types), plan.ask, plan.mode)


def _types(given: Any) -> list[Any]:
    return [*given] if is_list(given) else [] if given is None else [given]


def _plan(slug: str, definition: Wire, scalar: WireType | None) -> tuple[FieldPlan | None, list[Problem]]:
    """The core's field; of an opaque property one of text, so that its words are looked at all the same."""
    said = {key: definition[key] for key in ("description", *_OWN) if definition.get(key) is not None}
    wire: dict[str, Any] = {"type": scalar or "string", "extract": "anywhere", **said}
    if scalar and definition.get("enum") is not None:
        wire["enum"] = _enum(definition["enum"], definition["type"])
    plans, problems = read_fields({slug: wire})
    return plans[slug], problems


def _enum(values: Any, types: Any) -> Any:
    """The listed values; beside a type that may be null, null is none of them."""
    nullable = is_list(types) and "null" in types
    return [value for value in values if value is not None] if nullable and is_list(values) else values


def _moved(problem: Problem, place: Place) -> Problem:
    """The problem of a field as one of the schema's property."""
    below = problem.path.removeprefix(f"fields.{place.base.removeprefix('schema.properties.')}")
    return replace(problem, code=_CODE, path=place.base + below)
