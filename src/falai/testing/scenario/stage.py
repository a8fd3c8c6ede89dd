"""An agent made from a case: real flows and a real turn; clock, model, actions and tools are the case's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from falai.agent import Agent
from falai.flow.definition import Condition
from falai.flow.functions import Action, Tool
from falai.flow.handlers import ActionContext, ToolContext, View
from falai.flow.hours import BusinessHours
from falai.session.jsontext import json_equal
from falai.testing.clock import Clock
from falai.testing.scenario.match import is_list, is_object
from falai.testing.scripted import ScriptedModel

__all__ = ["RICHER_TYPES", "Stage", "field_of"]

RICHER_TYPES: Mapping[str, Any] = {"date": date, "datetime": datetime, "time": time, "decimal": Decimal}
"""What a field's `type` may be beside the four wire names and `email` (F-19.3)."""

_OPTIONS = {
    "name": "name",
    "persona": "persona",
    "goal": "goal",
    "knowledgeBase": "knowledge_base",
    "timezone": "timezone",
    "flows": "flows",
    "idle": "idle",
    "events": "events",
    "instructions": "instructions",
}


@dataclass
class Stage:
    """An agent with everything around it; what its actions and tools saw since `clear`."""

    clock: Clock
    model: ScriptedModel = field(default_factory=ScriptedModel)
    action_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tool_calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    agent: Agent[Any] = field(init=False)

    @classmethod
    def build(cls, spec: Mapping[str, Any]) -> Stage:
        """Raises what `Agent` raises when it refuses the case's agent."""
        stage = cls(Clock(spec["clock"]) if "clock" in spec else Clock())
        stage.agent = Agent(**stage._options(spec))
        return stage

    def clear(self) -> None:
        """Forgets what was seen and what of the script is left."""
        self.model.clear()
        self.action_calls.clear()
        self.tool_calls.clear()

    def _options(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        options = {_OPTIONS[key]: value for key, value in spec.items() if key in _OPTIONS}
        options |= {_snake(key): value for key, value in spec.get("options", {}).items()}
        if "businessHours" in spec:
            hours = spec["businessHours"]
            rest = {"weekdays": tuple(hours["weekdays"])} if "weekdays" in hours else {}
            options["business_hours"] = BusinessHours(hours["open"], hours["close"], tz=hours.get("tz"), **rest)
        return options | {
            "model": self.model,
            "clock": self.clock,
            "fields": {slug: field_of(given) for slug, given in spec.get("fields", {}).items()},
            "actions": [self._action(name, given) for name, given in spec.get("actions", {}).items()],
            "conditions": [_condition(name, given) for name, given in spec.get("conditions", {}).items()],
            "tools": [self._tool(name, given) for name, given in spec.get("tools", {}).items()],
        }

    def _action(self, name: str, spec: Mapping[str, Any]) -> Action:
        next_result = _in_order(spec["results"])

        def run(ctx: ActionContext[Any], /, **params: Any) -> Any:
            self.action_calls.append(_seen_by_action(name, ctx, params))
            result = next_result()
            if not is_object(result):
                return result
            if is_object(written := result.get("set")):
                ctx.set(written)
            return _given_back(result)

        return Action(name, run, parameters=spec.get("parameters", {}), moves=spec.get("moves"))

    def _tool(self, tool_id: str, spec: Mapping[str, Any]) -> Tool:
        next_result = _in_order(spec["results"])

        def handler(_ctx: ToolContext[Any], /, **arguments: Any) -> Any:
            self.tool_calls.append({"name": tool_id, "arguments": arguments})
            return _given_back(next_result())

        return Tool(
            tool_id,
            handler,
            description=spec.get("description"),
            parameters=spec.get("parameters"),
            read_only=spec.get("readOnly"),
            destructive=spec.get("destructive"),
            moves=spec.get("moves"),
        )


def _seen_by_action(name: str, ctx: ActionContext[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    seen = {
        "name": name,
        "params": dict(params),
        "key": ctx.key,
        "dedupeKey": ctx.dedupe_key,
        "sessionId": ctx.session_id,
    }
    return seen if ctx.silenced is None else {**seen, "silenced": ctx.silenced}


def _in_order(results: Sequence[Any]) -> Callable[[], Any]:
    """The results one after the other; the last one repeats."""
    left = list(results)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def _given_back(result: Any) -> Any:
    if is_object(result) and "raises" in result:
        raise RuntimeError(result["raises"])
    return {key: value for key, value in result.items() if key != "set"} if is_object(result) else result


def field_of(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A field as an agent takes it, of one whose `type` may be a richer one's name."""
    name = spec.get("type")
    if name == "email":
        # An extra: only a case with such a field needs it.
        from pydantic import EmailStr

        return {**spec, "type": EmailStr}
    return {**spec, "type": RICHER_TYPES.get(str(name), name)}


def _condition(name: str, spec: Mapping[str, Any]) -> Condition:
    if "results" in spec:
        next_result = _in_order(spec["results"])
        return Condition(name, lambda view, argument: next_result())  # noqa: ARG005  # whatever it is asked about
    root, *keys = spec["path"].split(".")

    def check(view: View[Any], argument: Any) -> bool:
        value = {"context": view.context, "data": view.data, "input": view.input}.get(root)
        for key in keys:
            if not is_object(value) or key not in value:
                return False
            value = value[key]
        return json_equal(value, argument) or (is_list(value) and any(json_equal(one, argument) for one in value))

    return Condition(name, check)


def _snake(wire_name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in wire_name)
