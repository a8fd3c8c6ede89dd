"""OpenAI's Responses API on loopback; see `loopback`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from model.loopback import Answer, event, server_of

__all__ = ["calls", "refuses", "says", "server", "thinks"]

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 80},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 109,
}


def server(answers: Sequence[Answer]):
    return server_of(answers, "/v1")


def says(text: str, *, pieces: Sequence[str] | None = None, cut: bool = False, finish: str = "completed") -> Answer:
    """A reply with this text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    place = {"item_id": "m1", "output_index": 0, "content_index": 0}
    middle = [
        _named("response.content_part.added", part={**part, "text": ""}, **place),
        *[_named("response.output_text.delta", delta=piece, logprobs=[], **place) for piece in pieces or [text]],
        _named("response.output_text.done", text=text, logprobs=[], **place),
    ]
    return _response(_message(part), middle[:-1] if cut else middle, cut=cut, finish=finish)


def refuses(text: str = "I cannot help with that") -> Answer:
    """The provider's own way of refusing."""
    part = {"type": "refusal", "refusal": text}
    place = {"item_id": "m1", "output_index": 0, "content_index": 0}
    middle = [
        _named("response.refusal.delta", delta=text, **place),
        _named("response.refusal.done", refusal=text, **place),
    ]
    return _response(_message(part), middle)


def calls(name: str, arguments: Any, *, text: str | None = None, cut: bool = False) -> Answer:
    """A reply that calls a tool."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": name, "arguments": given}
    half, place = len(given) // 2, {"item_id": "f1", "output_index": 0}
    middle = [
        _named("response.function_call_arguments.delta", delta=given[:half], **place),
        _named("response.function_call_arguments.delta", delta=given[half:], **place),
        _named("response.function_call_arguments.done", arguments=given, name=name, **place),
    ]
    empty = {**item, "arguments": ""}
    return _response(item, middle[:1] if cut else middle, cut=cut, added={**empty, "status": "in_progress"})


def thinks(thought: str, then: Answer) -> Answer:
    """The same reply behind some reasoning, with its encrypted form."""
    item = {
        "type": "reasoning",
        "id": "r1",
        "summary": [{"type": "summary_text", "text": thought}],
        "encrypted_content": "SEALED",
    }
    body = json.loads(then.body)
    body["output"].insert(0, item)
    place = {"item_id": "r1", "output_index": 0, "summary_index": 0}
    events = [
        _named("response.output_item.added", output_index=0, item={**item, "summary": [], "encrypted_content": None}),
        _named("response.reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **place),
        _named("response.reasoning_summary_text.delta", delta=thought, **place),
        _named("response.output_item.done", output_index=0, item=item),
    ]
    return replace(then, body=json.dumps(body).encode(), events=[then.events[0], *events, *then.events[1:]])


def _message(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}


def _response(
    item: dict[str, Any],
    middle: list[bytes],
    *,
    cut: bool = False,
    added: dict[str, Any] | None = None,
    finish: str = "completed",
) -> Answer:
    ended = {"incomplete_details": {"reason": finish}} if finish != "completed" else {}
    status = "completed" if finish == "completed" else "incomplete"
    whole = {**_head(status), **ended, "output": [item], "usage": USAGE}
    begun = {**_head("in_progress"), "output": []}
    added = added or {**item, "status": "in_progress", "content": []}
    events = [
        _named("response.created", response=begun),
        _named("response.output_item.added", output_index=0, item=added),
        *middle,
    ]
    if not cut:
        events += [
            _named("response.output_item.done", output_index=0, item=item),
            _named(f"response.{status}", response=whole),
        ]
    return Answer(body=json.dumps(whole).encode(), events=events)


def _head(status: str) -> dict[str, Any]:
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "loopback-1", "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tools": [],
        "tool_choice": "auto", "temperature": 1.0, "top_p": 1.0, "usage": None, "output": [],
    }  # fmt: skip


def _named(kind: str, **data: Any) -> bytes:
    return event({"type": kind, "sequence_number": 0, **data}, kind)
