"""`Host.answer`: what a message came to, whoever asks and whenever."""

from __future__ import annotations

import asyncio

from falai import Flow, Message, OnAnyMessage, Say
from falai.host import Settings
from falai.host.answering import Answered
from falai.model import ModelRequest
from host.stage import Echo, Home, alone, echo, hosted

TWO = [Flow("all", on=[OnAnyMessage(repeat="always")], steps=[Say("a", "One."), Say("b", "Two.")])]


def _said(answer: Answered) -> list[tuple[str, str, int]]:
    return [(one.key, one.body, one.after_ms) for one in answer.said]


async def test_the_same_is_told_at_once_and_to_whoever_sends_it_again(home: Home) -> None:
    """The messages of the turn as they go out: under the keys that the outbox has for them, with their pauses."""
    async with hosted(echo(flows=TWO), home) as host:
        first = await host.answer("s1", Message("hello", id="m1"))
        again = await host.answer("s1", Message("hello", id="m1"))
        look = await host.look("s1")
    assert look is not None
    assert (first.state, first.received.new) == ("done", True)
    assert (again.state, again.received.new) == ("done", False)
    assert _said(first) == _said(again)
    assert [one.key for one in first.said] == [row.key for row in reversed(look.outbox)]


async def test_the_messages_of_a_burst_are_answered_alike(home: Home) -> None:
    """Whoever sends one of several that become one turn is told what that turn said."""
    async with hosted(echo(), home, settings=Settings(burst="0.5s")) as host:
        one, other = await asyncio.gather(*(host.answer("s1", Message(f"m{n}", id=f"m{n}")) for n in (1, 2)))
    assert (one.state, other.state) == ("done", "done")
    assert _said(one) == _said(other) != []


@alone
async def test_one_that_waits_is_new(home: Home) -> None:
    """When the time is over before the turn, the message is played all the same, and told of when it comes again."""
    begins, goes_on = asyncio.Event(), asyncio.Event()

    async def held(_: ModelRequest) -> None:
        begins.set()
        await goes_on.wait()

    async with hosted(echo(Echo(held)), home) as host:
        at_once = await host.answer("s1", Message("hello", id="m1"), timeout=0)
        await begins.wait()
        in_time = await host.answer("s1", Message("hello", id="m1"), timeout=0.05)
        goes_on.set()
        late = await host.answer("s1", Message("hello", id="m1"))
    assert [answer.state for answer in (at_once, in_time, late)] == ["new", "new", "done"]
    assert [answer.received.new for answer in (at_once, in_time, late)] == [True, False, False]
    assert len(late.said) == 1


async def test_one_that_failed_for_good_is_dead(home: Home) -> None:
    """Whoever waits is told so, and whoever sends it again."""

    def no_context(_: object) -> None:
        raise ValueError("no")

    async with hosted(echo(), home, context=no_context, settings=Settings(retries=())) as host:
        first = await host.answer("s1", Message("hello", id="m1"))
        again = await host.answer("s1", Message("hello", id="m1"))
    assert (first.state, first.said, again.state, again.said) == ("dead", (), "dead", ())
