"""How foreign text gets into a prompt, and the only way it does (M-11.7).

What a customer wrote stands in a fence that it cannot close; a value stands as a JSON literal on
one line. What an author's template inserts is the author's text, but no line of it can pass for a
mark of ours: a section's title or a fence.
"""

from __future__ import annotations

import re
from typing import Any, Final

from falai.flow.templates import Roots, render
from falai.session.jsontext import json_text

__all__ = ["fenced", "literal", "name", "unmarked", "written", "written_line"]

_TICKS = re.compile(r"`+")
_BREAK: Final = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_UNSEEN: Final = "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_MARK = re.compile(f"(^|[{_BREAK}])((?:[^\\S{_BREAK}]|[{_UNSEEN}])*+)(?=#|```|~~~)")
_BREAKS = re.compile(f"[{_BREAK}]+")
_LINE_BREAKS: Final = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def fenced(text: str) -> str:
    """The text as given, between two lines of backticks that it cannot close."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def literal(value: Any) -> str:
    """The value as JSON text on one line: every kind of line break is an escape."""
    text = json_text(value)
    return text if text.isascii() else text.translate(_LINE_BREAKS)


def name(text: str) -> str:
    """A slug or id: bare when it is a plain word, else as a JSON literal."""
    return text if _NAME.fullmatch(text) else literal(text)


def written(template: str, roots: Roots) -> str:
    """An author's text with its placeholders filled in, unable to forge a section or a fence."""
    return unmarked(render(template, roots)) if "{{" in template else template


def written_line(template: str, roots: Roots) -> str:
    """The same for an entry of a list: what is filled in cannot begin an entry of its own."""
    if "{{" not in template:
        return template.strip()
    text = unmarked(render(template, roots)).strip()
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def unmarked(text: str) -> str:
    """The text with no line that could be read as a section's title or a fence."""
    has_marks = "#" in text or "```" in text or "~~~" in text
    return _MARK.sub(r"\1\2\\", text) if has_marks else text
