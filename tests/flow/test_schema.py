"""Definitions as JSON schemas, and merged field groups (F-4, F-5)."""

from __future__ import annotations

import pytest

from falai.errors import FlowConfigurationError
from falai.flow.plan import FieldPlan, ParamPlan
from falai.flow.schema import build_schema, to_wire_schema


def test_only_type_description_enum_and_items_reach_the_schema() -> None:
    """F-4.2: wire definitions and plans alike; an empty description is left out."""
    wire = {
        "type": "string",
        "enum": ["a"],
        "description": "",
        "label": "L",
        "ask": "?",
        "extract": "asked",
        "optional": True,
    }
    plan = FieldPlan("f", "string", enum=("a",), label="L", ask="?", mode="asked", correct=True)
    expected = {"type": "string", "enum": ["a"]}
    assert to_wire_schema({"f": wire})["properties"]["f"] == expected
    assert to_wire_schema({"f": plan})["properties"]["f"] == expected


def test_required_is_everything_that_is_not_optional_in_order() -> None:
    """F-4.3, F-4.4: with `nullable` every name is required, an array's items stay as they are."""
    params = {
        "z": ParamPlan("z", "array", items=ParamPlan("items", "integer", enum=(1,)), description="Some."),
        "a": ParamPlan("a", "boolean", optional=True),
    }
    strict = to_wire_schema(params, nullable=True)
    assert to_wire_schema(params)["required"] == ["z"]
    assert strict["required"] == ["z", "a"]
    assert strict["properties"] == {
        "z": {"type": ["array", "null"], "items": {"type": "integer", "enum": [1]}, "description": "Some."},
        "a": {"type": ["boolean", "null"]},
    }


def test_no_definitions_give_a_closed_empty_object() -> None:
    """F-4.5."""
    empty = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert to_wire_schema({}) == to_wire_schema({}, nullable=True) == empty


def test_groups_merge_row_by_row() -> None:
    """F-5.1, F-5.2: slugs by first appearance; the first row is copied, later ones fill what is missing."""
    first = {"type": "string", "ask": "A?", "ui": 1}
    merged = build_schema(
        [
            {"id": "one", "fields": {"b": first, "a": {"type": "integer"}}},
            {
                "id": "two",
                "fields": {
                    "a": {"type": "integer", "enum": [1]},
                    "b": {"type": "string", "ask": "B?", "label": "L", "ui": 2},
                },
            },
            {"id": "three", "fields": {"a": {"type": "integer", "enum": [1.0]}}},
        ]
    )
    assert list(merged) == ["b", "a"]
    assert merged["b"] == {"type": "string", "ask": "A?", "ui": 1, "label": "L"}
    assert merged["a"] == {"type": "integer", "enum": [1]}
    merged["b"]["ask"] = "changed"
    assert first["ask"] == "A?"


def test_clashing_rows_name_both_groups() -> None:
    """F-5.3, F-5.4: every clash at once; the order of an enum counts."""
    groups = [
        {"id": "one", "fields": {"a": {"type": "string", "enum": ["x", "y"]}}},
        {"id": "two", "fields": {"a": {"type": "integer", "enum": ["y", "x"]}}},
    ]
    with pytest.raises(FlowConfigurationError) as raised:
        build_schema(groups)
    kind, enum = raised.value.problems
    assert kind.where == 'field "a"'
    assert all(text in kind.message for text in ('"string"', '"integer"', '"one"', '"two"'))
    assert all(text in enum.message for text in ("enum", '"one"', '"two"'))
