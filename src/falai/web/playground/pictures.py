"""Flows drawn for the page: the picture, and the same in words.

The page allows no style but its own, so the drawing's stylesheet is a file of its own (`stylesheet`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from falai.flow.definition import Flow, Say
from falai.flow.drawing import draw, picture_of_flow, picture_words
from falai.flow.plan import FlowPlan

__all__ = ["drawn", "stylesheet"]

_STYLE = re.compile(r"<style>(.*?)</style>\n?", re.DOTALL)  # texts of authors are escaped: there is one


def drawn(flow: FlowPlan) -> dict[str, Any]:
    """The picture as SVG without its style, and its lines in words."""
    picture = picture_of_flow(flow)
    svg = _STYLE.sub("", draw(picture, "svg"), count=1)
    return {"flow": flow.id, "svg": svg, "words": picture_words(picture).split("\n")}


@cache
def stylesheet() -> str:
    """The style of all pictures, for light and dark."""
    found = _STYLE.search(draw(picture_of_flow(Flow("flow", steps=[Say("say", "Hello")])), "svg"))
    assert found is not None
    return found[1]
