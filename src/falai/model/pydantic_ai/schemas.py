"""Schemas as enforcing providers take them: no answer is forced to be invented, none is refused.

OpenAI publishes how large a schema may be that it enforces. One that is larger is sent all the
same, but unenforced (M-22.4), with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from falai.log import line
from falai.session.jsontext import is_list, is_object, json_text

__all__ = ["Enforcement", "enforceable", "too_large"]

_LOG: Final = logging.getLogger(__name__)
_PROPERTIES: Final = 5_000
_DEPTH: Final = 10
_CHARACTERS: Final = 120_000
_ENUM_VALUES: Final = 1_000
_LONG_ENUM, _LONG_ENUM_CHARACTERS = 250, 15_000
_REMEMBERED: Final = 1_000


def enforceable(schema: Mapping[str, Any], *, lists: bool) -> dict[str, Any]:
    """The schema as an enforcing provider can take it; `lists` says whether it knows lists of types.

    A nullable enum becomes a choice of the enum and null: an enum without null would make null
    impossible, and the model would have to invent a value. Without `lists`, so does all that is nullable.
    """
    changed = dict(schema)
    if "properties" in changed:
        changed["properties"] = {key: enforceable(value, lists=lists) for key, value in changed["properties"].items()}
    kinds = changed.get("type")
    if not isinstance(kinds, list) or (lists and "enum" not in changed):
        return changed
    shape = {key: changed.pop(key) for key in ("enum", "items") if key in changed}
    kind = next(kind for kind in cast(list[str], kinds) if kind != "null")
    changed["anyOf"] = [{"type": kind, **shape}, {"type": "null"}]
    del changed["type"]
    return changed


def too_large(schema: Mapping[str, Any]) -> str | None:
    """What of the schema is beyond the published limits; `None` when it can be enforced."""
    size = _Size()
    size.add(schema, 0)
    if size.long_enum is not None:
        return f"an enum of {size.long_enum} characters, at most {_LONG_ENUM_CHARACTERS} beyond {_LONG_ENUM} values"
    for what, found, limit in (
        ("properties", size.properties, _PROPERTIES),
        ("levels of nesting", size.depth, _DEPTH),
        ("characters of names and enum values", size.characters, _CHARACTERS),
        ("enum values", size.enum_values, _ENUM_VALUES),
    ):
        if found > limit:
            return f"{found} {what}, at most {limit}"
    return None


class Enforcement:
    """Whether a provider is asked to enforce a schema; says once for each schema when it is not."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._said: set[int] = set()

    def can_enforce(self, schema: Mapping[str, Any]) -> bool:
        why = too_large(schema)
        if why is not None and self._is_new(schema):
            extra = line("schema.unenforced", model=self._model)
            _LOG.warning("%s: a schema is sent unenforced: it has %s", self._model, why, extra=extra)
        return why is None

    def _is_new(self, schema: Mapping[str, Any]) -> bool:
        mark = hash(json_text(schema))
        if mark in self._said or len(self._said) >= _REMEMBERED:
            return False
        self._said.add(mark)
        return True


@dataclass(slots=True)
class _Size:
    """What the limits count, over a whole schema."""

    properties: int = 0
    depth: int = 0
    characters: int = 0
    enum_values: int = 0
    long_enum: int | None = field(default=None)

    def add(self, schema: Any, depth: int) -> None:
        if is_list(schema):
            for part in schema:
                self.add(part, depth)
        if not is_object(schema):
            return
        self._add_enum(schema.get("enum"))
        for place in ("properties", "$defs", "definitions"):
            named: Any = schema.get(place)
            if is_object(named):
                self._add_named(named, depth, counted=place == "properties")
        for place in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
            self.add(schema.get(place), depth)

    def _add_named(self, named: Mapping[str, Any], depth: int, *, counted: bool) -> None:
        self.characters += sum(map(len, named))
        if counted:
            self.properties += len(named)
            self.depth = max(self.depth, depth + 1)
        for part in named.values():
            self.add(part, depth + 1)

    def _add_enum(self, values: Any) -> None:
        if not is_list(values):
            return
        length = sum(len(value) for value in values if isinstance(value, str))
        self.enum_values += len(values)
        self.characters += length
        if len(values) > _LONG_ENUM and length > _LONG_ENUM_CHARACTERS:
            self.long_enum = length
