"""Checks out of which the shape of a scenario file is built. Each says what is wrong and goes on.

A check is called with a value, its path and `tell`; it returns nothing and raises nothing, so that
one pass finds everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from falai.flow.durations import is_duration
from falai.session.dates import read_date
from falai.session.jsontext import quoted, show
from falai.testing.scenario.match import MATCHERS, is_list, is_object

__all__ = [
    "Check", "Tell", "anything", "boolean", "count", "date", "duration", "expectation", "listed", "mapped", "number",
    "object_of", "one_of", "regular", "shaped", "text",
]  # fmt: skip

Tell = Callable[[str, str], None]
"""Takes the path and what is wrong there."""
Check = Callable[[Any, str, Tell], None]


def anything(value: Any, path: str, tell: Tell) -> None:
    """Whatever it is: the agent or the turn judges it."""


def _plain(fits: Callable[[Any], bool], expected: str) -> Check:
    def check(value: Any, path: str, tell: Tell) -> None:
        if not fits(value):
            tell(path, f"{show(value)} is given, {expected} is expected")

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


text = _plain(lambda value: isinstance(value, str), "a text")
boolean = _plain(lambda value: isinstance(value, bool), "true or false")
number = _plain(_is_number, "a number")
count = _plain(lambda value: _is_number(value) and value % 1 == 0 and value >= 0, "a whole number, 0 or more")
date = _plain(lambda value: read_date(value) is not None, "a date like 2026-09-20T10:00:00.000Z")
duration = _plain(is_duration, "a duration like 90s, 15m, 2h or 1.5d")
object_of = _plain(is_object, "an object")


def one_of(*words: str) -> Check:
    """One of these texts."""
    return _plain(lambda value: value in words, f"one of {', '.join(words)}")


def listed(check: Check, *, some: bool = False) -> Check:
    """A list whose every entry passes; with `some`, one that is not empty."""

    def check_list(value: Any, path: str, tell: Tell) -> None:
        if not is_list(value) or (some and not value):
            tell(path, f"{show(value)} is given, a list{' with an entry' if some else ''} is expected")
            return
        for index, entry in enumerate(value):
            check(entry, f"{path}[{index}]", tell)

    return check_list


def mapped(check: Check) -> Check:
    """An object under whose every key stands something that passes."""

    def check_mapping(value: Any, path: str, tell: Tell) -> None:
        if not is_object(value):
            tell(path, f"{show(value)} is given, an object is expected")
            return
        for key, entry in value.items():
            check(entry, _under(path, key), tell)

    return check_mapping


def shaped(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with exactly these keys; an unknown one is met with the nearest known one."""
    known = {**required, **(optional or {})}

    def check_object(value: Any, path: str, tell: Tell) -> None:
        if not is_object(value):
            tell(path, f"{show(value)} is given, an object is expected")
            return
        for key in required:
            if key not in value:
                tell(_under(path, key), "it is missing")
        for key, entry in value.items():
            if key in known:
                known[key](entry, _under(path, key), tell)
            else:
                tell(_under(path, key), _unknown(key, list(known)))

    return check_object


def regular(value: Any, path: str, tell: Tell) -> None:
    """A regular expression."""
    text(value, path, tell)
    try:
        re.compile(value if isinstance(value, str) else "")
    except re.error as error:
        tell(path, f"{quoted(value)} is no regular expression: {error}")


def expectation(value: Any, path: str, tell: Tell) -> None:
    """Anything to compare with, in which each matcher is one that exists and stands alone."""
    if is_list(value):
        listed(expectation)(value, path, tell)
    elif is_object(value):
        matchers = [key for key in value if key.startswith("$")]
        if not matchers:
            mapped(expectation)(value, path, tell)
        elif len(value) > 1:
            tell(path, f"{quoted(matchers[0])} stands beside other keys; a matcher stands alone")
        else:
            shaped({}, _MATCHERS)(value, path, tell)


def _true(value: Any, path: str, tell: Tell) -> None:
    if value is not True:
        tell(path, f"{show(value)} is given, true is expected")


_MATCHERS: Mapping[str, Check] = {
    "$absent": _true,
    "$any": _true,
    "$contains": listed(expectation),
    "$empty": _true,
    "$length": count,
    "$match": regular,
    "$oneOf": listed(expectation, some=True),
}
assert tuple(_MATCHERS) == MATCHERS


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _unknown(key: str, known: list[str]) -> str:
    near = get_close_matches(key, known, 1)
    return f"no such key; did you mean {near[0]}?" if near else f"no such key; there are {', '.join(known)}"
