"""Hand-over as the example plays it, and what its page promises beside that."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from falai import ActionContext, ActionResult, Agent, Collect, Do, Field, Flow, Message, OnAnyMessage, Prompt, Say, ok
from falai.host import hand_over
from host.stage import Echo, Home, Wire, echo, hosted, until

SCRIPT = Path(__file__).parents[2] / "examples" / "handover.py"
OPEN: dict[str, Any] = {"silenced": False}
ALWAYS: dict[str, Any] = {}
SAID = """\
     Rui  hello
     Ana  What is your name?
     Rui  I want to talk to a person
          (the team is called to rui)
     Ana  I will get someone.
     Rui  is there a place to park?
      Bo  Bo here. Yes, behind the house.
     Ana  Ana again.
     Ana  What is your name?
     Rui  my name is Rui
     Ana  Thank you, I have noted that.
     Rui  what does a visit cost?
      Bo  Bo once more: I forgot, the gate is to the left.
          (Ana is silent: Bo)
"""


def test_the_example() -> None:
    """It needs no key, prints the conversation, and has nothing to warn of."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == (SAID, "")


async def test_a_question_that_was_never_sent_is_put_again(home: Home) -> None:
    """It waited for its sending when a person took over; after the release the model puts it at the next message."""
    wire, stuck = Wire(), asyncio.Event()
    wire.next = [stuck]
    lead = Flow("lead", on=[OnAnyMessage()], steps=[Say("hi", "Hi."), Collect("who", ["name"])])
    fields = {"name": Field(str, ask="?", question="Who?")}
    agent = Agent[Any](name="Ana", model=Echo(), fields=fields, flows=[lead], idle="silent")
    async with hosted(agent, home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await until(lambda: len(wire.tried) == 1)
        await host.hold("s1")
        stuck.set()
        await host.drained()
        assert wire.texts == ["Hi."]
        await host.release("s1")
        await host.receive("s1", Message("anyone?", id="m2"))
        await host.drained()
    assert wire.texts == ["Hi.", "re: anyone?"]


async def test_a_release_while_a_turn_is_under_way(home: Home) -> None:
    """The turn began in silence; the gate opens before it counts, so it is played again and speaks."""
    wire, looking, found, keys = Wire(), asyncio.Event(), asyncio.Event(), list[tuple[str, str | None]]()

    async def look(ctx: ActionContext[Any]) -> ActionResult:
        keys.append((ctx.key, ctx.silenced))
        looking.set()
        await found.wait()
        return ok()

    flow = Flow("f", on=[OnAnyMessage()], steps=[Do("look", look), Prompt("p", "Answer.")])
    async with hosted(echo(flows=[flow], actions=[look]), home, channel=wire) as host:
        await host.hold("s1", "Bo")
        await host.receive("s1", Message("hello", id="m1"))
        await looking.wait()
        await host.release("s1")
        found.set()
        await host.drained()
    assert wire.texts == ["re: hello"]
    assert keys == [("f#m1:look:1", "Bo"), ("f#m1:look:1", None)]


@pytest.mark.parametrize(
    ("understand", "skip", "name", "booked"),
    [(False, False, None, False), (False, True, None, False), (True, False, "Rui", False), (True, True, "Rui", True)],
)
async def test_an_answer_that_a_person_was_given(
    home: Home, understand: bool, skip: bool, name: str | None, booked: bool
) -> None:
    """It is read with `understand` only; the run then goes on, and over what it may not say with `skip` only (T-17.3)."""
    calls: list[str] = []

    def book(ctx: ActionContext[Any]) -> ActionResult:
        calls.append(ctx.key)
        return ok()

    steps = [Collect("who", ["name"]), Collect("many", ["size"]), Do("book", book)]
    agent = Agent[Any](
        name="Ana", model="lexical", flows=[Flow("lead", on=[OnAnyMessage()], steps=steps)], actions=[book],
        fields={"name": Field(str, ask="Ask for the name."), "size": Field(int, ask="Ask how many.")},
    )  # fmt: skip
    async with hosted(agent, home) as host:
        await host.ask("s1", Message("hello", id="m1"))
        await host.hold("s1", "Bo", understand=understand, skip=skip)
        assert await host.ask("s1", Message("my name is Rui", id="m2")) == ()
        look = await host.look("s1")
    assert look is not None
    assert look.session is not None
    assert look.session.data.get("name") == name
    assert [run.status for run in look.runs] == ([] if name else ["asking"])
    assert bool(calls) is booked


@pytest.mark.parametrize(
    ("if_", "while_", "stays"), [(None, None, True), (OPEN, None, False), (OPEN, ALWAYS, True), (OPEN, OPEN, False)]
)
async def test_a_question_under_the_condition_of_its_start(home: Home, if_: Any, while_: Any, stays: bool) -> None:
    """A trigger's condition ends a run whose question is open, unless the flow has a `while_` of its own (T-7.4)."""
    lead = Flow("lead", on=[OnAnyMessage(if_=if_)], while_=while_, steps=[Collect("who", ["name"])])
    agent = Agent[Any](name="Ana", model="lexical", fields={"name": Field(str, ask="?")}, flows=[lead])
    async with hosted(agent, home) as host:
        await host.ask("s1", Message("hello", id="m1"))
        await host.hold("s1")
        await host.ask("s1", Message("to the person", id="m2"))
        look = await host.look("s1")
    assert look is not None
    assert [run.status for run in look.runs] == (["asking"] if stays else [])
    assert ("premise-changed" in look.log[0].log) is not stays


async def test_a_persons_gate_stays_as_it_is(home: Home) -> None:
    """A flow that hands over behind a closed gate changes nothing of it."""
    flow = Flow("human", on=[OnAnyMessage(repeat="always")], steps=[Do("give", hand_over)])
    async with hosted(echo(flows=[flow], actions=[hand_over]), home) as host:
        await host.hold("s1", "Bo writes", understand=True, skip=True)
        await host.ask("s1", Message("hello", id="m1"))
        look = await host.look("s1")
    assert look is not None
    gate = look.row.gate
    assert (gate.reason, gate.understand, gate.skip) == ("Bo writes", True, True)
