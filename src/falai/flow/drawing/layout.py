"""Where everything is: boxes, arrows and labels in units of the drawing, from the order of their rows.

Boxes never overlap, arrows begin and end at the edge of their boxes and pass between the others, labels have
room of their own. Parts that do not hang together are laid out apart and put side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from falai.flow.drawing.layers import Arrow, Rows, Size, components, rows_of

__all__ = ["Box", "Layout", "Route", "lay_out"]

Point = tuple[float, float]

_BESIDE = 26.0
"""Between two boxes of a row; half of that between arrows."""
_LEAST, _MOST = 15.0, 44.0
"""Between two rows: an arrow needs it to turn, and one that goes far aside needs more."""
_APART = 44.0
_SWEEPS, _ONE_SIDED = 44, 20
_PORT = 22.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def right(self) -> float:
        return self.x + self.width

    def moved(self, x: float, y: float) -> Box:
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Route:
    """The way of an arrow, from its source to its target: points in pairs, the two ends of a vertical piece each.

    Between two pieces the arrow bends. `label` is the room for its label, `back` says that it leads upwards, `up`
    that its last piece does (as that of an arrow to its own box).
    """

    points: tuple[Point, ...]
    label: Box
    back: bool
    up: bool

    def moved(self, x: float, y: float) -> Route:
        points = tuple((px + x, py + y) for px, py in self.points)
        return replace(self, points=points, label=self.label.moved(x, y))


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes by their name; routes in the order of the arrows."""

    boxes: Mapping[str, Box]
    routes: tuple[Route, ...]
    width: float
    height: float


def lay_out(boxes: Mapping[str, Size], arrows: Sequence[Arrow], widest: float = 1000.0) -> Layout:
    """A layered drawing, from above to below. `widest` is how far parts are put side by side."""
    placed: dict[str, Box] = {}
    routes: dict[int, Route] = {}
    x = y = width = height = 0.0
    for part in components(list(boxes), arrows):
        mine = [index for index, arrow in enumerate(arrows) if arrow.source in part]
        one = _part({box: boxes[box] for box in part}, [arrows[index] for index in mine])
        if x and x + one.width > widest:
            x, y = 0.0, height + _APART
        placed |= {box: where.moved(x, y) for box, where in one.boxes.items()}
        routes |= {index: route.moved(x, y) for index, route in zip(mine, one.routes, strict=True)}
        width, height = max(width, x + one.width), max(height, y + one.height)
        x += one.width + _APART
    return Layout(placed, tuple(routes[index] for index in range(len(arrows))), width, height)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A part whose places are fixed, while its arrows are drawn."""

    rows: Rows
    middles: dict[int, float]
    tops: Sequence[float]
    bottoms: Sequence[float]
    where: Mapping[int, Box]
    ports: Mapping[tuple[int, int], float]


def _part(boxes: Mapping[str, Size], arrows: Sequence[Arrow]) -> Layout:
    rows = rows_of(boxes, arrows)
    middles = _columns(rows)
    left = min(middles[place] - width / 2 for place, (width, _) in enumerate(rows.sizes))
    middles = {place: x - left for place, x in middles.items()}
    tops, bottoms = _lines(rows, middles)
    where = {place: _box(rows, place, middles[place], tops) for place in rows.row_of}
    drawn = _Drawn(rows, middles, tops, bottoms, where, _ports(rows, where))
    routes = tuple(_route(drawn, index) for index in range(len(arrows)))
    named = {box: where[place] for place, box in enumerate(boxes)}
    return Layout(named, routes, max(box.right for box in where.values()), bottoms[-1])


# --- from left to right ------------------------------------------------------------------------


def _columns(rows: Rows) -> dict[int, float]:
    """The middle of each place: as near to its neighbours' as the order and the room of its row allow."""
    at: dict[int, float] = {}
    for row in rows.rows:
        at |= dict(zip(row, _spread(rows, row, [(0.0, 1.0)] * len(row)), strict=True))
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for index in range(len(rows.rows)) if down else reversed(range(len(rows.rows))):
            row = rows.rows[index]
            beside = None if sweep >= _ONE_SIDED else index + (-1 if down else 1)
            wished = [_wish(rows, place, at, beside) for place in row]
            at |= dict(zip(row, _spread(rows, row, wished), strict=True))
    for chain in rows.chains:
        at |= _straightened(rows, chain[1:-1], at)
    return at


def _straightened(rows: Rows, places: Sequence[int], at: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """The places of an arrow between its boxes, below each other for as far as the other places leave room."""
    run: list[int] = []
    low, high = -math.inf, math.inf
    for place in places:
        left, right = _room(rows, place, at)
        if max(low, left) > min(high, right):
            yield from _aligned(run, at, low, high)
            run, low, high = [], -math.inf, math.inf
        run.append(place)
        low, high = max(low, left), min(high, right)
    yield from _aligned(run, at, low, high)


def _aligned(run: Sequence[int], at: Mapping[int, float], low: float, high: float) -> Iterator[tuple[int, float]]:
    if run:
        wished = sum(at[place] for place in run) / len(run)
        yield from ((place, min(max(wished, low), high)) for place in run)


def _room(rows: Rows, place: int, at: Mapping[int, float]) -> tuple[float, float]:
    """How far to the left and to the right a place can go while the others of its row stay."""
    row = rows.rows[rows.row_of[place]]
    position = row.index(place)
    left = [at[one] + _distance(rows.sizes[one], rows.sizes[place]) for one in row[max(position - 1, 0) : position]]
    right = [at[one] - _distance(rows.sizes[place], rows.sizes[one]) for one in row[position + 1 : position + 2]]
    return max(left, default=-math.inf), min(right, default=math.inf)


def _wish(rows: Rows, place: int, at: Mapping[int, float], beside: int | None) -> tuple[float, float]:
    """Where a place would like to be, and how much; the neighbours on one side, or on both."""
    near = rows.links[place] if beside is None else list(rows.neighbours(place, beside))
    weight = sum(one for _, one in near)
    return (sum(at[other] * one for other, one in near) / weight, weight) if weight else (at[place], 0.1)


def _spread(rows: Rows, row: Sequence[int], wished: Sequence[tuple[float, float]]) -> list[float]:
    """The middles nearest to the wishes (least squares) that keep order and distance.

    Without the distances this is the regression to a rising line: neighbours whose wishes are in the wrong order
    are taken together, at the mean of what they wish.
    """
    offsets = [0.0]
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + _distance(rows.sizes[one], rows.sizes[other]))
    blocks: list[tuple[float, float, int]] = []  # where, how much, how many
    for (wish, weight), offset in zip(wished, offsets, strict=True):
        blocks.append((wish - offset, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (at, much, many), (before, more, others) = blocks.pop(), blocks.pop()
            blocks.append(((at * much + before * more) / (much + more), much + more, many + others))
    flat = [at for at, _, many in blocks for _ in range(many)]
    return [at + offset for at, offset in zip(flat, offsets, strict=True)]


def _distance(one: Size, other: Size) -> float:
    """Between the middles of two places of a row."""
    gap = _BESIDE if one[1] and other[1] else _BESIDE / 2
    return (one[0] + other[0]) / 2 + gap


# --- from above to below -----------------------------------------------------------------------


def _lines(rows: Rows, middles: Mapping[int, float]) -> tuple[list[float], list[float]]:
    """The upper and the lower edge of each row."""
    tops: list[float] = []
    bottoms: list[float] = []
    for index, row in enumerate(rows.rows):
        aside = [abs(middles[a] - middles[b]) for a in row for b, _ in rows.neighbours(a, index - 1)]
        gap = min(_LEAST + 0.15 * max(aside, default=0.0), _MOST)
        tops.append(bottoms[-1] + gap if bottoms else 0.0)
        bottoms.append(tops[-1] + max(rows.sizes[place][1] for place in row))
    return tops, bottoms


def _box(rows: Rows, place: int, middle: float, tops: Sequence[float]) -> Box:
    width, height = rows.sizes[place]
    return Box(middle - width / 2, tops[rows.row_of[place]], width, height)


# --- arrows ------------------------------------------------------------------------------------


def _ports(rows: Rows, where: Mapping[int, Box]) -> dict[tuple[int, int], float]:
    """Where each arrow leaves its boxes: by number of the arrow and end of its chain (0 above, 1 below).

    The arrows of one side of a box stand side by side in the order of what they lead to.
    """
    sides: dict[tuple[int, bool], list[tuple[float, tuple[int, int]]]] = {}
    for index, chain in enumerate(rows.chains):
        loop = chain[0] == chain[-1]
        sides.setdefault((chain[0], False), []).append((where[chain[1]].middle, (index, 0)))
        sides.setdefault((chain[-1], not loop), []).append(
            (where[chain[-2]].middle + (0.1 if loop else 0.0), (index, 1))
        )
    found: dict[tuple[int, int], float] = {}
    for (place, _), ends in sides.items():
        box = where[place]
        step = min(_PORT, box.width * 0.6 / len(ends))
        for position, (_, end) in enumerate(sorted(ends)):
            found[end] = box.middle + (position - (len(ends) - 1) / 2) * step
    return found


def _route(drawn: _Drawn, index: int) -> Route:
    rows, chain = drawn.rows, drawn.rows.chains[index]
    first, last = drawn.where[chain[0]], drawn.where[chain[-1]]
    start, end = drawn.ports[index, 0], drawn.ports[index, 1]
    below = drawn.bottoms[rows.row_of[chain[0]]]
    points = [(start, first.bottom), (start, below)]
    if chain[0] == chain[-1]:
        points += [*_loop(drawn.where[chain[1]]), (end, below), (end, last.bottom)]
    else:
        points += [point for place, x in _lined_up(drawn, index) for point in _through(drawn, place, x)]
        points += [(end, drawn.tops[rows.row_of[chain[-1]]]), (end, last.y)]
    back = rows.turned[index]
    label = drawn.where[rows.label_at[index]]
    return Route(tuple(reversed(points)) if back else tuple(points), label, back, back or chain[0] == chain[-1])


def _through(drawn: _Drawn, place: int, x: float) -> tuple[Point, Point]:
    row = drawn.rows.row_of[place]
    return (x, drawn.tops[row]), (x, drawn.bottoms[row])


def _loop(room: Box) -> list[Point]:
    """Into the room of the label and back."""
    aside, deep = min(room.width / 2 - 6, 14.0), room.y + room.height / 2
    return [(room.middle + x, y) for x, y in ((-aside, room.y), (-aside, deep), (aside, deep), (aside, room.y))]


def _lined_up(drawn: _Drawn, index: int) -> list[tuple[int, float]]:
    """Where an arrow goes through its places: straight to an end of it, if there is room; else in their middle."""
    chain = drawn.rows.chains[index]
    spans = [_span(drawn, place) for place in chain[1:-1]]
    low, high = max(left for left, _ in spans), min(right for _, right in spans)
    x = next((drawn.ports[index, end] for end in (1, 0) if low <= drawn.ports[index, end] <= high), None)
    if x is None:
        return [(place, drawn.middles[place]) for place in chain[1:-1]]
    drawn.middles.update({place: x for place in chain[1:-1] if not drawn.rows.sizes[place][1]})
    return [(place, x) for place in chain[1:-1]]


def _span(drawn: _Drawn, place: int) -> tuple[float, float]:
    """How far aside an arrow may go through its place: in its label, or as far as its neighbours leave room."""
    width, height = drawn.rows.sizes[place]
    if height:
        return drawn.middles[place] - width / 2 + 6, drawn.middles[place] + width / 2 - 6
    return _room(drawn.rows, place, drawn.middles)
