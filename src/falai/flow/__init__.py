"""Flows: what an author writes, checked once and made into plans.

`definition` and `handlers` are the author's words, `wire` their one form as data, `shape`, `names`
and `advice` the checks, `spec` the JSON form, `build` an agent's options; `plan` is what the rest
of the house reads. Nothing that an author or a customer wrote is ever evaluated: a condition is a
mapping or a function, a template names values and nothing else.
"""

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
    Say,
    To,
    ToFlow,
    Wait,
    WaitEvent,
)
from falai.flow.durations import parse_duration
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
    "Action", "ActionContext", "ActionResult", "Ask", "Branch", "BusinessHours", "Coerced", "Collect", "Condition",
    "Do", "EventDefinition", "Field", "Flow", "Idle", "If", "Instruction", "OnAnyMessage", "OnEvent", "OnMention",
    "OnMessage", "OnSilence", "Param", "Prompt", "Registries", "Say", "To", "ToFlow", "Tool", "ToolContext",
    "ToolResult", "View", "Wait", "WaitEvent", "action", "build_schema", "coerce_field", "defer", "failed",
    "flow_spec_schema", "from_spec", "is_known", "ok", "parse_duration", "render", "roots", "skipped", "to_spec",
    "to_wire_schema", "tool", "validate_flow",
]  # fmt: skip
