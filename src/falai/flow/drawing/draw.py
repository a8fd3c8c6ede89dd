"""From pictures to text in one of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from falai.flow.drawing.dot import dot
from falai.flow.drawing.mermaid import mermaid
from falai.flow.drawing.picture import Picture
from falai.flow.drawing.svg import svg
from falai.flow.drawing.text import text

__all__ = ["FORMATS", "Format", "draw"]

Format = Literal["text", "mermaid", "dot", "svg"]

FORMATS: Mapping[Format, Callable[[Sequence[Picture]], str]] = {
    "text": text,
    "mermaid": mermaid,
    "dot": dot,
    "svg": svg,
}


def draw(
    pictures: Picture | Sequence[Picture],
    format: Format = "text",  # noqa: A002 - what it is called everywhere
) -> str:
    """One picture, or several below each other, as text of that format; equal pictures give equal text.

    `text` is for a terminal (100 columns), `mermaid` and `dot` are the languages of these programs, `svg` is an
    image for light and dark, without scripts, in which every step is a group with `data-step`. Raises
    ValueError for another format, and for no picture.
    """
    given = [pictures] if isinstance(pictures, Picture) else list(pictures)
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; the formats are {', '.join(FORMATS)}")
    if not given:
        raise ValueError("there is no picture to draw")
    return FORMATS[format](given)
