"""The shape of a flow in wire form: is everything of the kind that it must be (S-17 to S-23, F-17.2 H1 to H24)?

No name is looked up here: a stored flow is untrusted, and a name can only be looked up in a flow
whose shape is right. Checks are tables, key → check, in the order of the specification; each
check gives every problem that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from falai.errors import Problem
from falai.flow.durations import EXAMPLES
from falai.flow.fields import read_parameters
from falai.flow.nearest import instead
from falai.flow.places import Place, Wire, flow_place, is_list, is_object, listing, step_place, trigger_place
from falai.flow.wire import BRANCH, FLOW, STEP, TARGET, NoPhrases, body_kinds
from falai.session.jsontext import MISSING, quoted, show

__all__ = ["flow_shape", "instructions_shape", "texts_shape"]

Check = Callable[[Any, Place], Iterable[Problem]]
Checks = tuple[tuple[str, Check], ...]

ON_END = ("end", "stay", "reset")
INSTRUCTION_KINDS = ("must", "never", "should")
BODIES = ("prompt", "collect", "say", "do", "wait", "if")

_A_STEP = 'Give it one of "prompt", "collect", "say", "do", "wait" or "if"'
_A_TARGET = 'Write "<step id>", "end", {"step": "<step id>"} or {"flow": "<flow id>"}'
_A_CONDITION = 'Write a condition, such as {"known": ["<field>"]}'


def flow_shape(flow: Any, base: str = "") -> Iterator[Problem]:
    """Every problem of the flow's shape, in the order of S-17."""
    place = flow_place(flow, base)
    if not is_object(flow):
        yield place.problem("not-an-object", f"a flow is an object, and this is {show(flow)}", "Write {id, steps, …}")
        return
    steps = flow.get("steps", MISSING)
    if not is_list(steps):
        fix = instead(flow, ("steps",), FLOW, "List the flow's steps")
        yield place.key("steps").problem("no-steps", f"steps is {show(steps)}", fix)
    yield from _each(_FLOW_CHECKS, flow, place)
    yield from _triggers(flow.get("on", []), place)
    if is_list(steps):
        yield from _objects(steps, place.key("steps"), '{"id": "…", "say": "…"}', _nothing)
        for index, step in enumerate(steps):
            if is_object(step):
                yield from _step(step, step_place(place, step, index))


def instructions_shape(value: Any, place: Place) -> Iterator[Problem]:
    """H7: a list of objects with a `prompt`."""
    yield from _objects(value, place, '{"prompt": "…"}', _instruction)


def texts_shape(value: Any, place: Place) -> Iterator[Problem]:
    """H4: a list of texts."""
    if not is_list(value):
        example = f"[{show(value)}]" if isinstance(value, str) else '["…"]'
        yield place.problem("not-a-list", f"{place.name} is {show(value)}", f"Write a list: {example}")
        return
    for index, entry in enumerate(value):
        if not isinstance(entry, str):
            there = place.item(index)
            yield there.problem("bad-entry", f"{there.name} is {show(entry)}", "List texts only")


def _each(checks: Checks, value: Wire, place: Place) -> Iterator[Problem]:
    for key, check in checks:
        if key in value:
            yield from check(value[key], place.key(key))


def _objects(value: Any, place: Place, example: str, check: Check) -> Iterator[Problem]:
    """A list of objects: first that it is one, then each entry."""
    if not is_list(value):
        yield place.problem("not-a-list", f"{place.name} is {show(value)}", f"Write a list: [{example}]")
        return
    for index, entry in enumerate(value):
        if not is_object(entry):
            there = place.item(index)
            yield there.problem("bad-entry", f"{there.name} is {show(entry)}", f"Write {example}")
    for index, entry in enumerate(value):
        if is_object(entry):
            yield from check(entry, place.item(index))


def _is_text(value: Any, text: str) -> bool:
    return isinstance(value, str) and value == text


def _nothing(_: Any, __: Place) -> Iterable[Problem]:
    return ()


# --- single values -----------------------------------------------------------------------------


def _text(value: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield place.problem("not-text", f"{place.name} is {show(value)}", "Write text")


def _name(value: Any, place: Place) -> Iterator[Problem]:
    yield from _text(value, place)
    if _is_text(value, ""):
        yield place.problem("not-text", f'{place.name} is ""', "Write text, or leave it out: the id serves then")


def _boolean(value: Any, place: Place) -> Iterator[Problem]:
    if not isinstance(value, bool):
        yield place.problem("not-a-boolean", f"{place.name} is {show(value)}", "Write true or false")


def _one_of(allowed: tuple[str, ...]) -> Check:
    def check(value: Any, place: Place) -> Iterator[Problem]:
        if not isinstance(value, str) or value not in allowed:
            fix = f"Write {listing([quoted(word) for word in allowed])}"
            yield place.problem("not-one-of", f"{place.name} is {show(value)}", fix)

    return check


def _condition(value: Any, place: Place) -> Iterator[Problem]:
    if not is_object(value) and not callable(value):
        yield place.problem("not-a-condition", f"{place.name} is {show(value)}", _A_CONDITION)


def _an_object(value: Any, place: Place) -> Iterator[Problem]:
    if not is_object(value):
        yield place.problem("not-an-object", f"{place.name} is {show(value)}", "Write an object")


def _asks(value: Any, place: Place) -> Iterator[Problem]:
    for slug, text in value.items() if is_object(value) else ():
        yield from _text(text, place.key(str(slug)))


def _media(value: Any, place: Place) -> Iterator[Problem]:
    if is_object(value):
        yield from _text(value.get("slug", MISSING), place.key("slug"))


def _max_asks(value: Any, place: Place) -> Iterator[Problem]:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 and value % 1 == 0
    if not whole:
        yield place.problem("bad-max-asks", f"{place.name} is {show(value)}", "Write a whole number of 1 or more")


def _wait(value: Any, place: Place) -> Iterator[Problem]:
    if is_object(value):
        event = value.get("event", MISSING)
        if not isinstance(event, str):
            what = f"{place.name} has no text as its event: {show(event)}"
            yield place.problem(
                "no-event", what, instead(value, ("event",), ("event", "upTo"), 'Write {"event": "<event name>"}')
            )
    elif not isinstance(value, str):
        fix = f'Write a duration ({EXAMPLES}) or {{"event": "<event name>"}}'
        yield place.problem("bad-duration", f"{place.name} is {show(value)}", fix)


def _target(value: Any, place: Place) -> Iterator[Problem]:
    if isinstance(value, str):
        return
    leads = [key for key in ("step", "flow") if is_object(value) and isinstance(value.get(key), str)]
    keys = [key for key in ("step", "flow") if is_object(value) and key in value]
    if len(keys) > 1:
        yield place.problem("bad-target", f"{place.name} is {show(value)} with both step and flow", "Keep one")
    elif not leads:
        fix = instead(value, ("step", "flow"), TARGET, _A_TARGET) if is_object(value) else _A_TARGET
        yield place.problem("bad-target", f"{place.name} is {show(value)}", fix)
    if is_object(value) and "clear" in value:
        yield from texts_shape(value["clear"], place.key("clear"))


# --- triggers ----------------------------------------------------------------------------------


def _triggers(value: Any, flow: Place) -> Iterator[Problem]:
    place = flow.key("on")
    yield from _objects(value, place, '{"message": ["…"]}', _nothing)
    for index, trigger in enumerate(value if is_list(value) else ()):
        if is_object(trigger):
            yield from _each(_TRIGGER_CHECKS, trigger, trigger_place(flow, index))


def _phrases(value: Any, place: Place) -> Iterator[Problem]:
    if isinstance(value, NoPhrases):
        fix = "Write what the customer may want, or OnAnyMessage() for a catch-all"
        yield place.problem("no-phrases", "OnMessage() has no phrases", fix)
    yield from texts_shape(value, place)


def _repeat(value: Any, place: Place) -> Iterator[Problem]:
    if isinstance(value, str) and value in ("once", "always"):
        return
    cooldown = value.get("cooldown", MISSING) if is_object(value) else MISSING
    if isinstance(cooldown, str):
        return
    here, shown = (place, value) if cooldown is MISSING else (place.key("cooldown"), cooldown)
    fix = 'Write "once", "always" or {"cooldown": "24h"}'
    yield here.problem("bad-repeat", f"{here.name} is {show(shown)}", fix)


def _extract(value: Any, place: Place) -> Iterator[Problem]:
    for problem in read_parameters(value, place)[1]:
        yield replace(problem, code="bad-extract")


# --- instructions, branches, steps -------------------------------------------------------------


def _instruction(value: Wire, place: Place) -> Iterator[Problem]:
    yield from _each((("kind", _one_of(INSTRUCTION_KINDS)),), value, place)
    yield from _text(value.get("prompt", MISSING), place.key("prompt"))
    yield from _each((("when", _when), ("if", _condition)), value, place)


def _when(value: Any, place: Place) -> Iterator[Problem]:
    yield from texts_shape(value, place) if is_list(value) else _text(value, place)


def _branch(value: Wire, place: Place) -> Iterator[Problem]:
    yield from _each((("when", _text), ("if", _condition)), value, place)
    if "then" in value:
        yield from _target(value["then"], place.key("then"))
    else:
        then = place.key("then")
        yield then.problem("bad-target", f"{then.name} is missing", instead(value, ("then",), BRANCH, _A_TARGET))


def _branches(value: Any, place: Place) -> Iterator[Problem]:
    yield from _objects(value, place, '{"when": "…", "then": "<step id>"}', _branch)


def _step(step: Wire, place: Place) -> Iterator[Problem]:
    kinds = body_kinds(step)
    if not kinds:
        yield place.problem("does-nothing", "this step does nothing", instead(step, BODIES, STEP, _A_STEP))
    elif len(kinds) > 1:
        found = listing([quoted(kind) for kind in kinds], "and")
        yield place.problem("mixed-step", f"one step cannot be {found}", "Make a step of each")
    elif "kind" in step and not _is_text(step["kind"], kinds[0]):
        what = f"kind is {show(step['kind'])} and the body is {quoted(kinds[0])}"
        yield place.key("kind").problem("kind-mismatch", what, f"Write {quoted(kinds[0])}, or leave kind out")
    yield from _each(_STEP_CHECKS, step, place)


_FLOW_CHECKS: Checks = (
    ("name", _name),
    ("description", _text),
    ("anchor", _text),
    ("collect", texts_shape),
    ("clearOnStart", texts_shape),
    ("tools", texts_shape),
    ("onEnd", _one_of(ON_END)),
    ("while", _condition),
    ("instructions", instructions_shape),
)
_TRIGGER_CHECKS: Checks = (
    ("message", _phrases),
    ("mention", texts_shape),
    ("if", _condition),
    ("repeat", _repeat),
    ("businessHours", _boolean),
    ("extract", _extract),
)
_STEP_CHECKS: Checks = (
    ("say", _text),
    ("prompt", _text),
    ("question", _text),
    ("label", _text),
    ("collect", texts_shape),
    ("tools", texts_shape),
    ("ask", _an_object),
    ("with", _an_object),
    ("ui", _an_object),
    ("media", _an_object),
    ("ask", _asks),
    ("media", _media),
    ("maxAsks", _max_asks),
    ("wait", _wait),
    ("businessHours", _boolean),
    ("once", _boolean),
    ("if", _condition),
    ("then", _target),
    ("else", _target),
    ("onFail", _target),
    ("instructions", instructions_shape),
    ("branches", _branches),
)
