"""What a turn gives back: plain data, with aware instants where the host acts on them (T-2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

import msgspec

from falai.model.port import Usage
from falai.session.codec import session_to_wire
from falai.session.dates import iso, to_ms
from falai.session.model import Run, Session, StepOutcome

__all__ = [
    "Change", "EndReason", "EndedRun", "ModelCall", "OutMessage", "ScheduledWake", "SkippedStart", "StartedRun",
    "TurnResult",
]  # fmt: skip

EndReason = Literal["end", "flow", "reset", "skipped", "failed", "replaced"]


class OutMessage(msgspec.Struct, frozen=True):
    """A message to send, `after_ms` milliseconds behind the one before it (T-2.1).

    `kind` is `ai` when the model phrased it, `verbatim` when the author did. `key` is the step's
    key: unique per visit, not per sending (B-9.4).
    """

    text: str
    kind: Literal["ai", "verbatim"]
    after_ms: int
    key: str
    run_id: str | None = None
    step_id: str | None = None
    media: Mapping[str, str] | None = None


class ScheduledWake(msgspec.Struct, frozen=True):
    """A wake to enqueue under its key: `turn(session_id, Wake(key))` at `at`, UTC (T-2.2).

    `replaces` is the key of an older wake that is of no use any more; dropping it is a courtesy.
    """

    key: str
    at: datetime
    replaces: str | None = None


class StartedRun(msgspec.Struct, frozen=True):
    """A run that started in this turn."""

    run_id: str
    flow_id: str
    anchor: str
    dedupe_key: str


class EndedRun(msgspec.Struct, frozen=True):
    """A run that ended in this turn, in its last state, and why (O-7.1)."""

    run: Run
    reason: EndReason


class SkippedStart(msgspec.Struct, frozen=True):
    """A start that was refused, and why (O-7.2)."""

    flow_id: str
    anchor: str
    trigger_key: str
    code: str
    message: str


class ModelCall(msgspec.Struct, frozen=True):
    """One call to the model (F-19.6): what was asked, what came back, what it cost.

    `reply` is the text or the JSON text that came back, `None` when the call failed (`error` says
    how then; tokens that the provider counted all the same are there). `duration_ms` is wall time.
    """

    name: str
    prompt: str
    reply: str | None
    usage: Usage | None
    duration_ms: float
    cost: float | None = None
    model: str | None = None
    error: str | None = None


class Change(msgspec.Struct, frozen=True):
    """One change of `data` (F-19.6). `new` is `None` when the field was cleared."""

    field: str
    old: Any
    new: Any
    source: Literal["understand", "speak", "tool", "action", "clear"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """What the host must save, send and enqueue (T-2).

    `changed` is false when there is nothing to save, send or enqueue. `calls` and `changes` are
    for people who look; they take no part in equality or in the wire form (F-19.6).
    """

    session: Session
    changed: bool
    messages: tuple[OutMessage, ...]
    schedule: tuple[ScheduledWake, ...]
    outcomes: tuple[StepOutcome, ...]
    started: tuple[StartedRun, ...]
    ended: tuple[EndedRun, ...]
    skipped: tuple[SkippedStart, ...]
    llm_calls: int
    usage: Usage | None
    calls: tuple[ModelCall, ...] = field(default=(), compare=False)
    changes: tuple[Change, ...] = field(default=(), compare=False)

    def to_wire(self) -> dict[str, Any]:
        """The result as JSON data under wire names, dates as ISO text (T-2)."""
        wire: dict[str, Any] = {
            "session": session_to_wire(self.session),
            "changed": self.changed,
            "messages": [_wire(m) for m in self.messages],
            "schedule": [_wire(w) for w in self.schedule],
            "outcomes": [msgspec.to_builtins(line) for line in self.outcomes],
            "started": [_wire(run) for run in self.started],
            "ended": [{**msgspec.to_builtins(end.run), "reason": end.reason} for end in self.ended],
            "skipped": [_wire(start) for start in self.skipped],
            "llmCalls": self.llm_calls,
        }
        if self.usage is not None:
            wire["usage"] = _wire(self.usage)
        return wire


def _wire(value: Any) -> dict[str, Any]:
    names = cast("tuple[str, ...]", cast(Any, type(value)).__match_args__)
    found = ((_camel(name), getattr(value, name)) for name in names)
    return {key: iso(to_ms(v)) if isinstance(v, datetime) else v for key, v in found if v is not None}


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
