"""Values of fields: known or not, coerced or refused (F-2.3, F-3, F-19.3)."""

from __future__ import annotations

import math
from datetime import date, time
from decimal import Decimal
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import StringConstraints

from falai.flow.definition import Field
from falai.flow.fields import read_fields
from falai.flow.plan import FieldPlan
from falai.flow.values import Coerced, coerce_field, in_enum, is_known, is_number, to_boolean, to_number
from strategies_flow import json_values

FIELD = FieldPlan("f", "string")


@pytest.mark.parametrize("value", [0, False, " ", [], {}, 0.0, "\n"])
def test_only_absent_null_and_the_empty_text_are_unknown(value: object) -> None:
    """F-2.3: falsy values of every other kind are known."""
    assert is_known(value)
    assert not is_known(None)
    assert not is_known("")


def test_what_did_not_come_is_neither_a_value_nor_a_refusal() -> None:
    """F-3.2: null leaves nothing, whatever the enum says."""
    assert coerce_field(FieldPlan("f", "integer", enum=(1,)), None) == Coerced(None, None, None)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1500,50", 1500.5), ("1.500,50", None), (" 30 ", 30), ("5 mil", None), ("1e3", 1000), ("1E3", 1000),
        ("\u00a0３０", 30), ("٣٠", 30), ("−7,5", -7.5), ("9007199254740993", 9007199254740993), ("1e400", None),
        ("-1e400", None), ("   ", None), ("+.5", 0.5), ("5.", 5), ("1e-400", 0), ("²,", 2), ("²", 2), ("0x10", None),
        ("nan", None), ("inf", None), ("1_0", None), ("1,2,3", None), ("e5", None), ("1e", None), ("１,５", 1.5), ("--1", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_customers_write_them(text: str, number: float | None) -> None:
    """F-3.5."""
    assert to_number(text) == number


def test_a_whole_number_is_exact_at_any_size() -> None:
    """F-3.5, beyond the digits that Python converts by itself."""
    assert to_number("9" * 5000) == 10**5000 - 1
    assert to_number("9" * 1_000_000) is None
    assert type(to_number("12")) is int
    assert type(to_number("12.0")) is float


@pytest.mark.parametrize("text", ["-0", "-0.0", "-0e1", "-,0"])
def test_minus_zero_is_zero(text: str) -> None:
    """F-3.5, so a blob never shows -0."""
    assert math.copysign(1, to_number(text) or 0) == 1


def test_a_boolean_is_no_number_and_a_number_no_boolean() -> None:
    """F-1.6, F-3.4."""
    assert coerce_field(FieldPlan("f", "number"), True).code == "bad-value"
    assert coerce_field(FieldPlan("f", "integer"), False).code == "bad-value"
    assert coerce_field(FieldPlan("f", "boolean"), 1).code == "bad-value"
    assert not in_enum(True, (1,))
    assert not in_enum("1", (1,))
    assert in_enum(1.0, (1,))
    assert not is_number(math.inf)


@pytest.mark.parametrize(("raw", "value"), [("7.9", 7), (-7.9, -7), ("-0,5", 0), (10**400, 10**400)])
def test_integers_are_cut_toward_zero(raw: object, value: int) -> None:
    """F-3.4."""
    found = coerce_field(FieldPlan("f", "integer"), raw).value
    assert found == value
    assert type(found) is int


@pytest.mark.parametrize(("raw", "value"), [(" SIM ", True), ("Não", False), ("01", None), ([], None), (None, None)])
def test_yes_and_no_are_a_short_list(raw: object, value: bool | None) -> None:
    """F-3.4, F-3.8."""
    assert to_boolean(raw) is value


def test_text_is_looked_up_in_the_enum_after_coercion() -> None:
    """F-3.6: a number may stand for the text that it is written as, and nothing is folded."""
    field = FieldPlan("f", "string", enum=("42", "Manhã"))
    assert coerce_field(field, 42) == Coerced("42")
    assert coerce_field(field, "manhã").code == "not-in-enum"
    assert coerce_field(field, {"a": 1}).code == "bad-value"
    assert coerce_field(FIELD, math.nan).code == "bad-value"


def test_the_richer_type_judges_last_and_says_why() -> None:
    """F-19.3: its reason is kept; one that raises anything refuses as well."""

    def strict(value: Any) -> Any:
        if value == "boom":
            raise ZeroDivisionError
        if value != "ok":
            raise ValueError("not ok")
        return "OK"

    field = FieldPlan("f", "string", validate=strict)
    assert coerce_field(field, "ok") == Coerced("OK")
    assert coerce_field(field, "x") == Coerced(None, "bad-value", "not ok")
    assert coerce_field(field, "boom") == Coerced(None, "bad-value", "ZeroDivisionError")
    assert coerce_field(FieldPlan("f", "string", enum=("a",), validate=strict), "x").reason is None


@pytest.mark.parametrize(
    ("type_", "raw", "stored"),
    [
        (date, "２０２６-０９-２０", "2026-09-20"),
        (date, "\u00a02026-09-20\u00a0", "2026-09-20"),
        (time, "١٥:٣٠", "15:30:00"),
        (Decimal, "１.５", "1.5"),
        (Annotated[str, StringConstraints(pattern="^[A-Z]-[0-9]+$")], "Ｒ-１２", "R-12"),
        (Annotated[str, StringConstraints(max_length=9)], " ９１\u00a0２ ", " ９１\u00a0２ "),
    ],
)
def test_a_richer_type_takes_other_digits_and_spaces(type_: Any, raw: str, stored: str) -> None:
    """What a type refuses as it is gets a second try in plain characters; what it takes is stored as given (F-3.4)."""
    fields, problems = read_fields({"f": Field(type_)})
    assert problems == []
    assert fields["f"] is not None
    assert coerce_field(fields["f"], raw) == Coerced(stored)


def test_a_plain_text_is_stored_as_given() -> None:
    """No digit of a text is touched (F-3.4)."""
    assert coerce_field(FIELD, " ９\u00a0١ ").value == " ９\u00a0١ "


@pytest.mark.property
@given(
    st.sampled_from(["string", "number", "integer", "boolean"]),
    st.none() | st.lists(st.text(max_size=3) | st.integers(), min_size=1, max_size=3),
    json_values | st.floats() | st.text(alphabet="0123456789.,eE+-−٣ ", max_size=12),
)
def test_coercion_is_total(kind: Any, enum: list[Any] | None, raw: Any) -> None:
    """Every raw value becomes a value of the type, or one of the two codes, or nothing; nothing raises."""
    found = coerce_field(FieldPlan("f", kind, enum=None if enum is None else tuple(enum)), raw)
    if found.code is not None:
        assert found.value is None
    elif raw is not None:
        expected = {"string": str, "number": (int, float), "integer": int, "boolean": bool}[kind]
        assert isinstance(found.value, expected)
        assert kind == "boolean" or not isinstance(found.value, bool)
        assert enum is None or in_enum(found.value, enum)
