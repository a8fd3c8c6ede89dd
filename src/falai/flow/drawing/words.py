"""A picture in sentences, for those who cannot see it: screen readers, and the descriptions of the formats."""

from __future__ import annotations

from collections.abc import Iterator

from falai.flow.drawing.picture import Picture, PictureEdge, PictureNode

__all__ = ["name_of", "picture_words", "visited_words"]


def picture_words(picture: Picture) -> str:
    """Every node and every way out of it, a line each, in reading order."""
    return "\n".join(_lines(picture))


def name_of(node: PictureNode) -> str:
    """How the node is called in a sentence."""
    if node.kind == "missing":
        return f"{node.title}, which does not exist"
    return node.title or node.words


def visited_words(node: PictureNode) -> str:
    """What the run has to do with the node; nothing, if it never came here."""
    times = {0: "", 1: "visited once"}.get(node.visits, f"visited {node.visits} times")
    return ", ".join(part for part in (times, "it stands here" if node.here else "") if part)


def _lines(picture: Picture) -> Iterator[str]:
    yield f"{picture.title}. {picture.description}".strip()
    if picture.run is not None:
        yield f"The run: {picture.run}."
    for node in picture.nodes:
        ways = [_way(picture, edge) for edge in picture.leaving(node)]
        if ways or node.step is not None:
            what = ": ".join(part for part in (node.title, node.words) if part)
            seen = f" ({visited_words(node)})" if visited_words(node) else ""
            yield f"{what}{seen}. {' '.join(ways)}".strip()


def _way(picture: Picture, edge: PictureEdge) -> str:
    to = name_of(picture.node(edge.target))
    return f"{edge.label}: to {to}." if edge.label else f"Then to {to}."
