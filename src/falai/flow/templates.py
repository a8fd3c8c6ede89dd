"""Templates: `{{data.name}}` becomes the value, and the gap that a blank value leaves is closed (F-10).

A template is author's text. It is cut into literals and paths once; rendering looks the paths up
and joins. Inserted text is never looked at again (F-10.8), so a value cannot become a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from falai.flow.places import is_list, is_object
from falai.session.dates import iso, to_ms
from falai.session.jsontext import json_text, to_plain

__all__ = ["Fillable", "Roots", "has_placeholder", "placeholders", "render", "render_deep", "roots"]

Roots = Mapping[str, Any]
"""What the first part of a path may pick (F-10.2); a root that was not given is not in it."""

_PLACEHOLDER = re.compile(r"\{\{\s*([^\s{}]+)\s*\}\}")
_INDEX = re.compile(r"0|[1-9][0-9]*")
_LEAVES = (str, int, float, Decimal, datetime)
_UNKNOWN = object()
_BLANK = ""

_TIDYING = (
    (re.compile(r"(?<=\S)[ \t]{2,}"), " "),
    (re.compile(r"(?<! ) +(?=[,.;:!?…])"), ""),
    (re.compile(r"[,;](?=[,;.!?…])"), ""),
    (re.compile(r"^([ \t]*)[,;:!?]+[ \t]+(?=\S)", re.MULTILINE), r"\1"),
    (re.compile(r"(?<![ \t])[ \t]+(?=\r?\n|\Z)"), ""),
)


class Fillable(str):
    """A text that fills itself; written, it has a placeholder, so that it counts as one that varies."""

    __slots__ = ()

    def fill(self, scope: Roots) -> str:  # noqa: ARG002  what those look at that fill in more
        """The text for this moment; its own, where nobody says otherwise."""
        return str(self)


def roots(*, data: Any = None, context: Any = None, input: Any = None) -> Roots:  # the wire name
    """The roots of one place; `None` means that there is no such root (F-10.5)."""
    given = {"data": data, "context": context, "input": input}
    return {name: value for name, value in given.items() if value is not None}


def render(template: str, scope: Roots) -> str:
    """The template with every placeholder that leads somewhere filled in (F-10.4, F-10.6)."""
    if type(template) is not str and isinstance(template, Fillable):
        return template.fill(scope)
    begin, gaps = _compiled(template)
    if not gaps:
        return template
    pieces = [begin]
    has_blank = False
    for written, parts, following in gaps:
        text = _text(_look_up(scope, parts))
        has_blank = has_blank or text == _BLANK
        pieces += (written if text is None else text, following)
    result = "".join(pieces)
    return _tidied(result) if has_blank else result


def render_deep(value: Any, scope: Roots) -> Any:
    """A fresh copy of plain data with every text in it rendered; keys stay as they are (F-10.9)."""
    if isinstance(value, str):
        return render(value, scope)
    if is_object(value):
        return {key: render_deep(entry, scope) for key, entry in value.items()}
    return [render_deep(entry, scope) for entry in value] if is_list(value) else value


def has_placeholder(text: str) -> bool:
    """Whether rendering would look anything up in this text."""
    return _PLACEHOLDER.search(text) is not None


def placeholders(text: str) -> tuple[tuple[str, ...], ...]:
    """The paths that a template names, split at their points, in order."""
    return tuple(parts for _, parts, _ in _compiled(text)[1])


@lru_cache(maxsize=2048)
def _compiled(template: str) -> tuple[str, tuple[tuple[str, tuple[str, ...], str], ...]]:
    """The text up to the first placeholder; for each of them how it was written, its path, and the text up to the next."""
    found = list(_PLACEHOLDER.finditer(template))
    if not found:
        return template, ()
    ends = [match.start() for match in found[1:]] + [len(template)]
    gaps = (
        (match[0], tuple(match[1].split(".")), template[match.end() : end])
        for match, end in zip(found, ends, strict=True)
    )
    return template[: found[0].start()], tuple(gaps)


def _look_up(scope: Roots, parts: tuple[str, ...]) -> Any:
    """The value at a path, `_UNKNOWN`, or `_BLANK` when a null stands before its end (F-10.3, F-10.4)."""
    value: Any = scope.get(parts[0], _UNKNOWN)
    for part in parts[1:]:
        if value is _UNKNOWN:
            return _UNKNOWN
        if value is None:
            return _BLANK
        value = _step(value, part)
    return _UNKNOWN if value is None else value


def _step(value: Any, part: str) -> Any:
    if is_object(value):
        return value.get(part, _UNKNOWN)
    if is_list(value):
        return _element(value, part)
    if isinstance(value, _LEAVES) or part.startswith("_"):
        return _UNKNOWN
    found = getattr(value, part, _UNKNOWN)
    return _UNKNOWN if callable(found) else found


def _element(values: Sequence[Any], part: str) -> Any:
    if _INDEX.fullmatch(part) is None or len(part) > len(str(len(values))):
        return _UNKNOWN
    index = int(part)
    return values[index] if index < len(values) else _UNKNOWN


def _text(value: Any) -> str | None:
    """What a value becomes in a text; `None` when the placeholder stays (F-10.4)."""
    if isinstance(value, str):
        return value
    if value is _UNKNOWN:
        return None
    if isinstance(value, datetime):
        return iso(to_ms(value))
    if isinstance(value, Decimal):  # a host's price; F-10.4 speaks of JSON's numbers only
        return format(value, "f")
    if is_list(value):
        return ", ".join(_listed(entry) for entry in value)
    return _json(value)


def _listed(value: Any) -> str:
    return "null" if value is None else _text(value) or ""


def _json(value: Any) -> str | None:
    """JSON text of plain data; an object of the host's that has none stays unknown."""
    try:
        plain = to_plain(value)
    except TypeError:
        return None
    return plain if isinstance(plain, str) else json_text(plain)


def _tidied(text: str) -> str:
    for pattern, replacement in _TIDYING:
        text = pattern.sub(replacement, text)
    return text
