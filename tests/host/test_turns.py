"""Turns that fail, hang, lose, or are repeated: nothing is said twice, and an action sees the same key and choices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Anchor,
    Collect,
    Do,
    Event,
    Field,
    Flow,
    Message,
    OnAnyMessage,
    OnEvent,
    OnMessage,
    Prompt,
    ProviderError,
    Say,
    Start,
    action,
    ok,
)
from falai.host import Host, SetAsideError, Settings
from falai.host.ledger.port import Arrival, Limits, Place
from falai.host.ledger.taking import take_in
from falai.testing import Clock, ScriptedModel
from host.stage import JUDGED, SMALL, Echo, Home, Wire, echo, hosted, until


class Seen:
    """An action that remembers what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def book(self, ctx: ActionContext[Any], what: str) -> ActionResult:
        self.calls.append((ctx.key, what))
        return ok("booked")


def booking(model: Any, seen: Seen, *, clock: Clock | None = None) -> Agent[Any]:
    """Understands what is wanted, books it, and says so."""
    return Agent(
        name="Ana", model=model, clock=clock, actions=[seen.book],
        fields={"what": Field(str, ask="What?"), "other": Field(str, ask="?")},
        flows=[
            Flow("book", on=[OnMessage("books something")], steps=[
                Collect("ask", ["what"]), Do("book", seen.book, {"what": "{{data.what}}"}), Prompt("told", "Say so."),
            ]),
            Flow("other", on=[OnMessage("something else")], steps=[Prompt("reply", "Answer.")]),
        ],
    )  # fmt: skip


class LosesOnce(Host[Any]):
    """At the first turn that is about to be committed, another writer is faster."""

    lost = False

    async def checkpoint(self, name: str) -> None:
        if name == "played" and not self.lost:
            self.lost = True
            await self.hold("s1")
            await self.release("s1")


async def test_a_repetition_makes_the_same_choices(home: Home) -> None:
    """A turn that acted and was lost is played again with the model's first answer, not with a new one."""
    seen, wire = Seen(), Wire()
    model = ScriptedModel(
        {
            "understand": [{"flows": {"book": 90}, "fields": {"what": "a haircut"}}],
            "speak": [{"message": "first words"}, {"message": "second words"}],
        }
    )
    async with hosted(booking(model, seen), home, channel=wire, kind=LosesOnce) as host:
        await host.receive("s1", Message("book me a haircut", id="m1"))
        await host.drained()
        look = await host.look("s1")
    assert seen.calls == [("book#m1:book:1", "a haircut")] * 2
    assert wire.texts == ["second words"]  # nothing was done because of the first ones: they were never kept
    assert look is not None
    assert look.session is not None
    assert look.session.data == {"what": "a haircut"}
    assert [row.text for row in look.transcript] == ["second words", "book me a haircut"]


async def test_a_repetition_after_a_restart_makes_the_same_choices(home: Home) -> None:
    """The journal outlives the process: the action that ran before the end runs again with the same words."""
    seen, wire = Seen(), Wire()
    first = ScriptedModel({"understand": [{"flows": {"book": 90}, "fields": {"what": "a haircut"}}]})

    class Ends(Host[Any]):
        async def checkpoint(self, name: str) -> None:
            if seen.calls:
                await asyncio.Event().wait()

    settings = Settings(grace="0s")
    async with hosted(booking(first, seen), home, channel=wire, kind=Ends, settings=settings) as host:
        await host.receive("s1", Message("book me a haircut", id="m1"))
        await until(lambda: bool(seen.calls))
    second = ScriptedModel({"speak": [{"message": "It is booked."}]})
    async with hosted(booking(second, seen), home, channel=wire) as host:
        await host.drained()
    assert seen.calls == [("book#m1:book:1", "a haircut")] * 2
    assert wire.texts == ["It is booked."]


async def test_the_reply_of_a_lost_turn_is_never_sent(home: Home) -> None:
    """A turn that loses sends nothing; the one that is played instead makes a reply of its own."""
    wire, model = Wire(), ScriptedModel({"speak": [{"message": "lost"}, {"message": "kept"}]})
    async with hosted(echo(model), home, channel=wire, kind=LosesOnce) as host:
        said = await host.ask("s1", Message("hello", id="m1"))
        await host.drained()
    assert [message.text for message in said] == ["kept"]
    assert wire.texts == ["kept"]


async def test_the_speaking_call_fails_after_an_action(home: Home) -> None:
    """The action ran once, the reply follows when the provider is back (T-15.14)."""
    seen, wire, clock = Seen(), Wire(), Clock()
    model = ScriptedModel(
        {
            "understand": [{"flows": {"book": 90}, "fields": {"what": "a haircut"}}],
            "speak": [ProviderError("down", kind="overload"), {"message": "It is booked."}],
        }
    )
    async with hosted(booking(model, seen, clock=clock), home, channel=wire) as host:
        await host.receive("s1", Message("book me a haircut", id="m1"))
        await host.drained()
        assert (wire.texts, len(seen.calls)) == ([], 1)
        clock.advance("1m")
        await host.drained()
    assert (wire.texts, len(seen.calls)) == (["It is booked."], 1)


async def test_a_step_is_renamed_while_a_session_waits_in_it(home: Home) -> None:
    """After a deployment that renamed the step, the session goes on and says so in its log; nothing is lost."""
    wire, clock = Wire(), Clock()
    fields = {"name": Field(str, ask="Name?")}

    def agent(step: str) -> Agent[Any]:
        flow = Flow("lead", on=[OnAnyMessage(repeat="always")], steps=[Collect(step, ["name"])])
        return Agent(name="Ana", model=Echo(), clock=clock, fields=fields, flows=[flow])

    async with hosted(agent("ask"), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
    async with hosted(agent("ask_name"), home, channel=wire) as host:
        await host.receive("s1", Message("Bo", id="m2"))
        await host.drained()
        assert await host.dead() == ()
        look = await host.look("s1")
    assert look is not None
    assert len(look.log) == 2
    assert wire.texts == ["re: hello", "re: Bo"]


async def test_an_input_that_fails_is_tried_again_and_then_set_aside(home: Home) -> None:
    """The session waits behind it in order; when it is set aside, visibly, the session goes on."""
    clock, wire = Clock(), Wire()

    async def poison(request: Any) -> None:
        if request.task.text == "poison":
            raise RuntimeError("cannot read this; key=sk-abcdefgh12345678")

    model = Echo(poison)
    agent = echo(model, clock=clock, flows=JUDGED)
    async with hosted(agent, home, channel=wire, settings=Settings(**SMALL)) as host:  # type: ignore[arg-type]
        await host.receive("s1", Message("poison", id="m1"))
        await host.receive("s1", Message("fine", id="m2"))
        for pause in ("0s", "1s", "2s"):
            assert wire.texts == []
            clock.advance(pause)
            await host.drained()
        assert wire.texts == ["re: fine"]
        [row] = await host.dead("s1")
        assert (row.what, row.key, row.attempts) == ("input", "message:m1", 3)
        assert row.error is not None
        assert "cannot read this" in row.error
        assert "sk-abc" not in row.error
        model.before = None  # the cause is mended
        assert await host.retry(row)
        await host.drained()
        assert await host.dead() == ()
        assert wire.texts == ["re: fine", "re: poison"]
        assert not await host.retry(row)


async def test_what_was_set_aside_may_be_dropped(home: Home) -> None:
    """A dropped input is gone for good, also when it is delivered again."""

    async def fail(_: object) -> None:
        raise RuntimeError("no")

    settings = Settings(retries=())
    async with hosted(echo(Echo(fail), flows=JUDGED), home, settings=settings) as host:
        with pytest.raises(SetAsideError, match="ProviderError: no"):
            await host.ask("s1", Message("hello", id="m1"))
        [row] = await host.dead()
        assert await host.drop(row)
        assert not await host.drop(row)
        assert not (await host.receive("s1", Message("hello", id="m1"))).new
        assert await host.dead() == ()
        assert await host.ask("s1", Message("hello", id="m1")) == ()


async def test_a_provider_that_is_down_is_no_fault_of_the_input(home: Home) -> None:
    """While the provider is down the input waits on at the last pause, and is answered when it is back."""
    clock, wire, down = Clock(), Wire(), True

    async def maybe(_: object) -> None:
        if down:
            raise ProviderError("down", kind="overload")

    settings = Settings(**SMALL, outage="1h")  # type: ignore[arg-type]
    async with hosted(echo(Echo(maybe), clock=clock, flows=JUDGED), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        for _ in range(10):
            await host.drained()
            clock.advance("2s")
        assert await host.dead() == ()
        down = False
        await host.drained()
        assert wire.texts == ["re: hello"]
        down = True
        await host.receive("s1", Message("again", id="m2"))
        await host.drained()
        clock.advance("1h")
        await host.drained()
        clock.advance("1h")
        await host.drained()
        [row] = await host.dead()
    assert row.key == "message:m2"


async def test_a_turn_that_hangs_is_given_up(home: Home) -> None:
    """A turn that takes longer than its limit is tried again; the session is not stuck."""
    wire, hangs = Wire(), True

    async def hang(_: object) -> None:
        nonlocal hangs
        if hangs:
            hangs = False
            await asyncio.Event().wait()

    settings = Settings(turn_limit="0.05s", retries=("0.01s",))
    async with hosted(echo(Echo(hang)), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await until(lambda: wire.texts == ["re: hello"])


async def test_a_turn_that_hangs_says_so(home: Home) -> None:
    """What is set aside for its length names the limit."""

    async def hang(_: object) -> None:
        await asyncio.Event().wait()

    settings = Settings(turn_limit="0.05s", retries=())
    async with hosted(echo(Echo(hang)), home, settings=settings) as host:
        with pytest.raises(SetAsideError, match=r"the turn took longer than 0\.05s"):
            await host.ask("s1", Message("hello", id="m1"))


async def test_a_function_of_the_host_that_raises_is_a_failure_of_the_input(home: Home) -> None:
    """What `context` raises is told among the dead; nothing of the turn has happened."""

    def context(_: object) -> Any:
        raise LookupError("no such customer")

    async with hosted(echo(), home, context=context, settings=Settings(retries=())) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        [row] = await host.dead()
        look = await host.look("s1")
    assert row.error == "LookupError: no such customer"
    assert look is not None
    assert (look.session, look.transcript) == (None, ())


async def test_the_functions_say_what_a_turn_is_given(home: Home) -> None:
    """Context, history and gate, sync or async, are asked before each turn, with what is known of it."""
    turnings: list[Any] = []

    async def context(turning: Any) -> dict[str, str]:
        turnings.append(turning)
        return {"who": turning.customer}

    model = Echo()
    told = Flow("told", on=[OnAnyMessage(repeat="always")], steps=[Say("hi", "For {{context.who}}."), Prompt("p", "p")])
    agent = echo(model, flows=[told])
    history = [{"role": "user", "content": "long ago"}]
    wire = Wire()
    async with hosted(agent, home, channel=wire, context=context, history=lambda _: history) as host:
        await host.receive("s1", Message("hello", id="m1"), customer="c1", tenant="shop")
        await host.drained()
    assert [(t.customer, t.session_id, t.tenant, t.input.text) for t in turnings] == [("c1", "s1", "shop", "hello")]
    assert [item["content"] for item in model.asked[-1].history] == ["long ago"]
    async with hosted(echo(Echo()), home, channel=wire, gate=lambda _: "closed on Mondays") as host:
        assert await host.ask("s2", Message("hello", id="m1")) == ()


async def test_the_transcript_is_the_history(home: Home) -> None:
    """Each turn reads what was said before it, not its own message, and no more than the setting says."""
    model = Echo()
    async with hosted(echo(model), home, settings=Settings(history=3)) as host:
        for n in range(4):
            await host.ask("s1", Message(f"{n}", id=f"m{n}"))
    assert [[item["content"] for item in request.history] for request in model.asked] == [
        [], ["0", "re: 0"], ["re: 0", "1", "re: 1"], ["re: 1", "2", "re: 2"],
    ]  # fmt: skip


async def test_one_run_for_all_sessions_of_a_customer(home: Home) -> None:
    """A flow that is anchored to the customer starts once, however many sessions start it at the same time."""
    started: list[str] = []

    def note(ctx: ActionContext[Any]) -> ActionResult:
        started.append(ctx.session_id)
        return ok()

    flow = Flow("welcome", anchor="customer", on=[OnAnyMessage()], steps=[Do("note", note), Say("hi", "Welcome.")])
    agent = Agent[Any](name="Ana", model=Echo(), flows=[flow], actions=[note], idle="silent")
    wire = Wire()
    async with hosted(agent, home, channel=wire) as host:
        for n in range(8):
            await host.receive(f"s{n}", Message("hello", id="m1"), customer="c1")
        await host.drained()
        await host.receive("s9", Message("hello", id="m1"), customer="c2")
        await host.drained()
    assert wire.texts == ["Welcome.", "Welcome."]


async def test_anchors_of_ones_own(home: Home) -> None:
    """`anchors` says what flows are keyed to; sessions of no common customer share a claim all the same."""
    flow = Flow("deal", anchor="deal", on=[OnAnyMessage()], steps=[Say("hi", "About your deal.")])
    agent = Agent[Any](name="Ana", model=Echo(), flows=[flow], idle="silent")
    wire = Wire()
    async with hosted(agent, home, channel=wire, anchors=lambda _: {"deal": Anchor("d1")}) as host:
        await asyncio.gather(*(host.receive(f"s{n}", Message("hello", id="m1")) for n in range(5)))
        await host.drained()
    assert wire.texts == ["About your deal."]


async def test_what_other_sessions_hold_is_learned(home: Home) -> None:
    """A turn whose flows are claimed by sessions of nobody it knows loses, learns of all of them, and ends."""
    flows = [
        Flow(name, anchor=name, on=[OnEvent("go", repeat="once")], steps=[Say("hi", f"About {name}.")])
        for name in ("deal", "offer")
    ]
    agent = Agent[Any](name="Ana", model=Echo(), flows=flows, events={"go": {}}, idle="silent")
    keys = {"s1": {"deal": Anchor("d1")}, "s2": {"offer": Anchor("o1")}}
    both = {"deal": Anchor("d1"), "offer": Anchor("o1")}
    wire = Wire()
    async with hosted(agent, home, channel=wire, anchors=lambda t: keys.get(t.session_id, both)) as host:
        for session in ("s1", "s2", "s3"):
            await host.receive(session, Event("go", key="k"))
            await host.drained()
        look = await host.look("s3")
    assert (len(wire.said("s1")), len(wire.said("s2")), wire.said("s3")) == (2, 2, [])
    assert look is not None
    assert look.log[0].log.count("already-claimed") == 2


async def test_a_burst_is_one_turn(home: Home) -> None:
    """Messages within the pause are played as one, under the first one's id; none of them starts a turn again."""
    clock, wire, model = Clock(), Wire(), Echo()
    settings = Settings(burst="2s")
    async with hosted(echo(model, clock=clock), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("a haircut", id="m1"))
        clock.advance("1s")
        await host.receive("s1", Message("please", id="m2"))
        await host.drained()
        clock.advance("1s")
        await host.drained()
        assert wire.texts == []  # the pause of the second is not over
        clock.advance("1s")
        await host.drained()
        assert wire.texts == ["re: a haircut\nplease"]
        for id in ("m1", "m2"):
            assert not (await host.receive("s1", Message("a haircut", id=id))).new
        look = await host.look("s1")
    assert look is not None
    assert look.session is not None
    assert look.session.inputs == ["m1"]
    assert [row.text for row in look.transcript] == ["re: a haircut\nplease", "please", "a haircut"]


async def test_those_who_ask_for_parts_of_a_burst_have_the_same_answer(home: Home) -> None:
    """`ask` waits for the turn of its message, also where that is part of a burst."""
    async with hosted(echo(), home, settings=Settings(burst="0.5s")) as host:
        answers = await asyncio.gather(*(host.ask("s1", Message(f"{n}", id=f"m{n}")) for n in range(3)))
    assert answers[0] == answers[1] == answers[2]
    assert sorted(answers[0][0].text.removeprefix("re: ").split("\n")) == ["0", "1", "2"]


async def test_who_asks_too_long_is_told_so(home: Home) -> None:
    """`ask` gives up after its time; the message is played all the same."""
    wire, gate = Wire(), asyncio.Event()

    async def wait(_: object) -> None:
        await gate.wait()

    async with hosted(echo(Echo(wait)), home, channel=wire) as host:
        with pytest.raises(TimeoutError):
            await host.ask("s1", Message("hello", id="m1"), timeout=0.05)
        again = asyncio.create_task(host.ask("s1", Message("hello", id="m1")))  # still waiting: the same turn
        await asyncio.sleep(1)  # it has come in by then, on a busy machine too
        gate.set()
        assert [message.text for message in await again] == ["re: hello"]
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_who_asks_a_host_that_ends(home: Home) -> None:
    """They are told so at once; the input is played when the host runs again."""

    async def wait(_: object) -> None:
        await asyncio.Event().wait()

    model, wire = Echo(wait), Wire()
    async with hosted(echo(model), home, settings=Settings(grace="0s")) as host:
        asked = asyncio.create_task(host.ask("s1", Message("hello", id="m1")))
        await until(lambda: len(model.asked) == 1)
    with pytest.raises(RuntimeError, match="the host has ended"):
        await asked
    async with hosted(echo(), home, channel=wire) as host:
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_a_damaged_session_is_told_of(home: Home) -> None:
    """A row that is no session is never replaced by a fresh one: its inputs are set aside."""
    async with hosted(echo(), home, settings=Settings(retries=())) as host:
        await host.ask("s1", Message("hello", id="m1"))
        from falai.host.ledger.port import Statement

        def damage() -> Any:
            yield (Statement("UPDATE falai_sessions SET blob = '{}'", ()),)

        await host._setup.ledger.run(damage())
        await host.receive("s1", Message("again", id="m2"))
        await host.drained()
        [row] = await host.dead()
    assert row.error is not None
    assert "InvalidSessionError" in row.error


async def test_the_ledger_fails_and_nothing_is_lost(home: Home) -> None:
    """A disk that is full is no fault of an input: it is played when there is room again."""
    wire, full = Wire(), True

    class Full(Host[Any]):
        async def checkpoint(self, name: str) -> None:
            if name == "played" and full:
                raise OSError("no space left on device")

    async with hosted(echo(), home, channel=wire, kind=Full, settings=Settings(retries=())) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await asyncio.sleep(0.1)
        assert await host.dead() == ()
        full = False
        await until(lambda: wire.texts == ["re: hello"])


async def test_places_are_built_from_three_texts(home: Home) -> None:
    """Rows that another program takes in, by the same works, are played when the host looks."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        place = Place("default", "Ana", "s1")
        arrival = Arrival("message:m1", "message", '{"text":"hello","id":"m1"}')
        now = host._setup.now_ms()
        await host._setup.ledger.run(take_in(place, [arrival], now_ms=now, limits=Limits()))
        host._running.work.refill()
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_a_start_of_a_flow(home: Home) -> None:
    """A start is played once per key."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        for _ in range(2):
            await host.receive("s1", Start("answer", key="campaign-1"))
        await host.drained()
    assert len(wire.texts) == 1


async def test_an_action_that_was_cancelled_within_has_failed(home: Home) -> None:
    """Something that an action awaits is cancelled: the turn has failed, is tried again, and nothing is stuck."""
    tries = 0

    @action(name="flaky")
    async def flaky(ctx: ActionContext[None]) -> ActionResult:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise asyncio.CancelledError
        return ok()

    flows = [Flow("act", on=[OnAnyMessage()], steps=[Do("do", flaky), Say("done", "Done.")])]
    wire, clock = Wire(), Clock()
    async with hosted(echo(flows=flows, actions=[flaky], clock=clock), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        assert wire.texts == []
        clock.advance("1s")
        await host.drained()
    assert (tries, wire.texts) == (2, ["Done."])
