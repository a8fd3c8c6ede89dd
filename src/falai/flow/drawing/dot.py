"""DOT, the language of Graphviz: for those who lay pictures out with its programs.

Ids are our own (`n0`). Labels are quoted strings, in which a quote, a backslash and the beginning of an entity
(`&`) are all that means something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from falai.flow.drawing.lettering import columns, legible, wrapped
from falai.flow.drawing.picture import KINDS, NodeKind, Picture, PictureEdge, PictureNode, kinds_of
from falai.flow.drawing.style import LOOKS, PAPER
from falai.flow.drawing.words import picture_words, visited_words

__all__ = ["dot"]

_SHAPES = {"box": "box", "round": "box", "pill": "box", "hexagon": "hexagon", "bars": "box", "cut": "octagon"}
_STYLES = {"round": "filled,rounded", "pill": "filled,rounded"}
_WIDE, _LINES = 44, 4


def dot(pictures: Sequence[Picture]) -> str:
    """The pictures as one graph; each is a cluster."""
    return "\n".join(_lines(pictures)) + "\n"


def _lines(pictures: Sequence[Picture]) -> Iterator[str]:
    paper = PAPER[0]
    yield "digraph falai {"
    yield f"  graph [rankdir=TB, compound=true, fontname=Helvetica, tooltip={_quoted(_told(pictures))}]"
    yield f'  node [fontname=Helvetica, fontsize=11, fontcolor="{paper.ink}", margin="0.15,0.08"]'
    yield f'  edge [fontname=Helvetica, fontsize=10, color="{paper.line}", fontcolor="{paper.soft}"]'
    nodes = 0
    for number, picture in enumerate(pictures):
        yield f"  subgraph cluster_{number} {{"
        yield f'    graph [label={_quoted(_label(picture.title))}, labeljust=l, color="{paper.line}"]'
        ids = {node.id: f"n{nodes + index}" for index, node in enumerate(picture.nodes)}
        yield from (f"    {ids[node.id]} [{_node(node)}]" for node in picture.nodes)
        yield from (f"    {_edge(edge, ids)}" for edge in picture.edges)
        nodes += len(ids)
        yield "  }"
    yield from _legend(pictures)
    yield "}"


def _node(node: PictureNode) -> str:
    lines = [_label(part) for part in (node.title, node.words, visited_words(node)) if legible(part)]
    state = f', penwidth=4, color="{PAPER[0].lit}"' if node.here else ", penwidth=3" if node.visits else ""
    return f"label={_quoted([line for part in lines for line in part])}, {_look(node.kind)}{state}"


def _edge(edge: PictureEdge, ids: Mapping[str, str]) -> str:
    label = f"label={_quoted(_label(edge.label))}" if legible(edge.label) else ""
    taken = f'penwidth=3, color="{PAPER[0].lit}"' if edge.taken else ""
    given = ", ".join(part for part in (label, taken) if part)
    return f"{ids[edge.source]} -> {ids[edge.target]}{f' [{given}]' if given else ''}"


def _look(kind: NodeKind) -> str:
    look = LOOKS[kind]
    style = _STYLES.get(look.shape, "filled") + (",dashed" if look.dashed else "")
    twice = ", peripheries=2" if look.shape == "bars" else ""
    return f'shape={_SHAPES[look.shape]}, style="{style}", fillcolor="{look.fill[0]}", color="{look.line[0]}"{twice}'


def _legend(pictures: Sequence[Picture]) -> Iterator[str]:
    yield "  subgraph cluster_legend {"
    yield f'    graph [label="What the boxes are", labeljust=l, color="{PAPER[0].line}"]'
    for index, kind in enumerate(kinds_of(pictures)):
        yield f'    k{index} [label="{KINDS[kind]}", {_look(kind)}]'
    yield "  }"


def _told(pictures: Sequence[Picture]) -> list[str]:
    return [legible(line) for picture in pictures for line in picture_words(picture).split("\n")]


def _label(text: str) -> list[str]:
    return wrapped(legible(text), _WIDE, _LINES, columns)


def _quoted(lines: Sequence[str]) -> str:
    r"""A quoted string of lines. A backslash is doubled: `\N` would be the node's name."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in lines)
    text = "\\n".join(escaped)
    return f'"{text}"'
