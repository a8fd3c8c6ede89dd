"""Instants: whole milliseconds since 1970 inside, the text of B-2.4 in a session.

One reader serves every place that holds date text (B-2.7). What it cannot read is no error: each
place has its own rule for an unreadable date (B-2.8).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["from_ms", "iso", "read_date", "system_now", "to_ms"]

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - without a zone sums are quick; everything in here is UTC
_MILLISECOND = timedelta(milliseconds=1)
_FORM = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"(?:Z|([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?)?)?"
)


def read_date(text: object) -> int | None:
    """The instant of a date text in epoch milliseconds, `None` when it is unreadable (B-2.7)."""
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, sign, off_hours, off_minutes = found.groups("")
    try:
        local = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))  # noqa: DTZ001 - its zone is `offset`
        offset = timedelta(hours=int(off_hours or 0), minutes=int(off_minutes or 0))
        instant = local + offset if sign == "-" else local - offset
    except (OverflowError, ValueError):
        return None
    return (instant - _EPOCH) // _MILLISECOND + int(fraction[:3].ljust(3, "0") or 0)


def iso(ms: int) -> str:
    """The text of an instant, `2026-09-20T10:00:00.000Z` (B-2.4). Raises `OverflowError` outside the years 1 to 9999."""
    return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") + "Z"


def to_ms(at: datetime) -> int:
    """The instant of a datetime, cut to milliseconds; without a zone it is UTC (B-2.6)."""
    offset = at.utcoffset() or timedelta()
    return (at.replace(tzinfo=None) - _EPOCH - offset) // _MILLISECOND


def from_ms(ms: int) -> datetime:
    """An instant as an aware datetime in UTC. Raises `OverflowError` outside the years 1 to 9999."""
    return (_EPOCH + timedelta(milliseconds=ms)).replace(tzinfo=UTC)


def system_now() -> datetime:
    """The system's clock: the default where a host may give a clock of its own (P-28, G-13)."""
    return datetime.now(UTC)  # noqa: TID251 - an edge: only stores and `migrate_session` come here, never a turn
