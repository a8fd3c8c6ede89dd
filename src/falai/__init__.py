"""falai: business conversations as flows. Code decides what happens next; a model understands and speaks.

    agent.turn(session_id, Message(text, id=message_id), session=session, context=context)

gives back the messages to send, the timers to set, the session to save and a line for every step.

The names below are imported when they are first used, so a program pays for what it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.agent import Agent, Delta, Done
    from falai.errors import (
        FalaiError,
        FlowConfigurationError,
        InvalidSessionError,
        ProviderError,
        SessionConflictError,
    )
    from falai.flow.definition import (
        Ask,
        Branch,
        Collect,
        Condition,
        Do,
        Field,
        Flow,
        If,
        Instruction,
        OnAnyMessage,
        OnEvent,
        OnMention,
        OnMessage,
        OnSilence,
        Prompt,
        Reset,
        Say,
        To,
        ToFlow,
        Wait,
        WaitEvent,
    )
    from falai.flow.functions import Action, Param, Tool, action, tool
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
    from falai.session.inputs import Anchor, Claims, Event, Message, Silenced, Start, Wake
    from falai.session.model import Session
    from falai.turn.result import TurnResult

__all__ = [
    "Action",
    "ActionContext",
    "ActionResult",
    "Agent",
    "Anchor",
    "Ask",
    "Branch",
    "BusinessHours",
    "Claims",
    "Collect",
    "Condition",
    "Delta",
    "Do",
    "Done",
    "Event",
    "FalaiError",
    "Field",
    "Flow",
    "FlowConfigurationError",
    "If",
    "Instruction",
    "InvalidSessionError",
    "Message",
    "OnAnyMessage",
    "OnEvent",
    "OnMention",
    "OnMessage",
    "OnSilence",
    "Param",
    "Prompt",
    "ProviderError",
    "Reset",
    "Say",
    "Session",
    "SessionConflictError",
    "Silenced",
    "Start",
    "To",
    "ToFlow",
    "Tool",
    "ToolContext",
    "ToolResult",
    "TurnResult",
    "View",
    "Wait",
    "WaitEvent",
    "Wake",
    "action",
    "defer",
    "failed",
    "ok",
    "skipped",
    "tool",
]

_HOMES = {
    "agent": ("Agent", "Delta", "Done"),
    "errors": ("FalaiError", "FlowConfigurationError", "InvalidSessionError", "ProviderError", "SessionConflictError"),
    "flow.functions": ("Action", "Param", "Tool", "action", "tool"),
    "flow.handlers": (
        "ActionContext",
        "ActionResult",
        "ToolContext",
        "ToolResult",
        "View",
        "defer",
        "failed",
        "ok",
        "skipped",
    ),
    "flow.hours": ("BusinessHours",),
    "session.inputs": ("Anchor", "Claims", "Event", "Message", "Silenced", "Start", "Wake"),
    "session.model": ("Session",),
    "turn.result": ("TurnResult",),
}
_HOME_OF = dict.fromkeys(__all__, "flow.definition") | {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
