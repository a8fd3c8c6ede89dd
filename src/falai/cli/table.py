"""Rows of texts, as lines with their columns below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from falai.cli.clean import clean

__all__ = ["table"]

_MOVES: Final = str.maketrans(dict.fromkeys("\t\n\u2028\u2029", "\N{REPLACEMENT CHARACTER}"))


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row, the first for the names of the columns; nothing in it steers a terminal.

    No cell begins a line: an id that a stranger chose looks like no row of its own.
    """
    cells = [[clean(cell).translate(_MOVES) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
