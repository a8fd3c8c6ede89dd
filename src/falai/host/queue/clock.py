"""One time for all processes: the database's. Their own clocks differ, and one sets a timer that another finds due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from falai.session.dates import to_ms

__all__ = ["DatabaseClock"]

_STILL_RIGHT_MS: Final = 2  # an answer of the database comes as late as it takes to come


class DatabaseClock:
    """A clock of this process that is set by what the database says."""

    def __init__(self, local: Callable[[], datetime]) -> None:
        self._local = local
        self._ahead_ms = 0

    def __call__(self) -> datetime:
        return self._local() + timedelta(milliseconds=self._ahead_ms)

    def set(self, database_ms: int) -> None:
        """It was this time in the database a moment ago."""
        ahead = database_ms - to_ms(self._local())
        if abs(ahead - self._ahead_ms) > _STILL_RIGHT_MS:
            self._ahead_ms = ahead
