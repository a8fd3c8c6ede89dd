"""When a provider will have an answer again, as far as it says so (M-19.6).

It may say it in headers, in the body, in both, and in many ways. What names no time is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from falai.session.dates import read_date, to_ms

__all__ = ["Waits", "Window", "stated_waits"]

Window = Literal["5h", "weekly", "monthly"]
_WINDOW: Final = re.compile(r"(.*\b(5h|7d))-reset")
_IN_BODY: Final = re.compile(r'"(retryDelay|resets_in_seconds|resets_at)"\s*:\s*"?([0-9]+(?:\.[0-9]+)?)s?\b')
_EPOCH: Final = 1_000_000_000
_EPOCH_IN_MS: Final = 100_000_000_000  # as seconds it would be the year 5138
_FARTHEST: Final = 1e15  # in seconds or milliseconds: what no clock can hold
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE


@dataclass(frozen=True, slots=True)
class Waits:
    """What was stated: a wait and an instant, in milliseconds, and the usage window that ran out."""

    retry_after_ms: int | None = None
    reset_at_ms: int | None = None
    window: Window | None = None


def stated_waits(headers: Mapping[str, str], body: str, now_ms: int | None, retry_after: float | None = None) -> Waits:
    """What headers (in lower case) and body say. `retry_after` is what a library read, in seconds.

    Without `now_ms` nothing is said about an instant that is stated as seen from now.
    """
    answered_ms = _date(headers.get("date", "")) or now_ms
    after = _retry_after(headers, answered_ms)
    in_body = _body_wait(body, now_ms)
    wait = after if after is not None else _ms(retry_after) if retry_after is not None else in_body
    reset, window = _subscription(headers, now_ms)
    if reset is None:
        reset = _first(_added(after, now_ms), *_other_resets(headers, now_ms), _body_reset(body, in_body, now_ms))
    return Waits(wait, reset, window or _window(in_body))


def _retry_after(headers: Mapping[str, str], now_ms: int | None) -> int | None:
    """`Retry-After`: seconds, or a date as seen from the answer's own `Date`; never negative."""
    exact, stated = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    seconds = _number(stated) if _number(exact) is None else (_number(exact) or 0) / 1000
    if seconds is not None:
        return _ms(seconds)
    until = _date(stated)
    return None if until is None or now_ms is None else max(0, until - now_ms)


def _subscription(headers: Mapping[str, str], now_ms: int | None) -> tuple[int | None, Window | None]:
    """The fuller one of the windows whose end lies ahead, and that end."""
    found: list[tuple[float, int, Window]] = []
    for name, value in headers.items():
        window = _WINDOW.fullmatch(name)
        reset = _instant(value, now_ms) if window else None
        if window and reset is not None and _is_ahead(reset, now_ms):
            used = _number(headers.get(f"{window[1]}-utilization", ""))
            found.append((used or 0.0, reset, "5h" if window[2] == "5h" else "weekly"))
    if not found:
        return None, None
    _, reset, name = max(found, key=lambda window: window[0])
    return reset, name


def _other_resets(headers: Mapping[str, str], now_ms: int | None) -> Iterator[int]:
    for name, value in headers.items():
        if "reset" in name and not _WINDOW.fullmatch(name):
            instant = _instant(value, now_ms)
            if instant is not None and _is_ahead(instant, now_ms):
                yield instant


def _body_wait(body: str, now_ms: int | None) -> int | None:
    """The wait that the body states; an instant counts from now."""
    for name, value in _IN_BODY.findall(body):
        if name != "resets_at":
            return _ms(float(value))
        if now_ms is not None:
            return max(0, _epoch(float(value)) - now_ms)
    return None


def _body_reset(body: str, wait: int | None, now_ms: int | None) -> int | None:
    stated = [_epoch(float(value)) for name, value in _IN_BODY.findall(body) if name == "resets_at"]
    return stated[0] if stated else _added(wait, now_ms)


def _window(wait: int | None) -> Window | None:
    """The usage window that a long wait belongs to."""
    if wait is None or wait <= 10 * _MINUTE:
        return None
    if wait <= 5.5 * _HOUR:
        return "5h"
    return "weekly" if wait <= 7.5 * 24 * _HOUR else "monthly"


def _instant(value: str, now_ms: int | None) -> int | None:
    """The instant that a reset header names: seconds since 1970, seconds from now, or a date."""
    number = _number(value)
    if number is None:
        return _date(value)
    return _epoch(number) if number > _EPOCH else _added(_ms(number), now_ms)


def _date(text: str) -> int | None:
    """The instant of a date, as JSON or as HTTP writes it."""
    read = read_date(text.strip())
    if read is not None:
        return read
    from email.utils import parsedate_to_datetime  # a mail parser comes with it; few providers write such dates

    try:
        return to_ms(parsedate_to_datetime(text))
    except (ValueError, TypeError, OverflowError):
        return None


def _epoch(number: float) -> int:
    """An instant in milliseconds; some servers count milliseconds where others count seconds."""
    return round(min(number, _FARTHEST)) if number > _EPOCH_IN_MS else round(number * 1000)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if abs(found) < _FARTHEST else None  # neither are infinities


def _ms(seconds: float) -> int:
    return max(0, round(min(seconds, _FARTHEST) * 1000))


def _added(wait: int | None, now_ms: int | None) -> int | None:
    return None if wait is None or now_ms is None else now_ms + wait


def _is_ahead(instant: int, now_ms: int | None) -> bool:
    return now_ms is None or instant > now_ms


def _first(*instants: int | None) -> int | None:
    return next((instant for instant in instants if instant is not None), None)
