"""A drawing for the terminal: steps in their order, one below the other, and every way out under its step.

A way that goes on to the next step is a line down; any other names where it leads, with ↑ when that is above.
So a cycle is as easy to follow as the rest, and the drawing is as long as the flow and no wider than the terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from falai.flow.drawing.lettering import columns, cut, legible, wrapped
from falai.flow.drawing.picture import Picture, PictureEdge, PictureNode
from falai.flow.drawing.words import visited_words

__all__ = ["text"]

_BRACKETS = {"trigger": ("(", ")"), "if": ("<", ">")}
_HERE, _SEEN = "▶", "●"


def text(pictures: Sequence[Picture], width: int = 100) -> str:
    """The pictures below each other, no line wider than `width` columns."""
    lines = [line for picture in pictures for line in (*_Sheet(picture, width).lines(), "")]
    return "\n".join(lines[:-1]) + "\n"


class _Sheet:
    """One picture. Ends and chained flows, which nothing leaves, are named where they are reached."""

    def __init__(self, picture: Picture, width: int) -> None:
        self._picture = picture
        self._width = width
        self._margin = "  " if picture.run is not None else ""
        self._nodes = {node.id: node for node in picture.nodes}
        below = {edge.target for edge in picture.edges if self._nodes[edge.source].step is not None}
        self._rows = [node for node in picture.nodes if node.step is not None or self._has_row(node, below)]
        self._at = {node.id: index for index, node in enumerate(self._rows)}

    def lines(self) -> Iterator[str]:
        yield from (cut(line, self._width, columns) for line in self._all())

    def _has_row(self, node: PictureNode, below: set[str]) -> bool:
        """Whether a node that is no step has a row: a trigger, and what no step leads to (a flow of a map)."""
        return node.kind != "end" and node.id not in below

    def _all(self) -> Iterator[str]:
        picture = self._picture
        yield legible(picture.title)
        yield from wrapped(legible(picture.description), self._width, 4, columns)
        if picture.run is not None:
            yield f"The run: {legible(picture.run)}. {_SEEN} visited, {_HERE} it stands here."
        yield ""
        for index, node in enumerate(self._rows):
            yield self._row(node)
            yield from self._ways(index, list(picture.leaving(node)))

    def _row(self, node: PictureNode) -> str:
        mark = _HERE if node.here else _SEEN if node.visits else " "
        name, words = legible(node.title), legible(node.words)
        before, behind = _BRACKETS.get(node.kind, ("[", "]"))
        named = f"{before}{name or words}{behind}"
        seen = f"  ({visited_words(node)})" if node.step is not None and visited_words(node) else ""
        return f"{f'{mark} ' if self._margin else ''}{named} {words if name else ''}".rstrip() + seen

    def _ways(self, index: int, edges: Sequence[PictureEdge]) -> Iterator[str]:
        """The ways that lead elsewhere, then the one that goes on below."""
        on = next((edge for edge in edges if self._at.get(edge.target) == index + 1), None)
        others = [edge for edge in edges if edge is not on]
        for edge in others:
            corner = "└" if on is None and edge is others[-1] else "├"
            yield self._way(f"{self._margin}{corner}─", edge, index)
        if on is not None:
            yield f"{self._margin}{'┃' if on.taken else '│'} {self._label(on)}".rstrip()
            yield f"{self._margin}▼"
        elif index + 1 < len(self._rows):
            yield ""

    def _way(self, corner: str, edge: PictureEdge, index: int) -> str:
        """A way and where it leads. Each has half of the line, and what the other leaves of its own."""
        said = self._label(edge)
        room = self._width - columns(f"{corner}──▶ ")
        goal = self._goal(edge, index, max(room // 2, room - columns(said) - 2))
        said = cut(said, room - columns(goal) - 2, columns)
        return f"{corner}{f' {said} ' if said else ''}──▶ {goal}"

    def _label(self, edge: PictureEdge) -> str:
        taken = f"({edge.taken}\N{MULTIPLICATION SIGN})" if edge.taken else ""
        return f"{legible(edge.label)} {taken}".strip()

    def _goal(self, edge: PictureEdge, index: int, room: int) -> str:
        node = self._nodes[edge.target]
        name = legible(node.title or node.words)
        if edge.target in self._at:
            return f"{cut(name, room - 2, columns)} {'↑' if self._at[edge.target] <= index else '↓'}"
        if node.kind == "flow":
            return cut(f"flow {name}{f' ({legible(node.words)})' if node.words else ''}", room, columns)
        back = next(self._picture.leaving(node), None)
        goes_on = f", at {legible(self._nodes[back.target].title)}" if back else ""
        return cut(f"{name}{goes_on}" if node.kind != "missing" else f"{name}, which does not exist", room, columns)
