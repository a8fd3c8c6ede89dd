"""A picture of flows as plain data: what the formats draw, and what a page can draw from by itself.

Nothing here knows a format. Texts are the author's, uncut and unescaped: each format does that in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["KINDS", "EdgeKind", "NodeKind", "Picture", "PictureEdge", "PictureNode", "kinds_of"]

NodeKind = Literal[
    "trigger", "collect", "prompt", "say", "do", "wait", "waitEvent", "if", "flow", "end", "missing"
]  # fmt: skip
EdgeKind = Literal["start", "next", "then", "else", "onFail", "branch", "move", "onEnd"]

KINDS: dict[NodeKind, str] = {
    "trigger": "starts it",
    "collect": "asks",
    "prompt": "talks",
    "say": "says a fixed text",
    "do": "acts",
    "wait": "waits",
    "waitEvent": "waits for an event",
    "if": "decides",
    "flow": "a flow",
    "end": "is over",
    "missing": "does not exist",
}
"""What a node of each kind does, for legends; in the order in which a legend shows them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureNode:
    """A box. `id` is unique in its picture; `words` say what happens there, in plain words.

    `step` is set for a step, `flow` for a step, a trigger and an end (the flow that has them) and for a
    flow itself; a flow that only a conversation names, or that nobody knows, has none. `visits` counts how
    often the run came here, `here` says that it stands here; both are of the run that the picture was made with.
    """

    id: str
    kind: NodeKind
    title: str
    words: str = ""
    flow: str | None = None
    step: str | None = None
    visits: int = 0
    here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureEdge:
    """An arrow between two nodes, by their ids. `label` says when it is taken; `taken` counts how often the run
    took it, as far back as its outcome lines go (50 of them)."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""
    taken: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Nodes in reading order, and the edges between them. `run` says how the run is doing; without a run it is absent."""

    title: str
    description: str = ""
    nodes: tuple[PictureNode, ...]
    edges: tuple[PictureEdge, ...]
    run: str | None = None

    def leaving(self, node: PictureNode) -> Iterator[PictureEdge]:
        """The edges that begin at this node, in order."""
        return (edge for edge in self.edges if edge.source == node.id)

    def node(self, node_id: str) -> PictureNode:
        """The node of that id. Raises KeyError when there is none."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)


def kinds_of(pictures: Iterable[Picture]) -> tuple[NodeKind, ...]:
    """The kinds that occur, in the legend's order."""
    found = {node.kind for picture in pictures for node in picture.nodes}
    return tuple(kind for kind in KINDS if kind in found)
