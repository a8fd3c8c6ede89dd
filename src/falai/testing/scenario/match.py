"""How what a case expects is held against what was found.

An object is compared on the keys that are written, a list whole, everything else as JSON. An object
with one key that begins with `$` is a matcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeGuard

from falai.session.jsontext import MISSING, is_object, json_equal, json_text

__all__ = ["MATCHERS", "Mismatch", "is_list", "is_object", "mismatches", "shown"]

MATCHERS = ("$absent", "$any", "$contains", "$empty", "$length", "$match", "$oneOf")


class Mismatch(NamedTuple):
    """A place where the two differ, in words."""

    path: str
    expected: str
    found: str


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether it is a JSON list."""
    return isinstance(value, list)


def mismatches(expected: Any, found: Any, path: str = "") -> Iterator[Mismatch]:
    """Every place under `path` where `found` is not what is expected; `MISSING` stands for nothing there."""
    if is_object(expected):
        matcher = next(iter(expected), "")
        if matcher in MATCHERS:
            yield from _matched(matcher, expected[matcher], found, path)
        else:
            yield from _object(expected, found, path)
    elif is_list(expected):
        yield from _list(expected, found, path)
    elif found is MISSING or not json_equal(expected, found):
        yield Mismatch(path, shown(expected), shown(found))


def shown(value: Any) -> str:
    """A value for people, cut when it is long."""
    if value is MISSING:
        return "nothing"
    text = json_text(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"


def _object(expected: Mapping[str, Any], found: Any, path: str) -> Iterator[Mismatch]:
    if not is_object(found):
        yield Mismatch(path, f"an object, {shown(expected)}", shown(found))
        return
    for key, value in expected.items():
        yield from mismatches(value, found.get(key, MISSING), f"{path}.{key}" if path else key)


def _list(expected: list[Any], found: Any, path: str) -> Iterator[Mismatch]:
    if not is_list(found):
        yield Mismatch(path, f"a list, {shown(expected)}", shown(found))
    elif len(found) != len(expected):
        yield Mismatch(path, f"{len(expected)} entries, {shown(expected)}", f"{len(found)}, {shown(found)}")
    else:
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from mismatches(one, other, f"{path}[{index}]")


def _matched(matcher: str, argument: Any, found: Any, path: str) -> Iterator[Mismatch]:
    met, words = _judged(matcher, argument, found)
    if not met:
        yield Mismatch(path, words, shown(found))


def _judged(matcher: str, argument: Any, found: Any) -> tuple[bool, str]:
    """Whether the matcher is met, and what it asks for in words."""
    match matcher:
        case "$absent":
            return found is MISSING or found is None, "nothing"
        case "$any":
            return found is not MISSING, "something"
        case "$empty":
            return (is_list(found) or is_object(found)) and not found, "an object or a list without entries"
        case "$length":
            return is_list(found) and len(found) == argument, f"a list of {argument} entries"
        case "$match":
            met = isinstance(found, str) and re.search(argument, found) is not None
            return met, f"a text that matches /{argument}/"
        case "$oneOf":
            return any(_same(option, found) for option in argument), f"one of {shown(argument)}"
        case _:
            met = is_list(found) and all(any(_same(one, entry) for entry in found) for one in argument)
            return met, f"a list with each of {shown(argument)}"


def _same(expected: Any, found: Any) -> bool:
    return next(mismatches(expected, found), None) is None
