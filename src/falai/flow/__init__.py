"""Flows: what an author writes, checked once and made into plans.

`definition` and `handlers` are the author's words, `wire` their one form as data, `shape`, `names`
and `advice` the checks, `spec` the JSON form, `build` an agent's options; `plan` is what the rest
of the house reads. Nothing that an author or a customer wrote is ever evaluated: a condition is a
mapping or a function, a template names values and nothing else.

The names below are imported when they are first used: the checks are needed when an agent is
built, not when a module of flows is read.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.flow.analysis import analyse
    from falai.flow.comparing import Comparison, Fate, compare, fate
    from falai.flow.definition import (
        Ask,
        Branch,
        Collect,
        Condition,
        Do,
        EventDefinition,
        Field,
        Flow,
        Idle,
        If,
        Instruction,
        OnAnyMessage,
        OnEvent,
        OnMention,
        OnMessage,
        OnSilence,
        Param,
        Prompt,
        Reset,
        Say,
        To,
        ToFlow,
        Wait,
        WaitEvent,
    )
    from falai.flow.drawing import Picture, draw, picture_of_agent, picture_of_flow
    from falai.flow.durations import parse_duration
    from falai.flow.editorschema import document_schema
    from falai.flow.functions import Action, Tool, action, tool
    from falai.flow.handlers import (
        ActionContext,
        ActionResult,
        ToolContext,
        ToolResult,
        View,
        defer,
        failed,
        ok,
        skipped,
    )
    from falai.flow.hours import BusinessHours
    from falai.flow.registries import Registries
    from falai.flow.schema import build_schema, to_wire_schema
    from falai.flow.spec import from_spec, to_spec, validate_flow
    from falai.flow.specschema import flow_spec_schema
    from falai.flow.templates import render, roots
    from falai.flow.values import Coerced, coerce_field, is_known

__all__ = [
    "Action", "ActionContext", "ActionResult", "Ask", "Branch", "BusinessHours", "Coerced", "Collect", "Comparison",
    "Condition", "Do", "EventDefinition", "Fate", "Field", "Flow", "Idle", "If", "Instruction", "OnAnyMessage",
    "OnEvent", "OnMention", "OnMessage", "OnSilence", "Param", "Picture", "Prompt", "Registries", "Reset", "Say", "To",
    "ToFlow", "Tool", "ToolContext", "ToolResult", "View", "Wait", "WaitEvent", "action", "analyse", "build_schema",
    "coerce_field", "compare", "defer", "document_schema", "draw", "failed", "fate", "flow_spec_schema", "from_spec",
    "is_known", "ok", "parse_duration", "picture_of_agent", "picture_of_flow", "render", "roots", "skipped",
    "to_spec", "to_wire_schema", "tool", "validate_flow",
]  # fmt: skip

_HOMES = {
    "analysis": ("analyse",),
    "comparing": ("Comparison", "Fate", "compare", "fate"),
    "drawing": ("Picture", "draw", "picture_of_agent", "picture_of_flow"),
    "durations": ("parse_duration",),
    "editorschema": ("document_schema",),
    "functions": ("Action", "Tool", "action", "tool"),
    "handlers": ("ActionContext", "ActionResult", "ToolContext", "ToolResult", "View", "defer", "failed", "ok", "skipped"),
    "hours": ("BusinessHours",),
    "registries": ("Registries",),
    "schema": ("build_schema", "to_wire_schema"),
    "spec": ("from_spec", "to_spec", "validate_flow"),
    "specschema": ("flow_spec_schema",),
    "templates": ("render", "roots"),
    "values": ("Coerced", "coerce_field", "is_known"),
}  # fmt: skip
_MODULE_OF = dict.fromkeys(__all__, "definition") | {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
