"""Pieces of JSON Schema in which `null` is the same as nothing and every object is open (F-1.2, S-43)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "BOOLEAN",
    "NOTHING",
    "Schema",
    "listed",
    "mapped",
    "named_id",
    "nullable",
    "object_of",
    "one_of",
    "ref",
    "said",
    "text",
    "variants",
    "with_set",
]

Schema = dict[str, Any]

BOOLEAN: Schema = {"type": "boolean"}
NOTHING: Schema = {"type": "null"}


def ref(name: str) -> Schema:
    """A part of the schema by its name."""
    return {"$ref": f"#/$defs/{name}"}


def said(schema: Schema, description: str) -> Schema:
    """The same with a description, if there is one."""
    return {**schema, "description": description} if description else schema


def text(**limits: Any) -> Schema:
    """A text."""
    return {"type": "string", **limits}


def named_id(more: Schema | None = None) -> Schema:
    """An id, which is not blank."""
    return {"type": "string", "pattern": r"\S", **(more or {})}


def listed(items: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": items}


def mapped(values: Schema) -> Schema:
    """An object with any names and values of one kind."""
    return {"type": "object", "additionalProperties": nullable(values)}


def one_of(values: Any) -> Schema:
    """One of these values."""
    return {"enum": list(values)}


def nullable(schema: Schema) -> Schema:
    """The same, or null, which is the same as nothing."""
    about = {"description": schema["description"]} if "description" in schema else {}
    if not schema.keys() - {"description"}:
        return schema
    return {"anyOf": [{key: part for key, part in schema.items() if key != "description"}, NOTHING], **about}


def object_of(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Schema:
    """An open object; what is not required may be null."""
    parts = {name: part if name in required else nullable(part) for name, part in properties.items()}
    schema: Schema = {"type": "object", "properties": parts}
    return schema | ({"required": list(required)} if required else {})


def with_set(key: str) -> Schema:
    """Whether a property is there and not null."""
    return {"required": [key], "properties": {key: {"not": NOTHING}}}


def variants(own: Mapping[str, Mapping[str, Schema]], keys: Sequence[str], together: Sequence[str] = ()) -> Schema:
    """Exactly one of these keys is set; which one decides what else there is. Of `together` the first one counts."""
    made: list[Schema] = []
    for kind, parts in own.items():
        beside = together if kind in together[:1] else (kind,)
        others = [key for key in keys if key not in beside]
        named = {name: part for name, part in parts.items() if name != "*"}
        variant = {**object_of(named, required=(kind,)), "not": {"anyOf": [with_set(key) for key in others]}}
        made.append({"title": kind, **variant, **parts.get("*", {})})
    return {"type": "object", "oneOf": made}
