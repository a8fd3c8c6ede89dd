"""A message to a customer as the API gives it, and the frames in which a conversation is told as it happens.

The same frames go by server-sent events and by WebSocket: `accepted`, `delta`, `withdrawn`, `ready`, `message`,
`done`, `problem`. A `delta` is provisional (T-20.2): what counts is in `done`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import Field

from falai.host.ledger.port import Letter, SaidRow
from falai.session.dates import iso
from falai.web.mistakes import Wire

__all__ = ["Frame", "Media", "Said", "said"]


class Media(Wire):
    """The file that goes with a message, by the slug that the flow names."""

    slug: str


class Said(Wire):
    """A message to the customer. `id` is the key under which its channel sends it, the same in every repetition."""

    id: str
    text: str
    kind: Annotated[
        Literal["ai", "verbatim", "human"],
        Field(description="Whose words: the model's, the flow's author's, or a person's of the team."),
    ]
    after_ms: Annotated[int, Field(ge=0, description="The pause before it, behind the one before.")]
    at: Annotated[str | None, Field(description="When it was sent, UTC; without it, it is about to be.")] = None
    media: Media | None = None


class _Text(msgspec.Struct):
    """What is read of a message as it goes out."""

    text: str
    kind: str = "verbatim"
    media: Any = None


_TEXTS: Final = msgspec.json.Decoder(_Text)


def said(row: SaidRow | Letter) -> dict[str, Any]:
    """A message as JSON data (`Said`)."""
    letter = _TEXTS.decode(row.body)
    found: dict[str, Any] = {"id": row.key, "text": letter.text, "kind": letter.kind, "afterMs": row.after_ms}
    if row.at is not None:
        found["at"] = iso(row.at)
    if isinstance(letter.media, str):
        found["media"] = {"slug": letter.media}
    return found


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing that a client is told. `id` is a cursor: a stream that begins behind it misses nothing."""

    event: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None
