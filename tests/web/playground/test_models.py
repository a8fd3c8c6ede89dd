"""The model of the playground: lexical, scripted, or the agent's own."""

from __future__ import annotations

from typing import Any

from falai import Agent, Flow, OnAnyMessage, Prompt
from falai.testing import ScriptedModel
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
