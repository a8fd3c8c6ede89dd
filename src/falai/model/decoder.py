"""The message inside an envelope that is still being written (M-12.5 to M-12.9).

Each text so far is read afresh and as a whole: there is no state to fall out of step with, and a
provider that starts over is read like any other. What is given out only grows while the envelope
does, because whatever may still change its meaning (half an escape, half a pair) is held back.
"""

from __future__ import annotations

import re
from typing import Final

from falai.model.lenient import mend

__all__ = ["StreamingMessageDecoder", "message_so_far"]

_SPACE = re.compile(r"[ \t\n\r]*+")
_GAP = re.compile(r"[ \t\n\r,]*+")
_COLON = re.compile(r"[ \t\n\r]*+:[ \t\n\r]*+")
_TICKS = re.compile(r"`++")
_TEXT = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_OPEN_TEXT = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SCALAR = re.compile(r"[^,}\] \t\n\r]*+")
_NESTED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
_PIECE = re.compile(r"([^\\]++)|\\u([0-9a-fA-F]{4})|\\([^u])", re.DOTALL)
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class StreamingMessageDecoder:
    """Turns the growing text of one round into the pieces of its message."""

    def __init__(self) -> None:
        self.message: str = ""
        """The message so far."""

    def feed(self, accumulated: str) -> str:
        """The piece that all text so far adds to the message: `""` when it adds nothing.

        When the new message does not start with the old one, the piece is all of it (M-12.5).
        """
        before, self.message = self.message, message_so_far(accumulated)
        return self.message.removeprefix(before)


def message_so_far(text: str) -> str:
    """The message as far as the accumulated text of a provider shows it (M-12.6)."""
    start = _end(_SPACE, text, 0)
    if text.startswith("`", start):
        after = _end(_TICKS, text, start)
        if after == len(text):
            return ""
        if after - start < 3:  # one or two are ordinary text
            return text
        line = text.find("\n", after)
        start = len(text) if line < 0 else _end(_SPACE, text, line + 1)
        return _member(text, start + 1) if text.startswith("{", start) else ""
    if start == len(text):
        return ""
    return _member(text, start + 1) if text[start] == "{" else text


def _member(text: str, at: int) -> str:
    """The text of the first key `message`, from inside the object on."""
    position: int | None = at
    while position is not None:
        key = _TEXT.match(text, _end(_GAP, text, position))
        colon = key and _COLON.match(text, key.end())
        if key is None or colon is None:
            return ""
        if _decoded(text, key.start() + 1) == "message":
            return _decoded(text, colon.end() + 1) if text.startswith('"', colon.end()) else ""
        position = _after_value(text, colon.end())
    return ""


def _after_value(text: str, at: int) -> int | None:
    """Where the value that begins here ends; `None` when it is not finished."""
    if text.startswith('"', at):
        closed = _TEXT.match(text, at)
        return closed and closed.end()
    if text.startswith(("{", "["), at):
        return _after_nested(text, at)
    end = _end(_SCALAR, text, at)
    return None if end == len(text) else end


def _after_nested(text: str, at: int) -> int | None:
    depth = 0
    for token in _NESTED.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return None


def _decoded(text: str, at: int) -> str:
    """The decoded text from behind its opening quote, as far as it is certain (M-12.7)."""
    body = _OPEN_TEXT.match(text, at)
    end = body.end() if body else at
    raw = text[at:end]
    if "\\" not in raw:
        return mend(raw)
    closed = text.startswith('"', end)
    return _unescaped(raw, complete=closed)


def _unescaped(raw: str, *, complete: bool) -> str:
    out: list[str] = []
    high = ""
    position = 0
    while piece := _PIECE.match(raw, position):
        position = piece.end()
        plain, code, simple = piece.groups()
        unit = chr(int(code, 16)) if code else plain or _SIMPLE.get(simple, simple)
        if high and code and "\udc00" <= unit <= "\udfff":
            out.append((high + unit).encode("utf-16", "surrogatepass").decode("utf-16"))
            high = ""
            continue
        out.append("\ufffd" if high else "")
        high = unit if code and "\ud800" <= unit <= "\udbff" else ""
        out.append("" if high else mend(unit))
    stopped = complete or _is_broken(raw, position)
    return "".join(out) + ("\ufffd" if high and stopped else "")


def _is_broken(raw: str, at: int) -> bool:
    r"""Whether a `\u` stands here whose four characters are there and are not hexadecimal."""
    return raw.startswith("\\u", at) and len(raw) >= at + 6


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
