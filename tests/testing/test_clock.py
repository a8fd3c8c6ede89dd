"""The clock of tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from falai import FlowConfigurationError
from falai.testing import Clock


def test_it_stands_still() -> None:
    """It tells the time it was given, aware and in UTC, again and again."""
    clock = Clock("2026-09-20T07:00:00-03:00")
    assert clock() == clock() == datetime(2026, 9, 20, 10, tzinfo=UTC)
    assert clock().tzinfo is not None
    assert Clock()() == clock()


@pytest.mark.parametrize(
    ("by", "ms"), [("2d", 172_800_000), ("1.5h", 5_400_000), (timedelta(seconds=2), 2000), (250, 250), (-1000, -1000)]
)
def test_it_moves_when_told(by: str | timedelta | int, ms: int) -> None:
    """It moves by a duration, a timedelta or milliseconds, and tells the new time."""
    clock = Clock()
    before = clock()
    assert clock.advance(by) == clock() == before + timedelta(milliseconds=ms)


def test_it_jumps() -> None:
    """It can be set to a moment; a naive datetime is UTC, and what is finer than a millisecond is cut off."""
    clock = Clock(datetime(2026, 1, 1, 12, 0, 0, 1999))
    assert clock() == datetime(2026, 1, 1, 12, 0, 0, 1000, tzinfo=UTC)
    east = timezone(timedelta(hours=2))
    assert clock.set(datetime(2025, 6, 1, 12, tzinfo=east)) == datetime(2025, 6, 1, 10, tzinfo=UTC)


def test_it_refuses_what_is_no_time() -> None:
    """A text that is no date, and one that is no duration, are refused, naming it."""
    with pytest.raises(ValueError, match="tomorrow"):
        Clock("tomorrow")
    with pytest.raises(FlowConfigurationError, match="3 days"):
        Clock().advance("3 days")
