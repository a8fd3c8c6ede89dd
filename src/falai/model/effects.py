"""What a turn asks of the world by yielding it; a driver sends back the answer.

`Summarise`, `Understand` and `Speak` are answered with a `ModelReply`, or by throwing the failure
in. `UseTools` is answered with one `ToolAnswer` a call, in order; nothing is thrown for a tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from falai.flow.definition import Move
from falai.flow.handlers import ToolContext
from falai.flow.plan import FlowPlan, ToolPlan
from falai.model.port import ModelRequest

__all__ = ["Speak", "Summarise", "ToolAnswer", "ToolUse", "Understand", "UseTools"]


class Summarise(msgspec.Struct, frozen=True):
    """Sum up the older part of the history (M-15.5)."""

    request: ModelRequest


class Understand(msgspec.Struct, frozen=True):
    """Judge the customer's message. A failure goes out of the turn (M-5.8)."""

    request: ModelRequest


class Speak(msgspec.Struct, frozen=True):
    """One round of the reply (M-9). A driver that streams passes on its words."""

    request: ModelRequest


class ToolUse(msgspec.Struct, frozen=True):
    """One tool call that is to go through its gates (M-9.7). `tool` is `None` when none has that name, `flow`
    when the idle speaker calls."""

    name: str
    tool: ToolPlan | None
    arguments: Mapping[str, Any]
    context: ToolContext[Any]
    flow: FlowPlan | None = None


class UseTools(msgspec.Struct, frozen=True):
    """Calls that may run side by side; a lone one runs alone (M-9.6)."""

    calls: tuple[ToolUse, ...]


class ToolAnswer(msgspec.Struct, frozen=True):
    """What the model reads back, and the data to store (M-9.7, F-14.4).

    `error` says in one word, for those who watch, what stopped the call: `unknown`, `validation`,
    `permission`, or the class of what was raised. `move` and `say` are what the result asks for beside
    its value; they fit the flow in which the tool was called.
    """

    content: str
    data: Mapping[str, Any] | None = None
    error: str | None = None
    move: Move | None = None
    say: str | None = None
