"""Where in a text each value stands: from a wire path (`flows[2].steps[0].wait`) to lines and columns.

A text, JSON or YAML, becomes a tree of `Spot`s beside its data. Offsets count characters; lines and
columns count from 1, and an end is the first column that does not belong to it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from json import JSONDecoder
from math import isfinite
from typing import Any

__all__ = [
    "Located",
    "RefusedError",
    "Span",
    "Spot",
    "json_spots",
    "key_span_of",
    "span_of",
    "spot_at",
    "yaml_spots",
]

_SPACE = re.compile(r"[ \t\n\r]*")
_ONE = JSONDecoder()


class RefusedError(Exception):
    """From `start` up to `end` stands what the reader refuses: a key for the second time, a number that is none."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start, self.end = start, end


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file, from (`line`, `column`) up to (`end_line`, `end_column`), counted from 1."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Located:
    """A span, the file that it is in, and the file's text."""

    file: str
    text: str
    span: Span


@dataclass(slots=True)
class Spot:
    """From `start` up to `end` stands a value; `key` is where its name stands, if it has one."""

    start: int
    end: int
    key: tuple[int, int] | None = None
    members: dict[str, Spot] = field(default_factory=dict[str, "Spot"])
    items: list[Spot] = field(default_factory=list["Spot"])


def json_spots(text: str) -> Spot:
    """The spots of a text that is JSON. Raises `RefusedError`, or `RecursionError` when nested too deeply."""
    return _JsonScan(text).value(0)


def yaml_spots(text: str) -> Spot | None:
    """The spots of a text that is YAML with one document; `None` when it is empty."""
    # Only authors of YAML pay for it; that it is there was found out when the text was read.
    from ruamel.yaml import YAML

    composer: Any = YAML(typ="safe", pure=True)
    root = composer.compose(text)
    return None if root is None else _yaml_spot(root, {})


def spot_at(root: Spot, path: str) -> Spot:
    """The spot of a wire path, or of the nearest value around it when there is nothing at the path."""
    spot, rest = root, path
    while rest:
        rest = rest.removeprefix(".")
        found = _below(spot, rest)
        if found is None:
            break
        spot, rest = found
    return spot


def span_of(text: str, spot: Spot) -> Span:
    """What is underlined for a value: all of it if it stands on one line, else what names it."""
    starts = _line_starts(text)
    return _span(starts, *_told(text, spot))


@lru_cache(maxsize=16)
def lines_of(text: str) -> tuple[str, ...]:
    """The lines of a text, which is split once for all that is found in it."""
    return tuple(text.split("\n"))


@lru_cache(maxsize=16)
def _line_starts(text: str) -> tuple[int, ...]:
    """The offset at which each line begins."""
    return (0, *accumulate(len(line) + 1 for line in lines_of(text)[:-1]))


def key_span_of(text: str, spot: Spot) -> Span:
    """What is underlined for a name that should not be there."""
    return _span(_line_starts(text), *(spot.key or (spot.start, spot.end)))


def _told(text: str, spot: Spot) -> tuple[int, int]:
    if "\n" not in text[spot.start : spot.end].rstrip():
        return spot.start, spot.start + len(text[spot.start : spot.end].rstrip())
    name = spot.members.get("id")
    if name is not None and not name.members and not name.items:
        return name.start, name.end
    if spot.key is not None:
        return spot.key
    return spot.start, spot.start + len(text[spot.start : spot.end].partition("\n")[0].rstrip())


def _span(starts: Sequence[int], start: int, end: int) -> Span:
    line, end_line = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
    return Span(line, start - starts[line - 1] + 1, end_line, max(end, start + 1) - starts[end_line - 1] + 1)


def _below(spot: Spot, rest: str) -> tuple[Spot, str] | None:
    """One step down the path. A key may hold dots and brackets itself: the longest that fits is meant."""
    if index := re.match(r"\[(\d+)\]", rest):
        place = int(index[1])
        return (spot.items[place], rest[index.end() :]) if place < len(spot.items) else None
    fitting = [key for key in spot.members if re.match(re.escape(key) + r"(?=$|[.\[])", rest)]
    key = max(fitting, key=len, default=None)
    return None if key is None else (spot.members[key], rest[len(key) :])


class _JsonScan:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int) -> Spot:
        at = self._skip(at)
        match self._text[at]:
            case "{":
                return self._object(at)
            case "[":
                return self._list(at)
            case _:
                return self._scalar(at)

    def _scalar(self, at: int) -> Spot:
        value, end = _ONE.raw_decode(self._text, at)
        if isinstance(value, float) and not isfinite(value):
            raise RefusedError(at, end)
        return Spot(at, end)

    def _object(self, start: int) -> Spot:
        members: dict[str, Spot] = {}
        at = self._skip(start + 1)
        while self._text[at] != "}":
            key, end = _ONE.raw_decode(self._text, at)
            if key in members:
                raise RefusedError(at, end)
            members[key] = value = self.value(self._skip(end) + 1)
            value.key = (at, end)
            at = self._next(value.end)
        return Spot(start, at + 1, members=members)

    def _list(self, start: int) -> Spot:
        items: list[Spot] = []
        at = self._skip(start + 1)
        while self._text[at] != "]":
            items.append(self.value(at))
            at = self._next(items[-1].end)
        return Spot(start, at + 1, items=items)

    def _next(self, at: int) -> int:
        """Behind the comma, if there is one."""
        at = self._skip(at)
        return self._skip(at + 1) if self._text[at] == "," else at

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return at if space is None else space.end()


def _yaml_spot(node: Any, known: dict[int, Spot]) -> Spot:
    """An aliased node has one spot, where it is written; so a few lines of aliases cannot grow without bound."""
    if id(node) in known:
        return known[id(node)]
    spot = known[id(node)] = Spot(node.start_mark.index, node.end_mark.index)
    if node.id == "sequence":
        spot.items += [_yaml_spot(entry, known) for entry in node.value]
    elif node.id == "mapping":
        for key, value in node.value:
            spot.members[key.value] = _yaml_member(key, _yaml_spot(value, known))
    return spot


def _yaml_member(key: Any, value: Spot) -> Spot:
    """The value of a key. One that stands elsewhere as well keeps the parts that it has, under each of its names."""
    here = (key.start_mark.index, key.end_mark.index)
    return Spot(value.start, value.end, here, value.members, value.items)
