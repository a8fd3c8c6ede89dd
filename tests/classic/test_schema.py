"""The schema as fields: what carries over, what is opaque, and which values fit (D-4, D-5, D-56)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.classic.schema import SchemaField, misfits, read_schema


def fields(**properties: Any) -> dict[str, SchemaField]:
    found, problems = read_schema({"type": "object", "properties": properties})
    assert not problems
    return found


def test_a_scalar_property_is_a_field_of_the_core() -> None:
    """D-5: type, enum, description, ask and extract carry over; null beside a type is no type of its own."""
    found = fields(
        name={"type": "string", "description": "who", "minLength": 2},
        size={"type": ["string", "null"], "enum": ["s", "l", None], "ask": "Ask for the size."},
        agreed={"type": "boolean", "extract": "asked"},
        count={"type": "integer"},
    )
    plans = {slug: field.plan for slug, field in found.items()}
    assert all(plans.values())
    name, size, agreed, count = (plan for plan in plans.values() if plan)
    assert (name.type, name.description, name.mode) == ("string", "who", "anywhere")
    assert (size.type, size.enum, size.ask) == ("string", ("s", "l"), "Ask for the size.")
    assert (agreed.type, agreed.mode, count.type) == ("boolean", "asked", "integer")
    assert found["size"].schema == {"type": ["string", "null"], "enum": ["s", "l", None]}


def test_booleans_come_from_any_message_without_a_word_on_it() -> None:
    """D-5: as in 3.x, and unlike a boolean field of the core."""
    assert fields(agreed={"type": "boolean"})["agreed"].extract == "anywhere"


OPAQUE: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"type": "array", "items": {"type": "string"}}, [[], ["a"], [5]], ["a", {}, 5]),
    ({"type": "object", "properties": {}}, [{}, {"a": 1}], [[], "a"]),
    ({"type": ["string", "number"]}, ["a", 5], [True, []]),
    ({"type": ["array", "null"]}, [[], None], [{}]),
    ({}, [[], {}, "a", 5, True], []),
    ({"enum": ["a"]}, ["a"], []),
]


@pytest.mark.parametrize(("schema", "right", "wrong"), OPAQUE)
def test_any_other_property_is_opaque(schema: dict[str, Any], right: list[Any], wrong: list[Any]) -> None:
    """D-5: the schema goes on as written, and the outer type of a value decides."""
    found = fields(x=schema | {"ask": "Ask.", "description": "d"})
    field = found["x"]
    assert field.plan is None
    assert (field.schema, field.ask, field.extract) == (schema | {"description": "d"}, "Ask.", "anywhere")
    assert [value for value in right if list(misfits({"x": value}, found))] == []
    assert [value for value in wrong if not list(misfits({"x": value}, found))] == []


@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"type": "string"}, 5, "type"),
        ({"type": "string", "enum": ["a"]}, "b", "enum"),
        ({"type": "number"}, "5", "type"),
        ({"type": "number"}, True, "type"),
        ({"type": "number"}, float("nan"), "type"),
        ({"type": "integer"}, 1.5, "type"),
        ({"type": "boolean"}, "true", "type"),
        ({"type": "boolean"}, 1, "type"),
    ],
)
def test_values_are_not_coerced(schema: dict[str, Any], value: Any, path: str) -> None:
    """D-56: what code writes has the type and is listed; the problem names field, value and place."""
    (problem,) = misfits({"x": value}, fields(x=schema))
    assert problem.field == "x"
    assert problem.value is value
    assert problem.schema_path == f"properties.x.{path}"


@pytest.mark.parametrize(("kind", "value"), [("string", ""), ("integer", 7.0), ("number", 7), ("boolean", False)])
def test_values_of_their_type_fit(kind: str, value: Any) -> None:
    """A whole number is an integer however it is written."""
    assert list(misfits({"x": value}, fields(x={"type": kind}))) == []


def test_no_value_always_fits_and_an_unknown_field_never() -> None:
    """`None` makes a field unknown; what is no field is told with the fields that there are."""
    found = fields(a={"type": "string"}, b={"type": "string"})
    (problem,) = misfits({"a": None, "c": None}, found)
    assert (problem.field, problem.schema_path) == ("c", "properties")
    assert '"a" and "b"' in problem.message
    (problem,) = misfits({"c": 1}, {})
    assert "its fields: none" in problem.message


@pytest.mark.parametrize(
    "schema",
    [
        5,
        [],
        "object",
        {},
        {"type": "array"},
        {"type": "object"},
        {"type": "object", "properties": []},
        {"properties": {}},
    ],
)
def test_a_schema_that_is_none_is_told(schema: Any) -> None:
    """D-4: the option is an object schema with properties."""
    found, (problem,) = read_schema(schema)
    assert found == {}
    assert (problem.code, problem.path) == ("bad-schema", "schema")
    assert "schema" in problem.message


WRONG: list[tuple[Any, str]] = [
    (True, ""),
    ({"type": "date"}, ".type"),
    ({"type": ["string", 5]}, ".type"),
    ({"type": "string", "enum": []}, ".enum"),
    ({"type": "string", "enum": [{}]}, ".enum[0]"),
    ({"type": "string", "ask": 5}, ".ask"),
    ({"type": "array", "description": 5}, ".description"),
    ({"type": "object", "extract": "never"}, ".extract"),
]


@pytest.mark.parametrize(("definition", "path"), WRONG)
def test_a_wrong_property_is_told_with_its_place(definition: Any, path: str) -> None:
    """The other properties are read all the same."""
    found, (problem,) = read_schema({"type": "object", "properties": {"x": definition, "y": {"type": "string"}}})
    assert list(found) == ["y"]
    assert (problem.code, problem.path) == ("bad-schema", f"schema.properties.x{path}")


def test_no_schema_is_no_problem() -> None:
    """D-1: the option may be left out."""
    assert read_schema(None) == ({}, [])


@pytest.mark.property
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "properties", "enum", "ask", "extract", "x", "object"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_is_given_is_read_or_told(schema: Any) -> None:
    """Reading answers with fields and problems, and never fails itself."""
    for option in (schema, {"type": "object", "properties": {"x": schema}}):
        found, problems = read_schema(option)
        assert found or problems or option is None or not option["properties"]
