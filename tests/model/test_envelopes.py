"""The JSON shapes of both answers (M-3, M-7)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.plan import FieldPlan
from falai.model.envelopes import speak_keys, speak_schema, understand_keys, understand_schema

IDS = st.lists(st.text("ab1:_ f", max_size=4) | st.text(max_size=3), max_size=6)


@pytest.mark.property
@given(IDS, IDS, IDS, IDS)
def test_each_id_has_one_legal_key_of_its_own(
    flows: list[str], mentions: list[str], branches: list[str], fields: list[str]
) -> None:
    """Keys are legal property names, no two ids share one, and a legal id keeps its own unless it is taken (M-3.4)."""
    keys = understand_keys(flows, mentions, branches, fields)
    assert set(keys) == {*flows, *mentions, *branches, *fields}
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", key) for key in keys.values())
    assert len(set(keys.values())) == len(keys)
    assert all(
        key == real or real in keys.values() or not re.fullmatch(r"[a-zA-Z0-9_-]+", real) for real, key in keys.items()
    )


@pytest.mark.property
@given(st.lists(st.text("mesagfild_1 :", max_size=8) | st.just("message"), unique=True, max_size=6))
def test_no_field_can_take_the_message_s_name(pending: list[str]) -> None:
    """`message` is reserved in the speak envelope (M-7.3)."""
    keys = speak_keys(pending)
    assert len(set(keys)) == len(pending)
    assert "message" not in keys


def test_the_tables_of_the_rules() -> None:
    """The examples of M-3.4 and M-7.3."""
    keys = understand_keys(["sales", "v2:help"], [], ["r/s/0", "r/s/1"], ["full name"])
    assert list(keys.values()) == ["sales", "f1", "q2", "q3", "d4"]
    assert understand_keys(["a b", "f1"]) == {"a b": "f1", "f1": "f2"}
    assert understand_keys(["sales"], ["sales"], [], ["sales"]) == {"sales": "sales"}
    assert speak_keys(["full name", "field_1", "message"]) == ["field_1", "field_2", "field_3"]
    assert understand_keys(["a\n"]) == {"a\n": "f1"}, "a line break is no part of a legal name"


def test_only_sections_with_something_in_them_in_their_order() -> None:
    """The envelope holds what is asked, in the order of M-3.1, each section required."""
    schema = understand_schema(
        flows=["a"], mentions=[], extract={}, branches=["q1"], fields={"c": FieldPlan("c", "number")}, asks=True
    )
    assert schema["required"] == list(schema["properties"]) == ["flows", "branches", "fields", "asks"]
    empty: dict[str, Any] = {"flows": [], "mentions": [], "extract": {}, "branches": [], "fields": {}, "asks": False}
    assert understand_schema(**empty)["properties"] == {}


def test_every_object_is_closed_and_every_leaf_takes_null() -> None:
    """Enforcing providers accept it, and the model may say nothing (M-3.2)."""
    extract = {"m": {"list": {"type": "array", "items": {"type": "string"}}, "one": {"type": "string", "enum": ["x"]}}}
    schema = understand_schema(
        flows=["a"],
        mentions=["m"],
        extract=extract,
        branches=["q1"],
        fields={"c": FieldPlan("c", "boolean")},
        asks=True,
    )
    spoken = speak_schema({"c": FieldPlan("c", "string", description="what", ask="never shown")})
    assert spoken["properties"]["c"] == {"type": ["string", "null"], "description": "what"}
    assert spoken["properties"]["message"] == {"type": ["string", "null"]}
    assert list(_open_parts(schema)) == list(_open_parts(spoken)) == []


def _open_parts(schema: dict[str, Any]) -> Any:
    if schema["type"] != "object":
        if "null" not in schema["type"]:
            yield schema
        return
    if schema.get("additionalProperties") is not False or schema["required"] != list(schema["properties"]):
        yield schema
    for member in schema["properties"].values():
        yield from _open_parts(member)
