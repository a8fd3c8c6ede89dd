"""SVG: drawn from the layout, in one piece, without scripts and without anything from elsewhere.

Light or dark is the viewer's choice (`prefers-color-scheme`). Every node is a group with an `id`, its `data-kind`
and, for a step, `data-flow` and `data-step`, so that a page can make it say or do something. Texts of authors are
escaped, and cut to their room; the whole text is in the node's `<title>`, and the picture in words in `<desc>`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape

from falai.flow.drawing.layers import Arrow, Size
from falai.flow.drawing.layout import Box, Layout, Route, lay_out
from falai.flow.drawing.lettering import cut, legible, speakable, text_width, wrapped
from falai.flow.drawing.picture import KINDS, NodeKind, Picture, PictureEdge, PictureNode, kinds_of
from falai.flow.drawing.shapes import arrow_head, arrow_path, shape_path
from falai.flow.drawing.style import LOOKS, PAPER
from falai.flow.drawing.words import picture_words, visited_words

__all__ = ["svg"]

_MARGIN = 24.0
_TITLE, _BODY, _SMALL = 13.0, 12.0, 11.0
_LINE = 15.0
_INSIDE = 172.0
_LABEL = 132.0
_TEXT_LINES, _TRIGGER_LINES = 3, 5
_NARROWEST, _WIDEST = 460.0, 1000.0
_STRAIGHT = {"next": 8.0, "then": 5.0, "start": 4.0}

_body = partial(text_width, size=_BODY)
_bold = partial(text_width, size=_TITLE * 1.06)
_heading = partial(text_width, size=18 * 1.06)
_small = partial(text_width, size=_SMALL)


def svg(pictures: Sequence[Picture]) -> str:
    """The pictures as one document: in rows, the legend below."""
    panels = [_Panel(picture, f"p{number}-" if len(pictures) > 1 else "") for number, picture in enumerate(pictures)]
    places, width, height = _in_rows(panels)
    drawn = [_at(x, y, panel.text()) for (x, y), panel in zip(places, panels, strict=True)]
    legend, legend_height = _legend(kinds_of(pictures), width)
    drawn.append(_at(0, height, legend))
    return _document(pictures, drawn, width + 2 * _MARGIN, height + legend_height + 2 * _MARGIN)


def _in_rows(panels: Sequence[_Panel]) -> tuple[list[tuple[float, float]], float, float]:
    """Where each panel is, and the width and height of them all."""
    widest = max(_WIDEST, *(panel.width for panel in panels))
    places: list[tuple[float, float]] = []
    x = y = width = height = 0.0
    for panel in panels:
        if x and x + panel.width > widest:
            x, y = 0.0, height
        places.append((x, y))
        width, height = max(width, x + panel.width), max(height, y + panel.height + 2 * _MARGIN)
        x += panel.width + 2 * _MARGIN
    return places, max(width, _NARROWEST), height


def _at(x: float, y: float, drawn: str) -> str:
    return f'<g transform="translate({_MARGIN + x:.1f} {_MARGIN + y:.1f})">{drawn}</g>'


def _document(pictures: Sequence[Picture], panels: Sequence[str], width: float, height: float) -> str:
    title = _text(", ".join(picture.title for picture in pictures[:1]))
    words = "\n\n".join("\n".join(map(_text, picture_words(picture).split("\n"))) for picture in pictures)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="falai-picture" role="graphics-document document">\n'
        f"<title>{title}</title>\n<desc>{words}</desc>\n<style>{_css()}</style>\n"
        f'<rect class="paper" width="100%" height="100%"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


# --- one picture -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lettered:
    """What is written in a node, and the room that the node takes."""

    title: tuple[str, ...]
    lines: tuple[str, ...]
    size: Size


class _Panel:
    """One picture: heading, arrows, labels, nodes. `width` and `height` are what it takes."""

    def __init__(self, picture: Picture, prefix: str) -> None:
        self._picture = picture
        self._prefix = prefix
        self._lettered = {node.id: _letter(node) for node in picture.nodes}
        self._labels = [_label_lines(edge) for edge in picture.edges]
        arrows = [
            Arrow(
                source=edge.source, target=edge.target, label=_label_size(label), straight=_STRAIGHT.get(edge.kind, 1.0)
            )
            for edge, label in zip(picture.edges, self._labels, strict=True)
        ]
        self._layout: Layout = lay_out({node_id: one.size for node_id, one in self._lettered.items()}, arrows)
        self._heading = self._head_lines()
        self._top = 26.0 + _LINE * (len(self._heading) - 1) + 14
        self.width = max(self._layout.width, _heading(self._heading[0]), *map(_body, self._heading[1:]))
        self.height = self._top + self._layout.height

    def text(self) -> str:
        return "\n".join(self._parts())

    def _head_lines(self) -> list[str]:
        picture = self._picture
        room = max(self._layout.width, _NARROWEST)
        said = legible(picture.description)
        lines = [cut(legible(picture.title), room, _heading), *wrapped(said, room, 2, _body)]
        return lines if picture.run is None else [*lines, cut(legible(f"The run: {picture.run}."), room, _body)]

    def _parts(self) -> Iterator[str]:
        first, *rest = self._heading
        yield f'<text class="heading" y="16">{_text(first)}</text>'
        for number, line in enumerate(rest, 1):
            yield f'<text class="about" y="{18 + _LINE * number:g}">{_text(line)}</text>'
        yield f'<g transform="translate(0 {self._top:g})">'
        for edge, route in zip(self._picture.edges, self._layout.routes, strict=True):
            yield self._arrow(edge, route)
        for edge, route, lines in zip(self._picture.edges, self._layout.routes, self._labels, strict=True):
            yield from _label(edge, route.label, lines)
        for node in self._picture.nodes:
            yield self._node(node)
        yield "</g>"

    def _arrow(self, edge: PictureEdge, route: Route) -> str:
        marks = [f"edge {edge.kind}", "back" if route.back else "", "taken" if edge.taken else self._unlit()]
        names = " ".join(mark for mark in marks if mark)
        ends = f'data-source="{self._id(edge.source)}" data-target="{self._id(edge.target)}"'
        return (
            f'<g class="{names}" {ends}><path class="line" d="{arrow_path(route)}"/>'
            f'<path class="head" d="{arrow_head(route)}"/></g>'
        )

    def _node(self, node: PictureNode) -> str:
        box, lettered = self._layout.boxes[node.id], self._lettered[node.id]
        lit = "here" if node.here else "visited" if node.visits else self._unlit()
        given = (("flow", node.flow), ("step", node.step))
        where = "".join(f' data-{name}="{_value(value)}"' for name, value in given if value is not None)
        return (
            f'<g id="{self._id(node.id)}" class="node {node.kind} {lit}" data-kind="{node.kind}"{where} '
            f'role="graphics-symbol img"><title>{_text(_told(node))}</title>'
            f'<path class="shape" d="{shape_path(LOOKS[node.kind].shape, box)}"/>'
            f"{''.join(_written(box, lettered))}{_badge(node, box)}</g>"
        )

    def _unlit(self) -> str:
        return "unlit" if self._picture.run is not None else ""

    def _id(self, node_id: str) -> str:
        return f"{self._prefix}{_safe_id(node_id)}"


def _letter(node: PictureNode) -> _Lettered:
    title = wrapped(legible(node.title), _INSIDE, 2, _bold)
    most = _TRIGGER_LINES if node.kind == "trigger" else _TEXT_LINES
    lines = wrapped(legible(node.words), _INSIDE, most, _body)
    widest = max([*map(_bold, title), *map(_body, lines), 22.0])
    return _Lettered(tuple(title), tuple(lines), (widest + 2 * _PAD[node.kind], _written_height(title, lines) + 16))


def _written_height(title: Sequence[str], lines: Sequence[str]) -> float:
    return _LINE * (len(title) + len(lines)) + (3 if title and lines else 0)


_PAD: Mapping[NodeKind, float] = {
    kind: {"pill": 16.0, "hexagon": 20.0, "bars": 17.0}.get(look.shape, 14.0) for kind, look in LOOKS.items()
}


def _written(box: Box, lettered: _Lettered) -> Iterator[str]:
    y = box.y + (box.height - _written_height(lettered.title, lettered.lines)) / 2 + 11.5
    for line in lettered.title:
        yield f'<text class="name" x="{box.middle:.1f}" y="{y:.1f}">{_text(line)}</text>'
        y += _LINE
    y += 3 if lettered.title else 0
    for line in lettered.lines:
        yield f'<text class="words" x="{box.middle:.1f}" y="{y:.1f}">{_text(line)}</text>'
        y += _LINE


def _badge(node: PictureNode, box: Box) -> str:
    """How often the run came here, on the upper right corner; a mark where it stands."""
    text = f"{'▶ ' if node.here else ''}{node.visits}\N{MULTIPLICATION SIGN}"
    if not node.visits and not node.here:
        return ""
    width = _small(text) + 10
    x, y = box.right - width + 6, box.y - 9
    return (
        f'<rect class="badge" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="17" rx="8.5"/>'
        f'<text class="count" x="{x + width / 2:.1f}" y="{y + 12.5:.1f}">{text}</text>'
    )


def _told(node: PictureNode) -> str:
    return ". ".join(legible(part) for part in (node.title, node.words, visited_words(node)) if part)


# --- labels ------------------------------------------------------------------------------------


def _label_lines(edge: PictureEdge) -> list[str]:
    return wrapped(legible(edge.label), _LABEL, 3, _small)


def _label_size(lines: Sequence[str]) -> Size:
    return (max(map(_small, lines)) + 8, _LINE * len(lines)) if lines else (0.0, 0.0)


def _label(edge: PictureEdge, room: Box, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield f'<g class="label{" taken" if edge.taken else ""}"><title>{_text(legible(edge.label))}</title>'
    yield f'<rect x="{room.x:.1f}" y="{room.y:.1f}" width="{room.width:.1f}" height="{room.height:.1f}" rx="3"/>'
    for number, line in enumerate(lines):
        yield f'<text x="{room.middle:.1f}" y="{room.y + 11.5 + number * _LINE:.1f}">{_text(line)}</text>'
    yield "</g>"


# --- the rest ----------------------------------------------------------------------------------


def _legend(kinds: Sequence[NodeKind], width: float) -> tuple[str, float]:
    """A sample of each kind, with its word; and the height that they take."""
    parts: list[str] = []
    x = y = 0.0
    for kind in kinds:
        room = 34 + 7 + _small(KINDS[kind]) + 20
        if x and x + room > width:
            x, y = 0.0, y + 26
        sample = shape_path(LOOKS[kind].shape, Box(x, y, 34, 18))
        parts.append(
            f'<g class="node {kind}"><path class="shape" d="{sample}"/></g>'
            f'<text class="key" x="{x + 41:.1f}" y="{y + 13:.1f}">{_text(KINDS[kind])}</text>'
        )
        x += room
    return f'<g class="legend">{"".join(parts)}</g>', y + 18


def _css() -> str:
    font = "font-family:Helvetica,Arial,'Liberation Sans',Roboto,sans-serif"
    common = (
        f".falai-picture text{{{font};font-size:{_BODY:g}px;text-anchor:middle}}"
        ".falai-picture .heading{font-size:18px;font-weight:600;text-anchor:start}"
        ".falai-picture .about,.falai-picture .key{text-anchor:start}"
        f".falai-picture .key,.falai-picture .label text,.falai-picture .count{{font-size:{_SMALL:g}px}}"
        f".falai-picture .name{{font-size:{_TITLE:g}px;font-weight:600}}"
        ".falai-picture .shape{stroke-width:1.3}"
        ".falai-picture .missing .shape,.falai-picture .back .line{stroke-dasharray:5 3}"
        ".falai-picture .line{fill:none;stroke-width:1.4}"
        ".falai-picture .taken .line{stroke-width:3}"
        ".falai-picture .label.taken text,.falai-picture .count{font-weight:600}"
        ".falai-picture .visited .shape{stroke-width:2.6}"
        ".falai-picture .here .shape{stroke-width:4}"
        ".falai-picture .node.unlit,.falai-picture .edge.unlit{opacity:.55}"
    )
    light, dark = (_colours(index) for index in (0, 1))
    return f"{common}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _colours(index: int) -> str:
    paper = PAPER[index]
    rules = {
        ".paper,.label rect": f"fill:{paper.back}",
        "text": f"fill:{paper.ink}",
        ".about,.key,.label text": f"fill:{paper.soft}",
        ".line": f"stroke:{paper.line}",
        ".head": f"fill:{paper.line}",
        ".taken .line": f"stroke:{paper.lit}",
        ".taken .head,.badge": f"fill:{paper.lit}",
        ".label.taken text": f"fill:{paper.lit}",
        ".count": f"fill:{paper.back}",
    }
    rules |= {f".{kind} .shape": f"fill:{look.fill[index]};stroke:{look.line[index]}" for kind, look in LOOKS.items()}
    rules[".here .shape"] = f"stroke:{paper.lit}"
    return "".join(
        f"{','.join(f'.falai-picture {one}' for one in names.split(','))}{{{rule}}}" for names, rule in rules.items()
    )


def _text(text: str) -> str:
    """Author's text in XML."""
    return escape(legible(text))


def _value(text: str) -> str:
    """Author's text in an attribute that programs read: blanks and line breaks stay."""
    return "".join(f"&#{ord(char)};" if char in "\t\n\r" else escape(char) for char in speakable(text))


def _safe_id(text: str) -> str:
    """An id for XML and for selectors of CSS; two texts never give the same."""
    return "n-" + "".join(
        char if char.isascii() and (char.isalnum() or char == "-") else f"_{ord(char):x}_" for char in text
    )
