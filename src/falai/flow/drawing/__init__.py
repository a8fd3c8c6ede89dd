"""Pictures of flows: as data (`picture`), and from there as text, Mermaid, DOT or SVG (`draw`).

`flows` and `agents` make pictures, `telling` says in plain words what a step does, `trail` marks where a run has
been; `layers` and `layout` place boxes and arrows, `words` is a picture in sentences. Nothing here reads a file, a
clock or a network, and no other program is needed. Texts of authors never become syntax of a format.
"""

from __future__ import annotations

from falai.flow.drawing.agents import picture_of_agent
from falai.flow.drawing.draw import FORMATS, Format, draw
from falai.flow.drawing.flows import picture_of_flow
from falai.flow.drawing.picture import EdgeKind, NodeKind, Picture, PictureEdge, PictureNode
from falai.flow.drawing.words import picture_words

__all__ = [
    "FORMATS", "EdgeKind", "Format", "NodeKind", "Picture", "PictureEdge", "PictureNode", "draw", "picture_of_agent",
    "picture_of_flow", "picture_words",
]  # fmt: skip
