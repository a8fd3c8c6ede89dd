"""Is this a directive that can be applied (D-50 to D-53, D-60)?

Only the form is looked at: which flows and steps there are is known when it is applied (D-57). The
checks are tables, in the order of D-60; everything that is wrong is told at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from falai.classic.directive import MEMBERS, OBJECT_FORMS, POSITIONS, Directive, members_of
from falai.classic.named import named, named_twice, snake_name
from falai.classic.tools import tool_id
from falai.errors import FlowConfigurationError, Problem
from falai.flow.places import Place, Wire, is_list, is_object
from falai.session.jsontext import MISSING, show
from falai.session.keys import is_blank_id

__all__ = ["directive_problems", "validate"]

Check = Callable[[Any, Place], Iterable[Problem]]

_BAD = "bad-member"


def validate(d: Directive | Wire) -> None:
    """Returns nothing for a directive of the right form, the empty one included (D-60).

    Raises FlowConfigurationError with every problem otherwise, and `TypeError` for what is no
    directive. Targets are not looked up.
    """
    problems = list(directive_problems(d, Place("Invalid directive")))
    if problems:
        raise FlowConfigurationError(problems)


def directive_problems(directive: Directive | Wire, place: Place) -> Iterator[Problem]:
    """What is wrong with the directive that stands at this place, and with each `complete.next` below it."""
    seen: list[object] = []
    current: Any = directive
    while not any(current is one for one in seen):
        seen.append(current)
        members = members_of(current)
        yield from _one(current, members, place)
        current = _next(members)
        if current is None:
            return
        place = place.key("complete").key("next")
    yield place.problem(_BAD, f"{place.name} is a directive that holds itself", "Write each directive anew")


def _next(members: Wire) -> Any:
    """The directive in `complete.next`, when there is one."""
    complete = members.get("complete")
    after = named(complete, OBJECT_FORMS["complete"]).get("next") if is_object(complete) else None
    return after if isinstance(after, Directive) or is_object(after) else None


def _one(directive: Any, members: Wire, place: Place) -> Iterator[Problem]:
    yield from _positions(members, place)
    yield from _empty_go_to(members, place)
    yield from _reply_with_abort(members, place)
    yield from _twice(directive, MEMBERS, place)
    for name, value in members.items():
        yield from _CHECKS[name](value, place.key(name))


def _positions(members: Wire, place: Place) -> Iterator[Problem]:
    found = [name for name in POSITIONS if name in members]
    if len(found) > 1:
        what = f"{_here(place)}multiple position fields set ({', '.join(found)})"
        yield place.problem("multiple-positions", what, "Keep one of them")


def _empty_go_to(members: Wire, place: Place) -> Iterator[Problem]:
    target = members.get("goTo")
    if is_object(target) and target.get("flow") is None and target.get("step") is None:
        here = place.key("goTo")
        what = f"{here.name} is an empty object: it has neither flow nor step"
        yield here.problem("empty-goto", what, "Name where to go: a flow id or title, or a step")


def _reply_with_abort(members: Wire, place: Place) -> Iterator[Problem]:
    if "reply" in members and "abort" in members:
        what = f"{_here(place)}reply and abort cannot co-exist"
        yield place.problem("reply-with-abort", what, "Nothing is said in a turn that is aborted: keep one of them")


def _here(place: Place) -> str:
    return f"{place.name}: " if place.name else ""


def _twice(value: Any, names: Iterable[str], place: Place) -> Iterator[Problem]:
    for name in named_twice(value, names) if is_object(value) else ():
        here = place.key(name)
        yield here.problem(_BAD, f"{here.name} is there as {name} and as {snake_name(name)}", "Keep one of the two")


# --- members: the check of each, by its name ---------------------------------------------------


def _wrong(value: Any, place: Place, fix: str) -> Problem:
    return place.problem(_BAD, f"{place.name} is {show(value)}", fix)


def _text(value: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield _wrong(value, place, "Write text")


def _name(value: Any, place: Place) -> Iterator[Problem]:
    """Text that names something: not blank (D-51)."""
    if is_blank_id(value):
        yield _wrong(value, place, "Write text that is not blank")


def _boolean(value: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield _wrong(value, place, "Write true or false")


def _object(value: Any, place: Place) -> Iterator[Problem]:
    if not is_object(value):
        yield _wrong(value, place, 'Write an object: {"<name>": <value>}')


def _carry(value: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(value, str) or value not in ("preserve", "reset"):
        yield _wrong(value, place, 'Write "preserve" or "reset"')


def _directive(value: Any, place: Place) -> Iterator[Problem]:
    """That it is one; what is in it is looked at afterwards."""
    if not isinstance(value, Directive) and not is_object(value):
        yield _wrong(value, place, 'Write a directive, such as {"goTo": "<flow>"}')


def _texts(value: Any, place: Place) -> Iterator[Problem]:
    if not is_list(value):
        yield _wrong(value, place, "Write a list of texts")
        return
    for index, entry in enumerate(value):
        yield from _text(entry, place.item(index))


def _tools(value: Any, place: Place) -> Iterator[Problem]:
    if not is_list(value):
        yield _wrong(value, place, "Write a list of tools")
        return
    for index, tool in enumerate(value):
        if tool_id(tool) is None:
            yield _wrong(tool, place.item(index), "Give a tool with an id")


def _position(short: Check, form: str, required: str | None = None) -> Check:
    """A position member: its short form, or its object with the members of `OBJECT_FORMS`."""

    def check(value: Any, place: Place) -> Iterator[Problem]:
        if not is_object(value):
            yield from short(value, place)
            return
        yield from _twice(value, OBJECT_FORMS[form], place)
        given = named(value, OBJECT_FORMS[form])
        if required and given.get(required) is None:
            here = place.key(required)
            yield here.problem(_BAD, f"{here.name} is {show(MISSING)}", "Write text that is not blank")
        for name in OBJECT_FORMS[form]:
            if given.get(name) is not None:
                yield from _IN_OBJECT[form, name](given[name], place.key(name))

    return check


def _flag(value: Any, place: Place) -> Iterator[Problem]:
    """The short form of `complete` and `reset`."""
    if value is not True:
        yield _wrong(value, place, "Write true or an object")


_IN_OBJECT: Mapping[tuple[str, str], Check] = {
    ("goTo", "flow"): _name,
    ("goTo", "step"): _name,
    ("goTo", "data"): _object,
    ("goTo", "reason"): _text,
    ("goTo", "carry"): _carry,
    ("goToStep", "step"): _name,
    ("goToStep", "flow"): _name,
    ("goToStep", "data"): _object,
    ("goToStep", "reason"): _text,
    ("complete", "next"): _directive,
    ("complete", "reason"): _text,
    ("abort", "reason"): _name,
    ("abort", "clearSession"): _boolean,
    ("reset", "step"): _name,
    ("reset", "clearData"): _boolean,
    ("reset", "reason"): _text,
}
_CHECKS: Mapping[str, Check] = {
    "goTo": _position(_name, "goTo"),
    "goToStep": _position(_name, "goToStep", "step"),
    "complete": _position(_flag, "complete"),
    "abort": _position(_name, "abort", "reason"),
    "reset": _position(_flag, "reset"),
    "reply": _text,
    "dataUpdate": _object,
    "contextUpdate": _object,
    "appendPrompt": _texts,
    "injectTools": _tools,
    "halt": _boolean,
    "reason": _text,
}
