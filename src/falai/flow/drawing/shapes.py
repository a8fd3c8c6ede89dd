"""Outlines of nodes and lines of arrows, as SVG path data. Where an arrow ends at an outline, the outline is its box."""

from __future__ import annotations

from falai.flow.drawing.layout import Box, Route
from falai.flow.drawing.style import Shape

__all__ = ["arrow_head", "arrow_path", "shape_path"]

_CORNER = {"box": 2.0, "round": 10.0, "pill": 15.0, "bars": 2.0}
_HEAD = 7.0


def shape_path(shape: Shape, box: Box) -> str:
    """The outline; inside its box, and touching it in the middle of each side."""
    x, y, right, bottom = box.x, box.y, box.right, box.bottom
    if shape in ("hexagon", "cut"):
        inset = min(13.0, box.height / 2) if shape == "hexagon" else 9.0
        slope = box.height / 2 if shape == "hexagon" else 9.0
        return (
            f"M{x:.1f} {y + slope:.1f}L{x + inset:.1f} {y:.1f}H{right - inset:.1f}L{right:.1f} {y + slope:.1f}"
            f"V{bottom - slope:.1f}L{right - inset:.1f} {bottom:.1f}H{x + inset:.1f}L{x:.1f} {bottom - slope:.1f}Z"
        )
    corner = min(_CORNER[shape], box.height / 2)
    outline = _rounded(box, corner)
    if shape == "bars":
        outline += f"M{x + 6:.1f} {y:.1f}V{bottom:.1f}M{right - 6:.1f} {y:.1f}V{bottom:.1f}"
    return outline


def arrow_path(route: Route) -> str:
    """Straight between the two points of a pair, bent between two pairs; it stops where the head begins."""
    tip_x, tip_y = route.points[-1]
    before_x, before_y = route.points[-2]
    neck = tip_y + (_HEAD if route.up else -_HEAD)
    bend = max(before_y, neck) if route.up else min(before_y, neck)
    x, y = route.points[0]
    drawn = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in [*route.points[1:-2], (before_x, bend), (tip_x, neck)]:
        middle = (y + to_y) / 2
        bent = abs(to_x - x) >= 0.05
        drawn += f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} " if bent else "L"
        drawn += f"{to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    return drawn


def arrow_head(route: Route) -> str:
    """The tip is the last point; the last piece is vertical."""
    x, y = route.points[-1]
    return f"M{x:.1f} {y:.1f}l-4.2 {_HEAD if route.up else -_HEAD:.1f}h8.4Z"


def _rounded(box: Box, corner: float) -> str:
    across, down = box.width - 2 * corner, box.height - 2 * corner
    arc = f"a{corner:g} {corner:g} 0 0 1"
    return (
        f"M{box.x + corner:.1f} {box.y:.1f}h{across:.1f}{arc} {corner:g} {corner:g}v{down:.1f}{arc} -{corner:g} {corner:g}"
        f"h-{across:.1f}{arc} -{corner:g} -{corner:g}v-{down:.1f}{arc} {corner:g} -{corner:g}Z"
    )
