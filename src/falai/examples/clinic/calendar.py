"""The clinic's calendar: who comes when. It knows nothing of conversations.

Flows see it as a `Calendar`. The one that is shipped keeps visits in SQLite, and one time of each
day is always taken, so that one can see what a flow does when a time is not free.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

__all__ = ["TIMES", "Calendar", "SqliteCalendar", "Visit"]

TIMES = ("09:00", "10:00", "11:00", "14:00", "15:00", "16:00", "17:00")
"""When a visit can begin, Monday to Saturday."""
ALWAYS_TAKEN = "10:00"

_TABLES = """
CREATE TABLE IF NOT EXISTS visits (
    n INTEGER PRIMARY KEY, request TEXT NOT NULL UNIQUE, patient TEXT NOT NULL, phone TEXT NOT NULL,
    service TEXT NOT NULL, day TEXT, time TEXT, UNIQUE (day, time))
"""


@dataclass(frozen=True)
class Visit:
    """One visit, under the code that patients are told."""

    code: str
    patient: str
    phone: str
    service: str
    day: date
    time: str


class Calendar(Protocol):
    """What the desk needs of a calendar. A time that is not free is an answer, not an error."""

    def free_times(self, day: date) -> tuple[str, ...]: ...

    def visit(self, code: str) -> Visit | None: ...

    def book(self, patient: str, phone: str, service: str, day: date, time: str, *, request: str) -> Visit | None:
        """The visit, or `None` if that time is taken. The same `request` books once, however often it comes."""
        ...

    def move(self, code: str, day: date, time: str) -> Visit | None:
        """The moved visit, or `None` if that time is taken by another one."""
        ...

    def cancel(self, code: str) -> None: ...


class SqliteCalendar:
    """A calendar in a file of its own. A cancelled visit keeps its row and has no day."""

    def __init__(self, path: Path | str) -> None:
        self._db = sqlite3.connect(path, timeout=5, isolation_level=None)
        self._db.execute(_TABLES)

    def free_times(self, day: date) -> tuple[str, ...]:
        rows = self._db.execute("SELECT time FROM visits WHERE day = ?", (day.isoformat(),))
        taken = {ALWAYS_TAKEN, *(time for (time,) in rows)}
        return tuple(time for time in TIMES if time not in taken)

    def visit(self, code: str) -> Visit | None:
        return self._one("n = ? AND day IS NOT NULL", _number(code))

    def book(self, patient: str, phone: str, service: str, day: date, time: str, *, request: str) -> Visit | None:
        if time != ALWAYS_TAKEN:
            self._db.execute(
                "INSERT OR IGNORE INTO visits (request, patient, phone, service, day, time) VALUES (?, ?, ?, ?, ?, ?)",
                (request, patient, phone, service, day.isoformat(), time),
            )
        return self._one("request = ? AND day IS NOT NULL", request)

    def move(self, code: str, day: date, time: str) -> Visit | None:
        if time == ALWAYS_TAKEN:
            return None
        self._db.execute(
            "UPDATE OR IGNORE visits SET day = ?, time = ? WHERE n = ? AND day IS NOT NULL",
            (day.isoformat(), time, _number(code)),
        )
        found = self.visit(code)
        return found if found and (found.day, found.time) == (day, time) else None

    def cancel(self, code: str) -> None:
        self._db.execute("UPDATE visits SET day = NULL, time = NULL WHERE n = ?", (_number(code),))

    def _one(self, where: str, value: object) -> Visit | None:
        row = self._db.execute(
            f"SELECT n, patient, phone, service, day, time FROM visits WHERE {where}",  # noqa: S608  # our own words
            (value,),
        ).fetchone()
        if row is None:
            return None
        n, patient, phone, service, day, time = row
        return Visit(f"V{n:03}", patient, phone, service, date.fromisoformat(day), time)


def _number(code: str) -> int | None:
    digits = code.strip().upper().removeprefix("V")
    return int(digits) if digits.isdecimal() else None
