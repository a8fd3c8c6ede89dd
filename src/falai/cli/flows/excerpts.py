"""The line of a file with the place underlined, as it is shown below a message.

Widths are those of a terminal: a wide character takes two cells, a tab is drawn as four spaces. A
line that is longer than the screen is cut around the place.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from falai.cli.clean import clean
from falai.flow.spots import Located, lines_of

__all__ = ["excerpt"]

_LEAST = 40
_TAB = " " * 4


def excerpt(place: Located, style: str, width: int) -> list[Text]:
    """Two lines, the text and the mark below it; none where the file has no such line, or nothing in it.

    `width` is that of the screen in cells.
    """
    lines = lines_of(place.text)
    span = place.span
    if span.line > len(lines):
        return []
    line = lines[span.line - 1]
    if not line.strip():
        return []
    end = span.end_column if span.end_line == span.line else len(line) + 1
    gutter = f"{span.line:>6} │ "
    before, marked, after = _window(
        _drawn(line[: span.column - 1]), _drawn(line[span.column - 1 : end - 1]), _drawn(line[end - 1 :]),
        max(width - len(gutter), _LEAST),
    )  # fmt: skip
    mark = " " * cell_len(before) + "^" * max(1, cell_len(marked))
    return [
        Text.assemble((gutter, "dim"), before, (marked, style), after),
        Text.assemble((" " * 6 + " │ ", "dim"), (mark, style)),
    ]


def _drawn(text: str) -> str:
    return clean(text.replace("\t", _TAB)).replace("\n", " ")


def _window(before: str, marked: str, after: str, room: int) -> tuple[str, str, str]:
    """What of the line is shown: the place whole if it fits, with as much around it as there is room for."""
    marked = _cut(marked, room)
    left = room - cell_len(marked)
    kept = _cut(before[::-1], max(left - min(cell_len(after), left // 2), 0))[::-1]
    return kept, marked, _cut(after, left - cell_len(kept))


def _cut(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    used, kept = 1, 0
    while kept < len(text) and used + cell_len(text[kept]) <= room:
        used += cell_len(text[kept])
        kept += 1
    return f"{text[:kept]}…" if room else ""
