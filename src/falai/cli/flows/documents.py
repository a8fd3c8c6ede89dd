"""A flow document as an agent's options: the names that its flows may use, and nothing that runs.

A document is one flow spec, a list of them, or an agent: `{name, fields, actions, events,
conditions, tools, flows, …}`, as the `agent` of a scenario file has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from falai.errors import Problem
from falai.flow.build import AgentOptions
from falai.flow.functions import Tool
from falai.flow.hours import BusinessHours
from falai.flow.nearest import nearest
from falai.flow.places import Finding, Notice
from falai.session.jsontext import is_list, is_object, quoted, show
from falai.testing.scenario.stage import field_of

__all__ = ["agent_options", "has_flows", "is_agent", "is_flow_document", "stray_keys"]

SCHEMA = "$schema"
_FLOWS_ONLY = {"flows", "ignore", SCHEMA}
_DEFINITIONS = {"fields", "actions", "events", "conditions"}  # a flow may have tools, too
_TEXTS = {"persona": "persona", "goal": "goal", "timezone": "timezone", "language": "language"}
_PLAIN = _TEXTS | {
    "events": "events",
    "instructions": "instructions",
    "idle": "idle",
    "knowledgeBase": "knowledge_base",
}
_KEYS = sorted({*_FLOWS_ONLY, *_DEFINITIONS, "tools", *_PLAIN, "name", "businessHours", "options", "clock"})


def is_flow_document(content: Any) -> bool:
    """Whether this looks like a flow, a list of flows or an agent: in a folder there may be other files."""
    if is_list(content):
        return any(is_object(entry) and "steps" in entry for entry in content)
    return is_object(content) and ("steps" in content or has_flows(content))


def has_flows(content: Any) -> bool:
    """Whether the flows of a document stand under `flows`; else it is a flow itself, or a list of flows."""
    return is_agent(content) or (is_object(content) and "flows" in content and "steps" not in content)


def is_agent(content: Any) -> bool:
    """Whether a document says which names its flows may use; one with nothing but flows does not."""
    if not is_object(content) or "steps" in content:
        return False
    return bool(content.keys() & _DEFINITIONS) or ("flows" in content and not content.keys() <= _FLOWS_ONLY)


def agent_options(content: Mapping[str, Any]) -> AgentOptions:
    """What an agent would be made of. Its functions are never called; definitions that are wrong stay as they are."""
    hours, problems = _hours(content.get("businessHours"))
    limits = content.get("options")
    return AgentOptions(
        name=content.get("name", "agent"),
        fields=_each(content.get("fields"), field_of),
        flows=content.get("flows") or (),
        actions=_each(content.get("actions"), _action),
        conditions=_functions(content.get("conditions")),
        tools=_tools(content.get("tools")),
        business_hours=hours,
        max_tool_loops=limits.get("maxToolLoops", 5) if is_object(limits) else 5,
        problems=problems,
        **{name: content[key] for key, name in _PLAIN.items() if key in content},
    )


def stray_keys(content: Mapping[str, Any]) -> Iterator[Finding]:
    """What is odd at the top of a document with `flows`: keys that say nothing there, and patterns that are none."""
    yield from (_stray(key) for key in content if key not in _KEYS)
    ignore = content.get("ignore")
    if ignore is not None and not (is_list(ignore) and all(isinstance(entry, str) for entry in ignore)):
        yield Problem("not-a-list", "agent", f"ignore is {show(ignore)}", 'List texts: ["CODE:FLOW"]', "ignore")


def _stray(key: str) -> Notice:
    near = nearest(key, _KEYS)
    fix = f"Did you mean {near}?" if near else "Take it out"
    return Notice("unlisted-property", "agent", f"the property {quoted(key)} has no meaning here", fix, key)


def _never(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("what is only checked is never run")


def _each(given: Any, read: Any) -> Any:
    if not is_object(given):
        return given
    return {name: read(value) if is_object(value) else value for name, value in given.items() if value is not None}


def _action(given: Mapping[str, Any]) -> Mapping[str, Any]:
    told = {key: given.get(key) for key in ("description", "moves")}
    return {"run": _never, "parameters": given.get("parameters") or {}, **told}


def _functions(given: Any) -> Any:
    """Conditions by name, whether they are listed or defined."""
    names = [name for name in given if isinstance(name, str)] if is_list(given) or is_object(given) else None
    return given if names is None or len(names) < len(given) else dict.fromkeys(names, _never)


def _tools(given: Any) -> Any:
    if is_object(given):
        return [_tool(name, value if is_object(value) else {}) for name, value in given.items()]
    return [_tool(value, {}) if isinstance(value, str) else value for value in given] if is_list(given) else given or ()


def _tool(name: str, given: Mapping[str, Any]) -> Tool:
    return Tool(name, _never, **{key: given.get(key) for key in ("description", "parameters", "moves")})


def _hours(given: Any) -> tuple[Any, tuple[Problem, ...]]:
    if given is None:
        return None, ()
    try:
        days = {"weekdays": tuple(given["weekdays"])} if "weekdays" in given else {}
        return BusinessHours(given["open"], given["close"], tz=given.get("tz"), **days), ()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"businessHours is {show(given)}: {error}"
        fix = 'Write {"open": "09:00", "close": "18:00", "weekdays": [1, 2, 3, 4, 5]}'
        return None, (Problem("bad-definition", "agent", what, fix, "businessHours"),)
