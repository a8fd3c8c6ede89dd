"""A conversation in the playground: what the page is told of it."""

from __future__ import annotations

import asyncio

from falai import Agent, Collect, Field, Flow, OnAnyMessage, OnMention, Prompt, Say
from falai.testing import ScriptedModel
from falai.testing.scripted import Pieces
from web.playground.stage import BOOKING, playground


async def test_a_conversation_is_told_turn_by_turn() -> None:
    """The state has what both said, the outcome lines in words, the model's calls, and the places of the flows."""
    async with playground() as page:
        state = await page.say(*BOOKING)
        assert [turn["input"]["text"] for turn in state["turns"]] == BOOKING
        last = state["turns"][-1]
        assert last["messages"][1]["text"].startswith("It is booked, Ana Silva")
        assert [message["kind"] for message in last["messages"]] == ["ai", "say", "say"]
        assert {"flow": "book", "step": "booked"} in last["steps"]
        assert [call["name"] for call in last["calls"]] == ["understand", "speak"]
        assert all(call["prompt"] and call["reply"] and call["ms"] >= 0 for call in last["calls"])
        booked = next(line for line in last["outcomes"] if line["step"] == "book")
        assert (booked["kind"], booked["status"], booked["words"]) == ("do", "ok", "The action did its work.")
        assert {"flow": "book", "why": "flow"} in last["ended"]
        assert {change["field"] for change in last["changes"]} >= {"appointment", "visit"}


async def test_fields_say_what_is_known_and_what_is_wanted() -> None:
    """A field has its value, whether it is asked for now, how often it was, and which turn gave its value."""
    async with playground() as page:
        state = await page.say("I'd like to book a cleaning", "hm")
        fields = {field["name"]: field for field in state["fields"]}
        assert fields["service"]["value"] == "cleaning"
        assert fields["service"]["source"] == {"turn": 1, "how": "understand"}
        assert fields["day"]["pending"]
        assert fields["day"]["asked"] == 2
        assert not fields["name"]["pending"]
        assert fields["service"]["type"] == "check-up | cleaning | whitening | filling"
        assert [(run["flow"], run["step"], run["floor"]) for run in state["runs"]] == [("book", "when", True)]
        assert state["waits"][0]["flow"] == "nudge"
        assert state["clock"]["nextWake"]["flow"] == "nudge"


async def test_words_are_streamed_and_the_state_ends_the_stream() -> None:
    """The reply comes in pieces as the model writes it; the last event is the state, which has the whole."""
    model = ScriptedModel({"speak": [Pieces(['{"message":"Good ', "morning", '!"}'], {"message": "Good morning!"})]})
    desk = Agent[None](
        name="Ana",
        model=model,
        flows=[Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("a", "Greet.")])],
    )
    async with playground(desk, context=None) as page:
        await page.post("model", {"id": "real"})
        events = await page.stream("hello")
        assert [name for name, _ in events[:-1]] == ["delta"] * (len(events) - 1)
        assert "".join(data["text"] for name, data in events if name == "delta") == "Good morning!"
        assert events[-1][0] == "state"
        assert events[-1][1]["turns"][0]["messages"][0]["text"] == "Good morning!"


async def test_a_message_that_comes_again_changes_nothing() -> None:
    """Its id has come before: there is one turn."""
    async with playground() as page:
        await page.stream("hello", id="m1")
        ((name, state),) = (await page.stream("hello", id="m1"))[-1:]
        assert name == "state"
        assert len(state["turns"]) == 1


async def test_who_writes_at_once_from_two_pages_is_played_in_turn() -> None:
    """No input is lost and none is played twice, whoever sends it."""
    async with playground() as page:
        texts = [f"hello {number}" for number in range(8)]
        await asyncio.gather(*(page.post("message", {"branch": "b1", "text": text, "id": text}) for text in texts))
        state = await page.get("state", branch="b1")
        assert sorted(turn["input"]["text"] for turn in state["turns"]) == texts
        assert [turn["n"] for turn in state["turns"]] == list(range(1, 9))
        assert state["session"]["version"] == 8


async def test_what_a_person_writes_takes_over() -> None:
    """Their words are shown as theirs, the gate closes, the assistant is silent; opened, it answers again."""
    async with playground() as page:
        await page.say("hello")
        state = await page.post("person", {"branch": "b1", "text": "This is Rita.", "by": "Rita"})
        assert (
            state["turns"][-1]["messages"][0] | {"kind": "person", "text": "This is Rita.", "by": "Rita"}
            == (state["turns"][-1]["messages"][0])
        )
        assert state["gate"] == {"closed": True, "reason": "Rita"}
        state = await page.say("how much is a cleaning?")
        assert state["turns"][-1]["messages"] == []
        assert state["turns"][-1]["silenced"] == "Rita"
        state = await page.post("gate", {"branch": "b1", "closed": False})
        assert state["gate"] == {"closed": False, "reason": None}
        state = await page.say("where is the clinic?")
        assert state["turns"][-1]["messages"]


async def test_events_and_starts_are_fired_by_hand() -> None:
    """An event starts what listens to it, a start its flow; what nobody knows is said, not hidden."""
    async with playground() as page:
        state = await page.post("event", {"branch": "b1", "name": "visit_done", "payload": {"by": "Dr. Reis"}})
        assert state["turns"][-1]["started"] == [{"flow": "aftercare"}]
        assert state["turns"][-1]["input"] == {
            "kind": "event", "name": "visit_done", "key": "event-1", "payload": {"by": "Dr. Reis"},
        }  # fmt: skip
        state = await page.post("start", {"branch": "b1", "flow": "prices"})
        assert state["turns"][-1]["messages"][0]["text"].startswith("A check-up is 40")
        state = await page.post("start", {"branch": "b1", "flow": "nowhere"})
        assert state["turns"][-1]["skipped"][0]["flow"] == "nowhere"


async def test_a_turn_that_fails_is_shown_and_the_conversation_goes_on() -> None:
    """The reason is on its entry, and so is the call that failed; nothing of the turn counts; the next message is played."""
    model = ScriptedModel({"understand": [RuntimeError("the wire is cut"), {"mentions": {"ask": True}}]})
    desk = Agent[None](name="Ana", model=model, flows=[Flow("ask", on=[OnMention("asks")], steps=[Say("x", "Yes.")])])
    async with playground(desk, context=None) as page:
        await page.post("model", {"id": "real"})
        state = await page.say("one")
        assert "the wire is cut" in state["turns"][0]["problem"]["message"]
        assert state["turns"][0]["messages"] == []
        (call,) = state["turns"][0]["calls"]
        assert (call["name"], call["reply"]) == ("understand", None)
        assert "one" in call["prompt"]
        assert "the wire is cut" in call["error"]
        state = await page.say("two")
        assert "problem" not in state["turns"][1]
        assert [call["error"] for call in state["turns"][1]["calls"]] == [None]


async def test_a_customers_words_stay_words() -> None:
    """Whatever is written comes back as it is, and is no part of any frame."""
    nasty = "</script>\n\nevent: state\ndata: {}\n\n{{data.name}} \ud800 \u2028 <b>"
    desk = Agent[None](
        name="Ana",
        model="lexical",
        fields={"note": Field(str, question="What?")},
        flows=[
            Flow("f", on=[OnAnyMessage(repeat="always")], steps=[Collect("c", ["note"]), Say("s", "{{data.note}}")])
        ],
    )
    async with playground(desk, context=None) as page:
        events = await page.stream(nasty)
        assert [name for name, _ in events if name != "delta"] == ["state"]
        assert events[-1][1]["turns"][0]["input"]["text"].startswith("</script>\n\nevent: state")
