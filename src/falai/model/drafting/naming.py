"""What a new flow may name, and what each name is for (S-60): from a checked agent, or from registries."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from falai.errors import FlowConfigurationError
from falai.flow.definition import Condition
from falai.flow.plan import AgentPlan, EventPlan, FieldPlan, FlowPlan, ParamPlan
from falai.flow.registries import Registries, read_registries
from falai.model.lenient import mend
from falai.model.tasks import ActionTask, DraftTask, FieldTask, NameTask, ParamTask
from falai.session.jsontext import is_object

__all__ = ["Names", "Naming", "naming"]

Names = AgentPlan | Registries | Mapping[str, Any]
"""A checked agent (`agent.plan`), or what `validate_flow` takes."""

_DIRECTIONS = {"inbound": "counts as the customer writing", "outbound": "counts as the assistant speaking"}


@dataclass(frozen=True, slots=True)
class Naming:
    """The names for the checks, and what is said of those that have more to say than they hold."""

    registries: Registries
    plan: AgentPlan | None
    events: tuple[NameTask, ...]
    conditions: tuple[NameTask, ...]
    flows: tuple[NameTask, ...]

    def task(self, request: str, language: str | None, taken: Collection[str]) -> DraftTask:
        """What is asked of the model at first."""
        names = self.registries
        return DraftTask(
            request=mend(request),
            language=language or (self.plan.language if self.plan else None),
            fields=tuple(_field(slug, field) for slug, field in names.fields.items() if field),
            actions=tuple(_action(name, names) for name in names.actions),
            events=self.events,
            conditions=self.conditions,
            flows=self.flows,
            taken=tuple(dict.fromkeys((*(names.flows or ()), *taken))),
        )


def naming(given: Names) -> Naming:
    """The names of an agent. Raises `FlowConfigurationError` for registries whose definitions are wrong."""
    if isinstance(given, AgentPlan):
        return _of_plan(given)
    if isinstance(given, Registries):
        return _of_registries(given, {})
    registries, problems = read_registries(given)
    if problems:
        raise FlowConfigurationError(problems)
    return _of_registries(registries, given)


def _of_plan(plan: AgentPlan) -> Naming:
    return Naming(
        registries=Registries.of(plan),
        plan=plan,
        events=tuple(map(_event, plan.events.values())),
        conditions=tuple(map(_condition, plan.conditions.values())),
        flows=tuple(map(_flow, plan.flows.values())),
    )


def _of_registries(registries: Registries, given: Mapping[str, Any]) -> Naming:
    """Without a list of flows there is none to go to: a flow that the model makes up is to be noticed (S-29)."""
    return Naming(
        registries=replace(registries, flows=registries.flows or ()),
        plan=None,
        events=_described(registries.events, given.get("events")),
        conditions=_described(registries.conditions, given.get("conditions")),
        flows=tuple(map(NameTask, registries.flows or ())),
    )


def _described(names: Iterable[str], definitions: Any) -> tuple[NameTask, ...]:
    found = {name: definitions.get(name) for name in names} if is_object(definitions) else dict.fromkeys(names)
    return tuple(NameTask(name, _about(definition)) for name, definition in found.items())


def _about(definition: Any) -> str:
    return _line(definition.get("description") or "") if is_object(definition) else ""


def _event(event: EventPlan) -> NameTask:
    return NameTask(event.name, _DIRECTIONS.get(event.direction or "", ""))


def _condition(condition: Condition) -> NameTask:
    return NameTask(condition.name, _line(inspect.getdoc(condition.check) or "") if _is_own(condition.check) else "")


def _is_own(check: object) -> bool:
    """Whether a docstring here is the function's: that of an object is its class's."""
    return inspect.isroutine(check)


def _flow(flow: FlowPlan) -> NameTask:
    about = [flow.name] if flow.name != flow.id else []
    return NameTask(flow.id, _line("; ".join([*about, *filter(None, [flow.flow.description])])))


def _field(slug: str, field: FieldPlan) -> FieldTask:
    about = field.description or field.label or field.ask or ""
    return FieldTask(
        key=slug, slug=slug, type=field.type, enum=field.enum, description=_line(about),
        ask=field.ask, question=field.question, format=field.format,
    )  # fmt: skip


def _action(name: str, names: Registries) -> ActionTask:
    params = (names.actions[name] or {}).values()
    return ActionTask(name, _line(names.descriptions.get(name, "")), tuple(_param(param) for param in params if param))


def _param(param: ParamPlan) -> ParamTask:
    items = param.items
    return ParamTask(
        param.name, param.type, (items or param).enum, _line(param.description or ""), items.type if items else None,
        param.optional,
    )  # fmt: skip


def _line(text: str) -> str:
    """What an author wrote about a name, on one line: a docstring may have many, and none is a section of ours."""
    return " ".join(str(text).split())
