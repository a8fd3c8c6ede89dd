"""What comes in from outside, as inputs that an inbox can keep.

A voice message, a picture, a place, a reaction: a turn reads text. `described` gives the words that
stand for an attachment which came without any; the attachments themselves are on the host's context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from falai.channel.port import Attachment
from falai.host.ledger.port import Kind
from falai.session.inputs import Event, Input, Message, Start, Wake

__all__ = ["HumanMessage", "arrival_body", "check_id", "check_name", "described", "input_of", "message_text"]

_LONGEST: Final = 512  # bytes; a row of an index has four of them, and in PostgreSQL 2,704 bytes at most
_ENCODER: Final = msgspec.json.Encoder()
_TYPES: Final[Mapping[str, type[Any]]] = {"message": Message, "wake": Wake, "event": Event, "start": Start}


class HumanMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person of the team wrote to the customer; `by` says who."""

    text: str
    id: str
    by: str | None = None


def check_name(name: str, path: str) -> str:
    """What rows are found by. Raises `ValueError` for one that is too long for the index of some database."""
    size = len(name.encode())
    if size > _LONGEST:
        raise ValueError(f"{path} has {size} bytes, and may have {_LONGEST}: rows are found by it")
    return name


def check_id(id: str, path: str) -> str:
    """A name that is one row's. Raises `ValueError` as `check_name`, and for one with a NUL: where a database cannot
    keep it, it is left out (P-40), and two ids would be one, or blank.
    """
    if "\0" in id:
        raise ValueError(f"{path} has the character U+0000: not every database can keep it")
    return check_name(id, path)


def described(attachment: Attachment) -> str | None:
    """The words for an attachment: its caption, else what it is; a reaction is no message."""
    if attachment.caption:
        return attachment.caption
    return None if attachment.kind == "reaction" else f"[{attachment.kind}]"


def message_text(
    text: str, attachments: Sequence[Attachment], describe: Callable[[Attachment], str | None]
) -> str | None:
    """What a turn reads of a message; `None` when nothing of it is for a turn. Raises what `describe` raises."""
    if text or not attachments:
        return text
    words = [found for attachment in attachments if (found := describe(attachment)) is not None]
    return "\n".join(words) if words else None


def arrival_body(input: Input | HumanMessage) -> str:
    """The input as the inbox keeps it."""
    return _ENCODER.encode(input).decode()


def input_of(kind: Kind, body: str) -> Input:
    """The input of a row that is no person's message. Raises `msgspec.MsgspecError` for what is none."""
    found: Input = msgspec.json.decode(body, type=_TYPES[kind])
    return found
