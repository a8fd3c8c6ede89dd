"""The agent of a scenario file: its fields, flows and names as data, with what its actions and tools returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from falai.flow.hours import BusinessHours
from falai.flow.moves import Aim
from falai.flow.plan import ActionPlan, AgentPlan, FieldPlan, IdlePlan, ParamPlan, ToolPlan
from falai.flow.spec import to_spec
from falai.flow.wire import to_wire
from falai.web.playground.scenario_conditions import conditions_spec
from falai.web.playground.turns import Happened

__all__ = ["agent_spec"]

_MOST_ROUNDS = 5
_TEXTS = ("label", "description", "ask", "question")


def agent_spec(turns: Sequence[Happened]) -> dict[str, Any]:
    """The agent that played these turns; all of them were played by the same."""
    plan = turns[0].agent.plan
    texts = {"name": plan.name, "persona": plan.persona, "goal": plan.goal, "timezone": plan.timezone}
    spec: dict[str, Any] = {
        **texts,
        "knowledgeBase": plan.knowledge_base,
        "fields": {field.slug: _field(field) for field in plan.fields.values()},
        "actions": {name: _action(action, _results(turns, name, "actions")) for name, action in plan.actions.items()},
        "events": {event.name: _given({"direction": event.direction}) for event in plan.events.values()},
        "conditions": conditions_spec(turns),
        "tools": {tool.id: _tool(tool, _results(turns, tool.id, "tools")) for tool in plan.tools},
        "instructions": [to_wire(instruction) for instruction in plan.instructions],
        "businessHours": _hours(plan),
        "options": _options(plan),
        "idle": _idle(plan.idle),
        "flows": [to_spec(flow.flow) for flow in plan.flows.values()],
    }
    return {key: value for key, value in spec.items() if value is not None and value not in ({}, [])}


def _field(plan: FieldPlan) -> dict[str, Any]:
    """A field by its wire type: values of a richer type are in the script as they were stored."""
    usual = "asked" if plan.type == "boolean" else "anywhere"
    return _given(
        {
            "type": plan.type,
            "enum": None if plan.enum is None else list(plan.enum),
            **{key: getattr(plan, key) for key in _TEXTS},
            "extract": None if plan.mode == usual else plan.mode,
            "correct": plan.correct or None,
        }
    )


def _action(plan: ActionPlan, results: Sequence[Any]) -> dict[str, Any]:
    return _given(
        {
            "parameters": {parameter.name: _parameter(parameter) for parameter in plan.parameters} or None,
            "moves": _moves(plan.moves),
            "results": list(results) or [{"ok": True}],
        }
    )


def _tool(plan: ToolPlan, results: Sequence[Any]) -> dict[str, Any]:
    return _given(
        {
            "description": plan.description,
            "parameters": plan.parameters,
            "moves": _moves(plan.moves),
            "results": list(results) or [{}],
        }
    )


def _parameter(plan: ParamPlan) -> dict[str, Any]:
    return _given(
        {
            "type": plan.type,
            "enum": None if plan.enum is None else list(plan.enum),
            "description": plan.description,
            "optional": plan.optional or None,
            "items": None if plan.items is None else _parameter(plan.items),
        }
    )


def _moves(aims: Sequence[Aim]) -> list[Any] | None:
    return [_move(aim) for aim in aims] or None


def _move(aim: Aim) -> Any:
    match aim.kind:
        case "flow":
            return {"flow": aim.name}
        case "reset":
            return {"reset": True}
        case "end":
            return "end"
        case _:
            return aim.name


def _hours(plan: AgentPlan) -> dict[str, Any] | None:
    hours = plan.business_hours
    if not isinstance(hours, BusinessHours):
        return None
    return _given({"open": hours.open, "close": hours.close, "weekdays": list(hours.weekdays), "tz": hours.tz})


def _options(plan: AgentPlan) -> dict[str, Any]:
    rounds = None if plan.max_tool_loops == _MOST_ROUNDS else plan.max_tool_loops
    return _given({"language": plan.language, "maxToolLoops": rounds, "compaction": plan.compaction})


def _idle(plan: IdlePlan | None) -> Any:
    if plan is None:
        return "silent"
    if plan == IdlePlan():
        return None
    instructions = [to_wire(instruction) for instruction in plan.instructions] or None
    tools = None if plan.tools is None else list(plan.tools)
    return _given({"prompt": plan.prompt, "tools": tools, "instructions": instructions})


def _results(turns: Sequence[Happened], name: str, of: str) -> list[Any]:
    """What the action, or the tool, of this name returned in all these turns, in order."""
    found: Sequence[tuple[str, Any]] = [entry for one in turns for entry in getattr(one.recorded, of)]
    return [msgspec.to_builtins(result) for called, result in found if called == name]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
