"""The flows as text: shown, checked while they are edited, and deployed in this playground only."""

from __future__ import annotations

import json
from typing import Any

from falai import Agent, Flow, If, OnAnyMessage, Say, View
from falai.classic import create_agent
from falai.flow import from_spec
from falai.testing import ScriptedModel
from web.playground.stage import playground


async def test_the_text_is_the_agents_flows() -> None:
    """Each is a spec that can be read again; functions that decide go by their names."""
    async with playground() as page:
        shown = await page.get("spec")
        flows = json.loads(shown["text"])
        assert shown["format"] == "json"
        assert [flow["id"] for flow in flows][:3] == ["book", "move", "cancel"]
        assert [from_spec(flow).id for flow in flows] == [flow["id"] for flow in flows]
        assert next(flow for flow in flows if flow["id"] == "welcome")["on"][0]["if"] == {"nothing_is_known": True}
        assert (await page.post("spec/check", {"text": shown["text"]}))["problems"] == []


async def test_all_mistakes_are_told_with_their_places() -> None:
    """Of names, of ids, and of what is only odd: at once, with line and column; what can be drawn is drawn."""
    flows = [
        {"id": "a", "steps": [{"id": "x", "collect": ["naem"]}, {"id": "y", "say": "Hi", "then": "z"}]},
        {"id": "a", "steps": [{"id": "x", "sya": "Hi"}]},
    ]
    async with playground() as page:
        found = await page.post("spec/check", {"text": json.dumps(flows, indent=1)})
        told = {(one["code"], one["line"]) for one in found["problems"]}
        assert {code for code, _ in told} >= {"unknown-field", "unknown-step", "duplicate-flow-id"}
        assert all(one["column"] >= 1 for one in found["problems"])
        name = next(one for one in found["problems"] if one["code"] == "unknown-field")
        assert (name["path"], name["line"]) == ("[0].steps[0].collect[0]", 8)
        assert 'Did you mean "name"?' in name["hint"]
        assert [graph["flow"] for graph in found["graphs"]] == ["a"]


async def test_what_is_odd_is_a_warning() -> None:
    """A text that may have a gap, in its place: it can be applied all the same."""
    steps = [{"id": "c", "collect": ["comment"]}, {"id": "s", "say": "You said {{data.comment}}."}]
    flows = [{"id": "b", "steps": [{"id": "s", "say": "Hi."}]}, {"id": "a", "steps": steps}]
    async with playground() as page:
        found = await page.post("spec/check", {"text": json.dumps(flows)})
        assert {one["severity"] for one in found["problems"]} == {"warning"}
        assert "[1].steps[1].say" in {one["path"] for one in found["problems"]}
        await page.post("spec/apply", {"text": json.dumps(flows)})


async def test_what_is_no_json_says_where_it_breaks() -> None:
    """Whatever stands there, the answer is a finding and never a failure."""
    async with playground() as page:
        found = await page.post("spec/check", {"text": '[\n {"id": "a",}\n]'})
        assert (found["problems"][0]["line"], found["graphs"]) == (2, [])
        for text in (
            "",
            "{}",
            "null",
            "[1]",
            '[{"id": 1}]',
            '{"id": "a", "id": "b"}',
            "[NaN]",
            "[" * 5000,
            '["\ud800"]',
        ):
            found = await page.post("spec/check", {"text": text})
            assert found["problems"], text


async def test_a_deploy_goes_on_with_the_conversation() -> None:
    """The question that is open stays open; the next words are the new ones; other playgrounds know nothing of it."""
    async with playground() as page:
        await page.say("I'd like to book a cleaning")
        text = (await page.get("spec"))["text"].replace("What other time suits you that day?", "Which other time?")
        state = await page.post("spec/apply", {"text": text})
        assert state["runs"][0]["step"] == "when"
        state = await page.say("on 2099-03-02 at 10am")
        assert state["turns"][-1]["messages"][-1]["text"].endswith("Which other time?")
        assert "Which other time?" in (await page.get("spec"))["text"]
    async with playground() as page:
        assert "Which other time?" not in (await page.get("spec"))["text"]


async def test_a_text_with_mistakes_changes_nothing() -> None:
    """It is refused with all of them, and the agent is as it was."""
    async with playground() as page:
        before = await page.get("spec")
        refused = await page.post("spec/apply", {"text": before["text"].replace('"kept"', '"kep"', 1)}, 422)
        assert refused["code"] == "invalid"
        assert refused["errors"][0]["code"] == "unknown-step"
        assert await page.get("spec") == before


def is_early(view: View[Any]) -> bool:
    return view.now.hour < 12


async def test_functions_still_decide_after_a_deploy() -> None:
    """The condition of their name is theirs."""
    steps = [If("early", is_early, then="am", else_="pm"), Say("am", "Morning.", then="end"), Say("pm", "Afternoon.")]
    desk = Agent[Any](name="Ana", model="lexical", flows=[Flow("f", on=[OnAnyMessage(repeat="always")], steps=steps)])
    async with playground(desk, context=None) as page:
        text = (await page.get("spec"))["text"].replace("Morning.", "Good morning.")
        await page.post("spec/apply", {"text": text})
        await page.say("hello")
        await page.skip(ms=3 * 3_600_000)
        await page.say("hello")
        assert await page.said() == ["Good morning.", "Afternoon."]
    assert callable(desk.plan.flows["f"].flow.steps[0].if_)  # type: ignore[union-attr]  # the agent is as it was


async def test_flows_are_drawn_with_their_words() -> None:
    """Each step is a group that the page can light; without a style of its own, which the page would not allow."""
    async with playground() as page:
        drawn = await page.get("graph", flow="nudge")
        assert 'data-flow="nudge" data-step="again"' in drawn["svg"]
        assert "<style" not in drawn["svg"]
        assert any(line.startswith("pause: waits 1d") for line in drawn["words"])
        answer = await page.client.get("/playground/api/graph", params={"flow": "nowhere"})
        assert (answer.status_code, answer.json()["code"]) == (404, "no-flow")


async def test_an_agent_of_version_3_is_played_and_not_edited() -> None:
    """Its flows are no specs: they are talked to and drawn; editing and saving say why they cannot be."""
    flows = [{"title": "Order", "steps": [{"id": "ask", "prompt": "Ask."}]}]
    model = ScriptedModel({"speak": [{"message": "What would you like?"}]})
    desk = create_agent(name="Ana", provider=model, flows=flows).core
    async with playground(desk, context=None) as page:
        state = await page.say("hello")
        assert await page.said() == ["What would you like?"]
        assert not state["agent"]["editable"]
        assert (await page.get("spec"))["text"] == "[]\n"
        assert "no plain data" in (await page.post("spec/apply", {"text": "[]"}, 422))["detail"]
        answer = await page.client.get("/playground/api/scenario")
        assert "a layer of its own" in answer.json()["errors"][0]["message"]
