"""The clock of a branch: it stands still while something is played, and can be moved ahead.

Between two plays it goes on with the system's, so that a conversation has the times at which it was held.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from falai.session.dates import from_ms, iso, to_ms

__all__ = ["LATEST_MS", "BranchClock"]

LATEST_MS = to_ms(datetime(9000, 1, 1, tzinfo=UTC))
"""As far as the clock goes: what waits from there on still has a date."""


class BranchClock:
    """The `clock` of a branch's agent and of its host. It begins at an instant, else at the system's now."""

    def __init__(self, system: Callable[[], datetime], begin_ms: int | None = None) -> None:
        self._system = system
        self.now_ms = to_ms(system()) if begin_ms is None else begin_ms
        self.ahead_ms = self.now_ms - to_ms(system())

    def __call__(self) -> datetime:
        return from_ms(self.now_ms)

    @property
    def text(self) -> str:
        """Now, as date text."""
        return iso(self.now_ms)

    @property
    def going_ms(self) -> int:
        """Where the clock is by now, when nothing is being played."""
        return min(LATEST_MS, max(self.now_ms, to_ms(self._system()) + self.ahead_ms))

    def move_to(self, at_ms: int) -> None:
        """Stands at an instant from now on; never back."""
        self.now_ms = max(self.now_ms, at_ms)
        self.ahead_ms = self.now_ms - to_ms(self._system())
