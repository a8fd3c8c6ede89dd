"""Opening hours as a ready-made `business_hours` function (F-11.5, F-11.6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from falai.session.jsontext import show

__all__ = ["BusinessHours", "clock_moves", "zone"]

_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_WEEK = range(1, 8)
_ONE_DAY = timedelta(days=1)
_ONE_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class BusinessHours:
    """Working moments: from `open` up to `close` (`HH:MM`, local) on the listed `weekdays`, Monday being 1.

    Called with a moment it gives that moment when it is working, else the next opening, in UTC. `tz`
    is an IANA name; without one the agent's time zone counts, and UTC outside an agent. Raises
    ValueError when nothing could be working, or for a time, weekday or zone that cannot be read.
    """

    open: str
    close: str
    _: KW_ONLY
    weekdays: Sequence[int] = (1, 2, 3, 4, 5)
    tz: str | None = None

    def __post_init__(self) -> None:
        if self._closes <= self._opens:
            raise ValueError(f"close {show(self.close)} is not after open {show(self.open)}: write hours of one day")
        if not self.weekdays or any(type(day) is not int or day not in _WEEK for day in self.weekdays):
            raise ValueError(f"weekdays is {self.weekdays!r}: list at least one of 1 (Monday) to 7 (Sunday)")
        zone(self.tz or "UTC")

    def __call__(self, at: datetime, context: Any = None) -> datetime:  # noqa: ARG002  # F-11.4
        """The earliest working moment that is not before `at`; a moment without a zone is UTC."""
        moment = at if at.tzinfo else at.replace(tzinfo=UTC)
        return moment if self._works(moment) else next(m for m in self._edges(moment) if m > moment and self._works(m))

    def in_zone(self, tz: str) -> BusinessHours:
        """These hours in a zone, unless they have one of their own."""
        return self if self.tz else replace(self, tz=tz)

    @cached_property
    def _opens(self) -> time:
        return _clock("open", self.open)

    @cached_property
    def _closes(self) -> time:
        return _clock("close", self.close)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return zone(self.tz or "UTC")

    def _works(self, moment: datetime) -> bool:
        local = moment.astimezone(self._zone)
        return local.isoweekday() in self.weekdays and self._opens <= local.time() < self._closes

    def _edges(self, moment: datetime) -> Iterator[datetime]:
        """The moments from which on it may be working: the local openings, in order, and where the clock skips one."""
        day: date = moment.astimezone(self._zone).date()
        while True:
            # an hour that the clock goes back over comes twice
            openings = (datetime.combine(day, self._opens.replace(fold=fold), self._zone) for fold in (0, 1))
            yield from sorted({*(opening.astimezone(UTC) for opening in openings), *clock_moves(day, self._zone)})
            day += _ONE_DAY


def zone(name: object) -> ZoneInfo:
    """The time zone of an IANA name. Raises ValueError, naming it, when there is none."""
    try:
        return ZoneInfo(name if isinstance(name, str) else "")
    except (KeyError, OSError, ValueError):
        raise ValueError(f"{show(name)} is no time zone: write an IANA name, such as America/Sao_Paulo") from None


def clock_moves(day: date, tz: ZoneInfo) -> Iterator[datetime]:
    """The moment, in UTC, at which the clock of a zone is put forward or back on this local day; most days have none."""
    early, late = (datetime.combine(date, time(), tz).astimezone(UTC) for date in (day, day + _ONE_DAY))
    before = _offset(early, tz)
    if before == _offset(late, tz):
        return
    while late - early > _ONE_SECOND:
        middle = early + (late - early) // _ONE_SECOND // 2 * _ONE_SECOND
        early, late = (middle, late) if _offset(middle, tz) == before else (early, middle)
    yield late


def _offset(moment: datetime, tz: ZoneInfo) -> timedelta | None:
    return moment.astimezone(tz).utcoffset()


def _clock(name: str, text: object) -> time:
    found = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{name} is {show(text)}: write HH:MM, from 00:00 to 23:59")
    return time(int(found[1]), int(found[2]))
