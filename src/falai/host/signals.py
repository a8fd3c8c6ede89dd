"""What the parts of a host tell one another: that something was committed, failed, or will be due."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from falai.host.ledger.port import Done, Job, Place, Work
from falai.host.watching import Telling
from falai.turn.result import OutMessage, TurnResult

__all__ = ["Signals"]


class Signals(Protocol):
    """Who listens; nothing here may raise."""

    def telling(self, job: Job) -> AbstractContextManager[Telling]:
        """A try of a turn is begun: who watches its session hears of it by this."""
        ...

    def committed(self, job: Job, done: Done, result: TurnResult | None) -> None:
        """An input had its turn, and this is in the ledger; without a result there was nothing to play."""
        ...

    def answers(self, job: Job, messages: Sequence[OutMessage]) -> Work[None]:
        """In the transaction of the commit: what is kept for those who wait for this turn in other processes."""
        ...

    def failed(self, job: Job, why: str) -> None:
        """An input was set aside."""
        ...

    def changed(self, *places: Place) -> None:
        """Something else of these sessions is new in the ledger."""
        ...

    def due(self, what: Literal["input", "message"], at_ms: int) -> None:
        """At this instant one of these is to be looked for."""
        ...

    def is_closing(self, place: Place) -> bool:
        """Whether somebody takes over at this moment: what was read of the outbox before is to be read again."""
        ...
