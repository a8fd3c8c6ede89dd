"""How wide texts are, and how they are cut to their room: in units of a drawing, and in columns of a terminal.

Which font a viewer has is not known, so widths are estimated, on the wide side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

__all__ = ["columns", "cut", "legible", "speakable", "text_width", "wrapped"]

Measure = Callable[[str], float]

_UNSPEAKABLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_NARROW, _MIDDLE, _WIDE = (
    frozenset("ijlftrI.,:;'!|/\\ \u2018\u2019·"),
    frozenset("()[]-\u201c\u201d"),
    frozenset("mwMW@%—…"),
)


def speakable(text: str) -> str:
    """The text without characters that steer a terminal, turn the writing round or are no XML."""
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def legible(text: str) -> str:
    """The same on one line."""
    return " ".join(speakable(text).split())


def text_width(text: str, size: float) -> float:
    """About how wide the text is in a sans-serif font of this size."""
    return size * sum(map(_em, text))


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(_columns(char) for char in text)


def cut(text: str, room: float, measure: Measure) -> str:
    """The text, or as much of its beginning as fits with an ellipsis."""
    if measure(text) <= room:
        return text
    kept = text
    while kept and measure(f"{kept}…") > room:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def wrapped(text: str, room: float, lines: int, measure: Measure) -> list[str]:
    """The text in at most so many lines; what does not fit is cut. Breaks at blanks, and inside words that are too long."""
    found: list[str] = []
    rest = text
    while rest and len(found) < lines - 1:
        line, rest = _first_line(rest, room, measure)
        found.append(line)
    return [*found, cut(rest, room, measure)] if rest else found


def _first_line(text: str, room: float, measure: Measure) -> tuple[str, str]:
    fits = 0
    while fits < len(text) and measure(text[: fits + 1]) <= room:
        fits += 1
    if fits == len(text):
        return text, ""
    blank = text.rfind(" ", 0, fits + 1)
    at = blank if blank > 0 else max(fits, 1)
    return text[:at].rstrip(), text[at:].lstrip()


def _em(char: str) -> float:
    if _columns(char) != 1:
        return _columns(char) * 0.55
    if char in _NARROW:
        return 0.33
    if char in _MIDDLE:
        return 0.42
    if char in _WIDE:
        return 0.96
    return 0.7 if char.isupper() else 0.585


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
