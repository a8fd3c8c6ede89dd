"""What the kinds of nodes look like: one table for all formats, so that a step has one colour everywhere.

Colours come in pairs, for light and for dark. Colour is never alone: each kind has its shape, or its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from falai.flow.drawing.picture import NodeKind

__all__ = ["LOOKS", "PAPER", "Look", "Paper", "Shape"]

Shape = Literal["box", "round", "pill", "hexagon", "bars", "cut"]


@dataclass(frozen=True, slots=True)
class Look:
    """A shape, and fill and line in light and in dark."""

    shape: Shape
    fill: tuple[str, str]
    line: tuple[str, str]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Paper:
    """What is common to all of a drawing, in light or in dark."""

    back: str
    ink: str
    soft: str
    line: str
    lit: str


LOOKS: dict[NodeKind, Look] = {
    "trigger": Look("pill", ("#fff7e0", "#3a2f10"), ("#b7791f", "#d9a441")),
    "collect": Look("round", ("#e8f1fd", "#14304f"), ("#2b6cb0", "#63a4e8")),
    "prompt": Look("round", ("#e6f6f4", "#10383a"), ("#2c7a7b", "#4fbdb8")),
    "say": Look("box", ("#f2f4f7", "#2a303a"), ("#64748b", "#94a3b8")),
    "do": Look("bars", ("#f3eafd", "#35214f"), ("#7c4dbd", "#b692f0")),
    "wait": Look("cut", ("#fdeee3", "#43281a"), ("#c05621", "#ee9a68")),
    "waitEvent": Look("cut", ("#fdeaf0", "#431c2c"), ("#b83266", "#f08fb1")),
    "if": Look("hexagon", ("#eaf6e6", "#1f381c"), ("#3f7d32", "#80c270")),
    "flow": Look("bars", ("#ffffff", "#1d232c"), ("#475569", "#a3b1c4")),
    "end": Look("pill", ("#e2e8f0", "#39414d"), ("#64748b", "#94a3b8")),
    "missing": Look("box", ("#fdecec", "#471a1a"), ("#c53030", "#f58b8b"), dashed=True),
}

PAPER = (
    Paper(back="#ffffff", ink="#1a202c", soft="#52606d", line="#7b8794", lit="#d6336c"),
    Paper(back="#14181f", ink="#e8edf3", soft="#a6b1be", line="#8592a1", lit="#ff7aa8"),
)
"""Light, dark."""
