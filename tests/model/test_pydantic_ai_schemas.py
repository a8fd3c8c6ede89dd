"""Schemas on their way to a provider: nothing is forced to be invented, nothing too large is enforced (M-22.4)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.model.port import ToolSpec
from falai.model.pydantic_ai.schemas import enforceable, too_large
from model.formats import FORMATS, REQUEST, connected
from model.loopback import says

CHAT, RESPONSES, _, GOOGLE = FORMATS
HI = says('{"message": "Hi"}')


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        found = _object({"x": found})
    return found


def _fields(count: int) -> dict[str, Any]:
    return _object({f"f{number}": {"type": ["string", "null"]} for number in range(count)})


def _enum(count: int, length: int = 4) -> dict[str, Any]:
    return {"type": ["string", "null"], "enum": [f"{number:0{length}}" for number in range(count)]}


def test_enforceable_leaves_what_needs_no_change() -> None:
    """Only a nullable enum is written otherwise, at every depth; the given schema stays as it was."""
    enum = {"type": ["string", "null"], "enum": ["a"], "description": "d"}
    inner = {"type": "object", "properties": {"x": enum, "n": {"type": ["integer", "null"]}}}
    schema = {"type": "object", "properties": {"in": inner}}
    changed = enforceable(schema, lists=True)["properties"]["in"]["properties"]
    choice = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "d"}
    assert changed == {"x": choice, "n": {"type": ["integer", "null"]}}
    assert schema["properties"]["in"] is inner
    assert inner["properties"]["x"] is enum


def test_enforceable_without_lists_of_types() -> None:
    """Where a provider knows no lists of types, all that is nullable is a choice."""
    listed = {"type": ["array", "null"], "items": {"type": "string"}}
    changed = enforceable({"type": "object", "properties": {"l": listed, "n": {"type": "integer"}}}, lists=False)
    choice = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    assert changed["properties"] == {"l": choice, "n": {"type": "integer"}}


LEAVES = st.sampled_from(
    [
        {"type": ["string", "null"]},
        {"type": ["number", "null"], "description": "d"},
        {"type": ["string", "null"], "enum": ["a", "b"]},
        {"type": ["array", "null"], "items": {"type": "string", "enum": ["a"]}},
    ]
)
SCHEMAS = st.recursive(LEAVES, lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3).map(_object))


@pytest.mark.property
@given(SCHEMAS, st.booleans())
def test_null_stays_possible_everywhere(schema: dict[str, Any], lists: bool) -> None:
    """Whatever may be null before may be null after, at every leaf: nobody has to invent a value."""

    def leaves(part: dict[str, Any]) -> list[bool]:
        if part.get("type") == "object":
            return [found for inner in part["properties"].values() for found in leaves(inner)]
        kinds = part["type"] if "type" in part else [kind for choice in part["anyOf"] for kind in [choice["type"]]]
        return ["null" in kinds and "enum" not in part]

    assert all(leaves(enforceable(schema, lists=lists)))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (_fields(5000), None),
        (_fields(5001), "5001 properties, at most 5000"),
        (_nested(10), None),
        (_nested(11), "11 levels of nesting, at most 10"),
        (_object({"e": _enum(1000)}), None),
        (_object({"e": _enum(1001)}), "1001 enum values, at most 1000"),
        (_object({"e": _enum(500), "f": _enum(501)}), "1001 enum values, at most 1000"),
        (_object({"e": _enum(250, 100)}), None),
        (_object({"e": _enum(300, 50)}), None),
        (_object({"e": _enum(300, 51)}), "an enum of 15300 characters, at most 15000 beyond 250 values"),
        (_object({"x" * 120_000: {"type": "string"}}), None),
        (_object({"x" * 120_001: {"type": "string"}}), "120001 characters of names and enum values, at most 120000"),
        (_object({"l": {"type": "array", "items": _nested(9)}}), None),
        (_object({"l": {"type": "array", "items": _nested(10)}}), "11 levels of nesting, at most 10"),
        (_object({"e": {"anyOf": [_enum(1001), {"type": "null"}]}}), "1001 enum values, at most 1000"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_the_published_limits(schema: dict[str, Any], why: str | None) -> None:
    """Properties, nesting, characters, enum values; at the limit a schema is still enforced."""
    assert too_large(schema) == why
    assert too_large(enforceable(schema, lists=True)) == why


@pytest.mark.servers
@pytest.mark.parametrize("form", [CHAT, RESPONSES], ids=lambda form: form.name)
async def test_a_schema_beyond_the_limits_is_sent_unenforced(form: Any, caplog: pytest.LogCaptureFixture) -> None:
    """With a warning, once for each schema."""
    large = replace(REQUEST, schema=_object({"message": {"type": ["string", "null"]}, "e": _enum(1001)}))
    larger = replace(REQUEST, schema=_object({"message": {"type": ["string", "null"]}, "e": _enum(1002)}))
    answers = [form.says('{"message": "Hi"}') for _ in range(4)]
    with caplog.at_level(logging.WARNING, "falai"):
        async with connected(form, *answers) as (model, server):
            for request in (large, large, larger, REQUEST):
                await model.complete(request)
    forms = [_form(body) for body in server.requests]
    assert [sent["strict"] for sent in forms] == [False, False, False, True]
    assert len(forms[0]["schema"]["properties"]["e"]["anyOf"][0]["enum"]) == 1001, "the model sees all of it"
    said = [record.getMessage() for record in caplog.records if record.action == "schema.unenforced"]
    assert ["1001 enum values" in said[0], "1002 enum values" in said[1]] == [True, True]
    assert len(said) == 2


@pytest.mark.servers
async def test_google_is_told_of_a_schema_beyond_the_limits() -> None:
    """It enforces whatever schema it gets as one, so this one stands among the instructions."""
    large = replace(REQUEST, schema=_object({"message": {"type": ["string", "null"]}, "e": _enum(1001)}))
    async with connected(GOOGLE, *[GOOGLE.says('{"message": "Hi"}')] * 2) as (model, server):
        for request in (large, REQUEST):
            assert (await model.complete(request)).structured == {"message": "Hi"}
    sent = ["responseJsonSchema" in body["generationConfig"] for body in server.requests]
    assert sent == [False, True]
    assert len(server.requests[0]["systemInstruction"]["parts"]) == 2


def _form(body: dict[str, Any]) -> dict[str, Any]:
    return body["text"]["format"] if "text" in body else body["response_format"]["json_schema"]


@pytest.mark.servers
async def test_a_tool_s_schema_is_enforced_when_it_can_be() -> None:
    """A parameter that may be left out is never made compulsory; nothing beyond the limits is enforced."""
    optional = {"type": "object", "properties": {"day": {"type": "string"}}, "additionalProperties": False}
    schemas = {"all": _object({"day": {"type": "string"}}), "some": optional, "large": _object({"e": _enum(1001)})}
    tools = tuple(ToolSpec(name, name, None, schema) for name, schema in schemas.items())
    async with connected(CHAT, HI) as (model, server):
        await model.complete(replace(REQUEST, tools=tools))
    sent = {tool["function"]["name"]: tool["function"] for tool in server.requests[0]["tools"]}
    assert {name: bool(tool.get("strict")) for name, tool in sent.items()} == {
        "all": True, "some": False, "large": False,
    }  # fmt: skip
    assert sent["some"]["parameters"].get("required", []) == []
