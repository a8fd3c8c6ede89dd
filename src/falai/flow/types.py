"""Python types as wire types: which of the four a type travels as, and how its values are checked (F-19.3).

The four plain types, `Literal` and `Enum` are read here. Any other type is pydantic's, which is
imported when the first such type is met. A value that comes in has the wire type already; `parse`
makes the Python value of it, `dump` the JSON form that is stored.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

from falai.flow.definition import Ask, Param
from falai.flow.plan import WireType
from falai.flow.values import in_enum

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Enumeration", "TypeReading", "read_type", "without_none"]

Enumeration = tuple[str | int | float, ...]

_PLAIN: dict[object, WireType] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_WIRE: dict[str, WireType] = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
_ISO = {
    "date": (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), "a date, 2026-09-20"),
    "date-time": (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}"), "a date and time, 2026-09-20T15:00"),
    "time": (re.compile(r"[0-9]{2}:[0-9]{2}"), "a time, 15:00"),
    "duration": (re.compile(r"[-+]?P"), "a duration, P3D or PT1H30M"),
}


@dataclass(frozen=True, slots=True)
class TypeReading:
    """How a type travels. `parse` raises ValueError with the reason; without it the wire value serves."""

    type: WireType
    enum: Enumeration | None = None
    parse: Callable[[Any], Any] | None = None
    dump: Callable[[Any], Any] | None = None
    format: str | None = None


def read_type(annotation: Any) -> TypeReading:
    """How this Python type travels. Raises TypeError, saying why, for one that cannot."""
    kind = _unwrapped(without_none(annotation)[0])
    if kind in _PLAIN:
        return TypeReading(_PLAIN[kind])
    if get_origin(kind) is Literal:
        return _read_literal(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _read_enum(kind)
    return _read_rich(kind)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """The type without `None` among its alternatives, and whether it was there."""
    kind = _unwrapped(annotation)
    if get_origin(kind) not in (Union, types.UnionType):
        return kind, False
    members = get_args(kind)
    rest = [member for member in members if member is not type(None)]
    return (Union[tuple(rest)], True) if len(rest) < len(members) else (kind, False)  # noqa: UP007  # made of a list


def _unwrapped(annotation: Any) -> Any:
    """Without our own marks, and without the names that a type may go by."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        return _unwrapped(inner) if all(isinstance(mark, Ask | Param) for mark in marks) else annotation
    if isinstance(annotation, typing.NewType):
        return _unwrapped(annotation.__supertype__)
    named = getattr(annotation, "__value__", None)  # `type X = …`
    return annotation if named is None or isinstance(annotation, type) else _unwrapped(named)


def _read_literal(values: Sequence[Any]) -> TypeReading:
    listed = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in listed) and len(listed) == 2:
        return TypeReading("boolean")
    return _read_values(listed)


def _read_enum(kind: type[Enum]) -> TypeReading:
    members = list(kind)

    def parse(value: Any) -> Any:
        return next(member for member in members if in_enum(value, [member.value]))

    reading = _read_values([member.value for member in members])
    return TypeReading(reading.type, reading.enum, parse, lambda member: member.value)


def _read_values(values: Sequence[Any]) -> TypeReading:
    kinds: set[type] = {type(value) for value in values}
    if kinds == {str}:
        return TypeReading("string", tuple(values))
    if kinds and kinds <= {int, float}:
        return TypeReading("integer" if kinds == {int} else "number", tuple(values))
    raise TypeError(f"its values must be all text or all numbers, and they are {list(values)!r}")


def _read_rich(kind: Any) -> TypeReading:
    from pydantic import TypeAdapter  # heavy, and most agents need only the plain types

    if inspect.isroutine(kind):  # pydantic would check the arguments of a call
        raise TypeError(f"{kind!r} is a function")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        schema = adapter.json_schema(mode="serialization")
    except Exception as error:  # noqa: BLE001  # pydantic names what it cannot take in many classes
        why = str(error).partition("\n")[0].replace("'pydantic[email]'", '"falai[email]"')
        raise TypeError(f"{kind!r} is no type that can be checked: {why}") from None
    variants = list(_variants(schema, schema.get("$defs", {})))
    names = {variant.get("type") for variant in variants}
    name = "number" if names == {"integer", "number"} else names.pop() if len(names) == 1 else "string"
    shape = variants[0].get("format") if len(variants) == 1 else None
    parse = _parser(adapter, _ISO.get(str(shape)), nested=name in ("array", "object"))
    return TypeReading(_WIRE.get(str(name), "string"), _listed(variants), parse, _dumper(adapter), shape)


def _variants(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The alternatives of a JSON schema, null left out."""
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        for alternative in alternatives:
            yield from _variants(alternative, defs)
    elif schema.get("type") != "null":
        yield schema


def _listed(variants: Sequence[Mapping[str, Any]]) -> Enumeration | None:
    values: list[Any] = []
    for variant in variants:
        listed = variant.get("enum", [variant["const"]] if "const" in variant else None)
        if listed is None:
            return None
        values += listed
    plain = all(isinstance(value, str | int | float) and not isinstance(value, bool) for value in values)
    return tuple(values) if values and plain else None


def _parser(
    adapter: TypeAdapter[Any], iso: tuple[re.Pattern[str], str] | None, *, nested: bool
) -> Callable[[Any], Any]:
    from pydantic import ValidationError  # see _read_rich

    def parse(value: Any) -> Any:
        if iso and not iso[0].match(str(value)):  # pydantic would read "3" as three seconds after 1970
            raise ValueError(f"it must be written as {iso[1]}")
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            if nested and isinstance(value, str):
                return _parsed_text(adapter, value)
            raise ValueError(_reason(error)) from None

    return parse


def _parsed_text(adapter: TypeAdapter[Any], text: str) -> Any:
    """A list or an object travels as text, so as its JSON text."""
    from pydantic import ValidationError  # see _read_rich

    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise ValueError(_reason(error)) from None


def _dumper(adapter: TypeAdapter[Any]) -> Callable[[Any], Any]:
    return lambda value: adapter.dump_python(value, mode="json")


def _reason(error: Any) -> str:
    """What pydantic says, without its own framing."""
    found = cast("list[dict[str, Any]]", error.errors(include_url=False, include_context=False, include_input=False))
    return "; ".join(str(entry["msg"]).removeprefix("Value error, ") for entry in found)
