"""When messages may be sent: spans of local time on days of the week, without holidays.

A moment is open when the local clock shows a time of a span: nothing is ever sent while that clock
shows another one. So an hour that the clock goes back over counts twice, and one that it leaves out
not at all. What opens and closes is found at three kinds of edges only: openings, the moments at
which the clock itself is moved, and the moment asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from falai.flow.hours import clock_moves, zone
from falai.host.windows.holidays import holidays_of
from falai.host.windows.week import DAY, Span, read_week
from falai.session.jsontext import show

__all__ = ["SendingWindow"]

_HORIZON = 731
"""Days in which there has to be an opening: only holidays without end leave none."""
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class SendingWindow:
    """Local times at which messages may be sent.

    `hours` says them by days: `{"mon-fri": "09:00-18:00", "sat": ["09:00-12:00", "13:00-15:00"]}`; without
    days, `"09:00-20:00"`, they count for every day. `"22:00-02:00"` goes on into the next day, and belongs
    to the day on which it opens; `"00:00-24:00"` is a whole day. `tz` is an IANA name. `holidays` is a
    country, or a part of one, by its ISO code (`"BR"`, `"BR-SP"`); what opens on one of its holidays
    does not open, nor on the dates in `closed`.

    Called with a moment it gives that moment when it is open, else the next one that is, in UTC: the form
    of an agent's `business_hours`, which it can be too (F-11.5). Raises ValueError when something cannot be
    read or when nothing is open within two years, and ImportError for `holidays` without the extra of that name.
    """

    hours: Mapping[str, str | Sequence[str]] | str | Sequence[str]
    _: KW_ONLY
    tz: str = "UTC"
    holidays: str | None = None
    closed: Collection[date] = ()

    def __post_init__(self) -> None:
        _ = self._week, self._zone, self._holidays
        for day in self.closed:
            if type(day) is not date:
                raise ValueError(f"closed has {show(day)}: list dates, without a time")

    def __call__(self, at: datetime, context: Any = None) -> datetime:  # noqa: ARG002  # F-11.4
        """The earliest open moment that is not before `at`; a moment without a zone is UTC."""
        moment = at if at.tzinfo else at.replace(tzinfo=UTC)
        if self.is_open(moment):
            return moment
        first = moment.astimezone(self._zone).date()
        for number in range(_HORIZON):
            for edge in self._edges(first + timedelta(days=number)):
                if edge > moment and self.is_open(edge):
                    return edge
        raise ValueError(f"nothing opens within two years of {moment.isoformat()}: every day is a holiday or closed")

    def is_open(self, at: datetime) -> bool:
        """Whether the local clock shows a time of a span; a span past midnight counts for the day it opens on."""
        local = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(self._zone)
        day, minute = local.date(), local.hour * 60 + local.minute
        return _within(minute, self._spans(day)) or _within(minute + DAY, self._spans(day - _ONE_DAY))

    @cached_property
    def _week(self) -> tuple[tuple[Span, ...], ...]:
        return read_week(self.hours)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return zone(self.tz)

    @cached_property
    def _holidays(self) -> Container[date]:
        return holidays_of(self.holidays) if self.holidays is not None else ()

    def _spans(self, day: date) -> tuple[Span, ...]:
        spans = self._week[day.weekday()]
        return () if spans and (day in self.closed or day in self._holidays) else spans

    def _edges(self, day: date) -> list[datetime]:
        """The moments of a local day from which on something may be open, in order."""
        openings = {self._instant(day, opens, fold) for opens, _ in self._spans(day) for fold in (0, 1)}
        return sorted({*openings, *clock_moves(day, self._zone)})

    def _instant(self, day: date, minute: int, fold: int = 0) -> datetime:
        return datetime.combine(day, time(minute // 60, minute % 60, fold=fold), self._zone).astimezone(UTC)


def _within(minute: int, spans: tuple[Span, ...]) -> bool:
    return any(opens <= minute < closes for opens, closes in spans)
