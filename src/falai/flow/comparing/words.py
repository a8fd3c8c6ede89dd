"""How parts of a flow are named and shown in a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falai.flow.places import Wire, is_list, is_object, listing
from falai.session.jsontext import json_equal, json_text, quoted

__all__ = ["NAMES", "listed_changes", "reordered", "same", "shown", "target_words", "trigger_words", "value_change"]

_LONGEST = 70

NAMES: Mapping[str, str] = {
    "name": "its name",
    "description": "its description",
    "anchor": "what a run belongs to (anchor)",
    "while": "what must hold (while)",
    "onEnd": "what follows the last step (onEnd)",
    "label": "its label",
    "prompt": "its guideline (prompt)",
    "question": "its fixed question",
    "maxAsks": "how often it may ask for a field (maxAsks)",
    "say": "its text",
    "media": "its media",
    "once": "whether it is said once per conversation (once)",
    "do": "its action",
    "with": "what the action is given (with)",
    "wait": "its wait",
    "businessHours": "whether the time is moved into business hours",
    "if": "its condition (if)",
    "repeat": "how often it may start (repeat)",
    "after": "how long after the event (after)",
    "silence": "the length of the silence",
    "event": "its event",
    "extract": "what is read from the message (extract)",
}
"""What stands under a key, in words; a key that is not here is named as it is written."""


def shown(value: Any) -> str:
    """A value as a comparison shows it: JSON on one line, cut where it is long."""
    if callable(value):
        return f"the function {getattr(value, '__name__', 'given')}"
    text = _text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def same(old: Any, new: Any) -> bool:
    """Whether two parts in wire form say the same; functions are the same only if they are the very ones."""
    if is_object(old) and is_object(new):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if is_list(old) and is_list(new):
        return len(old) == len(new) and all(map(same, old, new))
    return json_equal(old, new)


def reordered(old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether what both lists have stands in another order."""
    kept = [one for one in old if any(same(one, other) for other in new)]
    found = [one for one in new if any(same(one, other) for other in old)]
    return not same(kept, found)


def value_change(key: str, old: Any, new: Any) -> str:
    """One sentence for a property that was set, unset or set to something else; `None` stands for unset."""
    name = NAMES.get(key, key)
    if old is None:
        return f"{name} is new: {shown(new)}"
    if new is None:
        return f"{name} is gone; it was {shown(old)}"
    return f"{name} is {shown(new)} instead of {shown(old)}"


def listed_changes(old: Sequence[Any], new: Sequence[Any], gained: str, lost: str, order: str) -> Iterator[str]:
    """What came to a list of names, what left it, and whether the rest stands in another order."""
    more = [quoted(str(name)) for name in new if name not in old]
    less = [quoted(str(name)) for name in old if name not in new]
    if more:
        yield f"{gained} {listing(more, 'and')}"
    if less:
        yield f"{lost} {listing(less, 'and')}"
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield order


def target_words(target: Any) -> str:
    """Where a target leads."""
    if target is None:
        return "the next step"
    if target == "end":
        return "the end"
    if not is_object(target):
        return quoted(str(target))
    if "flow" in target:
        given = f" with {shown(target['input'])}" if "input" in target else ""
        return f"the flow {quoted(str(target['flow']))}{given}"
    cleared = [quoted(str(slug)) for slug in target.get("clear", ())]
    return quoted(str(target["step"])) + (f", forgetting {listing(cleared, 'and')}" if cleared else "")


def trigger_words(trigger: Wire) -> str:
    """What starts a flow, in a few words."""
    if phrases := trigger.get("message"):
        return f"a message: {_several(phrases)}"
    if "message" in trigger:
        return "any message"
    if "mention" in trigger:
        return f"a mention: {_several(trigger['mention'])}" if trigger["mention"] else "a mention that code decides"
    if "silence" in trigger:
        return f"a silence of {trigger['silence']}"
    return f"the event {quoted(str(trigger.get('event')))}"


def _several(phrases: Sequence[Any]) -> str:
    first = ", ".join(quoted(str(phrase)) for phrase in phrases[:3])
    return first if len(phrases) <= 3 else f"{first} and {len(phrases) - 3} more"


def _text(value: Any) -> str:
    try:
        return json_text(value)
    except TypeError:  # a function somewhere inside
        return "something that code decides"
