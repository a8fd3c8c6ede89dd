"""A request in the library's terms: messages, tools, and how the answer's shape is asked for (M-18.2 to M-18.4).

The stable prefix is the one static instruction; what changes from call to call stands behind it, so
that a provider can cache up to there (M-22.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import takewhile
from typing import Any, Final

from pydantic import ValidationError
from pydantic_ai import messages as wire
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from falai.model.port import HistoryItem, ModelRequest, ToolSpec
from falai.model.pydantic_ai.abilities import Abilities, Way
from falai.model.pydantic_ai.forms import compact
from falai.model.pydantic_ai.schemas import Enforcement
from falai.session.jsontext import is_list, json_text

__all__ = ["answer_tool", "messages", "parameters", "placeholders"]

_TOLD: Final = """\
Answer with one bare JSON object of this schema, without a fence. Write a line break inside a text as \\n.
"""


def answer_tool(request: ModelRequest) -> str:
    """The tool in whose arguments an answer travels where there is no other way; no author's tool is named so."""
    return f"falai_{request.schema_name}"


def parameters(
    request: ModelRequest, way: Way, abilities: Abilities, enforcement: Enforcement
) -> ModelRequestParameters:
    """What is asked for beside the messages."""
    found = ModelRequestParameters(
        function_tools=[_tool(tool, enforcement) for tool in request.tools] or placeholders(request, abilities),
        instruction_parts=list(_instructions(request, way, abilities)),
    )
    if way in ("text", "told"):
        return found
    if way == "instructed":
        found.output_mode = "prompted"
        found.output_object = OutputObjectDefinition(json_schema=dict(request.schema), name=request.schema_name)
        found.prompted_output_template = False  # the words are ours, and stand behind the prefix
        return found
    form = enforcement.form(request.schema)
    schema, strict = form.schema, form.why is None
    if way == "native":
        found.output_mode = "native"
        found.output_object = OutputObjectDefinition(json_schema=schema, name=request.schema_name, strict=strict)
        return found
    found.output_mode = "tool"
    found.allow_text_output = False
    found.output_tools = [
        ToolDefinition(
            name=answer_tool(request),
            description="Give the answer.",
            parameters_json_schema=schema,
            kind="output",
            strict=strict,
        )
    ]
    return found


def placeholders(request: ModelRequest, abilities: Abilities) -> list[ToolDefinition]:
    """The tools that the history calls, for a provider that refuses such a history without them.

    They are for a round that offers none (M-9.2); nothing may call them.
    """
    if not abilities.wants_tools or request.tools:
        return []
    called = {call["name"]: None for item in request.history for call in item.get("tool_calls") or ()}
    return [ToolDefinition(name=name, parameters_json_schema={"type": "object", "properties": {}}) for name in called]


def messages(request: ModelRequest, abilities: Abilities) -> list[wire.ModelMessage]:
    """The history item by item, and the prompt as the last user turn (M-18.2)."""
    parts: list[wire.ModelRequestPart] = []
    found: list[wire.ModelMessage] = []
    for item in request.history[len(_opening(request)) :]:
        if item.get("role") == "assistant":
            if parts:
                found.append(wire.ModelRequest(parts=parts))
                parts = []
            found.append(_response(item, abilities))
        elif item.get("role") != "system" or abilities.system_anywhere:
            parts.append(_request_part(item, abilities))
    return [*found, wire.ModelRequest(parts=[*parts, wire.UserPromptPart(request.prompt)])]


def _instructions(request: ModelRequest, way: Way, abilities: Abilities) -> Iterator[wire.InstructionPart]:
    """What stands before the conversation: the stable prefix, then what is of this call."""
    if request.system:
        yield wire.InstructionPart(request.system)
    if way in ("told", "instructed"):
        yield wire.InstructionPart(_TOLD + json_text(compact(request.schema)), dynamic=True)
    items = _opening(request) if abilities.system_anywhere else request.history
    for item in items:
        if item.get("role") == "system":
            yield wire.InstructionPart(_text(item), dynamic=True)


def _opening(request: ModelRequest) -> Sequence[HistoryItem]:
    """The system items that the history begins with: a summary (M-15.3). They belong before the conversation."""
    return list(takewhile(lambda item: item.get("role") == "system", request.history))


def _tool(tool: ToolSpec, enforcement: Enforcement) -> ToolDefinition:
    schema = dict(tool.parameters or {"type": "object", "properties": {}})
    return ToolDefinition(
        name=tool.name,
        description=tool.description or "",
        parameters_json_schema=schema,
        strict=False if enforcement.refuses(schema) else None,  # whether it can be strict the library finds out
    )


def _request_part(item: HistoryItem, abilities: Abilities) -> wire.ModelRequestPart:
    text = _text(item)
    if item.get("role") == "tool":
        call_id = _call_id(item["tool_call_id"], abilities)
        return wire.ToolReturnPart(tool_name=item["name"], content=text, tool_call_id=call_id)
    return wire.SystemPromptPart(text) if item.get("role") == "system" else wire.UserPromptPart(text)


def _text(item: HistoryItem) -> str:
    content = item.get("content")
    return content if isinstance(content, str) else json_text(content)


def _call_id(given: str, abilities: Abilities) -> str:
    """The history's own id, or where a server wants a certain length, a stable one of that length."""
    length = abilities.call_id_length
    return given if length is None else sha256(given.encode()).hexdigest()[:length]


def _response(item: HistoryItem, abilities: Abilities) -> wire.ModelResponse:
    """An assistant item; a provider gets its own words back as it gave them, when it gave reasoning."""
    own = _own(item, abilities)
    if own is not None:
        return own
    parts: list[wire.ModelResponsePart] = [
        wire.ToolCallPart(call["name"], dict(call["arguments"]), tool_call_id=_call_id(call["id"], abilities))
        for call in item.get("tool_calls") or ()
    ]
    if item.get("content") or not parts:
        parts.insert(0, wire.TextPart(item.get("content") or ""))
    reasoning = item.get("reasoning")
    if isinstance(reasoning, str) and reasoning and abilities.reasoning_field is not None:
        field, by = abilities.reasoning_field, abilities.system
        parts.insert(0, wire.ThinkingPart(reasoning, id=field, provider_name=by))
    return wire.ModelResponse(parts=parts)


def _own(item: HistoryItem, abilities: Abilities) -> wire.ModelResponse | None:
    """What this provider answered itself, signatures and all; only the ids of its calls are the history's."""
    details: Any = item.get("reasoningDetails")
    if not is_list(details) or not details:
        return None
    try:
        (response,) = wire.ModelMessagesTypeAdapter.validate_python(details)
    except (ValidationError, ValueError):
        return None
    if not isinstance(response, wire.ModelResponse) or response.provider_name != abilities.system:
        return None
    ids = iter([_call_id(call["id"], abilities) for call in item.get("tool_calls") or ()])
    for part in response.parts:
        if isinstance(part, wire.ToolCallPart):
            part.tool_call_id = next(ids, part.tool_call_id)
    return response
