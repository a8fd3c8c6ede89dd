"""A conversation that changes hands: the assistant, a person, and the assistant again.

Run it with `python examples/handover.py`. It needs no key: the model is the lexical one, which knows no
language, and the host keeps everything in a file that is gone afterwards.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

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
    Say,
    Start,
    action,
    ok,
)
from falai.channel import Channel, Outgoing, Sent
from falai.host import Host, hand_over


def tell(who: str, words: str) -> None:
    """Shows a line of the conversation."""
    sys.stdout.write(f"{who:>8}  {words}\n")


class Screen(Channel):
    """Shows what the customer is sent."""

    name = "screen"

    async def send(self, out: Outgoing) -> Sent:
        tell("Bo" if out.kind == "human" else "Ana", out.text)
        return Sent()


class PriceList:
    """A slow one: whoever looks has to wait until it is open."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.open = asyncio.Event()

    @action(name="lookUp")
    async def look_up(self, ctx: ActionContext[Any]) -> ActionResult:
        """Look up what a visit costs."""
        self.asked.set()
        await self.open.wait()
        ctx.set({"price": "50"})
        return ok()


@action(name="callTeam")
def call_team(ctx: ActionContext[Any]) -> ActionResult:
    """Tell the team that somebody waits: hand_over closes the gate, and whom to call is ours to know."""
    tell("", f"(the team is called to {ctx.session_id})")
    return ok()


def desk(prices: PriceList) -> Agent[Any]:
    """The flows.

    `lead` starts once: its condition keeps that for a message that may be answered (T-17.7), and its
    `while_`, which holds always, keeps its question open while a person writes (T-7.4).
    """
    return Agent(
        name="Ana",
        model="lexical",
        idle="silent",
        fields={
            "name": Field(str, ask="Ask for the name.", question="What is your name?"),
            "price": Field(str),
        },
        actions=[hand_over, call_team, prices.look_up],
        flows=[
            Flow("lead", on=[OnAnyMessage(if_={"silenced": False})], while_={}, steps=[
                Collect("who", ["name"]),
                Say("thanks", "Thank you, I have noted that."),
            ]),
            Flow("human", on=[OnMention("talk to a person", repeat="always")], steps=[
                Do("give", hand_over, {"reason": "asked for a person"}),
                Do("call", call_team),
                Say("moment", "I will get someone."),
            ]),
            Flow("price", on=[OnMention("what a visit costs", repeat="always")], steps=[
                Do("look", prices.look_up),
                Say("costs", "A visit costs {{data.price}}."),
            ]),
            Flow("back", steps=[Say("here", "Ana again."), Collect("who", ["name"])]),
        ],
    )  # fmt: skip


async def conversation(host: Host[Any], prices: PriceList) -> None:
    """Plays it."""
    count = 0

    async def writes(text: str) -> None:
        nonlocal count
        count += 1
        tell("Rui", text)
        await host.receive("rui", Message(text, id=f"m{count}"))

    await writes("hello")
    await host.drained()
    await writes("I want to talk to a person")
    await host.drained()

    await writes("is there a place to park?")  # the gate is closed: Ana is silent
    await host.drained()
    await host.human_message("rui", "Bo here. Yes, behind the house.", id="p1", by="Bo")
    await host.drained()

    await host.release("rui")  # Ana speaks at the next message; a start lets her speak now
    await host.receive("rui", Start("back", key="p1"))
    await host.drained()
    await writes("my name is Rui")
    await host.drained()

    await writes("what does a visit cost?")
    await prices.asked.wait()  # Ana's turn is under way
    await host.human_message("rui", "Bo once more: I forgot, the gate is to the left.", id="p2", by="Bo")
    prices.open.set()  # and her answer is not sent
    await host.drained()
    look = await host.look("rui")
    assert look is not None
    tell("", f"(Ana is silent: {look.held})")


async def main() -> None:
    """Plays it on a fresh file."""
    prices = PriceList()
    with TemporaryDirectory() as folder:
        async with Host(desk(prices), Path(folder) / "desk.db", channel=Screen()) as host:
            await conversation(host, prices)


if __name__ == "__main__":
    asyncio.run(main())
