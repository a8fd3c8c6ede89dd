"""The four things that can happen to a conversation, as data that an inbox can store (T-1.2)."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Anchor", "Claims", "Event", "Input", "Message", "Silenced", "Start", "Wake"]


class Message(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The customer wrote `text` (it may be empty).

    With an `id`, a second delivery of the same message is ignored (B-11). `at` is when it was
    written: date text (B-2.7); without it, the turn's now.
    """

    text: str
    id: str | None = None
    at: str | None = None


class Wake(msgspec.Struct, frozen=True, rename="camel"):
    """A timer that an earlier turn asked for (`schedule`) has come due; nobody has written."""

    key: str


class Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The host reports that something happened. `key` names this very happening; a key that
    comes again starts nothing twice (B-11.3)."""

    name: str
    key: str
    payload: Any = None
    hop: int = 0


class Start(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The host starts a flow by its id, with or without triggers."""

    flow: str
    key: str
    input: Any = None
    hop: int = 0


Input = Message | Wake | Event | Start


class Silenced(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Why the assistant may not speak in this turn (T-1.4).

    `understand` keeps the understand call; `skip` passes over messages instead of ending runs.
    """

    reason: str
    understand: bool = False
    skip: bool = False


class Anchor(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What runs of a flow with this anchor are keyed to, and when the customer last wrote there (B-12)."""

    key: str
    last_inbound_at: str | None = None


class Claims(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the customer's other sessions hold: claims by dedupe key with their date, and the
    `{flowId}:{anchor}` of runs that are live there (T-1.1)."""

    held: dict[str, str] = {}
    active: list[str] = []
