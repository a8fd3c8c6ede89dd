"""Google's generateContent on loopback; see `loopback`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from model.loopback import Answer, event, server_of

__all__ = ["calls", "fails", "refuses", "says", "server", "thinks"]

USAGE = {
    "promptTokenCount": 100, "candidatesTokenCount": 6, "thoughtsTokenCount": 3, "totalTokenCount": 109,
    "cachedContentTokenCount": 80,
}  # fmt: skip


def server(answers: Sequence[Answer]):
    return server_of(answers)


def says(text: str, *, pieces: Sequence[str] | None = None, cut: bool = False, finish: str = "STOP") -> Answer:
    """A reply with this text."""
    return _content([{"text": text}], [[{"text": piece}] for piece in pieces or [text]], finish, cut=cut)


def refuses(text: str = "") -> Answer:
    """The provider's own way of refusing."""
    return _content([], [], "SAFETY")


def calls(name: str, arguments: Any, *, text: str | None = None, cut: bool = False) -> Answer:
    """A reply that calls a tool."""
    part = {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": "U0lHTkVE"}
    return _content([part], [[part]], "STOP", cut=cut)


def thinks(thought: str, then: Answer) -> Answer:
    """The same reply behind some reasoning."""
    part = {"text": thought, "thought": True}
    body = json.loads(then.body)
    body["candidates"][0]["content"]["parts"].insert(0, part)
    return replace(then, body=json.dumps(body).encode(), events=[event(_chunk([part])), *then.events])


def fails(status: int, message: str, code: str, **details: Any) -> Answer:
    """An error in Google's form."""
    error = {"code": status, "message": message, "status": code, **details}
    return Answer(status=status, body=json.dumps({"error": error}).encode())


def _content(
    parts: list[dict[str, Any]], pieces: Sequence[list[dict[str, Any]]], finish: str, *, cut: bool = False
) -> Answer:
    whole = _chunk(parts, finish)
    events = [event(_chunk(piece)) for piece in pieces]
    if not cut:
        events.append(event(_chunk([], finish)))
    return Answer(body=json.dumps(whole).encode(), events=events)


def _chunk(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "loopback-1", "responseId": "x"}
