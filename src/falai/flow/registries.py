"""What the names in a flow resolve against (06-flowspec, section 1).

A `None` stands for a definition that is wrong itself: the name is there, what it would allow is
not known, and the checks that would need it are left out (F-19.5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from falai.errors import Problem
from falai.flow.fields import read_events, read_fields, read_parameters
from falai.flow.moves import Aim, read_aims
from falai.flow.places import Place, is_list, is_object
from falai.flow.plan import AgentPlan, FieldPlan, ParamPlan
from falai.flow.wire import action_name, to_wire
from falai.session.jsontext import quoted, show

__all__ = ["Registries", "read_registries"]

Parameters = Mapping[str, ParamPlan | None]

_CODE = "bad-definition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registries:
    """The names of an agent. Without `flows`, targets that name a flow are not looked up (S-29)."""

    fields: Mapping[str, FieldPlan | None] = field(default_factory=dict[str, FieldPlan | None])
    actions: Mapping[str, Parameters | None] = field(default_factory=dict[str, Parameters | None])
    events: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    flows: tuple[str, ...] | None = None
    functions: Sequence[tuple[Callable[..., Any], str]] | None = None
    """The functions that `Do` may name and what each is called; without it a function goes by its own name."""
    descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What each action is for, for a model that writes flows (S-57)."""
    action_moves: Mapping[str, tuple[Aim, ...]] = field(default_factory=dict[str, tuple[Aim, ...]])
    """Where the result of each action may send the run."""
    tool_moves: Mapping[str, tuple[Aim, ...]] = field(default_factory=dict[str, tuple[Aim, ...]])
    """The same of each tool."""

    def called(self, action: Any) -> str | None:
        """The name of the action that a `do` means, a text or a function; `None` when it can be neither."""
        if isinstance(action, str) or not callable(action):
            return action if isinstance(action, str) else None
        if self.functions is None:
            return action_name(action)
        return next((name for function, name in self.functions if function == action), None)

    @classmethod
    def of(cls, plan: AgentPlan) -> Registries:
        """The names of a checked agent."""
        return cls(
            fields=plan.fields,
            actions={name: {p.name: p for p in action.parameters} for name, action in plan.actions.items()},
            events=tuple(plan.events),
            conditions=tuple(plan.conditions),
            tools=tuple(tool.id for tool in plan.tools),
            flows=tuple(plan.flows),
            descriptions={name: action.description for name, action in plan.actions.items() if action.description},
            action_moves={name: action.moves for name, action in plan.actions.items() if action.moves},
            tool_moves={tool.id: tool.moves for tool in plan.tools if tool.moves},
        )


def read_registries(given: Mapping[str, Any]) -> tuple[Registries, list[Problem]]:
    """Registries in wire form: `{fields, actions: {name: {parameters}}, events, conditions, tools, flows}`.

    `conditions`, `tools` and `flows` are lists of names, or mappings whose keys are the names. An action,
    and a tool in a mapping, may say in `moves` where its result may send the run. Raises `TypeError` when
    this is no mapping.
    """
    if not is_object(given):
        raise TypeError(f"registries are a mapping {{fields, actions, events, …}}, and this is {show(given)}")
    fields, in_fields = read_fields(given.get("fields") or {})
    actions, descriptions, in_actions = _read_actions(given.get("actions") or {})
    action_moves, in_action_moves = _read_moves(given.get("actions"), "action")
    tool_moves, in_tool_moves = _read_moves(given.get("tools"), "tool")
    events, in_events = read_events(given.get("events") or {})
    listed = {key: _read_names(given.get(key) or (), key) for key in ("conditions", "tools", "flows")}
    registries = Registries(
        fields=fields,
        actions=actions,
        events=tuple(events),
        conditions=listed["conditions"][0],
        tools=listed["tools"][0],
        flows=None if given.get("flows") is None else listed["flows"][0],
        descriptions=descriptions,
        action_moves=action_moves,
        tool_moves=tool_moves,
    )
    in_lists = [problem for _, problems in listed.values() for problem in problems]
    return registries, [*in_fields, *in_actions, *in_action_moves, *in_events, *in_lists, *in_tool_moves]


def _read_actions(given: Any) -> tuple[dict[str, Parameters | None], dict[str, str], list[Problem]]:
    """The parameters and the descriptions by action."""
    actions: dict[str, Parameters | None] = {}
    descriptions: dict[str, str] = {}
    wire = to_wire(given)
    if not is_object(wire):
        what = f"actions is {show(given)}"
        return {}, {}, [Place("agent", "actions").problem(_CODE, what, "Write a mapping, name to {parameters}")]
    problems: list[Problem] = []
    for name, action in wire.items():
        place = Place(f"action {quoted(name)}", f"actions.{name}")
        if not is_object(action):
            what = f"the definition is {show(action)}"
            problems.append(place.problem(_CODE, what, 'Write {"parameters": {}}'))
            actions[name] = None
            continue
        actions[name], found = read_parameters(action.get("parameters", {}), place.key("parameters"))
        problems += found
        descriptions |= {name: action["description"]} if isinstance(action.get("description"), str) else {}
    return actions, descriptions, problems


def _read_moves(given: Any, kind: str) -> tuple[dict[str, tuple[Aim, ...]], list[Problem]]:
    """The declared moves by action or tool; a list of names declares none."""
    moves: dict[str, tuple[Aim, ...]] = {}
    problems: list[Problem] = []
    for name, definition in given.items() if is_object(given) else ():
        if is_object(definition) and definition.get("moves") is not None:
            place = Place(f"{kind} {quoted(str(name))}", f"{kind}s.{name}")
            moves[name], found = read_aims(definition["moves"], place)
            problems += found
    return moves, problems


def _read_names(given: Any, key: str) -> tuple[tuple[str, ...], list[Problem]]:
    """The names of a list or of a mapping's keys."""
    place = Place("agent", name=key)
    if not is_list(given) and not is_object(given):
        return (), [place.problem(_CODE, f"{key} is {show(given)}", "Write a list of names")]
    names: list[Any] = list(given)
    wrong = [(index, name) for index, name in enumerate(names) if not isinstance(name, str)]
    problems = [
        place.item(index).problem(_CODE, f"{key}[{index}] is {show(name)}", "List names") for index, name in wrong
    ]
    return tuple(name for name in names if isinstance(name, str)), problems
