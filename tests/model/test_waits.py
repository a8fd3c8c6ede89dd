"""What a provider says about when it opens again (M-19.6)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import ProviderError
from falai.model.failures import classify, outcome_of
from falai.model.waits import Waits, stated_waits

NOW = 1_789_898_400_000  # 2026-09-20T10:00:00Z
SECONDS = NOW // 1000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def _waits(headers: dict[str, str], body: str = "", now: int | None = NOW) -> tuple[int | None, int | None, Any]:
    found = stated_waits(headers, body, now)
    ahead = None if found.reset_at_ms is None else found.reset_at_ms - NOW
    return found.retry_after_ms, ahead, found.window


@pytest.mark.parametrize(
    ("headers", "wait", "ahead"),
    [
        ({"retry-after": "7"}, 7000, 7000),
        ({"retry-after": "0.5"}, 500, 500),
        ({"retry-after": "-3"}, 0, 0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1500, 1500),
        ({"retry-after": "Sun, 20 Sep 2026 10:00:09 GMT"}, 9000, 9000),
        ({"retry-after": "Sun, 20 Sep 2026 10:00:09 GMT", "date": "Sun, 20 Sep 2026 10:00:04 GMT"}, 5000, 5000),
        ({"retry-after": "Sun, 20 Sep 2026 09:00:00 GMT"}, 0, 0),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "inf"}, None, None),
        ({}, None, None),
    ],
)
def test_retry_after(headers: dict[str, str], wait: int | None, ahead: int | None) -> None:
    """Seconds, or a date as seen from the answer itself; never negative. It is a reset time as well."""
    assert _waits(headers) == (wait, ahead, None)


@pytest.mark.parametrize(
    ("value", "ahead"),
    [
        (str(SECONDS + 60), MINUTE),
        (str((SECONDS + 60) * 1000), MINUTE),
        ("60", MINUTE),
        ("2026-09-20T10:01:00Z", MINUTE),
        ("2026-09-20T10:01:00.000+00:00", MINUTE),
        ("Sun, 20 Sep 2026 10:01:00 GMT", MINUTE),
        (str(SECONDS - 60), None),
        ("0", None),
        ("2026-09-20T09:00:00Z", None),
        ("6m0s", None),
        ("", None),
    ],
)
def test_a_reset_header(value: str, ahead: int | None) -> None:
    """Seconds since 1970, seconds from now, or a date; only what lies ahead counts."""
    assert _waits({"anthropic-ratelimit-requests-reset": value}) == (None, ahead, None)


def test_the_first_reset_header_that_names_a_future_time_counts() -> None:
    """In the order in which they stand; the stated wait goes before all of them."""
    headers = {"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "30", "x-ratelimit-reset": "90"}
    assert _waits(headers) == (None, 30_000, None)
    assert _waits({**headers, "retry-after": "5"}) == (5000, 5000, None)


def _unified(five: tuple[str, str] | None = None, week: tuple[str, str] | None = None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, window in (("5h", five), ("7d", week)):
        if window is not None:
            found[f"anthropic-ratelimit-unified-{name}-utilization"] = window[0]
            found[f"anthropic-ratelimit-unified-{name}-reset"] = window[1]
    return found


@pytest.mark.parametrize(
    ("headers", "ahead", "window"),
    [
        (_unified(("1.0", str(SECONDS + 600)), ("0.4", str(SECONDS + 90_000))), 600_000, "5h"),
        (_unified(("0.2", str(SECONDS + 600)), ("1.0", str(SECONDS + 90_000))), 90_000_000, "weekly"),
        (_unified(("1.0", str(SECONDS - 600)), ("0.4", str(SECONDS + 90_000))), 90_000_000, "weekly"),
        (_unified(("1.0", str(SECONDS + 600))), 600_000, "5h"),
        (_unified(("1.0", str(SECONDS - 600))), None, None),
    ],
)
def test_the_fuller_subscription_window_counts(headers: dict[str, str], ahead: int | None, window: str | None) -> None:
    """The one with the higher utilisation whose reset lies ahead."""
    assert _waits(headers) == (None, ahead, window)


def test_a_subscription_window_goes_before_the_wait() -> None:
    """The wait stays what it is; the reset is the window's."""
    headers = {"retry-after": "5", **_unified(("1.0", str(SECONDS + 600)))}
    assert _waits(headers) == (5000, 600_000, "5h")


@pytest.mark.parametrize(
    ("body", "wait", "window"),
    [
        ('{"error":{"details":[{"retryDelay":"34s"}]}}', 34_000, None),
        ('{"error":{"details":[{"retryDelay": "34.5s"}]}}', 34_500, None),
        ('{"detail":{"resets_in_seconds":90}}', 90_000, None),
        (f'{{"error":{{"resets_at": {SECONDS + 120}}}}}', 120_000, None),
        (f'{{"error":{{"resets_at": {SECONDS - 120}}}}}', 0, None),
        ('{"resets_in_seconds":600}', 10 * MINUTE, None),
        ('{"resets_in_seconds":601}', 601_000, "5h"),
        ('{"resets_in_seconds":19800}', 19_800_000, "5h"),
        ('{"resets_in_seconds":19801}', 19_801_000, "weekly"),
        ('{"resets_in_seconds":648000}', 648_000_000, "weekly"),
        ('{"resets_in_seconds":648001}', 648_001_000, "monthly"),
        ('{"retryDelay":"soon"}', None, None),
        ("resets_in_seconds 90", None, None),
    ],
)
def test_a_wait_in_the_body(body: str, wait: int | None, window: str | None) -> None:
    """In seconds or as an instant; a long one belongs to a usage window."""
    found = _waits({}, body)
    assert (found[0], found[2]) == (wait, window)
    assert found[1] in (wait, -120_000), "an instant that has passed stays the instant"


def test_headers_go_before_the_body() -> None:
    """But the body's window is named all the same."""
    assert _waits({"retry-after": "5"}, '{"resets_in_seconds":3600}') == (5000, 5000, "5h")


def test_without_a_clock_only_what_needs_none_is_said() -> None:
    """An instant stays one, a wait stays a wait."""
    assert stated_waits({"retry-after": "5"}, "", None) == Waits(retry_after_ms=5000)
    assert stated_waits({"x-ratelimit-reset": str(SECONDS)}, "", None) == Waits(reset_at_ms=NOW)
    assert stated_waits({}, f'{{"resets_at":{SECONDS}}}', None) == Waits(reset_at_ms=NOW)


@pytest.mark.property
@given(st.dictionaries(st.sampled_from(["retry-after", "x-reset", "date", "a-5h-reset"]), st.text()), st.text())
def test_no_answer_is_too_odd(headers: dict[str, str], body: str) -> None:
    """Whatever a server writes into its headers and body, reading it raises nothing."""
    found = stated_waits(headers, body, NOW)
    assert found.retry_after_ms is None or found.retry_after_ms >= 0


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, ""),
        ({"retry-after": "9" * 400}, ""),
        ({"x-reset": "9" * 400}, ""),
        *[({}, f'{{"{name}": "{"9" * 400}"}}') for name in ("retryDelay", "resets_in_seconds", "resets_at")],
    ],
)
def test_a_number_that_no_clock_can_hold(headers: dict[str, str], body: str) -> None:
    """It names no time, or one beyond all others; reading it raises nothing."""
    found = stated_waits(headers, body, NOW, retry_after=1e308)
    assert found.retry_after_ms is not None
    assert found.retry_after_ms > 1000 * DAY


def test_what_is_stated_reaches_the_outcome() -> None:
    """The error carries it, and the turn waits for the latest of it (M-10.6)."""
    error = type("APIStatusError", (Exception,), {"status_code": 429, "headers": {"x-ratelimit-reset": "3600"}})()
    failure = classify(error, "p", now_ms=NOW)
    assert isinstance(failure, ProviderError)
    assert (failure.kind, failure.reset_at_ms) == ("rate", NOW + HOUR)
    assert outcome_of(error, NOW) == ("provider-unavailable", True, NOW + HOUR)
