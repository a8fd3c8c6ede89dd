from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.session.dates import from_ms, iso, read_date, system_now, to_ms
from session.blobs import moments

FIRST = -62_135_596_800_000
LAST = 253_402_300_799_999
instants = st.integers(FIRST, LAST)


@pytest.mark.property
@given(instants)
def test_written_dates_read_back(ms: int) -> None:
    """Every instant of the years 1 to 9999 survives text, and a datetime, and back (B-2.4)."""
    text = iso(ms)
    assert read_date(text) == ms
    assert len(text) == 24
    assert text[-5:-4] == "."
    assert to_ms(from_ms(ms)) == ms
    assert from_ms(ms).tzinfo is UTC


@pytest.mark.property
@given(moments)
def test_a_datetime_is_cut_to_milliseconds(at: datetime) -> None:
    """The instant of a datetime is never later than it and less than a millisecond away; no zone is UTC (B-2.6)."""
    zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert timedelta() <= zoned - epoch - timedelta(milliseconds=to_ms(at)) < timedelta(milliseconds=1)


@pytest.mark.property
@given(instants, st.integers(-1439, 1439), st.sampled_from(["T", " "]), st.booleans())
def test_zones_are_applied(ms: int, minutes: int, separator: str, colon: bool) -> None:
    """The same instant written in any zone reads as the same number; outside the years 1 to 9999 as none."""
    zone = timezone(timedelta(minutes=minutes))
    try:
        text = from_ms(ms).astimezone(zone).isoformat(separator, "milliseconds")
    except OverflowError:
        return
    assert read_date(text if colon else text[:-3] + text[-2:]) == ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-01 00:01", 60_000),
        ("1970-01-01T00:00:01.9999Z", 1999),
        ("1970-01-01T00:00:00.1Z", 100),
        ("1970-01-01T00:00+01", -3_600_000),
        ("1970-01-01T00:00-23:59", 86_340_000),
        ("0001-01-01", FIRST),
        ("9999-12-31T23:59:59.999999Z", LAST),
        ("1969-12-31T23:59:59.9999Z", -1),
    ],
)
def test_readable_dates(text: str, ms: int) -> None:
    """The forms of B-2.7."""
    assert read_date(text) == ms


@pytest.mark.parametrize(
    "text",
    [
        "", " 2026-09-20", "2026-09-20 ", "2026-09-20\n", "2026-9-20", "2026-09-20T", "2026-09-20t10:00",
        "2026-09-20T10:00z", "2026-09-20Z", "2026-09-20+03:00", "2026-09-20T10", "2026-09-20T1:00", "2026-09-20T10:60",
        "2026-09-20T10:00:60", "2026-09-20T24:00", "2026-09-20T10:00.5", "2026-09-20T10:00:00.", "2026-W38-7",
        "2026-263", "20260920", "2026-09-20T10:00:00+24:00", "2026-09-20T10:00:00+03:60", "2026-09-20T10:00:00+3:00",
        "2026-09-20T10:00:00 Z", "2026-09-20T10:00:00+03:0", "٢٠٢٦-09-20", "2026-02-29", "0000-01-01", "-001-01-01",
        "0001-01-01T00:00+00:01", "9999-12-31T23:59-00:01", "12026-09-20", "2026-09-20T10:00:00\u221203:00",
        None, 0, True, 1_789_898_400_000, ["2026-09-20"],
    ],
)  # fmt: skip
def test_unreadable_dates(text: Any) -> None:
    """Everything else gives nothing and raises nothing (B-2.7, B-2.8)."""
    assert read_date(text) is None


@pytest.mark.parametrize("ms", [FIRST - 1, LAST + 1, 10**30])
def test_instants_outside_the_years(ms: int) -> None:
    """What has no text raises `OverflowError`."""
    with pytest.raises(OverflowError):
        iso(ms)
    with pytest.raises(OverflowError):
        from_ms(ms)


def test_the_system_clock_is_aware() -> None:
    """The default clock gives UTC."""
    assert system_now().tzinfo is UTC
