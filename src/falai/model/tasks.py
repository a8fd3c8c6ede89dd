"""What is asked of the model, as plain data with every template rendered.

A prompt is this data in words; `LexicalModel` reads the data itself. `key` is the name under which
a flow, a question or a field travels in the envelope (M-3.4, M-7.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

__all__ = [
    "Acted", "ActionTask", "BranchTask", "Corrected", "DraftTask", "FieldTask", "FloorTask", "FlowTask", "InstructionTask",
    "Known", "NameTask", "ParamTask", "Refused", "Rejected", "Said", "SpeakTask", "SummaryTask", "Today", "UnderstandTask",
]  # fmt: skip


class Today(msgspec.Struct, frozen=True):
    """The date in the agent's time zone (M-24.2)."""

    date: str
    weekday: str
    zone: str


class FieldTask(msgspec.Struct, frozen=True):
    """A field to read or to ask for. `known` and `value` belong to a correctable one (M-24.1).

    `type` is blank for a slug that the agent does not declare; `format` names a richer type (F-19.3).
    """

    key: str
    slug: str
    type: str
    enum: tuple[Any, ...] | None = None
    description: str | None = None
    ask: str | None = None
    question: str | None = None
    known: bool = False
    value: Any = None
    format: str | None = None


class ParamTask(msgspec.Struct, frozen=True):
    """A value to read when a mention is true (M-4.6), or to give to an action; `items` is a list's item type."""

    name: str
    type: str
    enum: tuple[Any, ...] | None = None
    description: str | None = None
    items: str | None = None
    optional: bool = False


class FlowTask(msgspec.Struct, frozen=True):
    """A flow to score or a mention to judge."""

    key: str
    id: str
    name: str
    description: str
    matches: tuple[str, ...]
    exclusions: tuple[str, ...]
    extract: tuple[ParamTask, ...] = ()


class FloorTask(msgspec.Struct, frozen=True):
    """The flow that the customer is in, and the talk step where it stands (M-4.3)."""

    key: str
    id: str
    name: str
    description: str
    step_id: str | None
    prompt: str
    pending: tuple[FieldTask, ...]


class BranchTask(msgspec.Struct, frozen=True):
    """A branch question: its real id (T-8.7) and the rendered `when`."""

    key: str
    id: str
    when: str


class Known(msgspec.Struct, frozen=True):
    """A known fact; `correctable` ones are not marked as known for good."""

    slug: str
    value: Any
    correctable: bool = False


class InstructionTask(msgspec.Struct, frozen=True):
    """One rule for the wording, rendered (M-11.5)."""

    kind: Literal["must", "never", "should"]
    prompt: str
    matches: tuple[str, ...]
    exclusions: tuple[str, ...]


class Said(msgspec.Struct, frozen=True):
    """What this turn has already sent (M-8.10)."""

    text: str
    media: str | None = None


class Refused(msgspec.Struct, frozen=True):
    """A value that its richer type refused in this turn, and why (M-24.3)."""

    slug: str
    reason: str


class Corrected(msgspec.Struct, frozen=True):
    """A known value that this message replaced (F-19.1): the reply takes note of it."""

    slug: str
    old: Any
    new: Any


class Acted(msgspec.Struct, frozen=True):
    """What an action of this turn did (M-24.4)."""

    name: str
    status: Literal["ok", "skipped", "failed", "deferred"]
    words: str | None = None


class UnderstandTask(msgspec.Struct, frozen=True, kw_only=True):
    """Judge the customer's newest message (M-4)."""

    agent: str
    identity: str | None
    today: Today | None
    text: str
    floor: FloorTask | None
    known: tuple[Known, ...]
    flows: tuple[FlowTask, ...]
    mentions: tuple[FlowTask, ...]
    branches: tuple[BranchTask, ...]
    fields: tuple[FieldTask, ...]
    asks: bool


class SpeakTask(msgspec.Struct, frozen=True, kw_only=True):
    """Phrase one reply (M-8). `flow` is `None` for the idle speaker."""

    agent: str
    identity: str | None
    today: Today | None
    flow: str | None
    flow_description: str
    step_id: str | None
    guideline: str
    """The author's rendered guideline; blank when there is none."""
    fields: tuple[FieldTask, ...]
    known: tuple[Known, ...]
    refused: tuple[Refused, ...]
    corrected: tuple[Corrected, ...] = ()
    instructions: tuple[InstructionTask, ...]
    kind: Literal["message", "wake", "event", "start"]
    text: str | None
    retry: bool
    said: tuple[Said, ...]
    acted: tuple[Acted, ...]
    fixed_after: str | None
    language: str | None = None
    """The agent's fixed language, a name or a tag; `None`: the customer's own."""


class SummaryTask(msgspec.Struct, frozen=True, kw_only=True):
    """Sum up the older part of a history (M-15.5)."""

    items: tuple[Mapping[str, Any], ...]


class NameTask(msgspec.Struct, frozen=True):
    """An event, a condition or a flow that a new flow may name; `about` is blank where nobody said what it is for."""

    name: str
    about: str = ""


class ActionTask(msgspec.Struct, frozen=True):
    """An action that a new flow may call."""

    name: str
    about: str
    params: tuple[ParamTask, ...]


class Rejected(msgspec.Struct, frozen=True):
    """The last answer, and what is to be mended in it. `valid`: it could run as it is."""

    answer: str
    problems: tuple[str, ...]
    valid: bool


class DraftTask(msgspec.Struct, frozen=True, kw_only=True):
    """Write a flow (S-60). `language` `None`: that of the request. `taken`: ids that the flow must not have."""

    request: str
    language: str | None
    fields: tuple[FieldTask, ...]
    actions: tuple[ActionTask, ...]
    events: tuple[NameTask, ...]
    conditions: tuple[NameTask, ...]
    flows: tuple[NameTask, ...]
    taken: tuple[str, ...]
    rejected: Rejected | None = None
