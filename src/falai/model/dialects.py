"""Which schemas a provider enforces: what OpenAI and Google publish, as data, and a check that finds all offences.

OpenAI: "Structured model outputs", supported schemas. Google: `responseJsonSchema` of the Gemini API; it
publishes no numbers but refuses what is too complex, reportedly from some 240 enum values on, so OpenAI's
numbers and a smaller one for enums stand in for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from falai.flow.values import is_number
from falai.session.jsontext import is_list, is_object, json_text, quoted

__all__ = [
    "GEMINI",
    "OPENAI",
    "Dialect",
    "Offence",
    "first_key",
    "fits_kind",
    "hard_offences",
    "inner",
    "kinds",
    "malformed",
    "mapped",
    "offences",
]

Schema = Mapping[str, Any]


class Offence(NamedTuple):
    """One thing in a schema that a provider does not enforce: where (`properties.steps.items`), and what."""

    path: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a schema may be; `characters` are those of names, enum values and constants together."""

    properties: int = 5_000
    depth: int = 10
    characters: int = 120_000
    enum_values: int = 1_000
    long_enum: int = 250
    long_enum_characters: int = 15_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The schemas that a provider enforces.

    `closed`: every object requires all of its properties and allows no others. `first_keys`: objects in an
    `anyOf` are told apart by the name of their first property. `shares`: a definition counts once, however
    often it is referred to.
    """

    name: str
    keywords: frozenset[str]
    closed: bool
    first_keys: bool
    shares: bool
    limits: Limits = Limits()


_BOTH: Final = frozenset({
    "type", "description", "title", "properties", "required", "additionalProperties", "items", "minItems",
    "maxItems", "enum", "anyOf", "format", "minimum", "maximum", "$ref", "$defs",
})  # fmt: skip
OPENAI: Final = Dialect(
    name="OpenAI",
    keywords=_BOTH | {"const", "pattern", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "definitions"},
    closed=True,
    first_keys=True,
    shares=True,
)
GEMINI: Final = Dialect(
    name="Gemini",
    keywords=_BOTH | {"oneOf", "prefixItems", "propertyOrdering", "$id", "$anchor"},
    closed=False,
    first_keys=False,
    shares=False,
    limits=Limits(enum_values=200),
)

_NAMED: Final = ("properties", "$defs", "definitions")
_LISTED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE: Final = ("items", "additionalProperties")
_KINDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": lambda value: is_number(value) and value % 1 == 0,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "object": is_object,
    "array": is_list,
}


def offences(schema: Schema, dialect: Dialect) -> list[Offence]:
    """Everything for which a provider of this dialect refuses to enforce the schema; empty when it enforces it."""
    if broken := malformed(schema):
        return broken
    found = list(_at_root(schema))
    for path, node in _nodes(schema, ""):
        found += [Offence(path, what) for rule in _RULES for what in rule(node, schema, dialect)]
    return found + [Offence("", what) for what in _beyond(schema, dialect)]


def malformed(schema: Schema) -> list[Offence]:
    """What makes this no JSON schema at all; everything else takes a schema for which this is empty."""
    return [Offence(path, what) for path, node in _nodes(schema, "") for what in _misshapen(node)]


def hard_offences(schema: Schema, dialect: Dialect) -> list[Offence]:
    """The offences that a library which rewrites a schema on its way does not repair: first keys and size."""
    if broken := malformed(schema):
        return broken
    found = [Offence(path, what) for path, node in _nodes(schema, "") for what in _first_keys(node, schema, dialect)]
    return found + [Offence("", what) for what in _beyond(schema, dialect)]


def inner(schema: Schema) -> Iterator[tuple[str, Any]]:
    """The schemas that stand in a schema, each with its path from there."""
    for key in _NAMED:
        named: Any = schema.get(key)
        yield from ((f"{key}.{name}", part) for name, part in named.items()) if is_object(named) else ()
    for key in _LISTED:
        listed: Any = schema.get(key)
        yield from ((f"{key}[{number}]", part) for number, part in enumerate(listed)) if is_list(listed) else ()
    for key in _SINGLE:
        if is_object(schema.get(key)):
            yield key, schema[key]


def mapped(schema: Schema, change: Callable[[Schema], dict[str, Any]]) -> dict[str, Any]:
    """A schema whose inner schemas are changed; the given one stays as it was."""
    found = dict(schema)
    for key in _NAMED:
        if is_object(found.get(key)):
            found[key] = {name: change(part) if is_object(part) else part for name, part in found[key].items()}
    for key in _LISTED:
        if is_list(found.get(key)):
            found[key] = [change(part) if is_object(part) else part for part in found[key]]
    for key in _SINGLE:
        if is_object(found.get(key)):
            found[key] = change(found[key])
    return found


def kinds(schema: Schema) -> list[str]:
    """The types that a schema states: none, one or several."""
    stated: Any = schema.get("type", [])
    return [str(kind) for kind in stated] if is_list(stated) else [str(stated)]


def fits_kind(value: Any, kind: str) -> bool:
    """Whether a value is of a JSON schema's type."""
    return kind in _KINDS and _KINDS[kind](value)


def first_key(schema: Schema, root: Schema) -> str | None:
    """The first property of an object's schema, behind a reference too; "" without properties, `None` for others."""
    schema = _resolved(schema, root)
    named: Any = schema.get("properties")
    if "object" not in kinds(schema) and not is_object(named):
        return None
    return str(next(iter(named), "")) if is_object(named) else ""


def _nodes(schema: Any, path: str) -> Iterator[tuple[str, Schema]]:
    if is_object(schema):
        yield path, schema
        for key, part in inner(schema):
            yield from _nodes(part, f"{path}.{key}" if path else key)


def _misshapen(node: Schema) -> Iterator[str]:
    for keys, fits, words in _SHAPES:
        yield from (f"{key} is not {words}" for key in keys if key in node and not fits(node[key]))


def _schemas(parts: Any) -> bool:
    return all(is_object(part) for part in parts)


def _texts(parts: Any) -> bool:
    return all(isinstance(part, str) for part in parts)


_SHAPES: Final[tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...]] = (
    (_NAMED, lambda value: is_object(value) and _texts(value) and _schemas(value.values()), "schemas by name"),
    (_LISTED, lambda value: is_list(value) and _schemas(value), "a list of schemas"),
    (_SINGLE, lambda value: is_object(value) or isinstance(value, bool), "a schema"),
    (("required",), lambda value: is_list(value) and _texts(value), "a list of names"),
    (("type",), lambda value: isinstance(value, str) or (is_list(value) and _texts(value)), "a type"),
    (("enum",), is_list, "a list"),
    (("$ref",), lambda value: isinstance(value, str), "text"),
)


# --- the rules, each over one schema inside the whole ------------------------------------------


def _at_root(schema: Schema) -> Iterator[Offence]:
    if kinds(schema) != ["object"] and "$ref" not in schema:
        yield Offence("", "the root is not an object")
    if "anyOf" in schema:
        yield Offence("", "anyOf stands at the root")


def _keywords(node: Schema, _: Schema, dialect: Dialect) -> Iterator[str]:
    yield from (f"the keyword {quoted(key)} is not supported" for key in node if key not in dialect.keywords)


def _typed(node: Schema, _: Schema, __: Dialect) -> Iterator[str]:
    if not {"type", "anyOf", "oneOf", "$ref"} & set(node):
        yield "no type is stated"
    yield from (f"there is no type {quoted(kind)}" for kind in kinds(node) if kind not in _KINDS)
    if "array" in kinds(node) and not is_object(node.get("items")):
        yield "an array says nothing of its items"


def _closed(node: Schema, _: Schema, dialect: Dialect) -> Iterator[str]:
    if not dialect.closed or "object" not in kinds(node):
        return
    if node.get("additionalProperties") is not False:
        yield "an object allows other properties"
    optional = [name for name in node.get("properties", {}) if name not in node.get("required", ())]
    yield from (f"the property {quoted(name)} is not required" for name in optional)


def _enums(node: Schema, _: Schema, __: Dialect) -> Iterator[str]:
    values: Any = node.get("enum", [None])
    if not is_list(values) or not values:
        yield "an enum lists nothing"
    elif "enum" in node:
        off = [value for value in values if not any(fits_kind(value, kind) for kind in kinds(node))]
        yield from (f"an enum lists {json_text(value)}, which is not of the type" for value in off)
        if "null" in kinds(node) and None not in values:
            yield "null is of the type, and the enum rules it out"


def _references(node: Schema, root: Schema, _: Dialect) -> Iterator[str]:
    if "$ref" in node and (len(node) > 1 and node is not root):
        yield "something stands beside a reference"
    if "$ref" in node and "$ref" in _resolved(node, root):
        yield f"the reference {json_text(node['$ref'])} leads nowhere"


def _first_keys(node: Schema, root: Schema, dialect: Dialect) -> Iterator[str]:
    seen: set[str] = set()
    for choice in _choices(node, root) if dialect.first_keys and "anyOf" in node else ():
        key = first_key(choice, root)
        if key is not None and key in seen:
            yield f"two objects to choose from begin with the property {quoted(key)}"
        seen |= {key} if key is not None else set()


_RULES: Final = (_keywords, _typed, _closed, _enums, _references, _first_keys)


def _choices(node: Schema, root: Schema) -> Iterator[Schema]:
    """What there is to choose from, through choices inside choices."""
    for choice in node["anyOf"] if is_list(node.get("anyOf")) else ():
        if is_object(choice):
            yield from _choices(choice, root) if "anyOf" in choice else (choice,)


def _resolved(schema: Schema, root: Schema) -> Schema:
    """What a reference leads to, the reference itself when it leads nowhere."""
    for _ in range(len(root.get("$defs", ())) + 1):
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        target: Any = root.get("$defs", {}).get(name) if "$ref" in schema else None
        if not is_object(target):
            break
        schema = target
    return schema


# --- the size ------------------------------------------------------------------------------------


def _beyond(schema: Schema, dialect: Dialect) -> Iterator[str]:
    limits = dialect.limits
    size = _Size(schema, limits)
    if size.long_enum > limits.long_enum_characters:
        most = f"at most {limits.long_enum_characters} beyond {limits.long_enum} values"
        yield f"an enum of {size.long_enum} characters, {most}"
    for what, found, limit in (
        ("properties", size.properties, limits.properties),
        ("levels of nesting", size.depth(schema), limits.depth),
        ("characters of names and values", size.characters, limits.characters),
        ("enum values", size.enum_values, limits.enum_values),
    ):
        if found > limit:
            yield f"{found} {what}, at most {limit}"


class _Size:
    """What the limits count, over a whole schema."""

    def __init__(self, root: Schema, limits: Limits) -> None:
        self._root = root
        self._limits = limits
        self._depths: dict[str, int] = {}
        self.properties = self.characters = self.enum_values = self.long_enum = 0
        for _, node in _nodes(root, ""):
            self._add(node)

    def depth(self, schema: Any) -> int:
        """The levels of objects, through references; one that leads to itself adds none."""
        if not is_object(schema):
            return 0
        if "$ref" in schema:
            return self._depth_behind(schema)
        parts = [self.depth(part) for key, part in inner(schema) if not key.startswith(("$defs.", "definitions."))]
        return max(parts, default=0) + ("properties" in schema)

    def _depth_behind(self, reference: Schema) -> int:
        name, target = str(reference["$ref"]), _resolved(reference, self._root)
        if name not in self._depths:
            self._depths[name] = 0
            self._depths[name] = 0 if target is reference else self.depth(target)
        return self._depths[name]

    def _add(self, node: Schema) -> None:
        for key in _NAMED:
            named: Any = node.get(key)
            self.characters += sum(map(len, named)) if is_object(named) else 0
        self.properties += len(node["properties"]) if is_object(node.get("properties")) else 0
        values: Sequence[Any] = node["enum"] if is_list(node.get("enum")) else ()
        length = _length(values)
        self.enum_values += len(values)
        self.characters += length + _length([node.get("const")])
        if len(values) > self._limits.long_enum:
            self.long_enum = max(self.long_enum, length)


def _length(values: Sequence[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, str))
