"""Durations (F-11.1 to F-11.3)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError
from falai.flow.durations import is_duration, parse_duration
from strategies_flow import json_values

UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30s", 30_000),
        ("1.5h", 5_400_000),
        ("0s", 0),
        ("0.0005s", 1),
        ("0.5005s", 501),
        ("0.00049s", 0),
        ("007m", 420_000),
    ],
)
def test_a_duration_is_whole_milliseconds_rounded_half_up(text: str, ms: int) -> None:
    """F-11.2, without floats."""
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["3 days", "1w", "30", "-1m", ".5h", "1.h", "5m\n", " 5m", "٣m", "1,5h", "", "5M", 5, None, ["5m"], True]
)
def test_what_is_no_duration_is_named(text: object) -> None:
    """F-11.3."""
    assert not is_duration(text)
    with pytest.raises(FlowConfigurationError) as raised:
        parse_duration(text)
    assert raised.value.code == "bad-duration"
    assert "30s" in str(raised.value)


def test_any_number_of_digits_is_read() -> None:
    """F-11.1 sets no limit, and Python's own on digits does not show."""
    assert parse_duration("1" * 5000 + "s") == int("1" * 4000) * 10**1000 * 1000 + int("1" * 1000) * 1000
    assert parse_duration("0." + "0" * 5000 + "1d") == 0


@pytest.mark.property
@given(st.integers(0, 10**9), st.text("0123456789", max_size=6), st.sampled_from(sorted(UNITS)))
def test_the_exact_value_is_rounded_half_up(whole: int, fraction: str, unit: str) -> None:
    """The result differs from the exact value by at most half a millisecond, and a half goes up."""
    text = f"{whole}.{fraction}{unit}" if fraction else f"{whole}{unit}"
    exact = Fraction(f"{whole}.{fraction}" if fraction else str(whole)) * UNITS[unit]
    assert Fraction(-1, 2) < parse_duration(text) - exact <= Fraction(1, 2)


@pytest.mark.property
@given(json_values | st.text("0123456789.smhd ", max_size=8))
def test_parsing_raises_nothing_else(value: object) -> None:
    """Any value is a duration, or raises FlowConfigurationError."""
    if is_duration(value):
        assert parse_duration(value) >= 0
    else:
        with pytest.raises(FlowConfigurationError):
            parse_duration(value)
