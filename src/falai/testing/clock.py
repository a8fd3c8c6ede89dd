"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import datetime, timedelta

from falai.flow.durations import parse_duration
from falai.session.dates import from_ms, read_date, to_ms

__all__ = ["Clock"]


class Clock:
    """The `clock` option of an agent under test: called, it tells its time, aware and in UTC.

    It starts at a date text (B-2.7) or a datetime (a naive one is UTC). Raises `ValueError` for
    anything else.
    """

    def __init__(self, start: str | datetime = "2026-09-20T10:00:00.000Z") -> None:
        self._ms = _instant(start)

    def __call__(self) -> datetime:
        return from_ms(self._ms)

    def advance(self, by: str | timedelta | int) -> datetime:
        """Moves on by a duration (`"2d"`, F-11.1), a timedelta or milliseconds; tells the new time.

        Raises `FlowConfigurationError` for a text that is no duration.
        """
        self._ms += _milliseconds(by)
        return self()

    def set(self, to: str | datetime) -> datetime:
        """Jumps to a moment, forth or back; tells it."""
        self._ms = _instant(to)
        return self()


def _instant(moment: str | datetime) -> int:
    ms = to_ms(moment) if isinstance(moment, datetime) else read_date(moment)
    if ms is None:
        raise ValueError(f"{moment!r} is no date; write one like 2026-09-20T10:00:00.000Z")
    return ms


def _milliseconds(by: str | timedelta | int) -> int:
    if isinstance(by, str):
        return parse_duration(by)
    return by // timedelta(milliseconds=1) if isinstance(by, timedelta) else by
