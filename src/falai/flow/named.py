"""The actions, conditions and tools of an agent, from lists and mappings (F-12.1, F-9.5, F-14).

A mapping's key is the name; in a list everything has a name of its own. Each reader gives what
could be made, `None` under the name of what is wrong, and the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from falai.flow.conditions import BUILT_IN
from falai.flow.definition import Condition
from falai.flow.functions import Action, as_action, as_tool, plan_action, plan_tool
from falai.flow.handlers import View
from falai.flow.places import Finding, Place, is_list, is_object, listing
from falai.flow.plan import ActionPlan, ToolPlan
from falai.flow.unlisted import unlisted
from falai.session.jsontext import MISSING, quoted, show
from falai.session.keys import is_blank_id

__all__ = ["Functions", "read_actions", "read_conditions", "read_tools"]

_CODE = "bad-definition"
_ACTION = ("description", "moves", "parameters", "run")

Functions = list[tuple[Callable[..., Any], str]]


def read_actions(given: Any) -> tuple[dict[str, ActionPlan | None], Functions, list[Finding]]:
    """The plans by name, and the author's functions with the name that each goes by in `Do`."""
    plans: dict[str, ActionPlan | None] = {}
    functions: Functions = []
    findings: list[Finding] = []
    for key, value, place in _entries(given, "actions", findings):
        action = _action(key, value)
        if action is None:
            fix = "Give a function of (ctx, its parameters), or an Action"
            findings.append(place.problem(_CODE, f"{place.name} is {show(value)}", fix))
            plans |= {} if key is None else {key: None}
            continue
        here = Place(f"action {quoted(str(action.name))}", place.path)
        findings += _name_problems(action.name, plans, here)
        findings += unlisted(value, _ACTION, here) if is_object(value) else ()
        plans[action.name], problems = plan_action(action, here)
        findings += problems
        functions.append((action.run, action.name))
    return plans, functions, findings


def read_conditions(given: Any) -> tuple[dict[str, Condition], list[Finding]]:
    """The host conditions by name; no name of a built-in one is taken (A1)."""
    conditions: dict[str, Condition] = {}
    findings: list[Finding] = []
    for key, value, place in _entries(given, "conditions", findings):
        check: Callable[[View[Any], Any], bool] = value.check if isinstance(value, Condition) else value
        name = value.name if key is None and isinstance(value, Condition) else key
        if not callable(check) or is_blank_id(name):
            fix = "Give a function of (view, argument) under its name, or a Condition"
            findings.append(place.problem(_CODE, f"{place.name} is {show(value)}", fix))
        if name in BUILT_IN:
            what = f"the condition {quoted(name)} has the name of a built-in one"
            reserved = listing([quoted(word) for word in BUILT_IN], "and")
            findings.append(place.problem("shadowed-condition", what, f"Choose another name than {reserved}"))
        conditions[str(name)] = Condition(str(name), check)
    return conditions, findings


def read_tools(given: Any) -> tuple[dict[str, ToolPlan | None], list[Finding]]:
    """The tools by id; of two with one id the first one counts (F-14.7)."""
    plans: dict[str, ToolPlan | None] = {}
    findings: list[Finding] = []
    for _, value, place in _entries(given, "tools", findings):
        tool = as_tool(value)
        if tool is None or is_blank_id(tool.id):
            fix = "Give a function of (ctx, its parameters), or a Tool with an id"
            findings.append(place.problem(_CODE, f"{place.name} is {show(value)}", fix))
        elif tool.id in plans:
            what = f"two tools are called {quoted(tool.id)}"
            findings.append(place.notice("duplicate-tool", what, "The first one is used; rename the other"))
        else:
            plans[tool.id], problems = plan_tool(tool, place)
            findings += problems or _schema_problems(plans[tool.id], place)
    return plans, findings


def _entries(given: Any, option: str, findings: list[Finding]) -> Iterator[tuple[str | None, Any, Place]]:
    """Each entry with its key, when it has one, and its place."""
    place = Place("agent", name=option)
    if is_object(given):
        for key, value in given.items():
            yield str(key), value, place.key(str(key))
    elif is_list(given):
        for index, value in enumerate(given):
            yield None, value, place.item(index)
    elif given is not None:
        findings.append(place.problem(_CODE, f"{option} is {show(given)}", "Write a list or a mapping"))


def _action(key: str | None, value: Any) -> Action | None:
    if is_object(value):
        given = {name: value.get(name) for name in ("parameters", "description", "moves")}
        return Action(key or "", value.get("run", MISSING), **given)
    action = as_action(value)
    return action if action is None or key is None else replace(action, name=key)


def _name_problems(name: Any, taken: Mapping[str, Any], place: Place) -> Iterator[Finding]:
    if is_blank_id(name):
        yield place.problem(_CODE, f"the action's name is {show(name)}", "Give it a name")
    elif name in taken:
        yield place.problem(_CODE, "two actions have this name", "Rename one of them")


def _schema_problems(tool: ToolPlan | None, place: Place) -> Iterator[Finding]:
    """A4: a tool's parameters are the JSON schema of an object."""
    if tool is None or tool.parameters is None:
        return
    kind = tool.parameters.get("type", MISSING) if is_object(tool.parameters) else MISSING
    if kind != "object":
        what = f"the tool {quoted(tool.id)} has parameters of the type {show(kind)}; a JSON schema object is expected"
        fix = 'Write {"type": "object", "properties": {…}, "required": […]}'
        yield place.key("parameters").problem("tool-parameters", what, fix)
