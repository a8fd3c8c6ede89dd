"""Schemas on their way to a provider: nothing is forced to be invented, nothing else is enforced (M-22.4)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.specschema import flow_spec_schema
from falai.model.dialects import GEMINI, OPENAI, Dialect, offences
from falai.model.port import ToolSpec
from falai.model.pydantic_ai.forms import form_of, nullable_as_choice
from falai.session.jsontext import json_text
from model.formats import FORMATS, REQUEST, connected, streamed
from model.loopback import says
from strategies_flow import from_schema

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


def test_only_what_needs_it_becomes_a_choice() -> None:
    """A nullable enum, object or list is written otherwise, at every depth; the given schema stays as it was."""
    enum = {"type": ["string", "null"], "enum": ["a"], "description": "d"}
    inner = {"type": "object", "properties": {"x": enum, "n": {"type": ["integer", "null"]}}}
    schema = {"type": "object", "properties": {"in": {"type": "array", "items": {"anyOf": [inner]}}}}
    (changed,) = nullable_as_choice(schema, lists=True)["properties"]["in"]["items"]["anyOf"]
    choice = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "d"}
    assert changed["properties"] == {"x": choice, "n": {"type": ["integer", "null"]}}
    assert inner["properties"] == {"x": enum, "n": {"type": ["integer", "null"]}}
    nullable = {**_object({"a": {"type": "string"}}), "type": ["object", "null"]}
    assert nullable_as_choice(nullable, lists=True) == {"anyOf": [_object({"a": {"type": "string"}}), {"type": "null"}]}


def test_without_lists_of_types() -> None:
    """Where a provider knows no lists of types, all that is of several types is a choice of each."""
    listed = {"type": ["array", "null"], "items": {"type": "string"}}
    several = {"type": ["string", "number"], "enum": ["a", 1]}
    properties = {"l": listed, "n": {"type": "integer"}, "s": several}
    changed = nullable_as_choice({"type": "object", "properties": properties}, lists=False)
    assert changed["properties"] == {
        "l": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "n": {"type": "integer"},
        "s": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "number", "enum": [1]}]},
    }


def test_what_cannot_be_told_apart_stays_one() -> None:
    """A schema of several types that says more than each type's own is left as it is; nothing of it gets lost."""
    const = {"type": ["string", "null"], "const": "a", "description": "d"}
    assert nullable_as_choice({"type": "object", "properties": {"x": const}}, lists=False)["properties"] == {"x": const}


LEAVES = st.sampled_from(
    [
        {"type": ["string", "null"]},
        {"type": ["number", "null"], "description": "d"},
        {"type": ["string", "null"], "enum": ["a", "b"]},
        {"type": ["array", "null"], "items": {"type": "string", "enum": ["a"]}},
        {"type": "integer", "enum": [1, 2]},
        {"type": ["string", "number"], "enum": ["a", 1]},
        {"type": "boolean"},
    ]
)
NAMES = st.sampled_from(["a", "b", "kind", "is_a", "_is_b"])


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "type": ["object", "null"]}


def _wider(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.dictionaries(NAMES, inner, max_size=3).map(_object)
    choices = st.lists(inner | objects, min_size=1, max_size=4).map(lambda parts: {"anyOf": parts})
    return st.one_of(objects, objects.map(_nullable), choices, inner.map(lambda part: {"type": "array", "items": part}))


SCHEMAS = st.dictionaries(NAMES, st.recursive(LEAVES, _wider, max_leaves=8), max_size=3).map(_object)


class MisfitError(Exception):
    """A value is not of a schema."""


def into(schema: Any, value: Any, root: Any, mark: str | None) -> Any:
    """The value as the form that is sent has it; a plain, literal reading of JSON schema."""
    if "$ref" in schema:
        return into(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, mark)
    for choice in schema.get("anyOf", ()):
        try:
            return into(choice, value, root, mark)
        except MisfitError:
            continue
    kinds = schema.get("type", [])
    kind = next((k for k in ([kinds] if isinstance(kinds, str) else kinds) if _is_of(value, k)), None)
    listed = schema.get("enum", [value])
    if kind is None or not (value is None or any(type(one) is type(value) and one == value for one in listed)):
        raise MisfitError
    if kind == "array":
        return [into(schema["items"], part, root, mark) for part in value]
    if kind != "object":
        return value
    added = {name for name in schema["properties"] if mark and name.startswith(mark)}
    if set(value) | added != set(schema["properties"]):
        raise MisfitError
    parts = schema["properties"].items()
    return {name: True if name in added else into(part, value[name], root, mark) for name, part in parts}


def _is_of(value: Any, kind: str) -> bool:
    types: dict[str, Any] = {
        "string": str, "number": int | float, "integer": int, "boolean": bool, "null": type(None), "object": dict,
        "array": list,
    }  # fmt: skip
    return isinstance(value, types[kind]) and (kind == "boolean" or not isinstance(value, bool))


@pytest.mark.property
@given(st.data(), SCHEMAS, st.sampled_from([(OPENAI, True), (OPENAI, False), (GEMINI, False)]))
def test_a_form_says_the_same_as_the_schema(
    data: st.DataObject, schema: dict[str, Any], how: tuple[Dialect, bool]
) -> None:
    """Every value of the schema has one in the form, which comes back as it was; and no other comes back."""
    form = form_of(schema, how[0], lists=how[1])
    value = data.draw(from_schema(schema))
    assert form.own(into(form.schema, value, form.schema, form.mark)) == value
    answer = form.own(data.draw(from_schema(form.schema)))
    assert into(schema, answer, schema, None) == answer
    assert form.why is not None or offences(form.schema, how[0]) == []


@pytest.mark.property
@given(SCHEMAS)
def test_closed_schemas_have_an_enforceable_form(schema: dict[str, Any]) -> None:
    """Whatever is closed and of moderate size is enforced, however its objects begin."""
    assert form_of(schema, OPENAI, lists=True).why is None


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
        (_object({"x" * 120_001: {"type": "string"}}), "120001 characters of names and values, at most 120000"),
        (
            _object({"c": {"type": "string", "const": "x" * 120_000}}),
            "120001 characters of names and values, at most 120000",
        ),
        (_object({"l": {"type": "array", "items": _nested(9)}}), None),
        (_object({"l": {"type": "array", "items": _nested(10)}}), "11 levels of nesting, at most 10"),
        (_object({"e": {"anyOf": [_enum(1001), {"type": "null"}]}}), "1001 enum values, at most 1000"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value),
)
def test_the_published_limits(schema: dict[str, Any], why: str | None) -> None:
    """Properties, nesting, characters, enum values; at the limit a schema is still enforced."""
    assert form_of(schema, OPENAI, lists=True).why == why


# --- the schema by which a model writes a flow ----------------------------------------------------


def _agent(fields: int, actions: int) -> dict[str, Any]:
    parameters = {"text": {"type": "string"}, "size": {"type": "string", "enum": ["s", "l"], "optional": True}}
    return {
        "fields": {f"field_{number}": {"type": "string"} for number in range(fields)},
        "actions": {f"action_{number}": {"parameters": parameters} for number in range(actions)},
        "events": {"paid": {}} if actions else {},
        "conditions": {"vip": {}} if fields else {},
    }


def test_actions_whose_names_look_alike_are_told_apart() -> None:
    """A name is put into letters that every provider takes, and may then be that of another one."""
    form = form_of(
        flow_spec_schema({"actions": {name: {} for name in ("b__2", "b!", "b?", "b_", "b__3")}}), OPENAI, lists=True
    )
    assert form.why is None
    firsts = [next(iter(step["properties"])) for step in form.schema["properties"]["steps"]["items"]["anyOf"]]
    assert len(set(firsts)) == len(firsts) == 9


SIZES = [(0, 0), (1, 1), (5, 3), (20, 10), (60, 10), (60, 30), (150, 40)]


@pytest.mark.parametrize(("fields", "actions"), SIZES)
def test_the_flow_schema_of_agents_of_all_sizes(fields: int, actions: int) -> None:
    """S-49 is enforceable as OpenAI has it: no two steps begin alike, what repeats stands once in a large one."""
    schema = flow_spec_schema(_agent(fields, actions))
    form = form_of(schema, OPENAI, lists=True)
    assert (form.why, offences(form.schema, OPENAI)) == (None, [])
    assert len(form.schema.get("$defs", ())) == 0 or fields >= 20
    steps = form.schema["properties"]["steps"]["items"]["anyOf"]
    firsts = [next(iter(step["properties"])) for step in steps]
    assert len(set(firsts)) == len(firsts) == 4 + actions + bool(fields) + bool(actions)
    assert {"is_prompt", "is_say", "is_wait", "is_if"} <= set(firsts)


@pytest.mark.parametrize(("fields", "actions"), SIZES)
def test_the_flow_schema_for_gemini(fields: int, actions: int) -> None:
    """Either it is within what Gemini takes, as it stands, or it says why not."""
    form = form_of(flow_spec_schema(_agent(fields, actions)), GEMINI, lists=False)
    assert form.mark is None
    assert (form.why is None) == (offences(form.schema, GEMINI) == []) == (fields < 20)


LARGE = flow_spec_schema(_agent(25, 10))


@pytest.mark.property
@given(from_schema(LARGE))
def test_a_spec_travels_there_and_back(spec: dict[str, Any]) -> None:
    """With definitions and with properties in front: what a model writes is what the schema describes."""
    form = form_of(LARGE, OPENAI, lists=True)
    assert "$defs" in form.schema
    assert form.own(into(form.schema, spec, form.schema, form.mark)) == spec


@pytest.mark.servers
@pytest.mark.parametrize("form", [CHAT, RESPONSES], ids=lambda form: form.name)
async def test_a_flow_is_asked_for_in_the_form_that_is_enforced(form: Any) -> None:
    """The property in front is in what is sent and not in what comes back, whole or streamed."""
    schema = flow_spec_schema(_agent(0, 1))
    flow = {"id": "f", "steps": [{"is_say": True, "id": "a", "kind": "say", "say": "Hi"}]}
    request = replace(REQUEST, schema_name="flow", schema=schema)
    async with connected(form, *[form.says(json_text(flow))] * 2) as (model, server):
        whole = await model.complete(request)
        _, stream = await streamed(model, request)
    own = {"id": "f", "steps": [{"id": "a", "kind": "say", "say": "Hi"}]}
    assert whole.structured == stream.structured == own
    assert whole.message == stream.message == json_text(own)
    sent = _form(server.requests[0])
    assert sent["strict"] is True
    assert offences(sent["schema"], OPENAI) == []


@pytest.mark.servers
@pytest.mark.parametrize("form", [CHAT, RESPONSES], ids=lambda form: form.name)
async def test_a_large_flow_schema_arrives_in_its_smaller_form(form: Any) -> None:
    """60 fields and 10 actions: enforced, with references that lead somewhere, and a sixth of the size."""
    schema = flow_spec_schema(_agent(60, 10))
    async with connected(form, form.says("{}")) as (model, server):
        await model.complete(replace(REQUEST, schema_name="flow", schema=schema))
    sent = _form(server.requests[0])
    assert (sent["strict"], offences(sent["schema"], OPENAI)) == (True, [])
    assert 5 * len(json_text(sent["schema"])) < len(json_text(schema))


@pytest.mark.servers
@pytest.mark.parametrize(("fields", "native"), [(5, True), (60, False)])
async def test_google_gets_a_flow_schema_that_it_takes_or_is_told(fields: int, native: bool) -> None:
    """Within Gemini's subset as it arrives; a larger one is told, with what repeats written once."""
    schema = flow_spec_schema(_agent(fields, 1))
    async with connected(GOOGLE, GOOGLE.says("{}")) as (model, server):
        await model.complete(replace(REQUEST, schema_name="flow", schema=schema))
    [body] = server.requests
    sent = body["generationConfig"].get("responseJsonSchema")
    assert (sent is not None) == native
    if sent is not None:
        assert offences(sent, GEMINI) == []
    else:
        told = body["systemInstruction"]["parts"][1]["text"]
        assert "$defs" in told
        assert 3 * len(told) < len(json_text(schema))


@pytest.mark.servers
async def test_what_is_not_closed_is_not_enforced(caplog: pytest.LogCaptureFixture) -> None:
    """M-22.4: a property that may be missing, at any depth; the schema is sent as it is meant, with a warning."""
    inner = {"type": "object", "properties": {"x": {"type": "string"}}, "required": [], "additionalProperties": False}
    request = replace(REQUEST, schema=_object({"message": {"type": "string"}, "in": inner}))
    with caplog.at_level(logging.WARNING, "falai"):
        async with connected(CHAT, HI) as (model, server):
            await model.complete(request)
    assert _form(server.requests[0])["strict"] is False
    assert 'the property "x" is not required (properties.in)' in caplog.text


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
