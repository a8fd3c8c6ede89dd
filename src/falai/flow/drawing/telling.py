"""Steps, triggers, conditions and exits in plain words, for people who do not read flows.

The texts are whole: formats cut them to their room. A flow need not have passed the checks of its names,
so whatever stands in an untyped place (a condition, `extract`) may have any form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from falai.flow.definition import (
    Collect,
    Do,
    If,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Predicate,
    Prompt,
    Repeat,
    Say,
    Step,
    Trigger,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.flow.exits import Exit
from falai.flow.phrases import Phrases, split_phrases
from falai.flow.places import is_list, is_object
from falai.session.jsontext import json_text, show

__all__ = ["condition_words", "exit_words", "step_words", "trigger_words"]

_DEADLINE = "30d"


def step_words(step: Step) -> str:
    """What the step does: `asks for name, size`, `waits 2d`, `if name is known`."""
    match step:
        case Collect():
            return _asking(step)
        case Prompt():
            return f"talks: {_quoted(step.prompt)}"
        case Say():
            return f"says {_quoted(step.say)}{', only once' if step.once else ''}"
        case Do():
            return f"does {_name(step.do)}"
        case Wait():
            return f"waits {step.wait}{_hours(step.business_hours)}"
        case WaitEvent():
            return f"waits for {step.event}, at most {step.up_to or _DEADLINE}"
        case If():
            return f"if {condition_words(step.if_)}"


def trigger_words(trigger: Trigger | Mapping[str, Any]) -> str:
    """What starts the flow: `the customer wants: “asks for a quote”`."""
    match trigger:
        case OnMessage():
            said = f"the customer wants: {_phrases(trigger.phrases)}"
        case OnAnyMessage():
            said = "any message that nothing else takes"
        case OnMention():
            said = f"the customer mentions: {_phrases(trigger.phrases)}" if trigger.phrases else "any message"
        case OnSilence():
            said = f"the customer is silent for {trigger.silence}{_hours(trigger.business_hours)}"
        case OnEvent():
            later = f", {trigger.after} later" if trigger.after else ""
            said = f"{trigger.event} is reported{later}{_hours(trigger.business_hours)}"
        case _:
            return "a trigger that cannot be read"
    condition = "" if trigger.if_ is None else f", if {condition_words(trigger.if_)}"
    return f"{said}{condition}{_repeat(trigger.repeat)}"


def exit_words(step: Step, way: Exit) -> str:
    """When the exit is taken, and what is forgotten on the way; nothing where it is the only one."""
    forgets = f"forgets {', '.join(way.clear)}" if way.clear else ""
    return "; ".join(part for part in (_when(step, way), forgets) if part)


def condition_words(predicate: Predicate | None) -> str:
    """A condition: `name, size are known and agreed is true`; a function is named."""
    if is_object(predicate):
        return " and ".join(_entry(name, argument) for name, argument in predicate.items()) or "always"
    return _name(predicate).replace("_", " ")


# --- parts -------------------------------------------------------------------------------------


def _when(step: Step, way: Exit) -> str:
    if way.branch is not None:
        when = (way.branch.when or "").strip()
        judged = "" if way.branch.if_ is None else f"if {condition_words(way.branch.if_)}"
        return ", ".join(part for part in (when, judged) if part)
    goes_on = way.kind in ("next", "then")
    match step:
        case If():
            return "yes" if goes_on else "no"
        case Do(on_fail=on_fail) if on_fail is not None:
            return "done" if goes_on else "failed"
        case Wait(else_=else_) if else_ is not None:
            return "nobody wrote" if goes_on else "the customer wrote"
        case WaitEvent():
            return "it happened" if goes_on else "it did not happen"
        case _:
            return ""


def _asking(step: Collect) -> str:
    fields = ", ".join(step.collect)
    words = _quoted(step.question or step.prompt or "") if step.question or step.prompt else ""
    asks = f"asks for {fields}" if fields else "talks"
    return f"{asks}: {words}" if words else asks


def _phrases(phrases: Iterable[str]) -> str:
    split: Phrases = split_phrases(phrases)
    wanted = ", ".join(map(_quoted, split.matches))
    return f"{wanted}; not {', '.join(map(_quoted, split.exclusions))}" if split.exclusions else wanted


def _entry(name: str, argument: Any) -> str:
    if name == "known" and is_list(argument):
        return f"{', '.join(map(str, argument))} {'is' if len(argument) == 1 else 'are'} known"
    if name == "equals" and is_object(argument):
        return " and ".join(_equalities(argument))
    if name == "silenced" and isinstance(argument, bool):
        return f"the assistant {'is silenced' if argument else 'may speak'}"
    return name if argument is True else f"{name} {_value(argument)}"


def _equalities(values: Mapping[str, Any]) -> Iterator[str]:
    for slug, value in values.items():
        yield f"{slug} is {_value(value)}"


def _value(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json_text(value)
    except TypeError:  # a condition of one's own takes any value
        return show(value)


def _repeat(repeat: Repeat | None) -> str:
    if is_object(repeat):
        return f"; again after {repeat.get('cooldown')}"
    return {"once": "; once", "always": "; every time"}.get(str(repeat), "")


def _hours(business_hours: bool | None) -> str:
    return ", in business hours" if business_hours else ""


def _quoted(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def _name(action: Any) -> str:
    name = action if isinstance(action, str) else getattr(action, "__name__", type(action).__name__)
    return "what a function says" if name == "<lambda>" else name
