"""What was said, in the message format of the GenAI conventions: on spans only of agents that ask for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from falai.model.port import HistoryItem, ModelReply, ModelRequest
from falai.observability import names
from falai.session.jsontext import json_text, to_plain

__all__ = ["as_json", "message", "messages", "of_reply", "of_request"]


def as_json(value: Any) -> str:
    """Any data as JSON text, since a span takes no objects."""
    try:
        return json_text(to_plain(value))
    except TypeError as error:
        return f"[{error}]"


def of_request(request: ModelRequest) -> Mapping[str, Any]:
    """The stable prefix, and the history with the prompt as its last message."""
    system = None if request.system is None else as_json([_text(request.system)])
    asked = [*map(_message, request.history), {"role": "user", "parts": [_text(request.prompt)]}]
    return {names.INSTRUCTIONS: system, names.INPUT_MESSAGES: as_json(asked)}


def of_reply(reply: ModelReply) -> Mapping[str, Any]:
    """What the model said, tool calls included."""
    parts = [_text(reply.message)] if reply.message else []
    parts += [{"type": "tool_call", "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    return {names.OUTPUT_MESSAGES: as_json([_said(parts, reply.finish_reason or "stop")])}


def message(text: str) -> Mapping[str, Any]:
    """The customer's message."""
    return {names.INPUT_MESSAGES: as_json([{"role": "user", "parts": [_text(text)]}])}


def messages(texts: Sequence[str]) -> Mapping[str, Any]:
    """The messages of a turn: together they are its one answer."""
    return {names.OUTPUT_MESSAGES: as_json([_said([_text(text) for text in texts], "stop")])}


def _said(parts: list[dict[str, Any]], finish_reason: str) -> dict[str, Any]:
    return {"role": "assistant", "parts": parts, "finish_reason": finish_reason}


def _message(item: HistoryItem) -> dict[str, Any]:
    content = item.get("content")
    if item.get("role") == "tool":
        parts = [{"type": "tool_call_response", "id": item.get("tool_call_id"), "response": content}]
        return {"role": "tool", "parts": parts}
    parts = [] if content is None else [_text(content)]
    parts += [{"type": "tool_call", **call} for call in item.get("tool_calls") or ()]
    return {"role": item.get("role"), "parts": parts}


def _text(content: Any) -> dict[str, Any]:
    return {"type": "text", "content": content}
