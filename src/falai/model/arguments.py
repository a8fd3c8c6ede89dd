"""A tool call's arguments as a model wrote them, whole or cut off (M-18.6).

What was cut is read as far as it goes: better a tool that says what is missing than one that is
called with nothing. Only what is complete, and one text that was left open, is believed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, Final, cast

from falai.log import line
from falai.model.lenient import lenient_parse
from falai.session.jsontext import is_list, is_object, to_plain

__all__ = ["tool_arguments"]

_LOG: Final = logging.getLogger(__name__)
_TEXT: Final = r'"((?:[^"\\]|\\.)*)"'
_PAIR: Final = re.compile(_TEXT + r"\s*:\s*" + _TEXT, re.DOTALL)
_OPEN: Final = re.compile(
    _TEXT + r'\s*:\s*"((?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)(?:\\(?:u[0-9a-fA-F]{0,3})?)?$', re.DOTALL
)
_DOUBLY_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def tool_arguments(raw: str | Mapping[str, Any] | None, tool: str) -> Mapping[str, Any]:
    """The arguments as an object; what is no object counts as `{}`."""
    if not isinstance(raw, str):
        return raw or {}
    if not raw.strip():
        return {}
    try:
        found = lenient_parse(raw)
    except ValueError:
        _LOG.warning('the arguments of tool "%s" were cut off', tool, extra=line("tool.cut_arguments", function=tool))
        return dict(to_plain(_shown(_last_object(raw) or _pairs(raw))))
    return found if is_object(found) else {}


def _last_object(text: str) -> dict[str, Any] | None:
    """The last object that is complete and stands in no other: some models write several in a row."""
    decoder = JSONDecoder(strict=False)
    found: dict[str, Any] | None = None
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            return found
        found = cast(dict[str, Any], value)
        start = text.find("{", end)
    return found


def _pairs(text: str) -> dict[str, str]:
    """The complete pairs of texts, and behind them one text that was left open."""
    found: dict[str, str] = {}
    end = 0
    for pair in _PAIR.finditer(text):
        found[_decoded(pair[1])] = _decoded(pair[2])
        end = pair.end()
    rest = _OPEN.search(text, end)
    if rest is not None:
        found[_decoded(rest[1])] = _decoded(rest[2])
    return found


def _decoded(raw: str) -> str:
    try:
        return str(lenient_parse(f'"{raw}"'))
    except ValueError:
        return raw


def _shown(value: Any) -> Any:
    """The value, where a text still shows an escape with what it stands for."""
    if isinstance(value, str):
        return _DOUBLY_ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), value)
    if is_object(value):
        return {key: _shown(item) for key, item in value.items()}
    return [_shown(item) for item in value] if is_list(value) else value
