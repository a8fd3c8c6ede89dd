"""A long text in pieces that a vendor takes, cut where a person would pause.

Lengths are counted in UTF-16 units: the vendors count characters, some of them these, and these are
never fewer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from falai.channel.port import ChannelError, Outgoing

__all__ = ["Refuse", "behind_media", "check_length", "length", "numbered", "split_text"]

_PAUSES: Final = (r"\n[ \t]*\n", r"\n", r"(?<=[.!?…])\s", r"\s")
"""Where to cut, the best first."""
_GLUE: Final = "\u200d\ufe0f\ufe0e"
_SKIN: Final = range(0x1F3FB, 0x1F400)
_TOGETHER: Final = 16  # so far back is a cut moved to keep what makes one sign; a longer chain is no sign

Refuse = Callable[[str], ChannelError]
"""Makes an error of the reason why a message is not sent."""


def length(text: str) -> int:
    """How many UTF-16 units the text has."""
    return len(text) + sum(sign > "\uffff" for sign in text)


def check_length(text: str, limit: int, what: str, refuse: Refuse) -> None:
    """Raises what `refuse` makes of the reason when the text is too long."""
    if length(text) > limit:
        raise refuse(f"{what} has at most {limit} characters; this one has {length(text)}")


def split_text(text: str, limit: int) -> Sequence[str]:
    """The text in pieces of at most `limit` units (2 or more), without the white space around the cuts; the text itself if it fits.

    Nothing but white space is lost, no piece is blank, and signs of several code points stay whole.
    """
    if _fits(text, limit):
        return (text,)
    pieces: list[str] = []
    while not _fits(text, limit):
        cut = _cut(text, limit)
        pieces.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return [piece for piece in [*pieces, text.rstrip()] if piece] or ("",)


def behind_media(out: Outgoing, texts: Sequence[str]) -> Sequence[Outgoing]:
    """The file of a message alone, and its texts behind it; buttons stay with the last."""
    bare = msgspec.structs.replace(out, text="", buttons=())
    return (bare, *numbered(msgspec.structs.replace(out, media=None), texts, first=2))


def numbered(out: Outgoing, texts: Sequence[str], *, first: int = 1) -> Sequence[Outgoing]:
    """A message for each text, the first with the file and the last with the buttons; keys as `Channel.split` promises."""
    last = len(texts) - 1
    return [
        msgspec.structs.replace(
            out,
            text=text,
            media=out.media if number == 0 else None,
            buttons=out.buttons if number == last else (),
            idempotency_key=out.idempotency_key if first + number == 1 else f"{out.idempotency_key}/{first + number}",
        )
        for number, text in enumerate(texts)
    ]


def _fits(text: str, limit: int) -> bool:
    """Its beginning tells it: a very long text is not counted anew for each of its pieces."""
    return length(text[: limit + 1]) <= limit


def _cut(text: str, limit: int) -> int:
    end = _fitting(text, limit)
    for pause in _PAUSES:
        found = [at.start() for at in re.finditer(pause, text[: end + 1])]
        if found and found[-1] >= max(1, end // 2):
            return found[-1]
    return _whole_sign(text, end)


def _fitting(text: str, limit: int) -> int:
    end = limit
    while length(text[:end]) > limit:
        end -= (length(text[:end]) - limit + 1) // 2
    return max(end, 1)


def _whole_sign(text: str, end: int) -> int:
    for cut in range(end, max(1, end - _TOGETHER), -1):
        if not _joined(text[cut - 1], text[cut]):
            return cut
    return end


def _joined(before: str, after: str) -> bool:
    return before == _GLUE[0] or after in _GLUE or ord(after) in _SKIN or unicodedata.combining(after) > 0
