"""The JSON shapes of both answers, and the names under which things travel in them (M-3, M-7).

Every object is closed and requires all of its properties; every leaf takes `null`. So a provider
that enforces schemas accepts them, and the model may always say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from falai.flow.plan import FieldPlan, WireType
from falai.flow.schema import to_wire_schema

__all__ = ["SECTIONS", "speak_keys", "speak_schema", "understand_keys", "understand_schema"]

SECTIONS = ("flows", "mentions", "extract", "branches", "fields", "asks")
_LEGAL = re.compile(r"[a-zA-Z0-9_-]+")
_SCORE = {"type": ["integer", "null"], "description": "0 to 100: how far the customer wants this flow"}
_MENTION = {"type": ["boolean", "null"], "description": "whether the message plainly shows this"}
_BRANCH = {"type": ["boolean", "null"], "description": "the answer to this question"}
_ASKS = {"type": ["boolean", "null"], "description": "whether the customer wants something in return"}


def understand_keys(
    candidates: Iterable[str] = (),
    mentions: Iterable[str] = (),
    branches: Iterable[str] = (),
    fields: Iterable[str] = (),
) -> dict[str, str]:
    """Real id → key in the understand envelope; one counter serves all aliases (M-3.4)."""
    keys: dict[str, str] = {}
    taken: set[str] = set()
    counter = 0
    for prefix, ids in (("f", candidates), ("f", mentions), ("q", branches), ("d", fields)):
        for real in ids:
            if real not in keys:
                keys[real], counter = _key(real, prefix, taken, counter)
    return keys


def speak_keys(pending: Iterable[str]) -> list[str]:
    """The property names of the pending fields, in order; `message` is reserved (M-7.3)."""
    keys: list[str] = []
    taken = {"message"}
    counter = 0
    for slug in pending:
        key, counter = _key(slug, "field_", taken, counter)
        keys.append(key)
    return keys


def understand_schema(
    *,
    flows: Sequence[str],
    mentions: Sequence[str],
    extract: Mapping[str, Mapping[str, Any]],
    branches: Sequence[str],
    fields: Mapping[str, FieldPlan],
    asks: bool,
) -> dict[str, Any]:
    """The envelope of M-3.1; all names are keys. Only sections that have something are in it."""
    sections: dict[str, Any] = {
        "flows": _all(flows, _SCORE),
        "mentions": _all(mentions, _MENTION),
        "extract": {key: to_wire_schema(params, nullable=True) for key, params in extract.items()},
        "branches": _all(branches, _BRANCH),
    }
    envelope = {section: _closed(members) for section, members in sections.items() if members}
    if fields:
        envelope["fields"] = _fields(fields)
    if asks:
        envelope["asks"] = dict(_ASKS)
    return _closed(envelope)


def speak_schema(fields: Mapping[str, FieldPlan]) -> dict[str, Any]:
    """`message`, then the pending fields under their keys (M-7.2)."""
    return _fields({"message": FieldPlan("message", "string"), **fields})


def _key(real: str, prefix: str, taken: set[str], counter: int) -> tuple[str, int]:
    """The key of an id, and the counter after it; the key is taken from then on."""
    key = real
    while key in taken or not _is_legal(key):
        counter += 1
        key = f"{prefix}{counter}"
    taken.add(key)
    return key, counter


def _is_legal(key: str) -> bool:
    return (key.isidentifier() and key.isascii()) or _LEGAL.fullmatch(key) is not None  # most are quick to tell


def _fields(fields: Mapping[str, FieldPlan]) -> dict[str, Any]:
    return _closed(
        {
            key: dict(_leaf(f.type, f.enum, f.description)) if f.schema is None else _or_null(f.schema)
            for key, f in fields.items()
        }
    )


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


@lru_cache(maxsize=2048)  # a field is the same in every turn
def _leaf(kind: WireType, enum: tuple[Any, ...] | None, description: str | None) -> Mapping[str, Any]:
    field = FieldPlan("", kind, enum=enum, description=description)
    leaf: Mapping[str, Any] = to_wire_schema({"": field}, nullable=True)["properties"][""]
    return leaf


def _all(keys: Sequence[str], leaf: Mapping[str, Any]) -> dict[str, Any]:
    return {key: dict(leaf) for key in keys}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
