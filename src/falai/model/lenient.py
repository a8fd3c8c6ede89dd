"""JSON as models write it: bare, fenced, inside prose, with raw line breaks in strings (M-13).

Nothing here guesses: a text either holds JSON that parses, or it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from falai.session.jsontext import is_list, is_object

__all__ = ["as_object", "is_json_shaped", "lenient_parse", "mend", "parse_whole", "salvage_json"]

_FENCE = re.compile(r"```(?:json)?(.*)```", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def lenient_parse(text: str) -> Any:
    """The JSON value of `text`; raw control characters in strings are read as if escaped (M-13.1).

    Raises `ValueError` with what strict JSON says is wrong.
    """
    try:
        value = _LENIENT.decode(text)
        return _mended(value) if _may_hold_surrogates(text) else value
    except (ValueError, RecursionError):
        return _strict_failure(text)


def parse_whole(text: Any) -> Any:
    """The JSON value that is the whole text, perhaps inside one fence (M-13.3). Raises `ValueError`."""
    if not isinstance(text, str) or not (trimmed := text.strip()):
        message = "there is no text to parse"
        raise ValueError(message)
    fenced = _FENCE.fullmatch(trimmed)
    return lenient_parse(fenced[1].strip() if fenced else trimmed)


def is_json_shaped(text: str) -> bool:
    """Whether the text looks as if it were meant as JSON (M-13.2)."""
    return text.lstrip().startswith(("{", "```"))


def salvage_json(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text, `None` when there is none (M-13.4)."""
    start = text.find("{")
    while start >= 0:
        # An object that parses from here ends at the brace that closes it, so nothing is counted.
        found = _object_at(text, start)
        if found is not None:
            return found
        start = text.find("{", start + 1)
    return None


def as_object(value: Any) -> Mapping[str, Any]:
    """The value when it stands for a JSON object, else an empty one."""
    return value if is_object(value) else {}


def mend(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which no JSON text and no database can hold."""
    return _SURROGATE.sub("\ufffd", text)


def _object_at(text: str, start: int) -> dict[str, Any] | None:
    try:
        value, end = _LENIENT.raw_decode(text, start)
        return cast(dict[str, Any], _mended(value) if _may_hold_surrogates(text[start:end]) else value)
    except (ValueError, RecursionError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


_LENIENT = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant)


def _strict_failure(text: str) -> Any:
    try:
        return _STRICT.decode(text)
    except RecursionError:
        message = "it is nested too deeply"
        raise ValueError(message) from None


def _may_hold_surrogates(text: str) -> bool:
    return _SURROGATE_ESCAPE.search(text) is not None or _SURROGATE.search(text) is not None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return mend(value)
    if is_list(value):
        return [_mended(item) for item in value]
    if is_object(value):
        return {mend(key): _mended(item) for key, item in value.items()}
    return value
