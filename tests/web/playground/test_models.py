"""The model of the playground: lexical, scripted, the agent's own, or a provider's that is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from falai import Agent, Flow, OnAnyMessage, Prompt
from falai.session import OUTCOME_MESSAGES
from falai.testing import ScriptedModel
from model.loopback import chat_server, fails, says
from web.playground.stage import playground

FLOWS = [Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("a", "Greet.")])]


async def test_an_agent_without_a_real_model_says_so() -> None:
    """It can be lexical and scripted; why it cannot be real is said, and choosing it is refused in those words."""
    async with playground() as page:
        agent = (await page.get("state"))["agent"]
        assert agent["model"] == "lexical"
        real = {one["id"]: one for one in agent["models"]}["real"]
        assert (real["available"], real["why"]) == (False, "The agent names no provider's model; name one.")
        assert (await page.post("model", {"id": "real"}, 422))["detail"] == real["why"]
        assert "unknown model" in (await page.post("model", {"id": "real", "name": "nobody:x"}, 422))["detail"]
        assert (await page.get("state"))["agent"]["model"] == "lexical"


async def test_scripted_replies_are_said_and_then_the_lexical_model() -> None:
    """Each goes to the next call of its name; behind the last one the lexical model answers."""
    desk = Agent[Any](name="Ana", model="lexical", flows=FLOWS)
    async with playground(desk, context=None) as page:
        replies = [{"call": "speak", "reply": {"message": "First."}}, {"call": "speak", "reply": "Second."}]
        state = await page.post("model", {"id": "scripted", "replies": replies})
        assert (state["agent"]["model"], state["agent"]["queued"]) == ("scripted", 2)
        state = await page.say("one", "two", "three")
        assert (await page.said())[:2] == ["First.", "Second."]
        assert [turn["calls"][0]["model"] for turn in state["turns"]] == ["scripted", "scripted", "lexical"]
        assert state["agent"]["queued"] == 0


async def test_the_agents_own_model_is_the_real_one() -> None:
    """It is there when its key is, and is what answers at first."""
    model = ScriptedModel({"speak": [{"message": "From afar."}]}, usage=True)
    async with playground(Agent[Any](name="Ana", model=model, flows=FLOWS), context=None) as page:
        state = await page.say("hello")
        assert state["agent"]["model"] == "real"
        assert await page.said() == ["From afar."]
        call = state["turns"][0]["calls"][0]
        assert call["promptTokens"] > 0
        assert call["completionTokens"] > 0
        state = await page.post("model", {"id": "lexical"})
        assert state["agent"]["model"] == "lexical"
        assert (await page.say("hello"))["turns"][1]["calls"][0]["model"] == "lexical"


async def test_a_providers_model_that_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its words come as it writes them; when it refuses the key, that is told, and the key itself stands nowhere."""
    key = "a-key-that-looks-like-none"
    refused = json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}})
    reply = json.dumps({"message": "Words from afar."})
    with chat_server([says(reply), says(reply), fails(401, refused)]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        async with playground(Agent[Any](name="Ana", model="lexical", flows=FLOWS), context=None) as page:
            for name in ("openai-chat:one", "openai-chat:two"):
                assert (await page.post("model", {"id": "real", "name": name}))["agent"]["model"] == "real"
                heard = await page.stream("hello")
                assert "".join(data["text"] for event, data in heard if event == "delta") == "Words from afar."
            outcome = (await page.say("hello"))["turns"][2]["outcomes"][0]
            assert (outcome["code"], outcome["words"]) == ("provider-auth", OUTCOME_MESSAGES["provider-auth"])
            told = [await page.get("state"), await page.get("scenario", branch="b1"), caplog.text]
        assert [request["model"] for request in server.requests] == ["one", "two", "two"]
        assert {head["authorization"] for head in server.heads} == {f"Bearer {key}"}
    assert "[secret]" in json.dumps(told)
    assert key not in json.dumps(told)
