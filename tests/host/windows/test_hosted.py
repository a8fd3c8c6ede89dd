"""Windows in a host that runs: what waits for the morning, what is said as a template, and who is left alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from falai import Event, Flow, Message, OnEvent, OnMessage, OnSilence, Say, Wait
from falai.channel import Template
from falai.host import Host, Settings
from falai.host.windows import SendingWindow, Windows
from falai.testing import Clock
from host.stage import Echo, Home, Wire, echo, hosted

DAYTIME = SendingWindow({"mon-fri": "09:00-18:00"}, tz="America/Sao_Paulo")
FRIDAY_EVENING = "2026-11-27T22:00:00.000Z"  # 19:00 in Sao Paulo
MONDAY_MORNING = "2026-11-30T12:00:00.000Z"  # 09:00
FLOWS = [
    Flow("hello", on=[OnMessage("greets", repeat="always")], steps=[Say("hi", "Hello!")]),
    Flow("nudge", on=[OnSilence("2h")], steps=[Say("there", "Are you there?")]),
    Flow("paid", on=[OnEvent("paid", repeat="always")], steps=[Say("thanks", "Thank you for paying.")]),
    Flow(
        "later",
        on=[OnEvent("booked", repeat="always")],
        steps=[Wait("pause", "30h"), Say("soon", "It is soon."), Say("come", "Come in time.")],
    ),
]

Stage = tuple[Host[Any], Wire, Clock]
Start = Callable[..., AbstractAsyncContextManager[Stage]]


@pytest.fixture
def start(home: Home) -> Start:
    """A host with these windows, on the same file each time, on a Friday evening."""

    @asynccontextmanager
    async def starting(
        clock: Clock | None = None, window_ms: int | None = None, **settings: Any
    ) -> AsyncIterator[Stage]:
        clock, wire = clock or Clock(FRIDAY_EVENING), Wire()
        wire.window_ms = window_ms
        agent = echo(Echo(), clock=clock, flows=FLOWS, idle="silent", events={"paid": {}, "booked": {}})
        async with hosted(agent, home, channel=wire, settings=Settings(**settings)) as host:
            yield host, wire, clock

    return starting


async def _played(host: Host[Any], session: str = "s1", *inputs: Any) -> None:
    for input in inputs:
        await host.receive(session, input)
    await host.drained()


async def _codes(host: Host[Any]) -> set[tuple[str, str | None]]:
    """What the run log says of things that were not said."""
    look = await host.look("s1")
    assert look is not None
    lines = [line for row in look.log for line in json.loads(row.log).get("outcomes", [])]
    return {(line["code"], line.get("detail")) for line in lines if "code" in line}


async def test_an_answer_goes_at_night_and_a_follow_up_in_the_morning(start: Start) -> None:
    """Two separate windows: whoever writes on Friday at 19:00 is answered, and reminded on Monday at 09:00."""
    async with start(windows=Windows(follow_ups=DAYTIME)) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"))
        assert wire.texts == ["Hello!"]
        clock.set("2026-11-30T11:59:59.999Z")
        await host.drained()
        assert wire.texts == ["Hello!"]
        clock.set(MONDAY_MORNING)
        await host.drained()
        assert wire.texts == ["Hello!", "Are you there?"]


async def test_a_customer_who_writes_meanwhile_is_not_reminded(start: Start) -> None:
    """The follow-up that waits for the morning proves itself then: the silence is over."""
    async with start(windows=Windows(follow_ups=DAYTIME)) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"))
        clock.advance("3h")
        await host.drained()
        await _played(host, "s1", Message("hello again", id="m2"))
        assert wire.texts == ["Hello!", "Hello!"]
        clock.set("2026-11-30T12:00:00.001Z")
        await host.drained()
        assert wire.texts == ["Hello!", "Hello!", "Are you there?"]


async def test_hours_that_changed_while_it_waited_count(start: Start) -> None:
    """A host that was started with other hours looks at those: the reminder waits once more, and is not sent early."""
    clock = Clock(FRIDAY_EVENING)
    async with start(clock, windows=Windows(follow_ups=DAYTIME)) as (host, wire, _):
        await _played(host, "s1", Event("paid", key="e1"))
        assert wire.texts == []
    clock.set(MONDAY_MORNING)
    afternoon = SendingWindow("15:00-18:00", tz="America/Sao_Paulo")
    async with start(clock, windows=Windows(follow_ups=afternoon)) as (host, wire, _):
        await host.drained()
        assert wire.texts == []
        clock.set("2026-11-30T18:00:00.000Z")
        await host.drained()
        assert wire.texts == ["Thank you for paying."]


async def test_answers_may_have_hours_too(start: Start) -> None:
    """A message at night waits for the morning, and is then answered in its turn."""
    async with start(windows=Windows(answers=DAYTIME)) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"), Message("hello?", id="m2"))
        assert wire.texts == []
        clock.set(MONDAY_MORNING)
        await host.drained()
        assert wire.texts == ["Hello!", "Hello!"]


async def test_what_the_channel_takes_no_more_is_not_said(start: Start) -> None:
    """A day after the customer's last message the flow goes by in silence, and an outcome line says why."""
    async with start(window_ms=86_400_000) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"), Event("booked", key="e1"))
        clock.advance("31h")
        await host.drained()
        assert "It is soon." not in wire.texts
        assert ("silenced", "channel-window") in await _codes(host)


async def test_a_template_takes_the_place_of_what_may_not_be_said(start: Start) -> None:
    """Once a turn, however much the flow would have said; within the window there is none."""
    template = Template("come_back", "pt_BR", ("Ana",))
    async with start(window_ms=86_400_000, windows=Windows(template=template)) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"), Event("booked", key="e1"))
        clock.advance("2h")
        await host.drained()
        assert [(out.text, out.template) for out in wire.sent] == [("Hello!", None), ("Are you there?", None)]
        clock.advance("28h")
        await host.drained()
        assert [out.template for out in wire.sent].count(template) == 1


async def test_an_opt_out_ends_follow_ups_and_no_answers(start: Start) -> None:
    """`Stop!` alone is one; from then on only what the customer writes is answered."""
    async with start(opt_outs=["stop"]) as (host, wire, clock):
        await _played(host, "s1", Message("hello", id="m1"), Message("Stop!", id="m2"))
        said = len(wire.texts)
        clock.advance("3h")
        await host.drained()
        await _played(host, "s1", Event("paid", key="e1"))
        assert wire.texts[said:] == []
        assert ("silenced", "opted-out") in await _codes(host)
        await _played(host, "s1", Message("hello", id="m3"))
        assert wire.texts[-1] == "Hello!"


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["leave me alone", "stop"], False),
        (["stop", "please"], False),
        (["stop", "start"], True),
        (["stop by", "at three"], True),
    ],
)
async def test_an_opt_out_within_a_burst(start: Start, texts: list[str], wanted: bool) -> None:
    """It is looked for in each message of a burst, not in all of them as one text; the last one counts."""
    async with start(opt_outs=["stop"], opt_ins=["start"], burst="2s") as (host, _, clock):
        for n, text in enumerate(texts):
            await host.receive("s1", Message(text, id=f"m{n}"))
        clock.advance("2s")
        await host.drained()
        look = await host.look("s1")
    assert look is not None
    assert look.row.opted_out is not wanted
