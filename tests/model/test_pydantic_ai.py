"""The adapter over real HTTP: what goes out, and how each way to fail comes back (M-18, M-19)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from falai.errors import ProviderError
from falai.flow.plan import FieldPlan
from falai.model.envelopes import speak_schema
from falai.model.port import ModelReply, ModelRequest, ToolSpec, Usage
from falai.model.pydantic_ai import PydanticAIModel
from falai.model.pydantic_ai.schemas import enforceable
from falai.model.tasks import SummaryTask
from model.loopback import Answer, ChatServer, calls, chat_server, cuts, fails, raw, refuses, says

pytest.importorskip("pydantic_ai.models.openai")
pytestmark = pytest.mark.servers

SIZE = FieldPlan("size", "string", enum=("1-10", "11-50"), description="how many work there")
REQUEST = ModelRequest(
    schema_name="speak",
    prompt="Say hello.",
    system="You are Ana.",
    history=[{"role": "user", "content": "oi"}, {"role": "assistant", "content": "Olá!"}],
    context=None,
    schema=speak_schema({"size": SIZE, "people": FieldPlan("people", "integer")}),
    task=SummaryTask(items=()),
)


@asynccontextmanager
async def _model(*answers: Answer, **options: Any) -> AsyncIterator[tuple[PydanticAIModel, ChatServer]]:
    with chat_server(answers) as server:
        model = PydanticAIModel("openai:gpt-5-mini", base_url=server.base_url, **{"retries": 0, **options})
        async with aclosing(model):
            yield model, server


async def _reply(answer: Answer, request: ModelRequest = REQUEST) -> tuple[ModelReply, dict[str, Any]]:
    async with _model(answer) as (model, server):
        return await model.complete(request), server.requests[0]


async def _failure(answer: Answer, request: ModelRequest = REQUEST) -> ProviderError:
    async with _model(answer, timeout=2) as (model, server):
        with pytest.raises(ProviderError) as caught:
            await model.complete(request)
    assert len(server.requests) == 1, "the SDK must not try again by itself"
    assert caught.value.__cause__ is not None or caught.value.kind in ("overload", "content")
    return caught.value


async def _streamed(answer: Answer, request: ModelRequest = REQUEST) -> list[Any]:
    async with _model(answer) as (model, _):
        return [chunk async for chunk in model.stream(request)]


async def test_a_request_carries_prefix_history_prompt_and_schema() -> None:
    """The stable prefix comes first, then the history, then the prompt as the last user turn (M-18.2)."""
    reply, body = await _reply(says('{"message": "Hi", "size": null, "people": 3}'))
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("system", "You are Ana."), ("user", "oi"), ("assistant", "Olá!"), ("user", "Say hello."),
    ]  # fmt: skip
    assert reply.structured == {"message": "Hi", "size": None, "people": 3}
    assert reply.usage == Usage(100, 9, 80)
    assert (reply.model, reply.finish_reason) == ("loopback-1", "stop")


async def test_the_schema_is_named_strict_and_lets_every_value_be_null() -> None:
    """Strict schemas are our own: all properties required, all nullable, an enum by a choice with null (M-3.2)."""
    _, body = await _reply(says('{"message": "Hi", "size": null, "people": null}'))
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("speak", True)
    schema = form["schema"]
    assert schema["required"] == ["message", "size", "people"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["message"] == {"type": ["string", "null"]}
    assert schema["properties"]["people"] == {"type": ["integer", "null"]}
    assert schema["properties"]["size"]["anyOf"] == [{"type": "string", "enum": ["1-10", "11-50"]}, {"type": "null"}]
    assert schema["properties"]["size"]["description"] == "how many work there"


async def test_the_responses_api_is_asked_for_the_same_schema() -> None:
    """`openai:` without a base URL means that API; its request names the schema and is strict too."""
    with chat_server([fails(503, "down")]) as server:
        model = PydanticAIModel("openai-responses:gpt-5-mini", base_url=server.base_url, api_key="k")
        async with aclosing(model):
            with pytest.raises(ProviderError):
                await model.complete(REQUEST)
    form = server.requests[0]["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "speak", True)
    assert form["schema"]["required"] == ["message", "size", "people"]


async def test_output_tokens_are_limited_in_every_request() -> None:
    """A call's own limit wins over the model's."""
    _, body = await _reply(says("short"), replace(REQUEST, schema={}, schema_name="summary", max_output_tokens=1024))
    assert body["max_completion_tokens"] == 1024
    assert "response_format" not in body, "free text needs no JSON mode (M-18.4)"
    async with _model(says('{"message": "Hi"}'), max_output_tokens=77) as (model, server):
        await model.complete(REQUEST)
    assert server.requests[0]["max_completion_tokens"] == 77


async def test_tools_and_their_results_travel() -> None:
    """Tools go out as functions; a call comes back by name and arguments, an earlier round as history (M-9.8)."""
    tool = ToolSpec("slots", "slots", "Free times", {"type": "object", "properties": {"day": {"type": "string"}}})
    reply, body = await _reply(calls("slots", {"day": "mon"}, text="One moment."), replace(REQUEST, tools=(tool,)))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("slots", {"day": "mon"})]
    assert body["tools"][0]["function"]["name"] == "slots"
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-0-0", "name": "slots", "arguments": {}}]}
    found = {"role": "tool", "tool_call_id": "call-0-0", "name": "slots", "content": "16:00"}
    _, body = await _reply(says('{"message": "At four"}'), replace(REQUEST, history=[*REQUEST.history, asked, found]))
    call, result, prompt = body["messages"][-3:]
    assert call["tool_calls"][0]["function"] == {"name": "slots", "arguments": "{}"}
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "call-0-0", "16:00")
    assert prompt["content"] == "Say hello."


async def test_prose_around_the_object_stays_text() -> None:
    """An object inside prose is for the reader of the reply to find (M-10.1), so the text is kept whole."""
    reply, _ = await _reply(says('Sure! {"message": "Hi"} Done.'))
    assert (reply.structured, reply.message) == (None, 'Sure! {"message": "Hi"} Done.')


async def test_a_fence_around_the_object_is_read() -> None:
    """One fence around the whole reply is as good as none (M-13.3)."""
    reply, _ = await _reply(says('```json\n{"message": "Hi"}\n```'))
    assert reply.structured == {"message": "Hi"}


async def test_a_tool_call_in_the_text_is_none() -> None:
    """What a model writes into its JSON never calls a tool: only the provider's own calls do."""
    reply, _ = await _reply(says('{"message": "Hi", "toolCalls": [{"toolName": "pay", "arguments": {}}]}'))
    assert (reply.structured, reply.tool_calls) == ({"message": "Hi"}, ())


@pytest.mark.parametrize(
    ("answer", "kind", "status"),
    [
        (fails(429, "slow down"), "rate", 429),
        (fails(429, "You exceeded your current quota"), "quota", 429),
        (fails(500, "oops"), "overload", 500),
        (fails(401, "Incorrect API key provided"), "auth", 401),
        (fails(404, "The model `x` does not exist"), "model", 404),
        (fails(400, "This model's maximum context length is 10 tokens"), "context", 400),
        (fails(400, "schema refused"), "invalid", 400),
        (cuts(), "network", None),
        (refuses(), "content", None),
        (says(""), "overload", None),
        (says('{"message": "  "}'), "overload", None),
        (says('{"message": "half', finish="length"), "overload", None),
        (says("```json\n{broken"), "overload", None),
    ],
    ids=lambda value: None,
)
async def test_each_failure_has_its_kind(answer: Answer, kind: str, status: int | None) -> None:
    """Whatever goes wrong is one `ProviderError` of the right kind, after one attempt (M-18.8, M-19.4)."""
    failure = await _failure(answer)
    assert (failure.kind, failure.status) == (kind, status), failure
    assert failure.provider == "openai:gpt-5-mini"


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}'])
async def test_a_body_that_is_no_completion_is_a_provider_error(body: bytes) -> None:
    """A garbled answer never gets past the port as another exception; another try may help."""
    failure = await _failure(raw(body))
    assert failure.retryable, failure


async def test_retry_after_is_passed_on() -> None:
    """The wait that the provider states reaches whoever decides about the next attempt (M-19.6, M-19.7)."""
    failure = await _failure(fails(429, "slow down", {"retry-after": "7", "x-should-retry": "false"}))
    assert (failure.retry_after_ms, failure.should_retry) == (7000, False)


async def test_a_missing_key_is_said_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent can be built without a key; the first call says which variable is missing."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderError, match="OPENAI_API_KEY") as caught:
        await PydanticAIModel("openai:gpt-5-mini").complete(REQUEST)
    assert caught.value.kind == "auth"


async def test_a_stream_adds_up_to_the_reply() -> None:
    """The pieces joined are the reply's text; the last chunk, and only it, has the reply (M-17.5)."""
    pieces = ['{"mess', 'age": "He', 'llo"}']
    chunks = await _streamed(says("".join(pieces), pieces=pieces))
    assert "".join(chunk.delta for chunk in chunks) == chunks[-1].reply.message == "".join(pieces)
    assert [chunk.reply is None for chunk in chunks[:-1]] == [True] * (len(chunks) - 1)
    assert chunks[-1].reply.structured == {"message": "Hello"}
    assert chunks[-1].reply.usage == Usage(100, 9, 80)


async def test_a_cut_stream_is_no_reply() -> None:
    """A stream that ends in the middle looks whole to the library; half an object still never counts."""
    with pytest.raises(ProviderError) as caught:
        await _streamed(says("", pieces=['{"message": "He', "llo"], cut=True))
    assert caught.value.retryable, caught.value


@pytest.mark.parametrize("answer", [fails(503, "down"), cuts(), says("")])
async def test_a_stream_fails_as_a_whole_call_does(answer: Answer) -> None:
    """Both ways to ask end in the same kinds of failure."""
    with pytest.raises(ProviderError) as caught:
        await _streamed(answer)
    assert caught.value.retryable


@asynccontextmanager
async def _with_profile(profile: dict[str, Any], *answers: Answer) -> AsyncIterator[tuple[PydanticAIModel, ChatServer]]:
    """A model of the library's own with another profile, as providers without native schemas have."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with chat_server(answers) as server:
        provider = OpenAIProvider(base_url=server.base_url, api_key="k")
        upstream: Any = OpenAIChatModel("other", provider=provider, profile=profile)
        async with upstream:
            yield PydanticAIModel(upstream), server


async def test_without_native_schemas_the_answer_travels_in_a_tool() -> None:
    """A forced tool carries the envelope; its arguments are the reply, whole or streamed (M-22.4)."""
    answer = calls("falai_speak", {"message": "Hi", "size": None})
    async with _with_profile({"supports_json_schema_output": False}, answer, answer) as (model, server):
        whole = await model.complete(REQUEST)
        chunks = [chunk async for chunk in model.stream(REQUEST)]
    assert server.requests[0]["tools"][-1]["function"]["strict"] is True
    assert server.requests[0]["tool_choice"] == "required"
    streamed = chunks[-1].reply
    assert streamed is not None
    for reply in (whole, streamed):
        assert (reply.structured, reply.tool_calls) == ({"message": "Hi", "size": None}, ())
    assert "".join(chunk.delta for chunk in chunks) == streamed.message


async def test_without_tools_the_schema_is_in_the_prompt() -> None:
    """The last resort is JSON by instruction (M-22.5)."""
    profile = {"supports_json_schema_output": False, "supports_tools": False, "supports_json_object_output": True}
    async with _with_profile(profile, says('{"message": "Hi"}')) as (model, server):
        reply = await model.complete(REQUEST)
    assert reply.structured == {"message": "Hi"}
    body = server.requests[0]
    assert body["response_format"] == {"type": "json_object"}
    assert any('"required":["message","size","people"]' in str(m["content"]) for m in body["messages"])


def test_enforceable_leaves_what_needs_no_change() -> None:
    """Only a nullable enum is written otherwise, at every depth; the given schema stays as it was."""
    enum = {"type": ["string", "null"], "enum": ["a"], "description": "d"}
    inner = {"type": "object", "properties": {"x": enum, "n": {"type": ["integer", "null"]}}}
    schema = {"type": "object", "properties": {"in": inner}}
    changed = enforceable(schema, lists=True)["properties"]["in"]["properties"]
    choice = {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "d"}
    assert changed == {"x": choice, "n": {"type": ["integer", "null"]}}
    assert schema["properties"]["in"] is inner
    assert inner["properties"]["x"] is enum


def test_enforceable_without_lists_of_types() -> None:
    """Where a provider knows no lists of types, all that is nullable is a choice."""
    listed = {"type": ["array", "null"], "items": {"type": "string"}}
    changed = enforceable({"type": "object", "properties": {"l": listed, "n": {"type": "integer"}}}, lists=False)
    choice = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    assert changed["properties"] == {"l": choice, "n": {"type": "integer"}}


def test_one_model_object_serves_several_event_loops() -> None:
    """Connections belong to a loop: a script that runs one loop after the other works."""

    async def once(model: PydanticAIModel) -> str:
        async with aclosing(model):
            return (await model.complete(REQUEST)).message

    with chat_server([says('{"message": "1"}'), says('{"message": "2"}')]) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url)
        assert [asyncio.run(once(model)) for _ in range(2)] == ['{"message": "1"}', '{"message": "2"}']
