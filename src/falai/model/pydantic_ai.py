"""Everything that pydantic-ai reaches, as a `Model`. The only file that imports it, when first used.

Of that library only the direct request API is used: its agents, its retries and its message types
stay outside. What it is asked for is a JSON object in the way that the model can do: a native
schema, else a forced tool, else instructions. What comes back is believed only when it is whole:
half an object, a refusal or nothing at all is a `ProviderError`, whatever the finish reason says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from falai.errors import ProviderError
from falai.model.failures import classify
from falai.model.jsontext import is_json_shaped, parse_whole
from falai.model.names import check_name
from falai.model.port import HistoryItem, ModelChunk, ModelReply, ModelRequest, ToolCall, Usage
from falai.session.jsontext import is_object, json_text

if TYPE_CHECKING:
    from pydantic_ai import messages as wire
    from pydantic_ai.models import Model as Upstream
    from pydantic_ai.models import ModelRequestParameters

__all__ = ["PydanticAIModel", "enforceable"]

_LOG: Final = logging.getLogger(__name__)
_OUTPUT_TOKENS: Final = 8192
_PROMPTED: Final = """\
Answer with one bare JSON object of this schema, without a fence. Write a line break inside a text as \\n.
{schema}"""


class PydanticAIModel:
    """A model by name (`"openai:gpt-5-mini"`), or a model object of pydantic-ai.

    With a base URL, `openai:` means chat completions at that server, and a key may be left out.
    `timeout` is in seconds. `settings` are model settings of pydantic-ai, as `temperature`. A key
    that is missing shows at the first call. Raises `ValueError` for a name that is unknown and
    `ImportError` with the command to run for an extra that is not installed.
    """

    def __init__(
        self,
        model: str | Upstream,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_output_tokens: int = _OUTPUT_TOKENS,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(model, str):
            check_name(model, base_url=base_url)
        self._model = model
        self._base_url = base_url
        self._api_key = api_key
        self._max_output_tokens = max_output_tokens
        # Retries are the host's: the SDKs would try twice more by themselves, unseen.
        self._settings: dict[str, Any] = {**(settings or {}), "timeout": timeout, "max_retries": 0}
        self._upstream: WeakKeyDictionary[asyncio.AbstractEventLoop, Upstream] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        return self._model if isinstance(self._model, str) else self._model.model_id

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply. Raises `ProviderError`, and only that."""
        try:
            from pydantic_ai.direct import model_request  # heavy: over a second

            model = self._model_here()
            response = await model_request(model, _messages(request), **self._call(model, request))
            return self._reply(request, response)
        except Exception as error:
            raise classify(error, self.name) from error

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply in pieces. Raises `ProviderError`, and only that, perhaps after some pieces."""
        pieces = _Pieces(_answer_tool(request))
        try:
            from pydantic_ai.direct import model_request_stream  # heavy: over a second

            model = self._model_here()
            async with model_request_stream(model, _messages(request), **self._call(model, request)) as events:
                async for event in events:
                    if piece := pieces.read(event):
                        yield ModelChunk(piece, pieces.accumulated)
                reply = self._reply(request, events.get())
            yield ModelChunk("", pieces.accumulated, reply)
        except Exception as error:
            raise classify(error, self.name) from error

    async def aclose(self) -> None:
        """Closes the connections that were made in this event loop; a later call makes new ones."""
        upstream = self._upstream.pop(asyncio.get_running_loop(), None)
        if upstream is not None:
            await upstream.__aenter__()  # leaving is the library's only way to close
            await upstream.__aexit__(None, None, None)

    # --- asking -------------------------------------------------------------------------------

    def _model_here(self) -> Upstream:
        """The library's model for this event loop: its connections belong to the loop they were made in."""
        if not isinstance(self._model, str):
            return self._model
        loop = asyncio.get_running_loop()
        if (found := self._upstream.get(loop)) is None:
            found = self._upstream[loop] = _upstream(self._model, self._base_url, self._api_key)
        return found

    def _call(self, model: Upstream, request: ModelRequest) -> dict[str, Any]:
        limit = request.max_output_tokens or self._max_output_tokens
        return {
            "model_settings": {**self._settings, "max_tokens": limit},
            "model_request_parameters": _parameters(model, request),
        }

    # --- reading ------------------------------------------------------------------------------

    def _reply(self, request: ModelRequest, response: wire.ModelResponse) -> ModelReply:
        """What the response holds; raises `ProviderError` when it holds no reply (M-18.7, M-18.8)."""
        text, calls = _contents(response, _answer_tool(request))
        structured = _parsed(text) if request.schema else None
        if request.schema and structured is None and text:
            _LOG.warning("%s: the reply is no JSON object", self.name, extra={"action": "reply.no_json"})
            text = "" if is_json_shaped(text) else text
        if not calls and not _has_content(request, text, structured):
            raise self._nothing(response)
        return ModelReply(
            message=text,
            structured=structured,
            tool_calls=calls,
            usage=_usage(response),
            model=response.model_name,
            finish_reason=response.finish_reason,
            cost=_cost(response),
        )

    def _nothing(self, response: wire.ModelResponse) -> ProviderError:
        if response.finish_reason == "content_filter":
            return ProviderError("the provider's safety filter refused a reply", provider=self.name, kind="content")
        why = ", cut off at the limit of output tokens" if response.finish_reason == "length" else ""
        return ProviderError(f"the reply is empty{why}", provider=self.name, kind="overload")


def enforceable(schema: Mapping[str, Any], *, lists: bool) -> dict[str, Any]:
    """The schema as an enforcing provider can take it; `lists` says whether it knows lists of types.

    A nullable enum becomes a choice of the enum and null: an enum without null would make null
    impossible, and the model would have to invent a value. Without `lists`, so does all that is nullable.
    """
    changed = dict(schema)
    if "properties" in changed:
        changed["properties"] = {key: enforceable(value, lists=lists) for key, value in changed["properties"].items()}
    kinds = changed.get("type")
    if not isinstance(kinds, list) or (lists and "enum" not in changed):
        return changed
    shape = {key: changed.pop(key) for key in ("enum", "items") if key in changed}
    kind = next(kind for kind in cast(list[str], kinds) if kind != "null")
    changed["anyOf"] = [{"type": kind, **shape}, {"type": "null"}]
    del changed["type"]
    return changed


# --- what is asked of the library -------------------------------------------------------------


def _upstream(model: str, base_url: str | None, api_key: str | None) -> Upstream:
    """The library's own model. A key that is missing is a failure of kind `auth`."""
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    if base_url is not None and model.startswith("openai:"):
        model = f"openai-chat:{model.removeprefix('openai:')}"
    try:
        return infer_model(model, lambda prefix: _provider(prefix, base_url, api_key))
    except UserError as error:
        raise ProviderError(str(error), provider=model, kind="auth") from error


def _provider(prefix: str, base_url: str | None, api_key: str | None) -> Any:
    from pydantic_ai.providers import infer_provider, infer_provider_class

    given = {"base_url": base_url, "api_key": api_key}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    return infer_provider_class(prefix)(**options) if options else infer_provider(prefix)


def _parameters(model: Upstream, request: ModelRequest) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    tools = [
        ToolDefinition(
            name=tool.name,
            description=tool.description or "",
            parameters_json_schema=dict(tool.parameters or {"type": "object", "properties": {}}),
        )
        for tool in request.tools
    ]
    if not request.schema:
        return ModelRequestParameters(function_tools=tools)
    schema = enforceable(request.schema, lists=_knows_lists_of_types(model))
    output = OutputObjectDefinition(json_schema=schema, name=request.schema_name, strict=True)
    if _has_native_schemas(model, tools=bool(tools)):
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=output)
    if model.profile.get("supports_tools", True):
        answer = ToolDefinition(
            name=_answer_tool(request),
            description="Give the answer.",
            parameters_json_schema=schema,
            kind="output",
            strict=True,
        )
        return ModelRequestParameters(
            function_tools=tools, output_mode="tool", output_tools=[answer], allow_text_output=False
        )
    return ModelRequestParameters(output_mode="prompted", output_object=output, prompted_output_template=_PROMPTED)


def _knows_lists_of_types(model: Upstream) -> bool:
    """OpenAI's dialect does; what the library makes of such a list for others may fail."""
    return "OpenAI" in getattr(model.profile.get("json_schema_transformer"), "__name__", "")


def _has_native_schemas(model: Upstream, *, tools: bool) -> bool:
    """Whether the answer's schema is the provider's to enforce; some models cannot do it beside tools."""
    profile: Mapping[str, Any] = model.profile
    beside_tools = profile.get("google_supports_tool_combination", True)
    return bool(profile.get("supports_json_schema_output", False)) and (bool(beside_tools) or not tools)


def _answer_tool(request: ModelRequest) -> str:
    """The tool in whose arguments an answer travels where there is no other way; no author's tool is named so."""
    return f"falai_{request.schema_name}"


def _messages(request: ModelRequest) -> list[wire.ModelMessage]:
    """The stable prefix, the history item by item, and the prompt as the last user turn (M-18.2)."""
    from pydantic_ai import messages as wire

    parts: list[wire.ModelRequestPart] = []
    found: list[wire.ModelMessage] = []
    if request.system:
        parts.append(wire.SystemPromptPart(request.system))
    for item in request.history:
        if item.get("role") == "assistant":
            if parts:
                found.append(wire.ModelRequest(parts=parts))
                parts = []
            found.append(wire.ModelResponse(parts=_assistant_parts(item)))
        else:
            parts.append(_request_part(item))
    return [*found, wire.ModelRequest(parts=[*parts, wire.UserPromptPart(request.prompt)])]


def _request_part(item: HistoryItem) -> wire.ModelRequestPart:
    from pydantic_ai import messages as wire

    content = item.get("content")
    text = content if isinstance(content, str) else json_text(content)
    if item.get("role") == "tool":
        return wire.ToolReturnPart(tool_name=item["name"], content=text, tool_call_id=item["tool_call_id"])
    return wire.SystemPromptPart(text) if item.get("role") == "system" else wire.UserPromptPart(text)


def _assistant_parts(item: HistoryItem) -> list[wire.ModelResponsePart]:
    from pydantic_ai import messages as wire

    parts: list[wire.ModelResponsePart] = [
        wire.ToolCallPart(call["name"], dict(call["arguments"]), tool_call_id=call["id"])
        for call in item.get("tool_calls") or ()
    ]
    return [wire.TextPart(item.get("content") or ""), *parts] if item.get("content") or not parts else parts


# --- what came back ---------------------------------------------------------------------------


class _Pieces:
    """The reply's text as it arrives: plain, or as the arguments of the tool that carries the answer."""

    def __init__(self, answer_tool: str) -> None:
        self.accumulated = ""
        self._answer_tool = answer_tool
        self._answers: set[int] = set()

    def read(self, event: object) -> str:
        """What an event adds to the text."""
        from pydantic_ai import messages as wire

        piece: object = None
        match event:
            case wire.PartStartEvent(part=wire.TextPart(content=text)):
                piece = text
            case wire.PartStartEvent(index=index, part=wire.ToolCallPart(tool_name=self._answer_tool, args=args)):
                self._answers.add(index)
                self.accumulated = ""  # what was said beside the answer is not the answer
                piece = args
            case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)):
                piece = text
            case wire.PartDeltaEvent(index=index, delta=wire.ToolCallPartDelta(args_delta=args)):
                piece = args if index in self._answers else None
            case _:
                pass
        added = piece if isinstance(piece, str) else ""
        self.accumulated += added
        return added


def _contents(response: wire.ModelResponse, answer_tool: str) -> tuple[str, tuple[ToolCall, ...]]:
    """The text of the reply, wherever it travelled, and the tools that are called."""
    from pydantic_ai import messages as wire

    text = "".join(part.content for part in response.parts if isinstance(part, wire.TextPart))
    calls: list[ToolCall] = []
    for part in response.parts:
        if isinstance(part, wire.ToolCallPart) and part.tool_name == answer_tool:
            text = part.args if isinstance(part.args, str) else part.args_as_json_str()
        elif isinstance(part, wire.ToolCallPart):
            calls.append(ToolCall(part.tool_name, part.args))
    return text, tuple(calls)


def _parsed(text: str) -> dict[str, Any] | None:
    """The object that the whole text is. A tool is called by the provider's own means, never by text."""
    try:
        found = parse_whole(text)
    except ValueError:
        return None
    return {key: value for key, value in found.items() if key != "toolCalls"} if is_object(found) else None


def _has_content(request: ModelRequest, text: str, structured: Mapping[str, Any] | None) -> bool:
    message = (structured or {}).get("message") if request.schema_name == "speak" else None
    return bool((message if isinstance(message, str) else text).strip())


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
