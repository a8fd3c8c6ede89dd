"""Anthropic's messages on loopback; see `loopback`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from model.loopback import Answer, event, server_of

__all__ = ["calls", "fails_inside", "refuses", "says", "server", "thinks"]

USAGE = {"input_tokens": 15, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 80, "output_tokens": 9}


def server(answers: Sequence[Answer]):
    return server_of(answers)


def says(text: str, *, pieces: Sequence[str] | None = None, cut: bool = False, finish: str = "end_turn") -> Answer:
    """A reply with this text."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces or [text]]
    return _message({"type": "text", "text": text}, {"type": "text", "text": ""}, deltas, finish, cut=cut)


def refuses(text: str = "") -> Answer:
    """The provider's own way of refusing."""
    return _message({"type": "text", "text": text}, {"type": "text", "text": ""}, [], "refusal")


def calls(name: str, arguments: Any, *, text: str | None = None, cut: bool = False) -> Answer:
    """A reply that calls a tool."""
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    block = {"type": "tool_use", "id": "c1", "name": name, "input": {} if isinstance(arguments, str) else arguments}
    half = len(given) // 2
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in (given[:half], given[half:])]
    return _message(block, {**block, "input": {}}, deltas[:1] if cut else deltas, "tool_use", cut=cut)


def thinks(thought: str, then: Answer) -> Answer:
    """The same reply behind some signed reasoning."""
    body = json.loads(then.body)
    body["content"].insert(0, {"type": "thinking", "thinking": thought, "signature": "SIGNED"})
    block = {"type": "thinking", "thinking": "", "signature": ""}
    deltas = [{"type": "thinking_delta", "thinking": thought}, {"type": "signature_delta", "signature": "SIGNED"}]
    events = [
        _named("content_block_start", index=1, content_block=block),
        *[_named("content_block_delta", index=1, delta=delta) for delta in deltas],
        _named("content_block_stop", index=1),
    ]
    return replace(then, body=json.dumps(body).encode(), events=[then.events[0], *events, *then.events[1:]])


def fails_inside(kind: str, message: str) -> Answer:
    """A stream that began well, and then says that it failed."""
    begun = says("", pieces=['{"mess'])
    return replace(begun, events=[*begun.events[:3], event({"type": "error", "error": {"type": kind, "message": message}}, "error")])  # fmt: skip


def _message(
    block: dict[str, Any], empty: dict[str, Any], deltas: Sequence[dict[str, Any]], finish: str, *, cut: bool = False
) -> Answer:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "loopback-1", "stop_sequence": None}
    whole = {**head, "content": [block], "stop_reason": finish, "usage": USAGE}
    begun = {**head, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    events = [
        _named("message_start", message=begun),
        _named("content_block_start", index=0, content_block=empty),
        _named("ping"),
        *[_named("content_block_delta", index=0, delta=delta) for delta in deltas],
    ]
    if not cut:
        ended = {"stop_reason": finish, "stop_sequence": None}
        events += [
            _named("content_block_stop", index=0),
            _named("message_delta", delta=ended, usage={"output_tokens": 9}),
            _named("message_stop"),
        ]
    return Answer(body=json.dumps(whole).encode(), events=events)


def _named(kind: str, **data: Any) -> bytes:
    return event({"type": kind, **data}, kind)
