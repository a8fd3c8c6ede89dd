"""What the parts of a host tell one another: that something was committed, failed, or will be due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from falai.host.ledger.port import Done, Job, Place, Work
from falai.turn.result import OutMessage

__all__ = ["Signals"]


class Signals(Protocol):
    """Who listens; nothing here may raise."""

    def committed(self, job: Job, done: Done, messages: Sequence[OutMessage]) -> None:
        """An input had its turn, and this is in the ledger."""
        ...

    def answers(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:
        """In the transaction of the commit: what is kept for those who wait for this turn in other processes."""
        ...

    def failed(self, job: Job, why: str) -> None:
        """An input was set aside."""
        ...

    def due(self, what: Literal["input", "message"], at_ms: int) -> None:
        """At this instant one of these is to be looked for."""
        ...

    def is_closing(self, place: Place) -> bool:
        """Whether somebody takes over at this moment: what was read of the outbox before is to be read again."""
        ...
