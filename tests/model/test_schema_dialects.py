"""What OpenAI and Gemini enforce, rule by rule: every offence is found, with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.model.dialects import GEMINI, OPENAI, Dialect, Offence, hard_offences, offences
from falai.model.pydantic_ai.forms import form_of
from strategies_flow import json_values

TEXT = {"type": "string"}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def either(*choices: Any) -> dict[str, Any]:
    return closed(x={"anyOf": list(choices)})


A, B = closed(a=TEXT, b=TEXT), closed(b=TEXT, a=TEXT)
SHARED = {**closed(x={"anyOf": [{"$ref": "#/$defs/a"}, A]}), "$defs": {"a": A}}


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = TEXT
    for _ in range(levels):
        found = closed(x=found)
    return found


@pytest.mark.parametrize(
    ("schema", "path", "what"),
    [
        (TEXT, "", "the root is not an object"),
        ({"anyOf": [A]}, "", "anyOf stands at the root"),
        (closed(x={"type": "string", "minLength": 1}), "properties.x", 'the keyword "minLength" is not supported'),
        (closed(x={"allOf": [A]}), "properties.x", 'the keyword "allOf" is not supported'),
        (closed(x={"oneOf": [A, B]}), "properties.x", 'the keyword "oneOf" is not supported'),
        (closed(x={}), "properties.x", "no type is stated"),
        (closed(x={"type": "text"}), "properties.x", 'there is no type "text"'),
        (closed(x={"type": "array"}), "properties.x", "an array says nothing of its items"),
        (closed(x={**A, "additionalProperties": True}), "properties.x", "an object allows other properties"),
        (closed(x={"type": "object"}), "properties.x", "an object allows other properties"),
        (closed(x={**A, "required": ["a"]}), "properties.x", 'the property "b" is not required'),
        (closed(x={"type": "string", "enum": []}), "properties.x", "an enum lists nothing"),
        (closed(x={"type": "string", "enum": ["a", 1]}), "properties.x", "an enum lists 1, which is not of the type"),
        (closed(x={"type": "number", "enum": [True]}), "properties.x", "an enum lists true, which is not of the type"),
        (
            closed(x={"type": ["string", "null"], "enum": ["a"]}),
            "properties.x",
            "null is of the type, and the enum rules it out",
        ),
        (closed(x={"$ref": "#/$defs/a"}), "properties.x", 'the reference "#/$defs/a" leads nowhere'),
        (
            {**closed(x={"$ref": "#/$defs/a", "description": "d"}), "$defs": {"a": A}},
            "properties.x",
            "something stands beside a reference",
        ),
        (either(A, A), "properties.x", 'two objects to choose from begin with the property "a"'),
        (either(A, {"anyOf": [TEXT, A]}), "properties.x", 'two objects to choose from begin with the property "a"'),
        (SHARED, "properties.x", 'two objects to choose from begin with the property "a"'),
        (closed(x=closed(y=closed(z={"type": "array", "items": {}}))), "properties.x.properties.y.properties.z.items", "no type is stated"),
        (nested(11), "", "11 levels of nesting, at most 10"),
    ],
)  # fmt: skip
def test_what_openai_does_not_enforce(schema: dict[str, Any], path: str, what: str) -> None:
    """One offence each."""
    assert Offence(path, what) in offences(schema, OPENAI)


@pytest.mark.parametrize(
    "schema",
    [
        closed(),
        either(A, B),
        either(A, TEXT, {"type": "null"}),
        closed(x={"type": ["string", "null"]}),
        closed(x={"type": "integer", "enum": [1, 2.0]}, y={"type": "string", "pattern": "a", "format": "date"}),
        {**closed(x={"$ref": "#/$defs/a"}, y={"$ref": "#/$defs/a"}), "$defs": {"a": A}},
        {**closed(x={"$ref": "#/$defs/a"}), "$defs": {"a": closed(a={"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]})}},
        nested(10),
    ],
)  # fmt: skip
def test_what_openai_enforces(schema: dict[str, Any]) -> None:
    """Nothing is held against it; a definition may lead to itself."""
    assert offences(schema, OPENAI) == []


def test_gemini_is_less_strict_about_objects_and_smaller() -> None:
    """Properties may be missing, choices may begin alike; other keywords, and fewer enum values."""
    assert offences(either({**A, "required": ["a"]}, A), GEMINI) == []
    assert offences(closed(x={"oneOf": [A, B]}), GEMINI) == []
    pattern = closed(x={"type": "string", "pattern": "a"})
    assert offences(pattern, GEMINI) == [Offence("properties.x", 'the keyword "pattern" is not supported')]
    many = closed(x={"type": "string", "enum": [str(number) for number in range(201)]})
    assert offences(many, GEMINI) == [Offence("", "201 enum values, at most 200")]


def test_every_offence_is_found_at_once() -> None:
    """With its path."""
    schema = closed(x={"type": "object", "properties": {"a": {}}, "title": "T"}, y=either(A, A)["properties"]["x"])
    assert [offence.path for offence in offences(schema, OPENAI)] == [
        "properties.x", "properties.x", "properties.x.properties.a", "properties.y",
    ]  # fmt: skip


def test_what_a_rewriting_library_does_not_repair() -> None:
    """Open objects it sees itself; first keys and size it does not."""
    assert hard_offences(closed(x={"type": "object"}), OPENAI) == []
    assert hard_offences(either(A, A), OPENAI) == offences(either(A, A), OPENAI)
    assert hard_offences(nested(11), OPENAI) == offences(nested(11), OPENAI)


KEYWORDS = ["type", "properties", "required", "items", "anyOf", "enum", "$ref", "$defs", "additionalProperties"]
WORDS = st.sampled_from(["object", "array", "string", "null", "#/$defs/a", "a"])
ODD = st.recursive(
    json_values | WORDS | st.lists(WORDS, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=15,
)


@pytest.mark.property
@given(st.dictionaries(st.sampled_from(KEYWORDS), ODD, max_size=5), st.sampled_from([OPENAI, GEMINI]), st.booleans())
def test_whatever_a_host_passes_is_judged(schema: dict[str, Any], dialect: Dialect, lists: bool) -> None:
    """No schema, however wrong, raises; what is not enforceable says why."""
    form = form_of(schema, dialect, lists=lists)
    assert form.why is not None or offences(form.schema, dialect) == []
