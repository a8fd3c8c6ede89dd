"""How far a long run is: on standard error, rewritten in place at a terminal, else a line now and then."""

from __future__ import annotations

import sys
from datetime import timedelta
from time import monotonic

__all__ = ["Progress", "progress_words"]

_TERMINAL_SECONDS, _FILE_SECONDS = 0.5, 15.0


class Progress:
    """Of `total` rows, when that is known."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._begin = self._shown = monotonic()
        self._in_place = sys.stderr.isatty()
        self._pause = _TERMINAL_SECONDS if self._in_place else _FILE_SECONDS

    def show(self, done: int) -> None:
        """Says how far it is, unless that was said just now."""
        now = monotonic()
        if now - self._shown >= self._pause:
            self._shown = now
            line = progress_words(done, self._total, now - self._begin)
            print(f"\r\x1b[K{line}" if self._in_place else line, end="" if self._in_place else "\n", file=sys.stderr)
            sys.stderr.flush()

    def end(self) -> None:
        """Clears the line."""
        if self._in_place:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def progress_words(done: int, total: int | None, seconds: float) -> str:
    """Such as `1,200 of 10,000 rows, 400 a second, 0:00:22 left`."""
    rate = done / seconds if seconds > 0 else 0.0
    line = f"{done:,}{'' if total is None else f' of {total:,}'} rows, {rate:,.0f} a second"
    if total is None or not rate:
        return line
    return f"{line}, {timedelta(seconds=round(max(0, total - done) / rate))} left"
