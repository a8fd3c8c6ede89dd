"""Campaigns and rates, on both databases and with several hosts on one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from falai import Agent, Flow, OnAnyMessage, Prompt, Say
from falai.host import Host, Recipient, Settings
from falai.testing import Clock
from host.stage import Echo, Home, Wire, hosted

FLOWS = [
    Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")]),
    Flow("offer", steps=[Say("tell", "There is an offer, {{input.who}}.")]),
]
SESSIONS = [f"s{n}" for n in range(1, 6)]


def agent_of(clock: Clock) -> Agent[Any]:
    return Agent(name="Ana", model=Echo(), clock=clock, flows=FLOWS)


async def spread(host: Host[Any], sessions: Sequence[str | Recipient] = SESSIONS, **more: Any) -> int:
    planned = await host.campaign("spring", "offer", sessions, over="4h", input={"who": "you"}, **more)
    return planned.new


async def test_starts_are_spread(home: Home) -> None:
    """The first at once, the last at the end, the others evenly between."""
    clock, wire = Clock(), Wire()
    async with hosted(agent_of(clock), home, channel=wire) as host:
        assert await spread(host) == 5
        heard: list[int] = []
        for _ in range(5):
            await host.drained()
            heard.append(len(wire.sent))
            clock.advance("1h")
        assert heard == [1, 2, 3, 4, 5]
        assert set(wire.texts) == {"There is an offer, you."}


async def test_nobody_is_started_twice(home: Home) -> None:
    """Whatever is called again, and when; whoever is new in the list has a start."""
    clock, wire = Clock(), Wire()
    async with hosted(agent_of(clock), home, channel=wire) as host:
        await spread(host)
        clock.advance("2h")
        await host.drained()
        assert await spread(host) == 0
        assert await spread(host, [*SESSIONS, "s6"]) == 1
        clock.advance("2d")
        await host.drained()
        assert await spread(host, [*SESSIONS, "s6"]) == 0
        await host.drained()
        assert sorted(out.session for out in wire.sent) == [*SESSIONS, "s6"]


async def test_it_can_be_stopped(home: Home) -> None:
    """The rest has no start; begun again after its time, it is spread anew."""
    clock, wire = Clock(), Wire()
    async with hosted(agent_of(clock), home, channel=wire) as host:
        await spread(host)
        await host.drained()
        assert (await host.status()).starts == 4
        assert await host.stop_campaign("spring") == 4
        clock.advance("5h")
        await host.drained()
        assert wire.said("s1") == ["There is an offer, you."]
        assert len(wire.sent) == 1
        assert await spread(host) == 4
        clock.advance("1h")
        await host.drained()
        assert len(wire.sent) == 2


async def test_it_goes_where_it_is_told(home: Home) -> None:
    """Customer, channel and address are those of the recipient, in its tenant."""
    clock, wire = Clock(), Wire()
    async with hosted(agent_of(clock), home, channel=wire) as host:
        to = [Recipient("s1", customer="c1", channel="wire", address="+1")]
        await spread(host, to, tenant="acme")
        await host.drained()
        assert [out.address for out in wire.sent] == ["+1"]
        look = await host.look("s1", tenant="acme")
        assert look is not None
        assert look.row.customer == "c1"
        assert await host.look("s1") is None


async def test_a_flow_that_is_not_there(home: Home) -> None:
    """Is refused before anything is planned, as is one who could not be received, or a tenant that is nobody."""
    async with hosted(agent_of(Clock()), home) as host:
        with pytest.raises(ValueError, match='no flow "ofer"'):
            await host.campaign("spring", "ofer", SESSIONS)
        for to in (Recipient(" "), Recipient("s" * 513), Recipient("s1", customer="c" * 513)):
            with pytest.raises(ValueError, match=r"sessionId|customer"):
                await spread(host, [to])
        with pytest.raises(ValueError, match="tenant"):
            await spread(host, SESSIONS, tenant=" ")
        assert (await host.status()).starts == 0


async def test_a_rate_holds_for_all_hosts(home: Home) -> None:
    """Messages beyond it wait without a failure, in whatever process they are, and all of them arrive."""
    clock, wire = Clock(), Wire()
    settings = Settings(rates=["wire: 10 in 1m"])
    async with hosted(agent_of(clock), home, channel=wire, settings=settings) as host:
        begin = clock()
        went: list[datetime] = []
        for n in range(12):
            await host.receive(f"s{n}", "hello")
        while len(wire.sent) < 12 and clock() < begin + timedelta(minutes=3):
            await host.drained()
            went += [clock()] * (len(wire.sent) - len(went))
            clock.advance("1s")
        assert sorted(out.session for out in wire.sent) == sorted(f"s{n}" for n in range(12))
        minute = timedelta(minutes=1)
        assert all(sum(start <= at < start + minute for at in went) <= 10 for start in went)
        looks = [await host.look(f"s{n}") for n in range(12)]
        assert [look.outbox[0].attempts for look in looks if look] == [0] * 12


def test_a_rate_of_no_channel() -> None:
    """Would hold for nothing: the host says which there are."""
    with pytest.raises(ValueError, match='a channel that is none: "whatsap"; the host has wire'):
        Host(agent_of(Clock()), ":memory:", channel=Wire(), settings=Settings(rates=["whatsap: 80 in 1s"]))


@pytest.mark.parametrize("rate", ["wire", "wire: 0 in 1s", "wire: 5 in 0s", "wire: 5 in soon", 5])
def test_what_is_no_rate(rate: Any) -> None:
    """Is refused, with what to write."""
    with pytest.raises(ValueError, match=r'rates\[0\] is .* Write "channel: 80 in 1s"'):
        Settings(rates=[rate])
