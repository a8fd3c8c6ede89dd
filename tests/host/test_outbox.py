"""What goes out: in order, at least once, under one key, until it is sent or set aside."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import pytest

from falai import Flow, Message, OnAnyMessage, Say, Wait
from falai.channel import ChannelError, Outgoing, Sent
from falai.host import Host, Settings
from falai.host.ledger.port import Ledger, Work
from falai.testing import Clock
from host.stage import SMALL, Home, Wire, alone, echo, hosted, until

THREE = Flow("three", on=[OnAnyMessage(repeat="always")], steps=[Say("a", "one"), Say("b", "two"), Say("c", "three")])
SPACED = Flow(
    "spaced", on=[OnAnyMessage(repeat="always")],
    steps=[Say("a", "one"), Wait("w1", "3s"), Say("b", "two"), Wait("w2", "4s"), Say("c", "three")],
)  # fmt: skip


def down(*, retryable: bool = True, **more: int) -> ChannelError:
    return ChannelError("wire", "no", retryable=retryable, **more)


async def test_messages_arrive_in_order(home: Home) -> None:
    """The messages of a turn, and of the turns behind it, arrive in the order in which they were said."""
    wire = Wire()
    async with hosted(echo(flows=[THREE]), home, channel=wire) as host:
        for n in range(5):
            await host.receive("s1", Message("go", id=f"m{n}"))
        await host.drained()
    assert wire.texts == ["one", "two", "three"] * 5
    assert len({out.idempotency_key for out in wire.sent}) == 15


async def test_pauses_between_messages(home: Home) -> None:
    """A message goes out `after_ms` behind the one before it, also where that one was late (T-2.1)."""
    wire, clock = Wire(), Clock()
    async with hosted(echo(flows=[SPACED], clock=clock), home, channel=wire) as host:
        wire.next = [down()]
        await host.receive("s1", Message("go", id="m1"))
        seen: list[int] = []
        for _ in range(10):
            await host.drained()
            seen.append(len(wire.sent))
            clock.advance("1s")
    # tried again after one second, then three, then four seconds behind the one before
    assert seen == [0, 1, 1, 1, 2, 2, 2, 2, 3, 3]


async def test_a_slow_channel_holds_up_no_other_session(home: Home) -> None:
    """While one message is being sent, the other sessions' are sent, and the session goes on being played."""
    wire, gate = Wire(), asyncio.Event()
    wire.next = [gate]
    async with hosted(echo(), home, channel=wire) as host:
        await host.receive("s1", Message("slow", id="m1"))
        await until(lambda: len(wire.tried) == 1)
        await host.receive("s2", Message("quick", id="m1"))
        await until(lambda: wire.said("s2") == ["re: quick"])
        assert [message.text for message in await host.ask("s1", Message("more", id="m2"))] == ["re: more"]
        assert wire.said("s1") == []
        gate.set()
        await host.drained()
    assert wire.said("s1") == ["re: slow", "re: more"]


async def test_a_channel_that_fails_is_tried_again(home: Home) -> None:
    """The same message under the same key, after the pauses of the settings; what is behind it waits."""
    wire, clock = Wire(), Clock()
    async with hosted(echo(flows=[THREE], clock=clock), home, channel=wire, settings=Settings(**SMALL)) as host:  # type: ignore[arg-type]
        wire.next = [down(), down()]
        await host.receive("s1", Message("go", id="m1"))
        for pause in ("0s", "1s", "2s"):
            assert wire.texts == []
            clock.advance(pause)
            await host.drained()
    assert wire.texts == ["one", "two", "three"]
    assert {out.idempotency_key for out in wire.tried[:3]} == {wire.sent[0].idempotency_key}


async def test_a_channel_that_says_when(home: Home) -> None:
    """Nothing is tried before the instant that the vendor named."""
    wire, clock = Wire(), Clock()
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        wire.next = [down(retry_after_ms=60_000)]
        await host.receive("s1", Message("go", id="m1"))
        await host.drained()
        clock.advance("59s")
        await host.drained()
        assert len(wire.tried) == 1
        clock.advance("1s")
        await host.drained()
    assert wire.texts == ["re: go"]


async def test_a_message_that_cannot_be_sent_is_set_aside(home: Home) -> None:
    """What another try cannot help is set aside at once, visibly; what is behind it goes on. It may be tried again."""
    wire = Wire()
    async with hosted(echo(flows=[THREE]), home, channel=wire) as host:
        wire.next = [down(retryable=False)]
        await host.receive("s1", Message("go", id="m1"))
        await host.drained()
        assert wire.texts == ["two", "three"]
        [row] = await host.dead("s1")
        assert (row.what, row.attempts) == ("message", 1)
        assert row.error is not None
        assert "channel wire: no" in row.error
        assert await host.retry(row)
        await host.drained()
        assert wire.texts == ["two", "three", "one"]
        assert await host.dead() == ()


async def test_a_channel_that_fails_after_it_delivered(home: Home) -> None:
    """The message is sent again, under the key by which the channel can tell: at least once."""
    wire, clock = Wire(), Clock()
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        wire.lost = [down(maybe_delivered=True)]
        await host.receive("s1", Message("go", id="m1"))
        await host.drained()
        clock.advance("1s")
        await host.drained()
    assert wire.texts == ["re: go", "re: go"]
    assert len({out.idempotency_key for out in wire.sent}) == 1


async def test_a_channel_that_hangs(home: Home) -> None:
    """A send that takes longer than its limit has failed, is tried again, and when set aside names the limit."""
    wire = Wire()
    settings = Settings(send_limit="0.05s", send_retries=("0.01s",))
    async with hosted(echo(), home, channel=wire, settings=settings) as host:
        wire.next = [asyncio.Event()]
        await host.receive("s1", Message("go", id="m1"))
        await until(lambda: wire.texts == ["re: go"])
        wire.next = [asyncio.Event(), asyncio.Event()]
        await host.receive("s1", Message("go", id="m2"))
        await until(lambda: len(wire.tried) == 4)
        await host.drained()
        (row,) = await host.dead()
    assert row.error == "TimeoutError: the channel took longer than 0.05s (send_limit)"


async def test_an_unknown_channel_is_told(home: Home) -> None:
    """A session whose channel the host does not have: its messages are set aside, and say which there are."""
    async with hosted(echo(), home, channel={"a": Wire("a"), "b": Wire("b")}) as host:
        await host.receive("s1", Message("go", id="m1"), channel="c")
        await host.receive("s2", Message("go", id="m1"))
        await host.drained()
        rows = await host.dead()
    assert len(rows) == 2
    assert all(row.error is not None and "the host has no such channel; it has a, b" in row.error for row in rows)


async def test_each_session_has_its_channel(home: Home) -> None:
    """With several channels, a message goes out by the one that its session came by last."""
    a, b = Wire("a"), Wire("b")
    async with hosted(echo(), home, channel={"a": a, "b": b}) as host:
        await host.receive("s1", Message("1", id="m1"), channel="a", address="A")
        await host.receive("s2", Message("2", id="m1"), channel="b", address="B")
        await host.drained()
        await host.receive("s1", Message("3", id="m2"), channel="b", address="B1")
        await host.drained()
    assert [(out.text, out.address) for out in a.sent] == [("re: 1", "A")]
    assert [(out.text, out.address) for out in b.sent] == [("re: 2", "B"), ("re: 3", "B1")]


class Narrow(Wire):
    """Takes four letters a message."""

    def split(self, out: Outgoing) -> Sequence[Outgoing]:
        return [msgspec.structs.replace(out, text=out.text[at : at + 4]) for at in range(0, len(out.text), 4)]


async def test_a_long_text_is_several_messages(home: Home) -> None:
    """Each piece has a key of its own, so that a repetition never sends one that has arrived; the transcript has the whole."""
    wire, clock = Narrow(), Clock()
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        await host.receive("s1", Message("abcdefgh", id="m1"))
        await until(lambda: len(wire.sent) == 3)
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["re: ", "abcd", "efgh"]
    assert len({out.idempotency_key for out in wire.sent}) == 3
    assert look is not None
    assert look.transcript[0].text == "re: abcdefgh"


async def test_a_host_without_a_channel_keeps_what_it_says(home: Home) -> None:
    """The messages are in the transcript, and nothing waits."""
    async with hosted(echo(), home) as host:
        await host.receive("s1", Message("go", id="m1"))
        await host.drained()
        look, status = await host.look("s1"), await host.status()
    assert look is not None
    assert [row.text for row in look.transcript] == ["re: go", "go"]
    assert (status.messages, status.dead) == (0, 0)


@alone
async def test_a_message_that_was_not_sent_yet_is_sent_after_a_restart(home: Home) -> None:
    """What was committed goes out, also when the process ended before."""
    wire, gate = Wire(), asyncio.Event()
    wire.next = [gate]
    async with hosted(echo(), home, channel=wire, settings=Settings(grace="0s")) as host:
        await host.receive("s1", Message("go", id="m1"))
        await until(lambda: len(wire.tried) == 1)
    assert wire.texts == []
    async with hosted(echo(), home, channel=wire) as host:
        await host.drained()
    assert wire.texts == ["re: go"]
    assert len({out.idempotency_key for out in wire.tried}) == 1


async def test_the_media_of_a_step(home: Home) -> None:
    """The slug of a `say` step's media is on the message, for the channel to look up (F-8.21)."""
    wire = Wire()
    flow = Flow("map", on=[OnAnyMessage()], steps=[Say("way", "Here we are.", media={"slug": "map"})])
    async with hosted(echo(flows=[flow]), home, channel=wire) as host:
        await host.receive("s1", Message("where?", id="m1"))
        await host.drained()
    assert [(out.text, out.media, out.kind) for out in wire.sent] == [("Here we are.", "map", "verbatim")]


class _Odd(Wire):
    """Its `send` gives what it was told to."""

    def __init__(self, *given: object) -> None:
        super().__init__()
        self.given = list(given)

    async def send(self, out: Outgoing) -> Sent:
        await super().send(out)
        return cast(Sent, self.given.pop(0))


@pytest.mark.parametrize("given", [None, Sent(cast(str, 4711)), "an id"])
async def test_what_a_channel_gives_is_looked_at(home: Home, given: object) -> None:
    """A `send` that gives no `Sent` has sent: the message is set aside and says why, and goes out once only."""
    channel = _Odd(given, Sent())
    async with hosted(echo(), home, channel=channel) as host:
        await host.receive("s1", Message("a", id="m1"))
        await host.drained()
        (row,) = await host.dead()
        assert "no Sent with a text or None" in (row.error or "")
        await host.receive("s1", Message("b", id="m2"))
        await host.drained()
    assert channel.texts == ["re: a", "re: b"]


async def test_a_channel_that_was_cancelled_within_has_failed(home: Home) -> None:
    """Something that `send` awaits is cancelled: that is a failure like any other, and the message is tried again."""
    wire, clock = Wire(), Clock()
    wire.next = [asyncio.CancelledError()]
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("1s")
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_what_was_sent_is_noted_when_the_ledger_can(home: Home) -> None:
    """While the disk is full a message that went out is not sent again and again: only the note of it waits."""
    wire, failed = Wire(), 0

    class Full:
        def __init__(self, inner: Ledger) -> None:
            self.open, self.close, self.inner = inner.open, inner.close, inner

        async def run(self, work: Work[Any]) -> Any:
            nonlocal failed
            if wire.sent and failed < 1:
                failed += 1
                raise OSError("no space left on device")
            return await self.inner.run(work)

    async with Host(echo(), Full(home.ledger()), channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await until(lambda: bool(failed))
        await host.drained()
    assert wire.texts == ["re: hello"]
