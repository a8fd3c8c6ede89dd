"""Ready-made opening hours (F-11.5, F-11.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.hours import BusinessHours, zone


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_working_moment_stays_and_any_other_goes_to_the_next_opening() -> None:
    """F-11.6: from `open` on, up to and without `close`."""
    hours = BusinessHours("09:00", "18:00", weekdays=[1, 3], tz="UTC")
    assert hours(at("2026-09-21T09:00:00+00:00")) == at("2026-09-21T09:00:00+00:00")
    assert hours(at("2026-09-21T18:00:00+00:00"), {"any": "context"}) == at("2026-09-23T09:00:00+00:00")
    assert hours(at("2026-09-21T08:59:59.999+00:00")) == at("2026-09-21T09:00:00+00:00")
    assert hours(at("2026-09-24T12:00:00+00:00")) == at("2026-09-28T09:00:00+00:00")


def test_monday_to_friday_is_the_default() -> None:
    """F-11.6: of the weekdays."""
    hours = BusinessHours("09:00", "18:00")
    assert hours(at("2026-09-25T12:00:00+00:00")) == at("2026-09-25T12:00:00+00:00")
    assert hours(at("2026-09-26T12:00:00+00:00")) == at("2026-09-28T09:00:00+00:00")


def test_a_moment_without_a_zone_is_utc() -> None:
    """B-2.6."""
    assert BusinessHours("09:00", "18:00")(datetime(2026, 9, 21, 1)) == at("2026-09-21T09:00:00+00:00")


def test_the_zone_is_its_own_or_the_agents() -> None:
    """A zone that was given stays; without one the agent's is taken."""
    assert BusinessHours("09:00", "18:00").in_zone("America/Sao_Paulo").tz == "America/Sao_Paulo"
    assert BusinessHours("09:00", "18:00", tz="UTC").in_zone("America/Sao_Paulo").tz == "UTC"
    local = BusinessHours("09:00", "18:00", tz="America/Sao_Paulo")
    assert local(at("2026-09-21T03:00:00+00:00")) == at("2026-09-21T12:00:00+00:00")


def test_an_hour_that_comes_twice_opens_twice() -> None:
    """Clocks go back on 2026-10-25 in Lisbon, from 02:00 to 01:00: the opening that is still to come counts."""
    hours = BusinessHours("01:30", "18:00", weekdays=[7], tz="Europe/Lisbon")
    assert hours(at("2026-10-25T00:10:00+00:00")) == at("2026-10-25T00:30:00+00:00")
    assert hours(at("2026-10-25T01:10:00+00:00")) == at("2026-10-25T01:30:00+00:00")


def test_a_day_whose_hours_the_clock_skips_has_none() -> None:
    """Clocks go forward on 2026-03-29 in Lisbon, from 01:00 to 02:00."""
    hours = BusinessHours("01:10", "01:50", weekdays=[7], tz="Europe/Lisbon")
    assert hours(at("2026-03-29T00:00:00+00:00")) == at("2026-04-05T00:10:00+00:00")


def test_an_opening_that_the_clock_skips_is_where_the_clock_goes_on() -> None:
    """Clocks go from 01:00 to 02:00 on 2026-03-29 in Lisbon: at 02:00 it is half past one and later, so it is open."""
    hours = BusinessHours("01:30", "18:00", weekdays=[7], tz="Europe/Lisbon")
    assert hours(at("2026-03-29T00:00:00+00:00")) == at("2026-03-29T01:00:00+00:00")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"open": "9:00"}, "9:00"), ({"close": "24:00"}, "24:00"), ({"close": "09:00"}, "close"), ({"weekdays": []}, "weekdays"),
        ({"weekdays": [0]}, "weekdays"), ({"weekdays": [True]}, "weekdays"), ({"tz": "Mars/Base"}, "Mars/Base"), ({"open": 9}, "open"),
    ],
)  # fmt: skip
def test_hours_in_which_nothing_works_are_refused_when_made(given: dict[str, Any], named: str) -> None:
    """F-11.6: ValueError, naming what is wrong."""
    with pytest.raises(ValueError, match=named):
        BusinessHours(**({"open": "09:00", "close": "18:00"} | given))


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "America", 5, None, "a\0b"])
def test_what_is_no_zone_is_a_value_error(name: object) -> None:
    """F-19.4: whatever the system's database says of it."""
    with pytest.raises(ValueError, match="IANA"):
        zone(name)


@pytest.mark.property
@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
    st.sets(st.integers(1, 7), min_size=1),
    st.sampled_from(["UTC", "America/Sao_Paulo", "Europe/Lisbon", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.tuples(st.integers(0, 22), st.integers(0, 30), st.integers(31, 59)),
)
def test_the_answer_is_working_and_not_earlier(
    moment: datetime, days: set[int], tz: str, clock: tuple[int, int, int]
) -> None:
    """F-11.5: the answer is a fixed point, never before the moment, and nothing between them works."""
    hour, opens, closes = clock
    hours = BusinessHours(f"{hour:02}:{opens:02}", f"{hour:02}:{closes:02}", weekdays=sorted(days), tz=tz)
    asked = moment.replace(tzinfo=UTC)
    found = hours(asked)
    assert found >= asked
    assert hours(found) == found
    assert found - asked <= timedelta(days=15)
    between = asked + (found - asked) / 2
    assert hours(between) == (max(between, found))
