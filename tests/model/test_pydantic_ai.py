"""The adapter's ways: how each provider is reached, how a schema is asked for, what the options do (M-18, M-22)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from falai.errors import ProviderError
from falai.model.port import ModelReply, ToolSpec
from falai.model.pydantic_ai import PydanticAIModel
from model.formats import FORMATS, REQUEST, Format, connected, streamed
from model.loopback import Answer, ChatServer, calls, chat_server, fails, says, thinks

for package in ("openai", "anthropic", "google"):
    pytest.importorskip(f"pydantic_ai.models.{package}")
pytestmark = pytest.mark.servers

CHAT, RESPONSES, ANTHROPIC, GOOGLE = FORMATS
HI = says('{"message": "Hi"}')
TOOL = ToolSpec("slots", "slots", "Free times", {"type": "object", "properties": {"day": {"type": "string"}}})
WITH_TOOLS = replace(REQUEST, tools=(TOOL,))
SCHEMA_AS_TEXT = '"required":["message","size","people"]'


async def _sent(form: Format, request: Any = REQUEST, answer: Answer | None = None, **options: Any) -> dict[str, Any]:
    """The body of a request, and the text of all that was sent, as `all`."""
    async with connected(form, answer or form.says('{"message": "Hi"}'), **options) as (model, server):
        reply = await model.complete(request)
    assert reply.tool_calls or reply.structured == {"message": "Hi"}
    return {**server.requests[0], "all": json.dumps(server.requests[0], ensure_ascii=False)}


# --- how a provider is reached ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "name", "path"),
    [
        (CHAT, "openai:any", "/v1/chat/completions"),
        (CHAT, "openai-chat:any", "/v1/chat/completions"),
        (RESPONSES, "openai-responses:any", "/v1/responses"),
        (CHAT, "openrouter:openai/gpt-5-mini", "/v1/chat/completions"),
        (CHAT, "deepseek:deepseek-chat", "/v1/chat/completions"),
        (CHAT, "zai:glm-4.7", "/v1/chat/completions"),
        (CHAT, "groq:llama-3.3-70b-versatile", "/v1/chat/completions"),
        (CHAT, "mistral:mistral-small-latest", "/v1/chat/completions"),
        (CHAT, "ollama:llama3.2:3b", "/v1/chat/completions"),
        (ANTHROPIC, "anthropic:claude-haiku-5-5", "/v1/messages"),
        (GOOGLE, "google:gemini-3.5-flash", "/v1beta/models/gemini-3.5-flash:generateContent"),
    ],
)
async def test_every_prefix_reaches_its_provider(form: Format, name: str, path: str) -> None:
    """Whole and streamed, with the key that was given, and with a limit of output tokens."""
    tool_answer = name.startswith("groq")
    answer = form.calls("falai_speak", {"message": "Hi"}) if tool_answer else form.says('{"message": "Hi"}')
    async with connected(form, answer, answer, model=name, api_key="sk-made-up") as (model, server):
        whole = await model.complete(REQUEST)
        pieces, reply = await streamed(model)
    assert model.name == name
    assert whole.structured == reply.structured == {"message": "Hi"}
    assert "".join(pieces) == reply.message
    assert server.paths[0] == path
    assert "sk-made-up" in str(server.heads[0])
    body = server.requests[0]
    assert body.get("model", name.partition(":")[2]) == name.partition(":")[2]
    assert "8192" in json.dumps(body)


KEYS = {
    "openai:gpt-5-mini": "OPENAI_API_KEY", "openai-chat:gpt-5-mini": "OPENAI_API_KEY",
    "openrouter:openai/gpt-5-mini": "OPENROUTER_API_KEY", "deepseek:deepseek-chat": "DEEPSEEK_API_KEY",
    "zai:glm-4.7": "ZAI_API_KEY", "groq:x": "GROQ_API_KEY", "mistral:x": "MISTRAL_API_KEY",
    "anthropic:claude-haiku-5-5": "ANTHROPIC_API_KEY", "google:gemini-3.5-flash": "GOOGLE_API_KEY",
}  # fmt: skip


@pytest.mark.parametrize(("name", "key"), KEYS.items())
async def test_a_missing_key_is_said_at_the_first_call(name: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent can be built and checked without a key; the first call says which variable is missing."""
    for variable in (*KEYS.values(), "GEMINI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ProviderError, match=key) as caught:
        await PydanticAIModel(name).complete(REQUEST)
    assert (caught.value.kind, caught.value.provider) == ("auth", name)


async def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a base URL the key may be left out."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("openai:any", "ollama:any"):
        with chat_server([HI]) as server:
            async with aclosing(PydanticAIModel(name, base_url=server.base_url)) as model:
                await model.complete(REQUEST)


async def test_an_own_client_carries_the_requests() -> None:
    """A replacement for the transport, for tests that script the bytes (M-22.2); it is the host's to close."""
    import httpx2

    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(200, content=HI.body, headers={"content-type": "application/json"})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
        model = PydanticAIModel("openai:any", base_url="http://nowhere.invalid/v1", http_client=client)
        assert (await model.complete(REQUEST)).structured == {"message": "Hi"}
        await model.aclose()
        assert (await model.complete(REQUEST)).structured == {"message": "Hi"}
    assert seen == ["http://nowhere.invalid/v1/chat/completions"] * 2


def test_one_model_object_serves_several_event_loops() -> None:
    """Connections belong to a loop: a script that runs one loop after the other works."""

    async def once(model: PydanticAIModel) -> str:
        async with aclosing(model):
            return (await model.complete(REQUEST)).message

    with chat_server([says('{"message": "1"}'), says('{"message": "2"}')]) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url)
        assert [asyncio.run(once(model)) for _ in range(2)] == ['{"message": "1"}', '{"message": "2"}']


async def test_calls_side_by_side() -> None:
    """One object serves all sessions at once."""
    answers = [says(json.dumps({"message": str(number)})) for number in range(8)]
    async with connected(CHAT, *answers) as (model, _):
        replies = await asyncio.gather(*(model.complete(REQUEST) for _ in answers))
    assert sorted(reply.structured["message"] for reply in replies if reply.structured) == list("01234567")


# --- how a schema is asked for ----------------------------------------------------------------


@pytest.mark.parametrize("form", [CHAT, RESPONSES], ids=lambda form: form.name)
async def test_a_native_schema_is_strict_and_lets_every_value_be_null(form: Format) -> None:
    """Strict schemas are our own: all properties required, all nullable, an enum by a choice with null (M-3.2)."""
    body = await _sent(form)
    sent = body["text"]["format"] if form is RESPONSES else body["response_format"]["json_schema"]
    assert (sent["name"], sent["strict"]) == ("speak", True)
    schema = sent["schema"]
    assert schema["required"] == ["message", "size", "people"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["message"] == {"type": ["string", "null"]}
    assert schema["properties"]["people"] == {"type": ["integer", "null"]}
    assert schema["properties"]["size"]["anyOf"] == [{"type": "string", "enum": ["1-10", "11-50"]}, {"type": "null"}]
    assert schema["properties"]["size"]["description"] == "how many work there"


async def test_google_s_schema_has_choices_with_null() -> None:
    """Its dialect knows no lists of types."""
    schema = (await _sent(GOOGLE))["generationConfig"]["responseJsonSchema"]
    assert schema["properties"]["people"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert schema["required"] == ["message", "size", "people"]


async def test_older_gemini_gets_the_schema_as_text_beside_tools() -> None:
    """It refuses an enforced answer beside tools (M-22); without tools it is enforced."""
    name = "google:gemini-2.5-flash"
    assert "responseJsonSchema" in (await _sent(GOOGLE, model=name))["generationConfig"]
    body = await _sent(GOOGLE, WITH_TOOLS, model=name)
    assert "responseJsonSchema" not in body["generationConfig"]
    assert SCHEMA_AS_TEXT in body["systemInstruction"]["parts"][1]["text"]


async def test_anthropic_gets_the_schema_behind_the_cached_prefix() -> None:
    """Nothing that changes per call stands before the marker of the stable prefix (M-22.6)."""
    body = await _sent(ANTHROPIC)
    prefix, schema = body["system"]
    assert prefix["text"] == "You are Ana."
    assert prefix["cache_control"]["type"] == "ephemeral"
    assert SCHEMA_AS_TEXT in schema["text"]
    assert "cache_control" not in schema
    assert "cache_control" not in json.dumps(body["messages"])
    assert "tools" not in body


async def test_anthropic_behind_openrouter_is_cached_too() -> None:
    """It is the same model, and wants the same marker."""
    body = await _sent(CHAT, model="openrouter:anthropic/claude-haiku-5-5")
    assert "response_format" not in body or body["response_format"]["type"] == "json_object"
    prefix, schema = body["messages"][:2]
    assert prefix["content"][0]["cache_control"]["type"] == "ephemeral"
    assert "cache_control" not in json.dumps(schema)
    assert SCHEMA_AS_TEXT in json.dumps(schema).replace('\\"', '"')


@pytest.mark.parametrize("name", ["deepseek:deepseek-chat", "zai:glm-4.7"])
async def test_json_by_instruction(name: str) -> None:
    """The provider's JSON mode, and the schema in the prompt (M-22)."""
    body = await _sent(CHAT, model=name)
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"][0]["content"] == "You are Ana."
    assert SCHEMA_AS_TEXT in body["messages"][1]["content"]


async def test_groq_answers_through_a_tool() -> None:
    """It enforces no schema in a stream or beside tools; the call is forced."""
    answer = calls("falai_speak", {"message": "Hi"})
    body = await _sent(CHAT, WITH_TOOLS, answer, model="groq:llama-3.3-70b-versatile")
    assert [tool["function"]["name"] for tool in body["tools"]] == ["slots", "falai_speak"]
    assert body["tool_choice"] == "required"
    assert "response_format" not in body
    assert "strict" not in body["tools"][1]["function"]


async def test_mistral_is_sent_what_its_servers_take() -> None:
    """They refuse the options that others need, and ids of calls that are not nine letters long."""
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-0-0", "name": "slots", "arguments": {}}]}
    found = {"role": "tool", "tool_call_id": "call-0-0", "name": "slots", "content": "16:00"}
    request = replace(WITH_TOOLS, history=[*REQUEST.history, asked, found])
    async with connected(CHAT, HI, HI, model="mistral:mistral-small-latest") as (model, server):
        await model.complete(request)
        await streamed(model, request)
    for body in server.requests:
        assert body["max_tokens"] == 8192
        assert "max_completion_tokens" not in body
        call, result = (message for message in body["messages"] if "tool_calls" in message or message["role"] == "tool")
        assert call["tool_calls"][0]["id"] == result["tool_call_id"]
        assert len(result["tool_call_id"]) == 9
        assert result["tool_call_id"].isalnum()
    assert "stream_options" not in server.requests[0]
    assert server.requests[1]["stream_options"] == {}


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
async def test_json_with_tools_by_prompt(form: Format) -> None:
    """Calls with tools get the schema as text instead of a response format; calls without do not change (M-22.3)."""
    plain, asked = await _sent(form), await _sent(form, json_with_tools="prompt")
    assert asked == plain
    body = await _sent(form, WITH_TOOLS, json_with_tools="prompt")
    assert SCHEMA_AS_TEXT in body["all"].replace('\\"', '"')
    assert "slots" in body["all"]
    for key in ("response_format", "text", "responseJsonSchema", "responseMimeType", "falai_speak"):
        assert key not in body.get("generationConfig", body)


@asynccontextmanager
async def _with_profile(profile: dict[str, Any], *answers: Answer) -> AsyncIterator[tuple[PydanticAIModel, ChatServer]]:
    """A model of the library's own with another profile, as providers without native schemas have."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with chat_server(answers) as server:
        provider = OpenAIProvider(base_url=server.base_url, api_key="made-up-by-the-host")
        upstream: Any = OpenAIChatModel("other", provider=provider, profile=profile)
        async with upstream:
            yield PydanticAIModel(upstream, retries=0), server


async def test_without_native_schemas_the_answer_travels_in_a_tool() -> None:
    """A forced tool carries the envelope; its arguments are the reply, whole or streamed."""
    answer = calls("falai_speak", {"message": "Hi", "size": None}, text="Let me see.")
    async with _with_profile({"supports_json_schema_output": False}, answer, answer) as (model, server):
        whole = await model.complete(REQUEST)
        chunks = [chunk async for chunk in model.stream(REQUEST)]
    assert server.requests[0]["tools"][-1]["function"]["strict"] is True
    assert server.requests[0]["tool_choice"] == "required"
    reply = chunks[-1].reply
    assert reply is not None
    assert whole == replace(reply, cost=whole.cost)
    assert (whole.structured, whole.tool_calls) == ({"message": "Hi", "size": None}, ())
    assert chunks[-1].accumulated == reply.message


async def test_without_tools_the_schema_is_in_the_prompt() -> None:
    """The last resort is JSON by instruction (M-22.5)."""
    profile = {"supports_json_schema_output": False, "supports_tools": False, "supports_json_object_output": True}
    async with _with_profile(profile, HI) as (model, server):
        reply = await model.complete(REQUEST)
    assert reply.structured == {"message": "Hi"}
    body = server.requests[0]
    assert body["response_format"] == {"type": "json_object"}
    assert any(SCHEMA_AS_TEXT in str(m["content"]) for m in body["messages"])


# --- how a reply is read ----------------------------------------------------------------------


async def _reply(answer: Answer, request: Any = REQUEST) -> ModelReply:
    async with connected(CHAT, answer) as (model, _):
        return await model.complete(request)


async def test_prose_around_the_object_stays_text() -> None:
    """An object inside prose is for the reader of the reply to find (M-10.1), so the text is kept whole."""
    reply = await _reply(says('Sure! {"message": "Hi"} Done.'))
    assert (reply.structured, reply.message) == (None, 'Sure! {"message": "Hi"} Done.')


async def test_a_fence_around_the_object_is_read() -> None:
    """One fence around the whole reply is as good as none (M-13.3)."""
    assert (await _reply(says('```json\n{"message": "Hi"}\n```'))).structured == {"message": "Hi"}


async def test_a_tool_call_in_the_text_is_none() -> None:
    """What a model writes into its JSON never calls a tool: only the provider's own calls do."""
    reply = await _reply(says('{"message": "Hi", "toolCalls": [{"toolName": "pay", "arguments": {}}]}'))
    assert (reply.structured, reply.tool_calls) == ({"message": "Hi"}, ())


async def test_arguments_cut_at_the_limit_are_read_as_far_as_they_go(caplog: pytest.LogCaptureFixture) -> None:
    """The limit of output tokens is no broken connection: what is there is kept, with a warning (M-18.6)."""
    answer = calls("slots", '{"day": "monday", "note": "as early as po', finish="length")
    async with connected(CHAT, answer, answer) as (model, _):
        whole = await model.complete(WITH_TOOLS)
        _, reply = await streamed(model, WITH_TOOLS)
    for found in (whole, reply):
        assert found.tool_calls[0].arguments == {"day": "monday", "note": "as early as po"}
    assert caplog.text.count('arguments of tool "slots" were cut off') == 2


async def test_reasoning_is_beside_the_reply() -> None:
    """It is no word to the customer."""
    async with connected(CHAT, thinks("HMM", HI)) as (model, _):
        pieces, reply = await streamed(model)
    assert (pieces, reply.reasoning, reply.reasoning_details) == (['{"message": "Hi"}'], "HMM", None)


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "name", "effort", "sent"),
    [
        (CHAT, "openai:gpt-5-mini", None, None),
        (CHAT, "openai:gpt-5-mini", "low", '"reasoning_effort": "low"'),
        (CHAT, "openai:gpt-5.1", "none", '"reasoning_effort": "none"'),
        (RESPONSES, "openai-responses:gpt-5-mini", "high", '"reasoning": {"effort": "high"'),
        (ANTHROPIC, "anthropic:claude-opus-4-6", None, None),
        (ANTHROPIC, "anthropic:claude-opus-4-6", "high", '"thinking": {"type": "adaptive"}'),
        (CHAT, "zai:glm-4.7", None, '"thinking": {"type": "disabled"'),
        (CHAT, "zai:glm-4.7", "high", '"thinking": {"type": "enabled"'),
        (GOOGLE, "google:gemini-2.5-flash", None, None),
        (GOOGLE, "google:gemini-2.5-flash", "none", '"thinkingConfig": {"thinking_budget": 0}'),
        (GOOGLE, "google:gemini-3.5-flash", "max", '"HIGH"'),
    ],
)
async def test_effort(form: Format, name: str, effort: Any, sent: str | None) -> None:
    """Absent, nothing is sent, but Z.ai is told not to think; `none` is the vendor's way of switching it off (M-22.7)."""
    body = (await _sent(form, model=name, effort=effort))["all"]
    if sent is None:
        assert "thinking" not in body
        assert "reasoning_effort" not in body
        assert '"effort"' not in body
    else:
        assert sent in body, body


@pytest.mark.parametrize(
    ("form", "name", "limit"),
    [
        (ANTHROPIC, "anthropic:claude-haiku-4-5", 16_384 + 100),
        (RESPONSES, "openai-responses:gpt-5-mini", 16_384 + 100),
        (GOOGLE, "google:gemini-3.5-flash", 16_384 + 100),
        (RESPONSES, "openai-responses:gpt-4.1", 100),
    ],
)
async def test_thinking_takes_nothing_from_the_reply(form: Format, name: str, limit: int) -> None:
    """Providers count both together, and Anthropic refuses a limit that thinking alone would fill."""
    body = await _sent(form, model=name, effort="high", max_output_tokens=100)
    given = body.get("generationConfig", body)
    names = ("max_output_tokens", "max_tokens", "maxOutputTokens")
    assert [given[key] for key in names if key in given] == [limit]


async def test_settings_travel() -> None:
    """Sampling, stops and headers are the library's own settings (M-22.2)."""
    settings = {"temperature": 0.2, "top_p": 0.9, "stop_sequences": ["END"], "extra_headers": {"X-Title": "Desk"}}
    async with connected(CHAT, HI, model="openai:any", settings=settings) as (model, server):
        await model.complete(REQUEST)
    body = server.requests[0]
    assert (body["temperature"], body["top_p"], body["stop"]) == (0.2, 0.9, ["END"])
    assert server.heads[0]["x-title"] == "Desk"


async def test_what_customers_wrote_is_not_kept_by_openai() -> None:
    """The Responses API stores what it is asked unless it is told not to; a setting says otherwise."""
    assert (await _sent(RESPONSES))["store"] is False
    assert (await _sent(RESPONSES, settings={"openai_store": True}))["store"] is True


async def test_a_setting_that_the_model_cannot_take_is_no_overload() -> None:
    """What the library refuses to send gets no better by waiting."""
    settings = {"tool_choice": ["nothing"]}
    async with connected(CHAT, settings=settings, retries=3) as (model, _):
        with pytest.raises(ProviderError) as caught:
            await model.complete(WITH_TOOLS)
    assert (caught.value.kind, caught.value.retryable) == ("invalid", False)


# --- models of the library's own --------------------------------------------------------------


async def test_the_library_s_fakes_work_offline() -> None:
    """A function in place of a model, and the model that makes something up."""
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.test import TestModel

    async def words(_messages: Any, _info: Any) -> AsyncIterator[str]:
        for piece in ('{"mess', 'age": "Hi"}'):
            yield piece

    def answer(_messages: Any, _info: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart('{"message": "Hi"}')])

    model = PydanticAIModel(FunctionModel(answer, stream_function=words))
    assert (await model.complete(REQUEST)).structured == {"message": "Hi"}
    assert (await streamed(model))[1].structured == {"message": "Hi"}
    assert (await PydanticAIModel(TestModel()).complete(REQUEST)).structured is not None


async def test_a_host_s_model_object_stays_open() -> None:
    """Its connections are the host's; its SDK does not try again by itself either."""
    async with _with_profile({}, fails(503, "down"), HI) as (model, server):
        with pytest.raises(ProviderError):
            await model.complete(REQUEST)
        await model.aclose()
        assert (await model.complete(REQUEST)).structured == {"message": "Hi"}
    assert len(server.requests) == 2


async def test_a_quoted_key_of_a_host_s_model_object_reaches_nobody() -> None:
    """The key that it was built with is known, and so are the headers of the settings and a key of the environment."""
    async with _with_profile({}, fails(401, "made-up-by-the-host is wrong")) as (model, _):
        with pytest.raises(ProviderError, match=r"\[secret\] is wrong"):
            await model.complete(REQUEST)
    headers = {"settings": {"extra_headers": {"x-tenant": "tenant.secret"}}}
    async with connected(CHAT, fails(403, "not tenant.secret"), **headers) as (model, _):
        with pytest.raises(ProviderError, match=r"not \[secret\]"):
            await model.complete(REQUEST)


async def test_a_quoted_key_of_the_environment_reaches_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the one that the model was made with."""
    monkeypatch.setenv("MISTRAL_API_KEY", "aKeyWithoutAnyShape")
    form = CHAT
    async with connected(form, fails(401, "aKeyWithoutAnyShape?"), model="mistral:x", api_key=None) as (model, _):
        with pytest.raises(ProviderError) as caught:
            await model.complete(REQUEST)
    assert "aKeyWithoutAnyShape" not in f"{caught.value} {caught.value.body}"


def test_a_model_object_takes_no_other_address() -> None:
    """It has its own."""
    from pydantic_ai.models.test import TestModel

    for options in ({"base_url": "http://127.0.0.1:1/v1"}, {"backup_models": ["b"]}):
        with pytest.raises(ValueError, match=r"^\[PydanticAIModel\] a model of pydantic-ai takes no backup_models"):
            PydanticAIModel(TestModel(), **options)
