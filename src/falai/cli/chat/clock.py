"""The chat's clock: the system's, moved ahead by what was skipped with `/skip`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from falai.session.dates import to_ms

__all__ = ["ShiftedClock"]


class ShiftedClock:
    """The `clock` of an agent that is talked to in a terminal."""

    def __init__(self, ahead_ms: int = 0) -> None:
        self.ahead_ms = ahead_ms

    def __call__(self) -> datetime:
        return datetime.now(UTC) + timedelta(milliseconds=self.ahead_ms)

    @property
    def now_ms(self) -> int:
        """Now, in epoch milliseconds."""
        return to_ms(self())

    def move_to(self, at_ms: int) -> None:
        """Jumps ahead to an instant; one that has passed changes nothing."""
        self.ahead_ms += max(0, at_ms - self.now_ms)
