"""The order of a layered drawing: which row each box is in, and where in its row (after Sugiyama).

Rows come from the longest path, with the arrows that close a cycle turned round for as long as that takes.
An arrow goes through every row between its ends by a place of its own, so that it never crosses a box;
between two rows of boxes there is one for labels, so that no label covers anything. In which order the places
of a row stand is decided by sweeps over their neighbours' middle, and the order with the fewest crossings wins.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

__all__ = ["Arrow", "Rows", "Size", "components", "rows_of"]

Size = tuple[float, float]
"""Width and height."""

_SWEEPS = 16
_LOOP = (30.0, 12.0)
"""What an arrow to its own box needs to turn round."""
_STRAIGHT = 8.0
"""How much straighter an arrow should be below its first piece: it bends once, above, and its label is near its goal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An arrow to be drawn. `label` is the room that its label takes; `straight` how much it should be straight."""

    source: str
    target: str
    label: Size = (0.0, 0.0)
    straight: float = 1.0


@dataclass
class Rows:
    """Places by number: boxes first, then what arrows need. `rows` has them in order, from above."""

    sizes: list[Size] = field(default_factory=list[Size])
    rows: list[list[int]] = field(default_factory=list[list[int]])
    chains: list[list[int]] = field(default_factory=list[list[int]])
    """For each arrow its places from the box above to the one below; from a box to itself in an arrow to itself."""
    turned: list[bool] = field(default_factory=list[bool])
    """Whether the arrow points up: its source is the last place of its chain."""
    label_at: list[int] = field(default_factory=list[int])
    """For each arrow the place that has its label."""
    links: dict[int, list[tuple[int, float]]] = field(default_factory=dict[int, list[tuple[int, float]]])
    """For each place its neighbours, in the rows above and below, and how much the arrow between should be straight."""
    row_of: dict[int, int] = field(default_factory=dict[int, int])

    def place(self, size: Size, row: int) -> int:
        """A new place at the end of a row."""
        number = len(self.sizes)
        self.sizes.append(size)
        while len(self.rows) <= row:
            self.rows.append([])
        self.rows[row].append(number)
        self.row_of[number] = row
        self.links[number] = []
        return number

    def neighbours(self, place: int, row: int) -> Iterator[tuple[int, float]]:
        return ((other, weight) for other, weight in self.links[place] if self.row_of[other] == row)


def components(boxes: Sequence[str], arrows: Sequence[Arrow]) -> list[list[str]]:
    """The boxes that hang together, in the order in which they were given."""
    beside: dict[str, list[str]] = {box: [] for box in boxes}
    for arrow in arrows:
        beside[arrow.source].append(arrow.target)
        beside[arrow.target].append(arrow.source)
    found: dict[str, int] = {}
    for number, box in enumerate(boxes):
        todo = [] if box in found else [box]
        while todo:
            at = todo.pop()
            if at not in found:
                found[at] = number
                todo += beside[at]
    return [[box for box in boxes if found[box] == number] for number in dict.fromkeys(found[box] for box in boxes)]


def rows_of(boxes: Mapping[str, Size], arrows: Sequence[Arrow]) -> Rows:
    """Boxes and arrows put into rows and in order. The boxes' places are numbered as they are listed."""
    turned = _turned(list(boxes), arrows)
    layer = _layers(list(boxes), arrows, turned)
    rows = Rows(turned=turned)
    number = {box: rows.place(size, 2 * layer[box]) for box, size in boxes.items()}
    for arrow, up in zip(arrows, turned, strict=True):
        _lead(rows, arrow, up, number)
    _order(rows)
    return rows


# --- rows --------------------------------------------------------------------------------------


def _turned(boxes: Sequence[str], arrows: Sequence[Arrow]) -> list[bool]:
    """Which arrows lead back to a box that is still being visited, going depth first from the first box on."""
    out: dict[str, list[tuple[int, str]]] = {box: [] for box in boxes}
    for index, arrow in enumerate(arrows):
        out[arrow.source].append((index, arrow.target))
    turned = [False] * len(arrows)
    state: dict[str, int] = {}  # 1 while what is behind a box is visited, 2 after that
    for root in boxes:
        trail = [] if root in state else [(root, iter(out[root]))]
        while trail:
            box, ways = trail[-1]
            state[box] = 1
            for index, target in ways:
                if state.get(target) == 1:
                    turned[index] = target != box
                elif target not in state:
                    trail.append((target, iter(out[target])))
                    break
            else:
                state[box] = 2
                trail.pop()
    return turned


def _layers(boxes: Sequence[str], arrows: Sequence[Arrow], turned: Sequence[bool]) -> dict[str, int]:
    """The longest path to each box; a box that nothing leads to stands right above what it leads to."""
    below: dict[str, list[str]] = {box: [] for box in boxes}
    waits = dict.fromkeys(boxes, 0)
    for arrow, up in zip(arrows, turned, strict=True):
        above, under = (arrow.target, arrow.source) if up else (arrow.source, arrow.target)
        if above != under:
            below[above].append(under)
            waits[under] += 1
    first = [box for box in boxes if not waits[box]]
    layer, todo = dict.fromkeys(boxes, 0), list(first)
    while todo:
        box = todo.pop()
        for under in below[box]:
            layer[under] = max(layer[under], layer[box] + 1)
            waits[under] -= 1
            if not waits[under]:
                todo.append(under)
    return layer | {box: min(layer[under] for under in below[box]) - 1 for box in first if below[box]}


def _lead(rows: Rows, arrow: Arrow, up: bool, number: Mapping[str, int]) -> None:
    """Gives the arrow its places in the rows between its ends; the label is next to where it begins."""
    above, under = number[arrow.target if up else arrow.source], number[arrow.source if up else arrow.target]
    start, end = rows.row_of[above], rows.row_of[under]
    if above == under:
        end = start + 2
    label_row = end - 1 if up else start + 1
    room = tuple(map(max, arrow.label, _LOOP)) if above == under else arrow.label
    between = [rows.place((room[0], room[1]) if row == label_row else (0.0, 0.0), row) for row in range(start + 1, end)]
    rows.label_at.append(between[-1 if up else 0])
    rows.chains.append([above, *between, under])
    for one, other in pairwise(rows.chains[-1]):
        weight = arrow.straight * (1.0 if one == above else _STRAIGHT)
        rows.links[one].append((other, weight))
        rows.links[other].append((one, weight))


# --- order in a row ----------------------------------------------------------------------------


def _order(rows: Rows) -> None:
    """Sweeps down and up, keeping the best order that was seen."""
    best, fewest = [list(row) for row in rows.rows], _crossings(rows)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for index in range(1, len(rows.rows)) if down else range(len(rows.rows) - 2, -1, -1):
            _sort_by_middle(rows, index, index - 1 if down else index + 1)
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows.rows], crossings
    rows.rows[:] = best


def _sort_by_middle(rows: Rows, index: int, beside: int) -> None:
    """Sorts a row by the middle of each place's neighbours; who has none keeps its place."""
    at = {place: position for position, place in enumerate(rows.rows[beside])}
    middle: dict[int, float] = {}
    for position, place in enumerate(rows.rows[index]):
        near = [at[other] for other, _ in rows.neighbours(place, beside)]
        middle[place] = sum(near) / len(near) if near else float(position)
    rows.rows[index].sort(key=lambda place: middle[place])


def _crossings(rows: Rows) -> int:
    return sum(_between(rows, index) for index in range(len(rows.rows) - 1))


def _between(rows: Rows, index: int) -> int:
    """How often arrows cross between a row and the next."""
    at = {place: position for position, place in enumerate(rows.rows[index + 1])}
    ends: list[int] = []
    crossings = 0
    for place in rows.rows[index]:
        mine = sorted(at[other] for other, _ in rows.neighbours(place, index + 1))
        crossings += sum(len(ends) - bisect_right(ends, end) for end in mine)
        for end in mine:
            insort(ends, end)
    return crossings
