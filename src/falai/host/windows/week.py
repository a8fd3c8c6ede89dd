"""The hours of a week, as a person writes them: `{"mon-fri": "09:00-18:00", "sat": "22:00-02:00"}`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from falai.session.jsontext import is_list, is_object, show

__all__ = ["DAY", "Span", "is_days", "read_week"]

Span = tuple[int, int]
"""The local minute of the day at which it opens and the one at which it closes; over 1,440 it is of the next day."""

DAY = 24 * 60
_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)")
_HOW = "write HH:MM-HH:MM, such as 09:00-18:00, or 22:00-02:00 for a night, or 00:00-24:00 for a whole day"


def read_week(hours: object) -> tuple[tuple[Span, ...], ...]:
    """The spans of each day, Monday first. Raises ValueError when it is not understood or nothing is ever open."""
    by_days = hours if is_object(hours) else {"mon-sun": hours}
    week: list[tuple[Span, ...]] = [()] * 7
    named: set[int] = set()
    for days, spans in by_days.items():
        read = tuple(_span(text) for text in _texts(spans))
        for day in _days(days):
            if day in named:
                raise ValueError(f"hours has {_NAMES[day]} twice, the second time in {show(days)}: name a day once")
            named.add(day)
            week[day] = read
    if not any(week):
        raise ValueError("hours is empty: nothing could ever be sent")
    return tuple(week)


def is_days(name: str) -> bool:
    """Whether this names a day or a row of days: `sat`, `mon-fri`, `fri-mon`."""
    first, dash, last = name.partition("-")
    return first in _NAMES and (last in _NAMES or not dash)


def _days(name: object) -> Sequence[int]:
    if not isinstance(name, str) or not is_days(name):
        raise ValueError(f"hours has {show(name)}: write a day (mon, tue, wed, thu, fri, sat, sun) or days, as mon-fri")
    first, _, last = name.partition("-")
    begin = _NAMES.index(first)
    length = (_NAMES.index(last or first) - begin) % 7 + 1
    return [(begin + number) % 7 for number in range(length)]


def _texts(spans: object) -> Sequence[object]:
    if isinstance(spans, str):
        return (spans,)
    if is_list(spans):
        return spans
    raise ValueError(f"hours has {show(spans)}: {_HOW}")


def _span(text: object) -> Span:
    found = _SPAN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"hours has {show(text)}: {_HOW}")
    opens = int(found[1]) * 60 + int(found[2])
    closes = DAY if found[3] is None else int(found[3]) * 60 + int(found[4])
    if opens == closes:
        raise ValueError(f"hours has {show(text)}, which is no time at all: {_HOW}")
    return opens, closes if closes > opens else closes + DAY
