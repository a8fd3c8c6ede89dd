"""The parts of a prompt that both calls have, and the prefix that never changes (M-11).

A section is a `## Title` line and what stands under it; a blank one is left out. Only titles of
ours begin with `#`: `quoting` sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from falai.flow.plan import AgentPlan, FieldPlan
from falai.flow.templates import Roots
from falai.flow.values import is_known
from falai.model.quoting import literal, name, written
from falai.model.tasks import FieldTask, Known, ParamTask, Today
from falai.session.dates import from_ms
from falai.session.jsontext import json_text

__all__ = [
    "Prefix", "field_line", "identity", "joined", "known_facts", "known_section", "param_line", "prefix", "section",
    "today", "today_section",
]  # fmt: skip

_FORMATS: Final = {
    "date": "a date as YYYY-MM-DD",
    "date-time": "a date and time as YYYY-MM-DDTHH:MM",
    "time": "a time as HH:MM",
    "duration": "an ISO 8601 duration",
}
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Prefix:
    """The system message, and whether identity has to go into every prompt instead (M-11.6)."""

    system: str | None
    identity_varies: bool


def section(title: str, body: str) -> str:
    """A titled section; blank when its body is."""
    return f"## {title}\n{body}" if body.strip() else ""


def joined(sections: Iterable[str]) -> str:
    """The sections that are not blank, a blank line between each two (M-11.1)."""
    return "\n\n".join(filter(None, sections))


def prefix(plan: AgentPlan) -> Prefix:
    """What is sent before everything else, byte for byte the same in every turn of an agent."""
    found = _PREFIXES.get(plan)
    if found is None:
        found = _PREFIXES[plan] = _made_prefix(plan)
    return found


def identity(plan: AgentPlan, scope: Roots) -> str | None:
    """Who the assistant is, when that varies with the data; `None` when `system` says it (M-11.6)."""
    return _identity(plan, scope) if prefix(plan).identity_varies else None


def today(plan: AgentPlan, now_ms: int) -> Today | None:
    """Which day it is in the agent's zone; `None` for an agent without one (M-24.2)."""
    if plan.timezone is None:
        return None
    from zoneinfo import ZoneInfo  # only agents with a zone need its tables

    local = from_ms(now_ms).astimezone(ZoneInfo(plan.timezone))
    return Today(local.date().isoformat(), _WEEKDAYS[local.weekday()], plan.timezone)


def today_section(given: Today | None) -> str:
    """The date, the weekday and the zone."""
    return section("Today", f"{given.weekday}, {given.date} (time zone {given.zone})") if given else ""


def known_facts(fields: Mapping[str, FieldPlan], data: Mapping[str, Any]) -> tuple[Known, ...]:
    """The declared fields that are known, in order (M-11.3)."""
    known = ((field, data[slug]) for slug, field in fields.items() if slug in data)  # most are not there
    return tuple(Known(field.slug, value, field.correct) for field, value in known if is_known(value))


def known_section(known: Iterable[Known]) -> str:
    """Facts that are not to be asked; those that a customer may correct stand apart (M-24.1)."""
    settled: list[str] = []
    correctable: list[str] = []
    for fact in known:
        (correctable if fact.correctable else settled).append(f"- {name(fact.slug)}: {literal(fact.value)}")
    if settled:
        settled.insert(0, "Known for good. Ask no question about these:")
    if correctable:
        correctable.insert(0, "Known by now. Do not ask for these either; only the customer may change them:")
    return section("Known facts", "\n".join(settled + correctable))


def field_line(field: FieldTask) -> str:
    """Key, type, options and description of a field (M-11.4); of a richer type also how it is written."""
    return _field_line(field.key, field.type, field.format, field.enum, field.description)


def param_line(param: ParamTask) -> str:
    """The same for a parameter; for a list also the type of its items."""
    kind = f"{param.type} of {param.items}" if param.items else param.type
    return field_line(FieldTask(param.name, param.name, kind, param.enum, param.description))


@lru_cache(maxsize=2048)  # a field is the same in every turn
def _field_line(key: str, kind: str, form: str | None, enum: tuple[Any, ...] | None, description: str | None) -> str:
    shape = f", {_FORMATS.get(form, form)}" if form else ""
    options = "" if enum is None else f"; one of {', '.join(map(literal, enum))}"
    about = f": {description}" if description else ""
    return f"{name(key)} ({kind}{shape}{options}){about}"


def _made_prefix(plan: AgentPlan) -> Prefix:
    varies = "{{" in (plan.persona or "") or "{{" in (plan.goal or "")
    parts = ("" if varies else section("Identity", _identity(plan, {})), _knowledge(plan))
    return Prefix(joined(parts) or None, varies)


def _identity(plan: AgentPlan, scope: Roots) -> str:
    persona = written(plan.persona or "", scope).strip()
    goal = written(plan.goal or "", scope).strip()
    lines = (f"You are {plan.name}. Never call yourself by another name.", persona, goal and f"Your goal: {goal}")
    return "\n".join(filter(None, lines))


def _knowledge(plan: AgentPlan) -> str:
    return section("Knowledge", "\n".join(_entries(plan.knowledge_base or {}, "")))


def _entries(level: Mapping[str, Any], indent: str) -> Iterable[str]:
    """An object as bullets: scalars on their line, what holds objects one level deeper (M-11.2)."""
    for key, value in level.items():
        if value is None:  # not set (F-1.2)
            continue
        head = f"{indent}- {key}:"
        if isinstance(value, Mapping) or _holds_objects(value):
            yield head
            yield from _deeper(value, indent + "  ")
        else:
            yield f"{head} {_inline(value)}"


def _deeper(value: Any, indent: str) -> Iterable[str]:
    if isinstance(value, Mapping):
        yield from _entries(cast(Mapping[str, Any], value), indent)
    elif _holds_objects(value):
        for element in cast(list[Any], value):
            yield from _deeper(element, indent)
    else:
        yield f"{indent}- {_inline(value)}"


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(
        isinstance(element, Mapping) or _holds_objects(element) for element in cast(list[Any], value)
    )


def _inline(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_inline(element) for element in cast(list[Any], value))
    return value if isinstance(value, str) else json_text(value)


_PREFIXES: WeakKeyDictionary[AgentPlan, Prefix] = WeakKeyDictionary()
