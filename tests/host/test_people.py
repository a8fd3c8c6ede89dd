"""Hand-over: a person takes over, and what the assistant had under way is never sent."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Field,
    Flow,
    Message,
    OnAnyMessage,
    OnMention,
    OnMessage,
    Prompt,
    Say,
    Start,
    action,
    ok,
)
from falai.host import Host, hand_over
from falai.testing import Clock
from host.stage import Echo, Home, Wire, echo, hosted, until


def asking(model: Any = None, **more: Any) -> Agent[Any]:
    """Asks for a name."""
    lead = Flow("lead", on=[OnAnyMessage()], steps=[Collect("name", ["name"]), Say("bye", "Thanks, {{data.name}}.")])
    fields = {"name": Field(str, ask="Ask for the name.")}
    return Agent(name="Ana", model=model or Echo(), fields=fields, flows=[lead], idle="silent", **more)


async def test_a_held_session_is_silent(home: Home) -> None:
    """While the gate is closed nothing is said; afterwards the assistant answers again."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        await host.hold("s1", "Bo answers")
        assert await host.ask("s1", Message("hello", id="m1")) == ()
        look = await host.look("s1")
        assert look is not None
        assert look.held == "Bo answers"
        assert await host.release("s1")
        assert not await host.release("s1")
        await host.receive("s1", Message("again", id="m2"))
        await host.drained()
    assert wire.texts == ["re: again"]


async def test_a_reply_in_flight_is_never_sent(home: Home) -> None:
    """A person takes over while the model is being asked: the turn is played again, silenced."""
    wire, gate, model = Wire(), asyncio.Event(), Echo()

    async def wait(_: object) -> None:
        await gate.wait()

    model.before = wait
    async with hosted(echo(model), home, channel=wire) as host:
        asked = asyncio.create_task(host.ask("s1", Message("hello", id="m1")))
        await until(lambda: len(model.asked) == 1)
        await host.hold("s1", "Bo answers")
        gate.set()
        assert await asked == ()
        await host.drained()
        look = await host.look("s1")
    assert wire.tried == []
    assert len(model.asked) == 1
    assert look is not None
    assert [row.text for row in look.transcript] == ["hello"]
    assert look.outbox == ()


async def test_what_is_not_sent_yet_stays_back(home: Home) -> None:
    """Messages that wait in the outbox are withheld, and the transcript does not claim that they were said."""
    wire, gate = Wire(), asyncio.Event()
    two = Flow("two", on=[OnAnyMessage(repeat="always")], steps=[Say("a", "one"), Say("b", "two")])
    wire.next = [gate]
    async with hosted(echo(flows=[two]), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await until(lambda: len(wire.tried) == 1)
        await host.hold("s1")
        gate.set()
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["one"]  # it was with the channel already
    assert look is not None
    assert [(row.state) for row in look.outbox] == ["withheld", "sent"]
    assert [row.text for row in look.transcript] == ["one", "hello"]


class TakesOver(Host[Any]):
    """A person takes over between the look at the outbox and the sending."""

    async def checkpoint(self, name: str) -> None:
        if name == "sending":
            self.taking = asyncio.create_task(self.hold("s1"))
            await asyncio.sleep(0)


async def test_a_person_takes_over_just_before_the_sending(home: Home) -> None:
    """Also between the look at the outbox and the sending, in this process: nothing is sent."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire, kind=TakesOver) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
    assert wire.tried == []


async def test_a_person_writes(home: Home) -> None:
    """A person's message goes out at once, closes the gate, and is in the history of later turns."""
    wire, model = Wire(), Echo()
    async with hosted(echo(model), home, channel=wire) as host:
        await host.ask("s1", Message("hello", id="m1"))
        await host.drained()
        received = await host.human_message("s1", "Bo here.", id="p1", by="Bo")
        assert received.new
        assert not (await host.human_message("s1", "Bo here.", id="p1", by="Bo")).new
        assert await host.ask("s1", Message("hi Bo", id="m2")) == ()
        await host.human_message("s1", "How can I help?", id="p2", by="Bo")
        await host.drained()
        look = await host.look("s1")
        assert look is not None
        assert look.held == "Bo"
        await host.release("s1")
        await host.ask("s1", Message("thanks", id="m3"))
        await host.drained()
    assert wire.texts == ["re: hello", "Bo here.", "How can I help?", "re: thanks"]
    assert [out.kind for out in wire.sent] == ["ai", "human", "human", "ai"]
    assert [(item["role"], item["content"]) for item in model.asked[-1].history] == [
        ("user", "hello"), ("assistant", "re: hello"), ("assistant", "Bo here."), ("user", "hi Bo"),
        ("assistant", "How can I help?"),
    ]  # fmt: skip


async def test_a_person_waits_for_no_turn(home: Home) -> None:
    """The person's words go out while the model is still being asked, and its reply does not."""
    wire, gate, model = Wire(), asyncio.Event(), Echo()

    async def wait(_: object) -> None:
        await gate.wait()

    model.before = wait
    async with hosted(echo(model), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await until(lambda: len(model.asked) == 1)
        await host.human_message("s1", "Bo here.", id="p1")
        await until(lambda: wire.texts == ["Bo here."])
        gate.set()
        await host.drained()
    assert wire.texts == ["Bo here."]


async def test_a_person_writes_first(home: Home) -> None:
    """A session may begin with a person."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        await host.human_message("s1", "Hello!", id="p1")
        await host.drained()
    assert wire.texts == ["Hello!"]


async def test_a_pending_question_is_taken_up_again(home: Home) -> None:
    """On release, a question that was open is put again with the customer's next message (T-17.6)."""
    wire = Wire()
    async with hosted(asking(), home, channel=wire) as host:
        await host.ask("s1", Message("hello", id="m1"))
        await host.drained()
        await host.hold("s1")
        await host.ask("s1", Message("one moment", id="m2"))
        look = await host.look("s1")
        assert look is not None
        assert [run.status for run in look.runs] == ["asking"]
        await host.release("s1")
        await host.ask("s1", Message("I am back", id="m3"))
        await host.drained()
    assert wire.texts == ["re: hello", "re: I am back"]


async def test_a_flow_hands_over(home: Home) -> None:
    """After `hand_over` the turn's own words still go out, and from then on the assistant is silent."""
    wire = Wire()
    human = Flow(
        "human", on=[OnMention("wants a person", repeat="always")],
        steps=[Do("give", hand_over, {"reason": "asked for a person"}), Say("moment", "I will get someone.")],
    )  # fmt: skip
    agent = Agent[Any](name="Ana", model=Echo(), flows=[human], actions=[hand_over], idle="silent")
    async with hosted(agent, home, channel=wire) as host:
        await host.receive("s1", Start("human", key="k"))
        await host.drained()
        look = await host.look("s1")
        assert look is not None
        assert look.held == "asked for a person"
        assert wire.texts == ["I will get someone."]
        await host.receive("s1", Start("human", key="k2"))
        await host.drained()
    assert wire.texts == ["I will get someone."]


async def test_nobody_takes_over_without_a_host() -> None:
    """In a turn that no host plays, the action fails and says why."""
    flow = Flow("human", steps=[Do("give", hand_over, on_fail="sorry"), Say("sorry", "Nobody is there.")])
    agent = Agent[Any](name="Ana", model=Echo(), flows=[flow], actions=[hand_over])
    result = await agent.turn("s1", Start("human", key="k"))
    assert [message.text for message in result.messages] == ["Nobody is there."]
    assert result.outcomes[0].detail == "no host plays this turn, so nobody can take over"


async def test_a_once_flow_under_a_closed_gate(home: Home) -> None:
    """A closed gate spends a `once` start (T-17.7); a trigger with `silenced: false` keeps it for later."""
    wire = Wire()
    spent = Flow("spent", on=[OnAnyMessage()], steps=[Say("a", "spent")])
    kept = Flow("kept", on=[OnAnyMessage(if_={"silenced": False})], steps=[Say("a", "kept")])
    for name, flow in (("spent", spent), ("kept", kept)):
        agent = Agent[Any](name=name, model=Echo(), flows=[flow], idle="silent")
        async with hosted(agent, home, channel=wire) as host:
            await host.hold("s1")
            await host.ask("s1", Message("hello", id="m1"))
            await host.release("s1")
            await host.ask("s1", Message("hello again", id="m2"))
            await host.drained()
    assert wire.texts == ["kept"]


async def test_a_judged_message_under_a_closed_gate(home: Home) -> None:
    """With `understand`, what the customer writes to a person is still read (T-17.1)."""
    model = Echo()
    flow = Flow("book", on=[OnMessage("books")], steps=[Prompt("p", "p")])
    other = Flow("other", on=[OnMessage("other")], steps=[Prompt("p", "p")])
    async with hosted(echo(model, flows=[flow, other]), home) as host:
        await host.hold("s1", understand=True)
        await host.ask("s1", Message("hello", id="m1"))
    assert [request.schema_name for request in model.asked] == ["understand"]


async def test_holds_survive_a_restart(home: Home) -> None:
    """The gate is in the ledger."""
    wire, clock = Wire(), Clock()
    async with hosted(echo(clock=clock), home) as host:
        await host.hold("s1", "Bo")
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        assert await host.ask("s1", Message("hello", id="m1")) == ()
    assert wire.texts == []


@pytest.mark.parametrize("id", ["", " ", None, 5])
async def test_a_persons_message_needs_an_id_and_a_session(home: Home, id: Any) -> None:
    """What would make two messages one, or belong to no session, is refused: in each call for people."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        with pytest.raises(ValueError, match=r"id: .* was given, a text that is not blank is expected"):
            await host.human_message("s1", "good morning", id=id)
        for call in (host.hold(id), host.release(id), host.human_message(id, "good morning", id="p1"), host.look(id)):
            with pytest.raises(ValueError, match=r"sessionId: .* was given, a text that is not blank is expected"):
                await call
        with pytest.raises(ValueError, match="text: null was given"):
            await host.human_message("s1", cast(str, None), id="p1")
        assert await host.look("s1") is None
    assert wire.tried == []


async def test_halves_of_signs_are_one_text_everywhere(home: Home) -> None:
    """A lone surrogate in an id or a text is read as in a customer's message, by every call for the session."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        assert [m.text for m in await host.ask("s\ud800", Message("hello", id="m1"))] == ["re: hello"]
        await host.drained()
        await host.human_message("s\ud800", "b\udfff", id="p\ud800", by="Bo\ud800")
        await host.drained()
        look = await host.look("s\ud800")
        assert look is not None
        assert look.held == "Bo\ufffd"
    assert wire.texts == ["re: hello", "b\ufffd"]


async def test_an_action_that_holds_its_own_session(home: Home) -> None:
    """By `Host.hold`, in place of `hand_over`: its turn is played again, once and silenced, under the same key."""
    wire, keys = Wire(), list[str]()

    @action(name="call")
    async def call(ctx: ActionContext[None]) -> ActionResult:
        keys.append(ctx.key)
        await host.hold(ctx.session_id, f"asked for {len(keys)} times")
        return ok()

    flows = [Flow("human", on=[OnAnyMessage()], steps=[Do("call", call), Say("moment", "One moment.")])]
    async with hosted(echo(flows=flows, actions=[call]), home, channel=wire) as host:
        await host.receive("s1", Message("help", id="m1"))
        await host.drained()
        look = await host.look("s1")
    assert look is not None
    assert (look.held, look.row.gate.epoch) == ("asked for 2 times", 1)
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert wire.tried == []
