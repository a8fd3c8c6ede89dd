"""The front of version 3 on the same core: `create_agent`, `respond`, and `Directive`, with which a handler redirects.

This room stands beside the others and may import all of them; nothing imports it (10-directives).
A definition is looked at in its wire form: objects of this room, and mappings with wire names or
their snake_case, all become that. From there on a turn is the core's:

    create → checking → compiling → core        the options, once
    agent → loop → core.turn                    a message: session, context, history around it
    listening → stepping, phases, signals, …    what the layer does at the moments of a turn
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from falai.classic import flow
    from falai.classic.agent import ClassicAgent
    from falai.classic.create import create_agent
    from falai.classic.directive import Directive
    from falai.classic.errors import (
        DataValidationError,
        ResponseGenerationError,
        ToolCreationError,
        ToolExecutionError,
        UnsupportedOptionError,
    )
    from falai.classic.flows import ClassicFlow
    from falai.classic.hooks import HookContext
    from falai.classic.response import AgentResponse, Chunk
    from falai.classic.sessions import ClassicSession
    from falai.classic.signals import SignalContext
    from falai.classic.templates import TemplateContext
    from falai.classic.toolcalls import ToolContext, ToolResult

__all__ = [
    "AgentResponse", "Chunk", "ClassicAgent", "ClassicFlow", "ClassicSession", "DataValidationError", "Directive",
    "HookContext", "ResponseGenerationError", "SignalContext", "TemplateContext", "ToolContext", "ToolCreationError",
    "ToolExecutionError", "ToolResult", "UnsupportedOptionError", "create_agent", "flow",
]  # fmt: skip

_HOMES: Final = {
    "AgentResponse": "response",
    "Chunk": "response",
    "ClassicAgent": "agent",
    "ClassicFlow": "flows",
    "ClassicSession": "sessions",
    "Directive": "directive",
    "DataValidationError": "errors",
    "HookContext": "hooks",
    "ResponseGenerationError": "errors",
    "SignalContext": "signals",
    "TemplateContext": "templates",
    "ToolContext": "toolcalls",
    "ToolCreationError": "errors",
    "ToolExecutionError": "errors",
    "ToolResult": "toolcalls",
    "UnsupportedOptionError": "errors",
    "create_agent": "create",
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for only then."""
    if name == "flow":
        return import_module("falai.classic.flow")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"falai.classic.{_HOMES[name]}"), name)
