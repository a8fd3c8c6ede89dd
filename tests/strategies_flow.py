"""Flow specs, templates and JSON for hypothesis: valid specs by the specification, and whatever may stand for one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strategies import Dice

__all__ = [
    "LIBRARY_NAMES",
    "REGISTRIES",
    "conditions",
    "flow_specs",
    "from_schema",
    "json_values",
    "names",
    "spoilt",
    "texts",
]

SLUGS = ("name", "size", "agreed")
# What the names of the specification's own library flow resolve against (06-flowspec, section 9).
LIBRARY_NAMES: dict[str, Any] = {
    "fields": {
        "member": {"type": "string", "ask": "Ask for the card number."},
        "title": {"type": "string", "ask": "Ask which book they look for."},
        "branch": {"type": "string", "enum": ["north", "harbour"], "ask": "Ask which branch they use."},
        "copies": {"type": "integer"},
        "agreed": {"type": "boolean", "ask": "Sum up and ask whether it is right."},
        "shelf": {"type": "string"},
    },
    "actions": {
        "reserve": {
            "parameters": {
                "title": {"type": "string"},
                "days": {"type": "integer", "optional": True},
                "size": {"type": "string", "enum": ["s", "l"], "optional": True},
            }
        },
        "label": {"parameters": {"tags": {"type": "array", "items": {"type": "string"}}}},
    },
    "events": {"returned": {}, "paid": {"direction": "inbound"}},
    "conditions": {"role": {}},
    "tools": ["catalogue"],
}
REGISTRIES: dict[str, Any] = {
    "fields": {
        "name": {"type": "string", "ask": "Ask for the name."},
        "size": {"type": "integer", "enum": [1, 2, 3]},
        "agreed": {"type": "boolean"},
    },
    "actions": {
        "tell": {
            "parameters": {
                "to": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}, "optional": True},
            }
        },
        "stop": {"parameters": {}},
    },
    "events": {"paid": {}, "left": {"direction": "inbound"}},
    "conditions": {"vip": {}},
    "tools": ["search"],
    "flows": ["f", "other"],
}

texts = st.text(max_size=12)
names = st.sampled_from(["a", "b", "c d", "é:1"])
durations = st.sampled_from(["30s", "1.5h", "3d", "0s"])
slugs = st.lists(st.sampled_from(SLUGS), max_size=3)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


conditions = st.fixed_dictionaries(
    {},
    optional={
        "equals": st.fixed_dictionaries({}, optional={"name": texts, "agreed": st.booleans()}),
        "known": slugs,
        "silenced": st.booleans(),
        "vip": json_values.filter(lambda value: value is not None).map(_without_nulls),
    },
)


plain_objects = st.dictionaries(texts, json_values, max_size=3).map(_without_nulls)
targets = st.one_of(
    names,
    st.just("end"),
    st.fixed_dictionaries({"step": names}, optional={"clear": slugs}),
    st.fixed_dictionaries(
        {"flow": st.sampled_from(["f", "other", "{{data.name}}"])}, optional={"input": plain_objects}
    ),
)
instructions = st.lists(
    st.fixed_dictionaries(
        {"prompt": texts},
        optional={
            "id": texts,
            "kind": st.sampled_from(["must", "never", "should"]),
            "when": texts | st.lists(texts, max_size=2),
            "if": conditions,
        },
    ),
    max_size=2,
)
branches = st.lists(
    st.fixed_dictionaries({"then": targets}, optional={"when": texts, "if": conditions}),
    max_size=2,
)
repeats = st.sampled_from(["once", "always", {"cooldown": "7d"}])
starts = {"if": conditions, "repeat": repeats}
triggers = st.one_of(
    st.fixed_dictionaries({"message": st.lists(texts, max_size=3)}, optional=starts),
    st.fixed_dictionaries(
        {"mention": st.lists(texts, max_size=3)},
        optional={"extract": st.just({"n": {"type": "integer", "optional": True}}), **starts},
    ),
    st.fixed_dictionaries({"silence": durations}, optional={"businessHours": st.booleans(), **starts}),
    st.fixed_dictionaries(
        {"event": st.sampled_from(["paid", "left"])},
        optional={"after": durations, "businessHours": st.booleans(), **starts},
    ),
)
_common = {"label": texts, "then": targets, "ui": plain_objects}
_talk = {
    "ask": st.dictionaries(st.sampled_from(SLUGS), texts, max_size=2),
    "maxAsks": st.integers(1, 5),
    "branches": branches,
    "tools": st.lists(st.just("search"), max_size=1),
    "instructions": instructions,
}
_wait_branches = st.lists(st.fixed_dictionaries({"if": conditions, "then": targets}), max_size=2)


def _kind(kind: str, required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"id": names, "kind": st.just(kind), **required}, optional={**_common, **optional})


steps = st.one_of(
    _kind("collect", {"collect": slugs}, {"prompt": texts, "question": texts, **_talk}),
    _kind("prompt", {"prompt": texts}, _talk),
    _kind("say", {"say": texts}, {"media": st.just({"slug": "map"}), "once": st.booleans()}),
    _kind("do", {"do": st.sampled_from(["tell", "stop"])}, {"with": plain_objects, "onFail": targets}),
    _kind("wait", {"wait": durations}, {"businessHours": st.booleans(), "else": targets, "branches": _wait_branches}),
    _kind(
        "waitEvent",
        {"wait": st.fixed_dictionaries({"event": st.just("paid")}, optional={"upTo": durations})},
        {"else": targets},
    ),
    _kind("if", {"if": conditions}, {"else": targets}),
)
flow_specs = st.fixed_dictionaries(
    {"id": st.sampled_from(["f", "g"]), "name": texts.filter(bool), "steps": st.lists(steps, max_size=4)},
    optional={
        "description": texts,
        "on": st.lists(triggers, max_size=2),
        "anchor": texts,
        "while": conditions,
        "collect": slugs,
        "clearOnStart": slugs,
        "onEnd": st.sampled_from(["end", "stay", "reset"]),
        "instructions": instructions,
        "tools": st.lists(st.just("search"), max_size=1),
    },
)
"""Specs whose shape is right, with listed properties only, a name and kinds (S-15)."""


def from_schema(schema: dict[str, Any], root: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    """Values that a closed JSON schema allows; references lead to the `$defs` of the root."""
    root = root or schema
    if "$ref" in schema:
        return from_schema(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        return st.one_of([from_schema(member, root) for member in schema["anyOf"]])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "enum" in schema:
        listed = st.sampled_from(schema["enum"])
        return st.none() | listed if "null" in kinds else listed
    return st.one_of([_of_type(kind, schema, root) for kind in kinds])


def _of_type(kind: str, schema: dict[str, Any], root: dict[str, Any]) -> st.SearchStrategy[Any]:
    if kind == "object":
        return st.fixed_dictionaries({name: from_schema(part, root) for name, part in schema["properties"].items()})
    if kind == "array":
        return st.lists(from_schema(schema["items"], root), max_size=2)
    scalars: dict[str, st.SearchStrategy[Any]] = {
        "string": texts, "number": st.floats(-9, 9), "integer": st.integers(-1, 9), "boolean": st.booleans(),
        "null": st.none(),
    }  # fmt: skip
    return scalars[kind]


def spoilt(dice: Dice, value: Any, junk: Any) -> Any:
    """The same with something else in one place, or one more property."""
    if isinstance(value, dict) and value and dice.chance(0.85):
        key = dice.pick(sorted(value))
        return {**value, key: spoilt(dice, value[key], junk)}
    if isinstance(value, list) and value and dice.chance(0.85):
        place = dice.number(0, len(value) - 1)
        return [spoilt(dice, part, junk) if at == place else part for at, part in enumerate(value)]
    return {**value, "extra": junk} if isinstance(value, dict) and dice.chance(0.5) else junk
