"""What the chat writes down about a turn, so that it can be shown again after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from falai.session.model import StepOutcome
from falai.turn.result import TurnResult

__all__ = ["Changed", "Ended", "Refused", "Sent", "TurnRecord", "record_of"]


class Sent(msgspec.Struct, frozen=True):
    """A message of the assistant; it goes out `after_ms` behind the one before it."""

    text: str
    after_ms: int = 0


class Ended(msgspec.Struct, frozen=True):
    """A run that ended."""

    flow: str
    reason: str


class Refused(msgspec.Struct, frozen=True):
    """A start that was refused."""

    flow: str
    message: str


class Changed(msgspec.Struct, frozen=True):
    """A field that changed; `new` is `None` when it was forgotten."""

    field: str
    new: Any
    source: str


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One turn: what came in (in the wire form), and what came of it."""

    at: str
    input: Mapping[str, Any]
    messages: tuple[Sent, ...]
    outcomes: tuple[StepOutcome, ...]
    started: tuple[str, ...]
    ended: tuple[Ended, ...]
    refused: tuple[Refused, ...]
    changes: tuple[Changed, ...]
    model_calls: int
    silenced: str | None = None
    """Why the assistant could not speak, if it could not (T-1.4)."""
    repeated: bool = False
    """A message that had its turn before, perhaps in another program (T-5.1): not worth keeping or showing."""

    @property
    def heard(self) -> str | None:
        """What the customer wrote, if this turn was a message."""
        return self.input.get("message")


def record_of(input: Mapping[str, Any], result: TurnResult, at: str, silenced: str | None) -> TurnRecord:
    """What is worth keeping of a result; `at` is the turn's time as date text, `silenced` its gate."""
    return TurnRecord(
        at=at,
        input=input,
        messages=tuple(Sent(message.text, message.after_ms) for message in result.messages),
        outcomes=result.outcomes,
        started=tuple(run.flow_id for run in result.started),
        ended=tuple(Ended(end.run.flow_id, end.reason) for end in result.ended),
        refused=tuple(Refused(start.flow_id, start.message) for start in result.skipped),
        changes=tuple(Changed(change.field, change.new, change.source) for change in result.changes),
        model_calls=result.llm_calls,
        silenced=silenced,
        repeated="message" in input and not result.changed,
    )
