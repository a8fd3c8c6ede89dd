"""An answer of the library as plain data, believed only when it is whole (M-18.5 to M-18.8).

Half an object, a refusal, nothing at all, or a stream that broke off is a `ProviderError`, whatever
the finish reason says: the library calls a stream finished when its connection ended.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from pydantic_ai import messages as wire

from falai.errors import ProviderError, ProviderErrorKind
from falai.log import line
from falai.model.arguments import tool_arguments
from falai.model.lenient import is_json_shaped, parse_whole
from falai.model.port import ModelReply, ModelRequest, ToolCall, Usage
from falai.model.pydantic_ai.asking import answer_tool
from falai.session.jsontext import is_object, json_text

__all__ = ["Pieces", "read"]

_LOG: Final = logging.getLogger(__name__)
_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"


class Pieces:
    """The reply's text as it arrives: plain, or as the arguments of the tool that carries the answer."""

    def __init__(self, answer: str) -> None:
        self.accumulated = ""
        self._raw = ""
        self._answer = answer
        self._carrier: int | None = None

    def read(self, event: wire.ModelResponseStreamEvent) -> str:
        """What an event adds to the text."""
        match event:
            case wire.PartStartEvent(part=wire.TextPart(content=text)) if self._carrier is None:
                piece = text
            case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)) if self._carrier is None:
                piece = text
            case wire.PartStartEvent(index=index, part=wire.ToolCallPart(tool_name=self._answer, args=args)):
                self._carrier = index
                self.accumulated = self._raw = ""  # what was said beside the answer is not the answer
                piece = _arguments_text(args)
            case wire.PartDeltaEvent(index=self._carrier, delta=wire.ToolCallPartDelta(args_delta=args)):
                piece = _arguments_text(args)
            case _:
                return ""
        self._raw += piece
        before, self.accumulated = self.accumulated, _spoken(self._raw)
        return self.accumulated[len(before) :]


def read(response: wire.ModelResponse, request: ModelRequest, provider: str, *, streamed: bool = False) -> ModelReply:
    """What the response holds. Raises `ProviderError` when that is no whole reply."""
    text, calls = _contents(response, answer_tool(request))
    structured = _parsed(text) if request.schema else None
    if streamed and _broke_off(response) and not _is_whole(text, structured, calls):
        raise ProviderError("the stream ended before its reply was whole", provider=provider, kind="network")
    if request.schema and structured is None and text:
        _LOG.warning("%s: the reply is no JSON object", provider, extra=line("reply.no_json", model=provider))
        text = "" if is_json_shaped(text) else text
    if (not calls and not _has_content(request, text, structured)) or _is_refused(response, structured):
        raise _nothing(response, provider)
    return ModelReply(
        message=text,
        structured=structured,
        tool_calls=tuple(ToolCall(call.tool_name, tool_arguments(call.args, call.tool_name)) for call in calls),
        usage=_usage(response),
        model=response.model_name,
        finish_reason=response.finish_reason,
        cost=_cost(response),
        **_reasoning(response, calls),
    )


def _contents(response: wire.ModelResponse, answer: str) -> tuple[str, list[wire.ToolCallPart]]:
    """The text of the reply, wherever it travelled, and the tools that are called."""
    text = "".join(part.content for part in response.parts if isinstance(part, wire.TextPart))
    calls: list[wire.ToolCallPart] = []
    for part in response.parts:
        if isinstance(part, wire.ToolCallPart) and part.tool_name == answer:
            text = _arguments_text(part.args)
        elif isinstance(part, wire.ToolCallPart) and part.tool_name:
            calls.append(part)
    return _spoken(text), calls


def _spoken(text: str) -> str:
    """The text behind the thoughts in tags that some servers leave in front of it; what may become such is held back."""
    begun = text.lstrip()
    if begun.startswith(_THOUGHT):
        return begun.partition(_THOUGHT_ENDS)[2]
    return "" if _THOUGHT.startswith(begun) else text


def _arguments_text(arguments: str | Mapping[str, Any] | None) -> str:
    return arguments if isinstance(arguments, str) else json_text(arguments) if arguments else ""


def _parsed(text: str) -> dict[str, Any] | None:
    """The object that the whole text is. A tool is called by the provider's own means, never by text."""
    try:
        found = parse_whole(text)
    except ValueError:
        return None
    return {key: value for key, value in found.items() if key != "toolCalls"} if is_object(found) else None


def _broke_off(response: wire.ModelResponse) -> bool:
    """Whether a server never said that it had finished. (The library's fakes have no server.)"""
    said = (response.provider_details or {}).get("finish_reason")
    return response.provider_url is not None and not said and response.finish_reason != "content_filter"


def _is_whole(text: str, structured: object, calls: list[wire.ToolCallPart]) -> bool:
    """Whether all that has come is complete in itself, so that nothing can be missing behind it."""
    return (structured is not None or not text) and all(_has_come(call.args) for call in calls)


def _has_come(arguments: str | Mapping[str, Any] | None) -> bool:
    if not isinstance(arguments, str):
        return bool(arguments)  # where they arrive as text, an empty object stands for what has not come yet
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _has_content(request: ModelRequest, text: str, structured: Mapping[str, Any] | None) -> bool:
    message = (structured or {}).get("message") if request.schema_name == "speak" else None
    return bool((message if isinstance(message, str) else text).strip())


def _is_refused(response: wire.ModelResponse, structured: object) -> bool:
    """Whether the provider itself says that this is no answer, and it is none."""
    return structured is None and response.finish_reason in ("content_filter", "error")


def _nothing(response: wire.ModelResponse, provider: str) -> ProviderError:
    kind: ProviderErrorKind = "overload"
    message = "the reply is empty"
    if response.finish_reason == "content_filter":
        message, kind = "the provider's safety filter refused a reply", "content"
    elif response.finish_reason == "length":
        message += ", cut off at the limit of output tokens"
    answer = ModelReply(
        usage=_usage(response),
        model=response.model_name,
        finish_reason=response.finish_reason,
        cost=_cost(response),
    )
    return ProviderError(message, provider=provider, kind=kind, answer=answer)


def _usage(response: wire.ModelResponse) -> Usage | None:
    used = response.usage
    if not used.input_tokens and not used.output_tokens:
        return None
    return Usage(used.input_tokens, used.output_tokens, used.cache_read_tokens)


def _cost(response: wire.ModelResponse) -> float | None:
    """The price as far as the library knows it."""
    try:
        return float(response.cost().total_price)
    except Exception:  # noqa: BLE001  # no price is worth the reply
        return None


def _reasoning(response: wire.ModelResponse, calls: list[wire.ToolCallPart]) -> dict[str, Any]:
    """The reasoning beside the reply; with calls also the provider's own form of it, for the next round.

    That form is plain data (never stored: it lives for the rounds of one speak call, M-9.8) in which
    the provider gets its signatures back.
    """
    thoughts = [part for part in response.parts if isinstance(part, wire.ThinkingPart)]
    found: dict[str, Any] = {}
    if text := "".join(part.content for part in thoughts):
        found["reasoning"] = text
    if calls and (thoughts or any(call.provider_details for call in calls)):
        (own,) = wire.ModelMessagesTypeAdapter.dump_python([wire.ModelResponse(parts=response.parts)], mode="json")
        by = {"provider_name": response.provider_name, "canonical_system": response.canonical_system}
        found["reasoning_details"] = [{"kind": "response", "parts": own["parts"], **by}]
    return found
