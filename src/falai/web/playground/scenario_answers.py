"""The model's replies as the script of a scenario file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from falai.errors import ProviderError
from falai.flow.plan import AgentPlan
from falai.flow.values import coerce_field
from falai.model.lenient import salvage_json
from falai.model.port import ModelReply
from falai.session.dates import iso
from falai.session.jsontext import is_object
from falai.web.playground.recording import Answer, Recorded

__all__ = ["answers"]


def answers(recorded: Recorded, plan: AgentPlan) -> Iterator[dict[str, Any]]:
    """An entry for each call of a turn, in order."""
    for answer in recorded.answers:
        yield {"call": answer.call.name, **_said(answer, plan)}


def _said(answer: Answer, plan: AgentPlan) -> dict[str, Any]:
    if isinstance(answer.reply, ProviderError):
        return {"error": _error(answer.reply)}
    reply = answer.reply
    envelope = _envelope(answer.call.name, reply)
    tools = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    called = {"tools": tools} if tools else {}
    if envelope is not None:
        return {**called, "reply": _stored(answer.call.name, envelope, plan)}
    return {**called, **({} if tools and not reply.message else {"text": reply.message})}


def _envelope(call: str, reply: ModelReply) -> Mapping[str, Any] | None:
    """The object that the turn read in the reply; `None` when it read the text."""
    if call == "summary":
        return None
    found = reply.structured if is_object(reply.structured) else salvage_json(reply.message)
    return found if is_object(found) else None


def _stored(call: str, envelope: Mapping[str, Any], plan: AgentPlan) -> dict[str, Any]:
    """The envelope with values of richer types as they were stored: the file knows the wire types only."""
    if call == "speak":
        return _values(envelope, plan)
    fields = envelope.get("fields")
    return {**envelope, "fields": _values(fields, plan)} if is_object(fields) else dict(envelope)


def _values(given: Mapping[str, Any], plan: AgentPlan) -> dict[str, Any]:
    return {slug: _value(slug, value, plan) for slug, value in given.items()}


def _value(slug: str, raw: Any, plan: AgentPlan) -> Any:
    field = plan.fields.get(slug)
    if field is None or field.validate is None or raw is None or raw == "":
        return raw
    read = coerce_field(field, raw)
    if read.code == "bad-value":
        return [raw]  # which no wire type takes either
    return raw if read.code is not None else read.value


def _error(error: ProviderError) -> dict[str, Any]:
    given = {
        "kind": error.kind,
        "retryAfter": None if error.retry_after_ms is None else error.retry_after_ms / 1000,
        "resetAt": None if error.reset_at_ms is None else iso(error.reset_at_ms),
        "shouldRetry": error.should_retry,
    }
    return {key: value for key, value in given.items() if value is not None}
