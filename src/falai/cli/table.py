"""Rows of texts, as lines with their columns below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from falai.cli.clean import clean

__all__ = ["table"]


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row, the first for the names of the columns; nothing in it steers a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield clean("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
