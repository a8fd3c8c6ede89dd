"""Why a file of flows cannot be read: where, what is wrong there, and what to do.

The readers of JSON and YAML speak of tokens and delimiters. What authors do wrong most is said here
in their words; anything else is passed on as the reader says it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from falai.errors import Problem
from falai.flow.spots import RefusedError, Span, Spot, json_spots, span_of

__all__ = ["point", "unreadable"]

_PLACE = re.compile(r"line (\d+), column (\d+): ")
_QUOTES = "Put a text in quotes that has a colon or a bracket in it"
# What a reader's sentence holds → what is found there, and what to do; the first that fits.
_WORDS = (
    # JSON
    ("Illegal trailing comma", "a comma stands behind the last entry", "Take it out"),
    ("Expecting value", "a value is missing here", "Write one, and no comma behind the last entry"),
    (
        "Expecting property name",
        "a name in double quotes is missing here",
        'Write "name": value, no comma behind the last entry, and no comments',
    ),
    ("Expecting ','", "a comma, or a closing bracket, is missing here", "Write it"),
    ("Expecting ':'", "a colon is missing here", 'Write "name": value'),
    ("Extra data", "there is more behind the end", "Keep one value; several flows stand in a list"),
    ("Invalid control character", "a line break, or a tab, stands in a text", "Write \\n or \\t for it"),
    ("Unterminated string", "a text begins here and does not end", 'Close it with "'),
    ("Invalid \\", "there is no such escape", "Write \\\\ for a backslash"),
    ("is no JSON number", "", "Write a number, or a text in quotes"),
    ("Exceeds the limit", "a number is too long to be read", "Write it as a text in quotes"),
    # YAML
    ("character '\\t'", "a tab stands where only spaces may", "Indent with spaces"),
    ("that cannot start any token", "a text cannot begin with this character", "Put the text in quotes"),
    ("mapping values are not allowed", "a colon is not expected here", f"{_QUOTES}, and indent alike what belongs together"),
    ("could not find expected ':'", "a colon is missing here", "Write key: value"),
    ("expected <block end>", "this does not belong to what stands above", f"{_QUOTES}, and indent alike what belongs together"),
    ("expected ',' or", "a comma, or a closing bracket, is missing here", f"Write it. {_QUOTES}"),
    ("unexpected end of stream", "a text begins here and does not end", "Close it with the same quotation mark"),
    ("another document", "a second document begins here", "Keep one; several flows stand in a list"),
    ("undefined alias", "nothing has the name of this alias (*)", "Name what it repeats with &, or put the text in quotes"),
    ("unknown escape", "there is no such escape", "Put the text in single quotes, or write \\\\ for a backslash"),
    ("special characters are not allowed", "it holds a character that is no text", "Take it out"),
    ("has no value; ", "this is read as a key that has no value", "Put the text in quotes that has the comma before it"),
    ("is not of the core schema", "", "Take the tag out"),
    # both
    ("stands twice", "", "Keep one of the two"),
    ("nested too deeply", "", "Flows need no such depth"),
)  # fmt: skip


def unreadable(text: str, error: Exception) -> tuple[Problem, Span | None]:
    """The problem of a file whose `text` gave this error, and where in it; `None` when that is not known."""
    if isinstance(error, UnicodeDecodeError):
        what = f"it is not in UTF-8 (byte 0x{error.object[error.start]:02x})"
        return _problem(what, "Save it as UTF-8"), _point_at(text, text.find("\N{REPLACEMENT CHARACTER}"))
    if isinstance(error, OSError):
        return _problem(error.strerror or str(error), "See to it that it can be read"), None
    if not text.strip():
        return _problem("it is empty", "Write a flow, a list of flows, or an agent"), None
    said, span = _said(text, error)
    for part, what, fix in _WORDS:
        if part in said:
            return _problem(what or said, fix), span
    return _problem(said, "Correct it"), span


def point(line: int, column: int) -> Span:
    """One character."""
    return Span(line, column, line, column + 1)


def _point_at(text: str, offset: int) -> Span:
    """The character at an offset."""
    return span_of(text, Spot(offset, offset + 1))


def _problem(what: str, fix: str) -> Problem:
    return Problem("unreadable", "file", f"it cannot be read: {what}", f"{fix}. Nothing else of it was checked")


def _said(text: str, error: Exception) -> tuple[str, Span | None]:
    """What the reader says, and the place that it names."""
    match error:
        case json.JSONDecodeError():
            return error.msg, point(error.lineno, error.colno)
        case RecursionError():
            return "it is nested too deeply", None
        case _ if (mark := _mark(error.__cause__)) is not None:
            said = [getattr(error.__cause__, part, None) for part in ("context", "problem")]
            return ", ".join(part for part in said if part), point(mark.line + 1, mark.column + 1)
        case _ if isinstance(at := getattr(error.__cause__, "position", None), int):  # a character that YAML has not
            return str(error), _point_at(text, at)
        case _ if (placed := _PLACE.match(str(error))) is not None:
            return str(error)[placed.end() :], point(int(placed[1]), int(placed[2]))
        case _:
            return str(error), _refused_at(text)


def _mark(error: object) -> Any:
    """Where a YAML reader stumbled; for what does not end, where that begins."""
    ends = "end of stream" in str(getattr(error, "problem", ""))
    return (ends and getattr(error, "context_mark", None)) or getattr(error, "problem_mark", None)


def _refused_at(text: str) -> Span | None:
    """Where the first thing stands that a JSON text may not have; `None` when that is not what is wrong."""
    try:
        json_spots(text)
    except RefusedError as error:
        return span_of(text, Spot(error.start, error.end))
    except (ValueError, IndexError, RecursionError):
        return None
    return None
