"""Plain JSON data: made, compared, written as text and shown to people.

Everything that a session holds is plain data: text, `True`, `False`, `None`, numbers, lists, and
mappings with text keys. `to_plain` is the one way in. What is not allowed in it is refused there,
with its path, so that nothing behind it has to look again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, Final, TypeGuard

from falai.session.dates import iso, to_ms

__all__ = [
    "EXACT",
    "MISSING",
    "copied",
    "is_list",
    "is_object",
    "json_equal",
    "json_text",
    "parse_json",
    "quoted",
    "show",
    "to_plain",
    "whole",
]


class _Missing(Enum):
    MISSING = "missing"


MISSING: Final = _Missing.MISSING
"""Stands for "nothing there" where `None` means null."""

EXACT = 2**53
_TOO_LONG: Final = "a whole number of more than 10,000 digits"
_LONG = 4000  # Python converts no more digits than 4,300 between int and text; Decimal has no such limit
_MOST_DIGITS: Final = 10_000  # the time that a number takes grows with the square of its digits
_BEYOND: Final = 10**_MOST_DIGITS
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[0-9a-f]{4}|\\?.", re.DOTALL)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)


class _RefusedError(Exception):
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path = ""


def is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether this stands for a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether this stands for a JSON list; a tuple does (F-1.4)."""
    return isinstance(value, list | tuple)


def to_plain(value: Any, path: str = "") -> Any:
    """Plain JSON data made of `value`, sharing nothing mutable with it (P-16, P-17).

    Raises `TypeError`, naming the path (which begins with `path`) and the type, for what has no
    JSON form: an unknown type, a key that is not text, a date outside the years 1 to 9999, a whole
    number of more than 10,000 digits, a value that holds itself.
    """
    try:
        return _plain(value)
    except _RefusedError as refused:
        where = (path + refused.path).removeprefix(".") or "the value"
        raise TypeError(f"{where} {refused}") from None
    except RecursionError:
        raise TypeError(f"{path or 'the value'} holds itself or is nested too deeply to be JSON data") from None


def copied(value: Any, leaf: Callable[[Any], Any] = lambda value: value) -> Any:
    """`value` with fresh mappings and lists at every depth; what is neither goes through `leaf`."""
    if is_object(value):
        return {key: copied(item, leaf) for key, item in value.items()}
    if is_list(value):
        return [copied(item, leaf) for item in value]
    return leaf(value)


def json_text(value: Any) -> str:
    """The compact JSON text of a value (F-1.8). Raises `TypeError` like `to_plain`."""
    plain = to_plain(value)
    try:
        return _ENCODER.encode(plain)
    except ValueError:
        return _long_text(plain)


def parse_json(text: str | bytes) -> Any:
    """The plain data of a JSON text.

    Raises `ValueError` when it is not JSON in UTF-8, and for a whole number of more than 10,000 digits.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        return to_plain(json.loads(text, parse_int=whole, parse_constant=_no_constant))
    except (RecursionError, TypeError):
        raise ValueError("the text is nested too deeply") from None


def json_equal(a: Any, b: Any) -> bool:
    """Whether two values are the same JSON (F-9.8): a boolean is no number, `1` is `1.0`, keys in any order."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    if is_object(a) and is_object(b):
        return len(a) == len(b) and all(key in b and json_equal(a[key], b[key]) for key in a)
    if is_list(a) and is_list(b):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return bool(a == b)


def quoted(name: str) -> str:
    """A name as a JSON string literal, never cut (S-21)."""
    return _ENCODER.encode(_clean(name))


def show(value: Any) -> str:
    """A wrong value as error messages show it, at most about 40 characters long (S-21)."""
    if isinstance(value, str):
        return _cut(quoted(value))
    for kinds, words in _WORDS:
        if isinstance(value, kinds):
            return words
    if isinstance(value, int) and not -_BEYOND < value < _BEYOND:
        return _TOO_LONG
    if value is None or isinstance(value, bool | int | float):
        return json_text(value)
    return "a function" if callable(value) else f"a {type(value).__name__}"


_WORDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (_Missing, "missing"),
    ((list, tuple), "a list"),
    (Mapping, "an object"),
)


def _plain(value: object) -> Any:
    make = _PLAIN.get(type(value))
    return make(value) if make else _rare(value)


def _clean(text: str) -> str:
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(value: float) -> float | int | None:
    if not isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) <= EXACT else value


def _integer(value: int) -> int:
    if not -_BEYOND < value < _BEYOND:
        raise _RefusedError(f"is {_TOO_LONG}")
    return value


def _list(items: Any) -> list[Any]:
    fresh: list[Any] = []
    for item in items:
        try:
            fresh.append(_plain(item))
        except _RefusedError as refused:
            refused.path = f"[{len(fresh)}]{refused.path}"
            raise
    return fresh


def _object(items: Mapping[Any, Any]) -> dict[str, Any]:
    fresh: dict[str, Any] = {}
    for key, item in items.items():
        name = _key(key)
        try:
            fresh[name] = _plain(item)
        except _RefusedError as refused:
            refused.path = f".{name}{refused.path}"
            raise
    return fresh


def _key(key: Any) -> str:
    name = _plain(key) if isinstance(key, str) else None
    if not isinstance(name, str):
        raise _RefusedError(f"has a key of the type {type(key).__name__}; the keys of JSON data are text")
    return name


def _rare(value: Any) -> Any:
    for kind, make in _RARE:
        if isinstance(value, kind):
            return make(value)
    raise _RefusedError(f"is of the type {type(value).__name__}, which has no JSON form")


def _date_time(value: datetime) -> str:
    try:
        return iso(to_ms(value))
    except (OverflowError, TypeError, ValueError):
        raise _RefusedError("is a datetime that is no instant of the years 1 to 9999") from None


def _same(value: Any) -> Any:
    return value


_PLAIN: dict[type[Any], Callable[[Any], Any]] = {
    str: _clean, int: _integer, bool: _same, type(None): _same, float: _number, dict: _object, list: _list, tuple: _list,
}  # fmt: skip
# In this order: members of an IntEnum are ints, a datetime is a date.
_RARE: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (Enum, lambda member: _plain(member.value)),
    (str, lambda text: _clean(str.__str__(text))),
    (int, lambda number: _integer(int(number))),
    (float, lambda number: _number(float(number))),
    (datetime, _date_time),
    (date, date.isoformat),
    (Mapping, _object),
    (list, _list),
    (tuple, _list),
)


def whole(digits: str) -> int:
    """The whole number of these decimal digits, exactly. Raises `ValueError` for more than 10,000 of them."""
    count = len(digits.lstrip("+-"))
    if count > _MOST_DIGITS:
        raise ValueError(f"a whole number has {count:,} digits, at most {_MOST_DIGITS:,} are read")
    return int(digits) if len(digits) < _LONG else int(Decimal(digits))


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _long_text(plain: Any) -> str:
    if is_object(plain):
        return "{" + ",".join(f"{quoted(key)}:{_long_text(item)}" for key, item in plain.items()) + "}"
    if is_list(plain):
        return "[" + ",".join(map(_long_text, plain)) + "]"
    if isinstance(plain, int) and not isinstance(plain, bool):
        return format(Decimal(plain), "f")
    return _ENCODER.encode(plain)


def _cut(literal: str) -> str:
    content = literal[1:-1]
    if len(content) <= 40:
        return literal
    kept = ""
    for token in _ESCAPED.findall(content):
        if len(kept) + len(token) > 37:
            break
        kept += token
    return f'"{kept}..."'
