"""falai: business conversations as flows. Code decides what happens next; a model understands and speaks.

    agent.turn(session_id, Message(text, id=message_id), session=session, context=context)

gives back the messages to send, the timers to set, the session to save and a line for every step.
"""

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
