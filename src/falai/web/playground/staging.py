"""The agent as a branch plays it: on the branch's clock and model, with everything from outside noted.

Functions that decide in flows become named conditions. That changes nothing of what they decide; but the
flows are plain data then, which can be shown, edited and saved.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from falai.agent import Agent
from falai.flow.conditions import BUILT_IN
from falai.flow.definition import Condition
from falai.flow.plan import AgentPlan, FlowPlan
from falai.flow.wire import flow_from_wire, instruction_from_wire, to_wire
from falai.model.port import Model
from falai.session.jsontext import is_list, is_object
from falai.web.playground.recording import (
    RecordedModel,
    Recorder,
    recorded_action,
    recorded_condition,
    recorded_tool,
)

__all__ = ["as_data", "stage", "with_flows"]

_PREDICATES = ("if", "while")


def as_data(agent: Agent[Any]) -> Agent[Any]:
    """The same agent, with flows that are plain data; one with a layer of its own on top stays as it is."""
    plan = agent.plan
    if plan.listener is not None:
        return agent
    names = _Names(plan.conditions)
    flows = [names.named(to_wire(flow.flow)) for flow in plan.flows.values()]
    rules = tuple(instruction_from_wire(names.named(to_wire(rule))) for rule in plan.instructions)
    conditions = {**plan.conditions, **names.made}
    return _twin(agent, replace(plan, flows=_plans(flows), instructions=rules, conditions=conditions))


def with_flows(agent: Agent[Any], flows: Sequence[Mapping[str, Any]]) -> Agent[Any]:
    """The agent with these flows, in wire form and checked, in the place of its own: a deploy."""
    return _twin(agent, replace(agent.plan, flows=_plans(flows)))


def stage(agent: Agent[Any], *, model: Model, clock: Callable[[], datetime], recorder: Recorder) -> Agent[Any]:
    """The agent of one branch; what a layer on top of it does is that layer's matter, and is not noted."""
    twin = _twin(agent, agent.plan if agent.plan.listener is not None else _noting(agent.plan, recorder))
    twin.plan = replace(twin.plan, clock=clock)
    twin.clock, twin.model = clock, RecordedModel(model, recorder)
    return twin


def _noting(plan: AgentPlan, recorder: Recorder) -> AgentPlan:
    return replace(
        plan,
        actions={name: recorded_action(action, recorder) for name, action in plan.actions.items()},
        tools=tuple(recorded_tool(tool, recorder) for tool in plan.tools),
        conditions={name: recorded_condition(condition, recorder) for name, condition in plan.conditions.items()},
    )


def _twin(agent: Agent[Any], plan: AgentPlan) -> Agent[Any]:
    twin = copy.copy(agent)
    twin.plan = plan
    return twin


def _plans(flows: Sequence[Mapping[str, Any]]) -> dict[str, FlowPlan]:
    return {flow["id"]: FlowPlan(flow_from_wire(flow)) for flow in flows}


class _Names:
    """Gives each function that decides a name of its own."""

    def __init__(self, taken: Mapping[str, Condition]) -> None:
        self.made: dict[str, Condition] = {}
        self._taken = taken
        self._known: dict[int, str] = {}

    def named(self, value: Any, key: str = "") -> Any:
        """The value with every such function in it replaced by a condition of its name."""
        if callable(value) and key in _PREDICATES:
            return {self._name(value): True}
        if is_object(value):
            return {name: self.named(part, name) for name, part in value.items()}
        return [self.named(part) for part in value] if is_list(value) else value

    def _name(self, function: Any) -> str:
        if id(function) not in self._known:
            name = self._known[id(function)] = self._free(getattr(function, "__name__", "").strip("<>") or "condition")
            self.made[name] = Condition(name, _checking(function))
        return self._known[id(function)]

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._taken or name in self.made or name in BUILT_IN:
            number += 1
            name = f"{wanted}{number}"
        return name


def _checking(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def check(view: Any, argument: Any) -> Any:  # noqa: ARG001  # it is the function of no argument
        return function(view)

    return check
