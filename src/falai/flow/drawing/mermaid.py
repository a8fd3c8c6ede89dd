"""Mermaid: a flowchart as text, for READMEs, wikis and editors that draw it.

Ids are our own (`n0`), so that no word of an author meets the grammar (`end`, `graph`). In labels every ASCII
character that could mean something becomes an entity code; letters of all scripts, and emoji, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from falai.flow.drawing.lettering import columns, legible, wrapped
from falai.flow.drawing.picture import KINDS, NodeKind, Picture, PictureNode, kinds_of
from falai.flow.drawing.style import LOOKS, PAPER
from falai.flow.drawing.words import picture_words, visited_words

__all__ = ["mermaid"]

_SHAPES = {
    "box": ("[", "]"), "round": ("(", ")"), "pill": ("([", "])"), "hexagon": ("{{", "}}"), "bars": ("[[", "]]"),
    "cut": ("[/", "\\]"),
}  # fmt: skip
_MEANS = re.compile(r"[^\w ,.:!?'+()=\-]", re.ASCII)
_LIST = re.compile(r"^(\d+)([.)])|^([-+])")
_WIDE, _LINES = 27, 5  # wider lines are broken again where it is drawn


def mermaid(pictures: Sequence[Picture]) -> str:
    """The pictures as one flowchart; several are subgraphs."""
    return "\n".join(_lines(pictures)) + "\n"


def _lines(pictures: Sequence[Picture]) -> Iterator[str]:
    yield "flowchart TD"
    yield f"  accTitle: {_plain(pictures[0].title) or 'flow'}"
    yield "  accDescr {"
    yield from (f"    {_plain(line)}" for picture in pictures for line in picture_words(picture).split("\n"))
    yield "  }"
    taken: list[int] = []
    edges = nodes = 0
    for number, picture in enumerate(pictures):
        yield f'  subgraph p{number}["{_label(picture.title)}"]'
        yield "    direction TB"  # by itself a subgraph turns its direction
        ids = {node.id: f"n{nodes + index}" for index, node in enumerate(picture.nodes)}
        yield from (f"    {line}" for line in _picture(picture, ids))
        taken += [edges + index for index, edge in enumerate(picture.edges) if edge.taken]
        nodes, edges = nodes + len(ids), edges + len(picture.edges)
        yield "  end"
    yield from _styles(pictures, taken)


def _picture(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    for node in picture.nodes:
        before, behind = _SHAPES[LOOKS[node.kind].shape]
        yield f'{ids[node.id]}{before}"{_node_label(node)}"{behind}:::{_class(node.kind)}'
    for edge in picture.edges:
        label = f'|"{_label(edge.label)}"|' if legible(edge.label) else ""
        yield f"{ids[edge.source]} -->{label} {ids[edge.target]}"
    for state, nodes in (
        ("visited", [n for n in picture.nodes if n.visits]),
        ("here", [n for n in picture.nodes if n.here]),
    ):
        if nodes:
            yield f"class {','.join(ids[node.id] for node in nodes)} {state}"


def _class(kind: NodeKind) -> str:
    """A class of our own: `end` is a word of the grammar."""
    return f"{kind}Box"


def _styles(pictures: Sequence[Picture], taken: Sequence[int]) -> Iterator[str]:
    kinds = kinds_of(pictures)
    yield '  subgraph legend["What the boxes are"]'
    yield "    direction TB"
    for index, kind in enumerate(kinds):
        before, behind = _SHAPES[LOOKS[kind].shape]
        yield f'    k{index}{before}"{KINDS[kind]}"{behind}:::{_class(kind)}'
    yield "  end"
    paper = PAPER[0]
    for kind in kinds:
        look = LOOKS[kind]
        dashed = ",stroke-dasharray:5 3" if look.dashed else ""
        yield f"  classDef {_class(kind)} fill:{look.fill[0]},stroke:{look.line[0]},color:{paper.ink}{dashed}"
    if any(picture.run is not None for picture in pictures):
        yield "  classDef visited stroke-width:3px"
        yield f"  classDef here stroke:{paper.lit},stroke-width:5px"
    if taken:
        yield f"  linkStyle {','.join(map(str, taken))} stroke:{paper.lit},stroke-width:3px"


def _node_label(node: PictureNode) -> str:
    parts = [node.title, node.words, f"({visited_words(node)})" if visited_words(node) else ""]
    return "<br/>".join(_label(part) for part in parts if legible(part)) or _label("")


def _label(text: str) -> str:
    lines = wrapped(legible(text), _WIDE, _LINES, columns)
    return "<br/>".join(_escaped(line) for line in lines) or "#160;"


def _escaped(line: str) -> str:
    """A line of a label. What looks like the mark of a list would be taken for Markdown."""
    marked = _LIST.match(line)
    head = "" if marked is None else (marked[1] or "") + f"#{ord(marked[2] or marked[3])};"
    return head + _MEANS.sub(_code, line[len(marked[0]) if marked else 0 :])


def _code(match: re.Match[str]) -> str:
    char = match[0]
    return f"#{ord(char)};" if char.isascii() else char


def _plain(text: str) -> str:
    """Text in the two places that know no codes: what means something there becomes a blank."""
    return legible("".join(" " if char.isascii() and _MEANS.match(char) else char for char in legible(text)))
