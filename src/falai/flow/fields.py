"""Definitions of fields, parameters and events: checked, and made into plans (F-2, F-12.2, F-13.1, F-19).

Everything is looked at in wire form. Each reader gives the plans that could be made, `None` for a
definition that could not, and the problems; so a later check knows which names there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, cast

from msgspec.structs import replace

from falai.errors import Problem
from falai.flow.definition import Ask, Field
from falai.flow.places import Place, Wire, is_list, is_object, listing
from falai.flow.plan import EventPlan, FieldPlan, ParamPlan, WireType
from falai.flow.types import TypeReading, read_type
from falai.flow.values import is_number
from falai.flow.wire import to_wire
from falai.session.jsontext import MISSING, quoted, show

__all__ = ["EXTRACT_MODES", "FIELD", "PARAMETER", "SCALARS", "read_events", "read_fields", "read_parameters"]

SCALARS: tuple[WireType, ...] = ("string", "number", "integer", "boolean")
EXTRACT_MODES = ("anywhere", "asked")
FIELD = ("type", "enum", "label", "description", "ask", "question", "extract", "correct")
PARAMETER = ("type", "enum", "description", "optional", "items")

_CODE = "bad-definition"
_PARAMETERS = (*SCALARS, "array")
_TEXTS = ("label", "description", "ask", "question")


def read_fields(given: Any) -> tuple[dict[str, FieldPlan | None], list[Problem]]:
    """The fields of an agent, from a mapping or a pydantic model class (F-2.2, F-19.1 to F-19.3)."""
    model = _is_model(given)
    fields = _of_model(given) if model else to_wire(given)
    if not is_object(fields):
        problem = Place("agent", "fields").problem(_CODE, f"fields is {show(given)}", "Write a mapping, slug to Field")
        return {}, [problem]
    plans: dict[str, FieldPlan | None] = {}
    problems = list(_unused_validators(given)) if model else list[Problem]()
    for slug, definition in fields.items():
        name = str(slug)
        plan = _read_field(name, definition, Place(f"field {quoted(name)}", f"fields.{name}"))
        plans[name] = plan if isinstance(plan, FieldPlan) else None
        problems += [] if isinstance(plan, FieldPlan) else plan
    return plans, problems


def read_parameters(given: Any, place: Place) -> tuple[dict[str, ParamPlan | None], list[Problem]]:
    """Parameter definitions in wire form, of an action or of a mention's `extract` (F-12.2)."""
    if not is_object(given):
        return {}, [place.problem(_CODE, f"{place.name} is {show(given)}", 'Write {"<name>": {"type": "string"}}')]
    plans: dict[str, ParamPlan | None] = {}
    problems: list[Problem] = []
    for name, definition in given.items():
        found = list(_parameter_problems(definition, place.key(str(name))))
        plans[name] = None if found else _parameter(name, definition)
        problems += found
    return plans, problems


def read_events(given: Any) -> tuple[dict[str, EventPlan], list[Problem]]:
    """The events of an agent (F-13.1)."""
    events = to_wire(given)
    if not is_object(events):
        what = f"events is {show(given)}"
        return {}, [Place("agent", "events").problem(_CODE, what, "Write a mapping, name to EventDefinition")]
    named = {str(name): definition for name, definition in events.items()}
    plans = {name: EventPlan(name, _member(definition, "direction")) for name, definition in named.items()}
    problems = [p for name, definition in named.items() for p in _event_problems(name, definition)]
    return plans, problems


def _read_field(slug: str, definition: Any, place: Place) -> FieldPlan | list[Problem]:
    if not is_object(definition):
        return [place.problem(_CODE, f"the definition is {show(definition)}", 'Write Field(str) or {"type": "string"}')]
    reading = _type_reading(definition.get("type", MISSING), place.key("type"))
    problems = [reading] if isinstance(reading, Problem) else []
    problems += _one_of(definition, "extract", EXTRACT_MODES, place)
    problems += _enum_problems(definition, place)
    problems += [problem for key in _TEXTS for problem in _text_problems(definition, key, place)]
    problems += _boolean_problems(definition, "correct", place)
    if isinstance(reading, Problem) or problems:
        return problems
    if reading.enum is not None and "enum" in definition:
        what = "enum stands beside a type that lists its values already"
        return [place.key("enum").problem(_CODE, what, "Leave one of the two out")]
    return _field(slug, definition, reading)


def _field(slug: str, definition: Wire, reading: TypeReading) -> FieldPlan:
    enum = tuple(definition["enum"]) if "enum" in definition else reading.enum
    mode: Literal["anywhere", "asked"] = "asked" if reading.type == "boolean" else "anywhere"
    return FieldPlan(
        slug,
        reading.type,
        enum,
        **{key: definition.get(key) for key in _TEXTS},
        mode=definition.get("extract", mode),
        correct=definition.get("correct", False),
        validate=_validator(reading),
        format=reading.format,
    )


def _validator(reading: TypeReading) -> Callable[[Any], Any] | None:
    parse, dump = reading.parse, reading.dump
    return None if parse is None or dump is None else lambda value: dump(parse(value))


def _type_reading(kind: Any, place: Place) -> TypeReading | Problem:
    if isinstance(kind, str) and kind in SCALARS:
        return TypeReading(kind)
    if isinstance(kind, str) or kind is MISSING:
        return _wrong_type(kind, SCALARS, place)
    try:
        return read_type(kind)
    except TypeError as error:
        return place.problem(_CODE, f"type is not usable: {error}", "Use str, int, float, bool, a Literal or a date")


def _wrong_type(kind: Any, allowed: tuple[str, ...], place: Place) -> Problem:
    what = f"{place.name} is {show(kind)}"
    return place.problem(_CODE, what, f"Write one of {listing([quoted(name) for name in allowed])}")


def _parameter_problems(definition: Any, place: Place, allowed: tuple[str, ...] = _PARAMETERS) -> Iterator[Problem]:
    if not is_object(definition):
        yield place.problem(_CODE, f"{place.name} is {show(definition)}", 'Write {"type": "string"} or another type')
        return
    kind = definition.get("type", MISSING)
    if not isinstance(kind, str) or kind not in allowed:
        yield _wrong_type(kind, allowed, place.key("type"))
    elif kind == "array":
        items = definition.get("items", MISSING)
        yield from _parameter_problems(items, place.key("items"), SCALARS)
    yield from _enum_problems(definition, place)
    yield from _text_problems(definition, "description", place)
    if definition.get("optional", True) is not True:
        here = place.key("optional")
        yield here.problem(_CODE, f"{here.name} is {show(definition['optional'])}", "Write true, or leave it out")


def _parameter(name: str, definition: Wire) -> ParamPlan:
    listed = definition["type"] == "array"
    return ParamPlan(
        name,
        definition["type"],
        tuple(definition["enum"]) if "enum" in definition and not listed else None,
        definition.get("description"),
        definition.get("optional", False),
        replace(_parameter(name, definition["items"]), optional=False) if listed else None,
    )


def _enum_problems(definition: Wire, place: Place) -> Iterator[Problem]:
    values = definition.get("enum", MISSING)
    if values is MISSING:
        return
    here = place.key("enum")
    if not is_list(values) or not values:
        yield here.problem(_CODE, f"{here.name} is {show(values)}", "List the allowed texts and numbers, at least one")
        return
    for index, value in enumerate(values):
        if not isinstance(value, str) and not is_number(value):
            there = here.item(index)
            yield there.problem(_CODE, f"{there.name} is {show(value)}", "List texts and numbers only")


def _text_problems(definition: Wire, key: str, place: Place) -> Iterator[Problem]:
    value = definition.get(key, "")
    if not isinstance(value, str):
        here = place.key(key)
        yield here.problem(_CODE, f"{here.name} is {show(value)}", "Write text")


def _boolean_problems(definition: Wire, key: str, place: Place) -> Iterator[Problem]:
    value = definition.get(key, False)
    if not isinstance(value, bool):
        yield place.key(key).problem(_CODE, f"{key} is {show(value)}", "Write true or false")


def _one_of(definition: Wire, key: str, allowed: tuple[str, ...], place: Place) -> Iterator[Problem]:
    value = definition.get(key, allowed[0])
    if not isinstance(value, str) or value not in allowed:
        here = place.key(key)
        yield here.problem(_CODE, f"{here.name} is {show(value)}", f"Write {listing([quoted(v) for v in allowed])}")


def _event_problems(name: str, definition: Any) -> Iterator[Problem]:
    place = Place(f"event {quoted(name)}", f"events.{name}")
    if is_object(definition):
        yield from _one_of(definition, "direction", ("inbound", "outbound"), place)
    else:
        yield place.problem(_CODE, f"the definition is {show(definition)}", 'Write {} or {"direction": "inbound"}')


def _member(definition: Any, key: str) -> Any:
    return definition.get(key) if is_object(definition) else None


def _is_model(given: Any) -> bool:
    """Whether this is a class of pydantic's, without importing it."""
    return isinstance(given, type) and hasattr(given, "model_fields")


def _of_model(model: Any) -> dict[str, Any]:
    """The fields of a pydantic model class; what an `Ask` does not say, its `Field(description=…)` may."""
    return {slug: _of_annotation(info) for slug, info in cast("Mapping[str, Any]", model.model_fields).items()}


def _of_annotation(info: Any) -> Any:
    ask = next((mark for mark in info.metadata if isinstance(mark, Ask)), Ask())
    said = {key: getattr(ask, key) for key in ("ask", "question", "label", "extract", "correct")}
    return to_wire(Field(info.rebuild_annotation(), description=ask.description or info.description, **said))


def _unused_validators(model: Any) -> Iterator[Problem]:
    """A value is validated alone, by its type; a method of the model would never run."""
    for name, validator in model.__pydantic_decorators__.field_validators.items():
        for slug in validator.info.fields:
            place = Place(f"field {quoted(slug)}", f"fields.{slug}")
            what = f"its validator {quoted(name)} is a method of the model, which does not run for a single value"
            yield place.problem(_CODE, what, "Write it into the type: Annotated[<type>, AfterValidator(<function>)]")
