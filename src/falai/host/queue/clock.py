"""One time for all processes: the database's. Their own clocks differ, and one sets a timer that another finds due."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from falai.session.dates import to_ms

__all__ = ["DatabaseClock"]

_STILL_RIGHT_MS: Final = 2  # an answer of the database comes as late as it takes to come
_STANDS_STILL: Final = timedelta(minutes=1)


class DatabaseClock:
    """A clock of this process that is set by what the database says.

    An answer that took longer sets it back. It stands still then rather than show an earlier time, by which what has
    just become due would not be due any more; it goes back only from a time that was quite wrong.
    """

    def __init__(self, local: Callable[[], datetime]) -> None:
        self._local = local
        self._ahead_ms = 0
        self._latest = local()

    def __call__(self) -> datetime:
        now = self._local() + timedelta(milliseconds=self._ahead_ms)
        if not timedelta(0) < self._latest - now < _STANDS_STILL:
            self._latest = now
        return self._latest

    def set(self, database_ms: int) -> None:
        """It was this time in the database a moment ago."""
        ahead = database_ms - to_ms(self._local())
        if abs(ahead - self._ahead_ms) > _STILL_RIGHT_MS:
            self._ahead_ms = ahead
