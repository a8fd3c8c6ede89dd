"""A schema in the equivalent form that a provider enforces, and its answers back in the schema's own form.

Three changes, each only where it is needed. A nullable enum or object becomes a choice of it and null: an enum
without null would make null impossible, and the model would have to invent a value. Objects to choose from
that begin with the same property get one of their own in front (`"is_say": true`), which is taken out of the
answer again. And what stands in many places is written once, when the whole would be too large.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from falai.model.dialects import (
    Dialect,
    Offence,
    first_key,
    fits_kind,
    inner,
    kinds,
    malformed,
    mapped,
    offences,
)
from falai.session.jsontext import is_list, is_object, json_text

__all__ = ["Form", "compact", "form_of", "nullable_as_choice"]

Schema = Mapping[str, Any]

_NOTES: Final = ("description", "title")
_OF_KIND: Final = {
    "object": ("properties", "required", "additionalProperties", "propertyOrdering"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "format", "minLength", "maxLength"),
    "null": (),
}
_OF_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SPLIT: Final = frozenset({"type", "enum", *_NOTES, *_OF_NUMBERS, *(key for keys in _OF_KIND.values() for key in keys)})
"""What can be said of each of several types apart."""
_MARK: Final = "is_"
_WORTH_SHARING: Final = 60
"""Characters of JSON from which on a schema that stands in several places is written once."""
_WORTH_COMPACTING: Final = 20_000
"""Characters of JSON from which on a schema that is told is large."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is sent, and whether it can be enforced: `why` says what is in the way.

    `mark` begins the name of every property that was added; `None` when there is none.
    """

    schema: dict[str, Any]
    why: str | None = None
    mark: str | None = None

    def own(self, answer: Any) -> Any:
        """The answer in the form of the schema that was given: without the properties that were added."""
        if self.mark is None:
            return answer
        if is_object(answer):
            return {key: self.own(part) for key, part in answer.items() if not key.startswith(self.mark)}
        return [self.own(part) for part in answer] if is_list(answer) else answer


def form_of(schema: Schema, dialect: Dialect, *, lists: bool) -> Form:
    """The form of a schema for a dialect; `lists` says whether the provider knows lists of types.

    A schema that stays beyond the dialect is only made nullable, to be sent unenforced.
    """
    if broken := malformed(schema):
        return Form(dict(schema), why=_why(broken))
    plain = nullable_as_choice(schema, lists=lists)
    mark = _mark(plain)
    marked = _with_first_keys(plain, mark) if dialect.first_keys else plain
    found = offences(marked, dialect)
    if found and dialect.shares and "$defs" not in marked:
        shared = _shared(marked)
        found, marked = min((found, marked), (offences(shared, dialect), shared), key=lambda each: len(each[0]))
    if found:
        return Form(plain, why=_why(found))
    added = any(name.startswith(mark) for name in _property_names(marked))
    return Form(marked, mark=mark if added else None)


def _why(found: Sequence[Offence]) -> str:
    path, what = found[0]
    return f"{what} ({path})" if path else what


def compact(schema: Schema) -> Schema:
    """The schema for a model that is told it: what repeats in a large one is written once, to save its tokens."""
    if len(json_text(schema)) < _WORTH_COMPACTING or "$defs" in schema or malformed(schema):
        return schema
    return _shared(schema)


# --- what may be null ----------------------------------------------------------------------------


def nullable_as_choice(schema: Schema, *, lists: bool) -> dict[str, Any]:
    """The schema with every enum, object and, without `lists`, everything of several types as a choice of them."""
    node = mapped(schema, lambda part: nullable_as_choice(part, lists=lists))
    stated = kinds(node)
    if "enum" in node and is_list(node["enum"]) and stated:
        node["enum"] = [value for value in node["enum"] if any(fits_kind(value, kind) for kind in stated)]
    simple = lists and "enum" not in node and not {"object", "array"} & set(stated)
    if not is_list(node.get("type")) or simple or not _SPLIT.issuperset(node):
        return node
    notes: dict[str, Any] = {key: node[key] for key in _NOTES if key in node}
    choices = [_of_kind(node, kind) for kind in stated]
    return choices[0] | notes if len(choices) == 1 else {"anyOf": choices, **notes}


def _of_kind(node: Schema, kind: str) -> dict[str, Any]:
    """What a schema says of values of one of its types."""
    keywords = _OF_KIND.get(kind, _OF_NUMBERS)
    found = {"type": kind, **{key: node[key] for key in keywords if key in node}}
    if "enum" in node and kind != "null":
        found["enum"] = [value for value in node["enum"] if fits_kind(value, kind)]
    return found


# --- objects to choose from --------------------------------------------------------------------


def _with_first_keys(schema: Schema, mark: str) -> dict[str, Any]:
    """The schema in which all objects to choose from begin with a property of their own."""
    node = mapped(schema, lambda part: _with_first_keys(part, mark))
    if not is_list(node.get("anyOf")):
        return node
    choices = node["anyOf"] = _flat(node["anyOf"])
    firsts = [first_key(choice, schema) for choice in choices]
    objects = [first for first in firsts if first is not None]
    if len(set(objects)) == len(objects):
        return node
    each = zip(choices, firsts, _names(choices, mark), strict=True)
    node["anyOf"] = [choice if first is None else _in_front(choice, name) for choice, first, name in each]
    return node


def _flat(choices: Sequence[Any]) -> list[Any]:
    """The choices without choices inside choices."""
    found: list[Any] = []
    for choice in choices:
        nested: Any = choice.get("anyOf") if is_object(choice) else None
        notes = {key: choice[key] for key in _NOTES if key in choice} if is_list(nested) else {}
        parts = [{**notes, **part} for part in _flat(nested)] if is_list(nested) else [choice]
        found += [part for part in parts if part not in found]
    return found


def _in_front(choice: Schema, name: str) -> dict[str, Any]:
    properties = {name: {"type": "boolean"}, **choice.get("properties", {})}
    return {**choice, "properties": properties, "required": [name, *choice.get("required", ())]}


def _names(choices: Sequence[Schema], mark: str) -> list[str]:
    """A name for each choice: of what it alone says, as its `kind`, in letters that every provider takes."""
    names: list[str] = []
    for choice in choices:
        constants = [part["enum"] for part in choice.get("properties", {}).values() if len(part.get("enum", ())) == 1]
        words = [str(values[0]) for values in constants] or [str(len(names) + 1)]
        name = mark + re.sub(r"[^a-zA-Z0-9_-]+", "_", "_".join(words))[:40]
        spellings = (name, *(f"{name}_{number}" for number in range(2, len(names) + 2)))
        names.append(next(spelling for spelling in spellings if spelling not in names))
    return names


def _mark(schema: Schema) -> str:
    """The beginning of the names that are added: one with which no property begins."""
    taken = set(_property_names(schema))
    mark = _MARK
    while any(name.startswith(mark) for name in taken):
        mark = f"_{mark}"
    return mark


def _property_names(schema: Any) -> set[str]:
    if not is_object(schema):
        return set()
    below = [_property_names(part) for _, part in inner(schema)]
    return set(schema.get("properties", ())).union(*below)


# --- one definition for what stands in many places ----------------------------------------------


def _shared(schema: Schema) -> dict[str, Any]:
    """The same schema with `$defs`: whatever is large and stands in several places is written once."""
    counts: Counter[str] = Counter()
    _count(schema, counts)
    writer = _Sharing({text for text, count in counts.items() if count > 1})
    whole = writer.inside(schema)
    return {**whole, "$defs": writer.definitions} if writer.definitions else whole


def _count(schema: Schema, counts: Counter[str]) -> None:
    text = json_text(schema)
    counts[text] += len(text) >= _WORTH_SHARING
    if counts[text] < 2:
        for _, part in inner(schema):
            _count(part, counts)


class _Sharing:
    """Writes a schema with references to the definitions that it gathers."""

    def __init__(self, wanted: set[str]) -> None:
        self.definitions: dict[str, Any] = {}
        self._wanted = wanted
        self._names: dict[str, str] = {}

    def inside(self, schema: Schema) -> dict[str, Any]:
        return mapped(schema, self._written)

    def _written(self, schema: Schema) -> dict[str, Any]:
        text = json_text(schema)
        if text not in self._wanted:
            return self.inside(schema)
        if text not in self._names:
            self._names[text] = f"d{len(self._names) + 1}"
            self.definitions[self._names[text]] = self.inside(schema)
        return {"$ref": f"#/$defs/{self._names[text]}"}
