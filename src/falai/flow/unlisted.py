"""W6: properties that have no meaning where they stand (S-43). They are never an error: an editor may keep its own.

Looked at are the flow, each trigger and step by its kind, each branch, instruction and object
target; nothing inside `with`, `ui`, `input`, `ask` or a condition's arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from falai.flow.nearest import nearest
from falai.flow.places import Notice, Place, Wire, is_object
from falai.flow.wire import BRANCH, FLOW, INSTRUCTION, STEPS, TARGETS, TRIGGER, TRIGGERS, body_kinds
from falai.session.jsontext import quoted

__all__ = ["unlisted", "unlisted_in_flow", "unlisted_in_instructions", "unlisted_in_step", "unlisted_in_trigger"]

_TARGET_KEYS = ("then", "else", "onFail")


def unlisted_in_flow(flow: Wire, place: Place) -> Iterator[Notice]:
    """The flow's own properties and those of its instructions, as they are written."""
    yield from _walk(flow, FLOW, place)


def unlisted_in_trigger(trigger: Wire, place: Place) -> Iterator[Notice]:
    """The trigger's own properties, by its kind; while it has none, or several, those of any."""
    kinds = [kind for kind in TRIGGERS if kind in trigger]
    yield from unlisted(trigger, TRIGGERS[kinds[0]] if len(kinds) == 1 else TRIGGER, place)


def unlisted_in_step(step: Wire, place: Place) -> Iterator[Notice]:
    """The step's own properties, by its kind, and those of its targets, branches and instructions."""
    yield from _walk(step, STEPS[body_kinds(step)[0]], place)


def unlisted_in_instructions(instructions: Sequence[Wire], place: Place) -> Iterator[Notice]:
    """The properties of each instruction of a list."""
    yield from _parts(instructions, INSTRUCTION, place)


def unlisted(value: Wire, listed: Collection[str], place: Place) -> Iterator[Notice]:
    """One warning for each property that is not listed."""
    for key in value:
        if key not in listed:
            yield _notice(str(key), listed, place)


def _walk(value: Wire, listed: Sequence[str], place: Place) -> Iterator[Notice]:
    for key, part in value.items():
        if key not in listed:
            yield _notice(str(key), listed, place)
        elif key in _TARGET_KEYS:
            yield from _target(part, place.key(key))
        elif key in ("branches", "instructions"):
            yield from _parts(part, BRANCH if key == "branches" else INSTRUCTION, place.key(key))


def _parts(parts: Sequence[Any], listed: Sequence[str], place: Place) -> Iterator[Notice]:
    for index, part in enumerate(parts):
        yield from _walk(part, listed, place.item(index))


def _target(target: Any, place: Place) -> Iterator[Notice]:
    if is_object(target):
        yield from unlisted(target, TARGETS["flow" if "flow" in target else "step"], place)


def _notice(key: str, listed: Collection[str], place: Place) -> Notice:
    near = nearest(key, listed)
    fix = f"Did you mean {near}?" if near else "Take it out; it does not survive a conversion"
    inside = f" in {place.name}" if place.name else ""
    return place.key(key).notice("unlisted-property", f"the property {quoted(key)}{inside} has no meaning here", fix)
