"""An agent's plain options: texts, limits, the time zone, compaction (F-16, F-19.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from falai.errors import Problem
from falai.flow.hours import zone
from falai.flow.places import Place, is_object
from falai.flow.values import is_number
from falai.flow.wire import wire_name
from falai.session.jsontext import json_text, show, to_plain

__all__ = ["check_compaction", "check_options"]

_AGENT = Place("agent")


def check_options(options: Any) -> Iterator[Problem]:
    """Every problem of the plain options; compaction has its own check."""
    loops = options.max_tool_loops
    if not is_number(loops) or loops < 0 or loops % 1:
        what = f"maxToolLoops is {show(loops)}"
        yield _AGENT.key("maxToolLoops").problem("bad-limit", what, "Write a whole number of 0 or more")
    if not isinstance(options.name, str) or not options.name.strip():
        yield _AGENT.key("name").problem("not-text", f"name is {show(options.name)}", "Write the assistant's name")
    for key in ("persona", "goal", "language"):
        value = getattr(options, key)
        if value is not None and not isinstance(value, str):
            yield _AGENT.key(key).problem("not-text", f"{key} is {show(value)}", "Write text")
    yield from _knowledge(options.knowledge_base)
    yield from _timezone(options.timezone)
    for key in ("business_hours", "clock"):
        value = getattr(options, key)
        if value is not None and not callable(value):
            name = wire_name(key)
            yield _AGENT.key(name).problem("not-a-function", f"{name} is {show(value)}", "Give a function")
    yield from options.problems


def check_compaction(options: Any) -> None:
    """Raises a plain ValueError for a compaction option out of its range (F-16.4)."""
    if options is None or (is_object(options) and options.get("enabled") is False):
        return
    if not is_object(options):
        raise ValueError(f"[CompactionEngine] compaction is {show(options)}: write a mapping with maxTokens")
    for name in options:
        if name not in _RANGES and name != "enabled":
            wire = wire_name(str(name))
            meant = f": did you mean {wire}?" if wire in _RANGES else ""
            raise ValueError(f"[CompactionEngine] {name} is no option of compaction{meant}")
    for name, (default, allowed, words) in _RANGES.items():
        value: Any = default if options.get(name) is None else options[name]
        if not is_number(value) or not allowed(value):
            raise ValueError(f"[CompactionEngine] {name} is {show(value)}: it must be {words}")


_RANGES: Mapping[str, tuple[float | None, Callable[[float], bool], str]] = {
    "maxTokens": (None, lambda value: value > 0, "a number above 0"),
    "compactionThreshold": (0.8, lambda value: 0.5 <= value <= 0.95, "a number from 0.5 to 0.95"),
    "preserveRecentCount": (4, lambda value: value >= 2 and value % 1 == 0, "a whole number of 2 or more"),
    "maxToolResultChars": (5000, lambda value: value > 0 and value % 1 == 0, "a whole number above 0"),
}


def _knowledge(value: Any) -> Iterator[Problem]:
    place = _AGENT.key("knowledgeBase")
    if value is None:
        return
    if not is_object(value):
        yield place.problem("not-an-object", f"knowledgeBase is {show(value)}", "Write an object of plain JSON data")
        return
    try:
        json_text(to_plain(value, "knowledgeBase"))
    except TypeError as error:
        yield place.problem("not-an-object", str(error), "Write plain JSON data")


def _timezone(value: Any) -> Iterator[Problem]:
    if value is None:
        return
    try:
        zone(value)
    except ValueError as error:
        what, _, fix = str(error).partition(": ")
        yield _AGENT.key("timezone").problem("bad-timezone", what, fix[:1].upper() + fix[1:])
