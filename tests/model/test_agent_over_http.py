"""Whole turns over real HTTP: what an OpenAI-compatible server sees, and how each of its failures ends (M-10, M-18)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from falai import Agent, Branch, Collect, Field, Flow, Message, OnMessage, ProviderError
from falai.flow.functions import Tool
from falai.model.pydantic_ai import PydanticAIModel
from model.loopback import Answer, ChatServer, calls, chat_server, cuts, fails, raw, refuses, says

pytest.importorskip("pydantic_ai.models.openai")
pytestmark = pytest.mark.servers

ROUTED = says('{"flows": {"book": 95}, "fields": {"size": "11-50"}}')
HISTORY = [{"role": "user", "content": "oi"}, {"role": "assistant", "content": "Olá!"}]


@asynccontextmanager
async def _agent(*answers: Answer) -> AsyncIterator[tuple[Agent, ChatServer]]:
    with chat_server(answers) as server:
        model = PydanticAIModel("openai:gpt-5-mini", base_url=server.base_url, timeout=2, retries=0)
        agent = Agent(
            name="Ana",
            persona="Warm, brief.",
            model=model,
            fields={
                "size": Field(str, enum=["1-10", "11-50"], ask="Ask how many they are."),
                "name": Field(str, ask="Ask for the name."),
                "full name": Field(str),
            },
            tools=[
                Tool("slots", lambda ctx, **given: {"value": "16:00"}, parameters={"type": "object", "properties": {}})
            ],
            flows=[
                Flow(
                    "book",
                    on=[OnMessage("wants a table")],
                    steps=[Collect("who", ["size", "name", "full name"], branches=[Branch("gives up", then="end")])],
                ),
                Flow("cancel", on=[OnMessage("wants to cancel")], steps=[Collect("why", ["name"])]),
            ],
        )
        async with aclosing(model):
            yield agent, server


async def _turn(*answers: Answer) -> tuple[Any, ChatServer]:
    async with _agent(*answers) as (agent, server):
        result = await agent.turn("s1", Message("a table for twelve", id="m1"), history=HISTORY)
    assert server.left == [], "an answer was not asked for"
    return result, server


def _loose(schema: Mapping[str, Any], path: str = "") -> list[str]:
    """Where a schema is open, requires less than all, or takes no null."""
    if schema.get("type") == "object":
        found = [path] if schema.get("additionalProperties") is not False else []
        found += [path] if schema["required"] != list(schema["properties"]) else []
        return found + [bad for name, part in schema["properties"].items() for bad in _loose(part, f"{path}.{name}")]
    kinds = schema.get("type") or [choice["type"] for choice in schema["anyOf"]]
    return [] if "null" in kinds and ("enum" not in schema) else [path]


async def test_what_the_server_sees_of_a_turn() -> None:
    """Two calls under their names, strict schemas, the same prefix, the history, the tools, the prompt last."""
    result, server = await _turn(ROUTED, says('{"message": "And your name?", "name": null, "field_1": null}'))
    assert [message.text for message in result.messages] == ["And your name?"]
    assert result.session.data == {"size": "11-50"}
    understand, speak = server.requests
    for body, name in ((understand, "understand"), (speak, "speak")):
        form = body["response_format"]["json_schema"]
        assert (form["name"], form["strict"]) == (name, True)
        assert _loose(form["schema"]) == []
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "user"]
        assert "a table for twelve" in body["messages"][-1]["content"]
    assert understand["messages"][0] == speak["messages"][0], "the stable prefix is the same in both calls"
    assert "tools" not in understand
    assert [tool["function"]["name"] for tool in speak["tools"]] == ["slots"]
    assert list(speak["response_format"]["json_schema"]["schema"]["properties"]) == ["message", "name", "field_1"]
    assert (result.usage.prompt_tokens, result.usage.cached_input_tokens, result.llm_calls) == (200, 160, 2)


async def test_a_tool_round_over_http() -> None:
    """The call is run, its result goes back, and the reply follows (M-9)."""
    result, server = await _turn(ROUTED, calls("slots", {}), says('{"message": "At four."}'))
    assert [message.text for message in result.messages] == ["At four."]
    call, answer, prompt = server.requests[2]["messages"][-3:]
    assert call["tool_calls"][0]["id"] == "call-0-0" == answer["tool_call_id"]
    assert answer["content"] == "16:00"
    assert prompt["role"] == "user"


async def test_prose_around_json_is_read_in_both_calls() -> None:
    """A model that chats around its object is understood (M-5.1, M-10.1)."""
    result, _ = await _turn(
        says('Here you go: {"flows": {"book": 95}} - done'), says('```json\n{"message": "Hi", "name": "Bo"}\n```')
    )
    assert [message.text for message in result.messages] == ["Hi"]
    assert result.session.data == {"name": "Bo"}


async def test_plain_text_is_a_reply() -> None:
    """A provider that ignores the schema still speaks (M-17.6)."""
    result, _ = await _turn(ROUTED, says("Good day, what is your name?"))
    assert [message.text for message in result.messages] == ["Good day, what is your name?"]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (fails(429, "slow down", {"retry-after": "600"}), "deferred", "provider-unavailable"),
        (fails(500, "oops"), "deferred", "provider-unavailable"),
        (cuts(), "deferred", "provider-unavailable"),
        (raw(b"{broken"), "deferred", "provider-unavailable"),
        (says('{"message": ""}'), "deferred", "provider-unavailable"),
        (says('{"message": "half', finish="length"), "deferred", "provider-unavailable"),
        (refuses(), "failed", "provider-invalid"),
        (fails(401, "bad key"), "failed", "provider-auth"),
        (fails(400, "maximum context length is 8 tokens"), "failed", "provider-context"),
        (fails(429, "insufficient_quota"), "failed", "provider-quota"),
    ],
)
async def test_a_failing_reply_is_deferred_or_ends_the_run(answer: Answer, status: str, code: str) -> None:
    """Nothing raises; what waiting helps is tried again, no sooner than the provider said (M-10.4, M-10.7)."""
    result, server = await _turn(ROUTED, answer)
    line = result.outcomes[-1]
    assert (line.status, line.code) == (status, code)
    assert not result.messages
    assert len(server.requests) == 2
    assert bool(result.schedule) is (status == "deferred")
    assert [ended.run.flow_id for ended in result.ended] == ([] if status == "deferred" else ["book"])


@pytest.mark.parametrize("answer", [fails(429, "slow down"), fails(500, "oops"), cuts(), refuses(), raw(b"{broken")])
async def test_a_failing_judgement_goes_out_of_the_turn(answer: Answer) -> None:
    """Nothing has run and nothing is changed: the host may play the input again (M-5.8)."""
    async with _agent(answer) as (agent, server):
        with pytest.raises(ProviderError):
            await agent.turn("s1", Message("a table", id="m1"))
    assert len(server.requests) == 1


async def test_a_judgement_that_cannot_be_read_is_none() -> None:
    """The turn goes on without it (M-5.2): nobody is routed, the idle speaker answers."""
    result, _ = await _turn(says("I cannot judge that."), says('{"message": "Hello!"}'))
    assert [message.text for message in result.messages] == ["Hello!"]
    assert not result.session.runs
