"""Definitions of fields, parameters and events, and richer types (F-2, F-12.2, F-13.1, F-19.1 to F-19.3)."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NewType, Optional, Union
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.definition import Ask, EventDefinition, Field
from falai.flow.fields import read_events, read_fields, read_parameters
from falai.flow.places import Place
from falai.flow.plan import FieldPlan, ParamPlan
from falai.flow.values import coerce_field
from strategies_flow import json_values


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Floor(IntEnum):
    FIRST = 1
    SECOND = 2


class Price(Enum):
    LOW = 1
    HIGH = 2.5


Mail = NewType("Mail", str)
# The ways in which older code writes the same.
PERHAPS_A = Optional[Literal["a"]]  # noqa: UP045
A_OR_NONE = Literal["a", None]  # noqa: PYI061
A_OR_B = Union[Literal["a"], Literal["b"]]  # noqa: UP007, PYI030


def plan(definition: Any) -> FieldPlan:
    plans, problems = read_fields({"f": definition})
    assert problems == []
    assert plans["f"] is not None
    return plans["f"]


def problems(definition: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.what) for problem in read_fields({"f": definition})[1]]


@pytest.mark.parametrize(
    ("kind", "wire", "enum"),
    [
        (str, "string", None), (int, "integer", None), (float, "number", None), (bool, "boolean", None),
        ("number", "number", None), (Literal["a", "b"], "string", ("a", "b")), (Literal[1, 2], "integer", (1, 2)),
        (Literal[True, False], "boolean", None), (Size, "string", ("s", "l")), (Floor, "integer", (1, 2)), (Price, "number", (1, 2.5)),
        (str | None, "string", None), (PERHAPS_A, "string", ("a",)), (A_OR_NONE, "string", ("a",)),
        (Mail, "string", None), (Annotated[int, Ask("?")], "integer", None), (date, "string", None),
        (Decimal, "string", None), (UUID, "string", None), (Annotated[int, pydantic.Field(ge=1)], "integer", None),
        (date | None, "string", None), (A_OR_B, "string", ("a", "b")), (list[str], "string", None),
        (int | float, "number", None), (pydantic.PositiveInt, "integer", None), (int | str, "string", None),
    ],
)  # fmt: skip
def test_a_type_travels_as_one_of_the_four(kind: Any, wire: str, enum: Any) -> None:
    """F-19.3: by its JSON form, text if that is none of them; a literal or an enumeration lists its values."""
    found = plan(Field(kind))
    assert found.type == wire
    assert found.enum == enum


@pytest.mark.parametrize(
    ("kind", "raw", "stored"),
    [
        (date, "2026-09-20", "2026-09-20"), (date, "3", None), (date, "20260920", None), (date, "1789862400", None),
        (date, 3, None), (date, "next week", None), (datetime, "2026-09-20T15:00", "2026-09-20T15:00:00"),
        (datetime, "2026-09-20", None), (datetime, "1789862400", None), (datetime, "-5.5", None), (time, "15:00", "15:00:00"),
        (time, "3600", None), (timedelta, "P3D", "P3D"), (timedelta, "3", None), (timedelta, "01:00", None),
        (Decimal, "9.90", "9.90"), (Decimal, 9, "9"), (Decimal, "nine", None), (date | None, "3", None),
        (Annotated[int, pydantic.Field(ge=1, le=9)], "7.9", 7), (Annotated[int, pydantic.Field(ge=1)], 0, None),
        (pydantic.EmailStr, "ana@example.com", "ana@example.com"), (pydantic.EmailStr, "ana", None),
        (list[int], "[1, 2]", [1, 2]), (list[int], "1, 2", None), (Size, "l", "l"), (Size, "m", None), (Floor, "2", 2),
        (Annotated[date, pydantic.Field(gt=date(2026, 1, 1))], "2025-01-01", None),
        (Annotated[str, pydantic.AfterValidator(str.upper)], "ab", "AB"),
    ],
)  # fmt: skip
def test_a_value_passes_the_wire_type_first_and_is_stored_in_its_json_form(kind: Any, raw: Any, stored: Any) -> None:
    """F-19.3: dates, times and durations by ISO text only, never as a number of seconds."""
    found = coerce_field(plan(Field(kind)), raw)
    assert found.value == stored
    assert (found.code is None) == (stored is not None)


def test_a_refusal_says_why_in_plain_words() -> None:
    """F-19.3, M-24.3: what the type says, without pydantic's framing."""

    def whole_week(value: int) -> int:
        if value % 7:
            raise ValueError("a whole week is needed")
        return value

    assert (
        coerce_field(plan(Field(Annotated[int, pydantic.AfterValidator(whole_week)])), 3).reason
        == "a whole week is needed"
    )
    assert "2026-09-20" in (coerce_field(plan(Field(date)), "3").reason or "")
    assert coerce_field(plan(Field(date)), "2026-13-01").reason
    assert coerce_field(plan(Field(Literal["a"])), "b").reason is None


@pytest.mark.parametrize(
    ("definition", "path", "named"),
    [
        ({}, "fields.f.type", "missing"), ({"type": "text"}, "fields.f.type", '"text"'), (Field(None), "fields.f.type", "missing"),
        (Field(5), "fields.f.type", "5"), (Field(Literal["a", 1]), "fields.f.type", "all text or all numbers"),
        (Field(lambda: 1), "fields.f.type", "a function"), ({"type": "string", "enum": []}, "fields.f.enum", "a list"),
        ({"type": "string", "enum": "a"}, "fields.f.enum", '"a"'), ({"type": "string", "enum": ["a", True]}, "fields.f.enum[1]", "true"),
        ({"type": "string", "extract": "never"}, "fields.f.extract", '"never"'), ({"type": "string", "ask": 5}, "fields.f.ask", "5"),
        ({"type": "string", "label": []}, "fields.f.label", "a list"), ({"type": "string", "description": {}}, "fields.f.description", "an object"),
        ({"type": "string", "question": 1}, "fields.f.question", "1"), ({"type": "string", "correct": 1}, "fields.f.correct", "1"),
        (5, "fields.f", "5"), (Field(Literal["a"], enum=["a"]), "fields.f.enum", "enum"), ("string", "fields.f", '"string"'),
    ],
)  # fmt: skip
def test_a_wrong_definition_is_named_with_its_property(definition: Any, path: str, named: str) -> None:
    """F-2.2, F-19.1, F-19.2."""
    assert [(p, named in what) for p, what in problems(definition)] == [(path, True)]


def test_what_pydantic_cannot_take_is_said_in_its_words() -> None:
    """F-19.3, F-2.2: the first line of its reason."""

    class Odd:
        pass

    ((_, what),) = problems(Field(Odd))
    assert "Unable to generate pydantic-core schema" in what


def test_a_missing_extra_is_named_with_its_command() -> None:
    """In a Python that has no email-validator."""
    program = (
        "import sys; sys.modules['email_validator'] = None; import pydantic; "
        "from falai.flow.fields import read_fields; print(read_fields({'e': {'type': pydantic.EmailStr}})[1][0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "falai[email]"' in done.stdout


def test_every_problem_of_a_definition_is_found_and_its_name_stays() -> None:
    """F-19.5: all at once; a field whose definition is wrong is there all the same."""
    plans, found = read_fields({"a": {"type": "x", "enum": [], "ask": 5, "correct": None}, "b": {"type": "string"}})
    assert [problem.path for problem in found] == ["fields.a.type", "fields.a.enum", "fields.a.ask"]
    assert {problem.where for problem in found} == {'field "a"'}
    assert plans["a"] is None
    assert plans["b"] is not None


def test_defaults_of_a_field() -> None:
    """F-2.4: a boolean is read where it is asked for, everything else anywhere."""
    assert plan({"type": "boolean"}).mode == "asked"
    assert plan(Field(bool, extract="anywhere")).mode == "anywhere"
    assert plan(Field(date)).mode == "anywhere"
    assert plan(Field(str)) == FieldPlan("f", "string")
    assert plan(
        Field(str, correct=True, question="Q?", ask="A?", label="L", description="D", enum=("a",))
    ) == FieldPlan("f", "string", ("a",), "L", "D", "A?", "Q?", "anywhere", correct=True)


class Booking(pydantic.BaseModel):
    name: Annotated[str, Ask("Ask for the name.", label="Name")]
    start: Annotated[
        date, Ask("Ask from when.", question="From when?", correct=True), pydantic.Field(gt=date(2026, 1, 1))
    ]
    people: int | None = pydantic.Field(None, description="How many people come.", ge=1)
    agreed: bool = False


def test_a_pydantic_model_class_declares_fields() -> None:
    """Its annotations, an `Ask` in them, and its own descriptions and bounds."""
    plans, found = read_fields(Booking)
    assert found == []
    name, start, people, agreed = (plans[slug] for slug in ("name", "start", "people", "agreed"))
    assert name == FieldPlan("name", "string", ask="Ask for the name.", label="Name")
    assert start is not None
    assert (start.correct, start.question) == (True, "From when?")
    assert coerce_field(start, "2025-01-01").code == "bad-value"
    assert coerce_field(start, "2026-02-01").value == "2026-02-01"
    assert people is not None
    assert (people.type, people.description) == ("integer", "How many people come.")
    assert coerce_field(people, 0).code == "bad-value"
    assert agreed is not None
    assert agreed.mode == "asked"


def test_a_validator_that_would_never_run_is_refused() -> None:
    """A value is validated alone; a method of the model is not its type."""

    class Checked(pydantic.BaseModel):
        size: int

        @pydantic.field_validator("size")
        @classmethod
        def even(cls, value: int) -> int:
            return value

    _, found = read_fields(Checked)
    assert [(problem.path, '"even"' in problem.what) for problem in found] == [("fields.size", True)]


PLACE = Place('action "a"', "actions.a").key("parameters")


@pytest.mark.parametrize(
    ("definition", "path", "named"),
    [
        ({"type": "text"}, "p.type", '"text"'), ({}, "p.type", "missing"), ("string", "p", '"string"'), ({"type": "array"}, "p.items", "missing"),
        ({"type": "array", "items": {"type": "array"}}, "p.items.type", '"array"'), ({"type": "string", "optional": False}, "p.optional", "false"),
        ({"type": "array", "items": {"type": "string", "enum": []}}, "p.items.enum", "a list"), ({"type": "string", "description": 1}, "p.description", "1"),
        ({"type": "string", "optional": 1}, "p.optional", "1"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_named(definition: Any, path: str, named: str) -> None:
    """F-12.2."""
    plans, found = read_parameters({"p": definition}, PLACE)
    assert [(p.where, p.path, named in p.what) for p in found] == [('action "a"', f"actions.a.parameters.{path}", True)]
    assert plans == {"p": None}


def test_parameters_become_plans_in_their_order() -> None:
    """F-12.2: an array has items and no enum of its own."""
    given_ = {
        "z": {"type": "array", "items": {"type": "string", "enum": ["a"]}, "optional": True},
        "a": {"type": "number", "enum": [1]},
    }
    plans, found = read_parameters(given_, PLACE)
    assert found == []
    assert list(plans.values()) == [
        ParamPlan("z", "array", optional=True, items=ParamPlan("z", "string", ("a",))),
        ParamPlan("a", "number", (1,)),
    ]


def test_a_name_that_is_no_text_becomes_one() -> None:
    """As in JSON: a later look-up of another name can list it."""
    events, problems = read_events({1: {}})
    assert (list(events), problems) == (["1"], [])


def test_an_event_has_one_of_two_directions_or_none() -> None:
    """F-13.1."""
    events, found = read_events(
        {"a": {"direction": "inbound"}, "b": EventDefinition(), "c": {"direction": "up"}, "d": 5}
    )
    assert [(p.where, p.path) for p in found] == [('event "c"', "events.c.direction"), ('event "d"', "events.d")]
    assert (events["a"].direction, events["b"].direction) == ("inbound", None)


@pytest.mark.property
@given(json_values | st.dictionaries(st.text(max_size=3), json_values, max_size=3))
def test_reading_definitions_is_total(given_: Any) -> None:
    """Whatever stands for definitions is read, or is a problem; nothing raises."""
    read_fields(given_)
    read_events(given_)
    read_parameters(given_, PLACE)


@pytest.mark.property
@given(st.sampled_from([date, datetime, time, timedelta, Decimal]), st.text("0123456789.-+:TZPDH ", max_size=24))
def test_no_date_is_made_of_a_number(kind: Any, text: str) -> None:
    """F-19.3: only Decimal reads a plain number."""
    found = coerce_field(plan(Field(kind)), text)
    if kind is not Decimal and text.replace(".", "").lstrip("+-").isdigit():
        assert found.code == "bad-value"
