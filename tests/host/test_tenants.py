"""Several tenants and agents in one database: none sees, stops or outruns another."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Prompt, Say, Wait
from falai.channel import Outgoing, Receipt, Sent
from falai.host import Settings, Turning
from falai.model import ModelRequest
from falai.session.inputs import Anchor
from host.stage import FLOWS, Echo, Home, Wire, hosted, until

ANCHORED = [Flow("answer", anchor="deal", on=[OnAnyMessage(repeat="once")], steps=[Prompt("reply", "Answer.")])]
"""For each deal once, of whatever session."""


class Crowd:
    """How many turns each tenant has at work: the tenant is the first word of what was written."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.open = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> None:
        tenant = str(getattr(request.task, "text", "")).split()[0]
        self.now[tenant] += 1
        self.most[tenant] = max(self.most[tenant], self.now[tenant])
        await self.open.wait()
        await asyncio.sleep(0.01)
        self.now[tenant] -= 1


async def test_a_tenant_has_no_more_than_its_share(home: Home) -> None:
    """A crowd of one leaves room for another, and is played in the end, in all processes together."""
    crowd = Crowd()
    agent = Agent[Any](name="Ana", model=Echo(crowd), flows=FLOWS)
    async with hosted(agent, home, settings=Settings(tenant_at_once=3, at_once=8)) as host:
        for n in range(20):
            await host.receive(f"s{n}", "big hello", tenant="big")
        await until(lambda: crowd.now["big"] == 3)
        await host.receive("s1", "small hello", tenant="small")
        await until(lambda: crowd.now["small"] == 1)
        crowd.open.set()
        await host.drained()
        assert crowd.most == {"big": 3, "small": 1}
        assert all([(look := await host.look(f"s{n}", tenant="big")) and look.outbox for n in range(20)])


async def test_turns_of_one_customer_race(home: Home) -> None:
    """A flow that is live in one session of a customer is not started in another, also at the same moment."""
    flow = Flow(
        "ask", anchor="customer", on=[OnAnyMessage(repeat="always")], steps=[Say("hi", "Welcome."), Wait("pause", "1d")]
    )
    agent, wire = Agent[Any](name="Ana", model=Echo(), flows=[flow], idle="silent"), Wire()
    async with hosted(agent, home, channel=wire) as host:
        for n in range(12):
            both = (host.receive(f"{side}{n}", "hello", customer=f"c{n}") for side in "ab")
            await asyncio.gather(*both)
        await host.drained()
    said = Counter(out.session[1:] for out in wire.sent)
    assert said == {str(n): 1 for n in range(12)}


class Ids(Wire):
    """A vendor whose ids are the same for everybody, which no vendor's are."""

    async def send(self, out: Outgoing) -> Sent:
        await super().send(out)
        return Sent("vendor-1")


WHO = [("Ana", "acme"), ("Ana", "bolt"), ("Bea", "acme"), ("Bea", "bolt")]
"""Agents and tenants; all of them use the same ids of everything."""


def deal_of(_turning: Turning) -> dict[str, Anchor]:
    return {"deal": Anchor("d1")}


def keep_apart(agent: str, tenant: str) -> str:
    return f"{agent}-{tenant}"


@pytest.mark.parametrize("name", ["Ana", "Bea"])
async def test_nothing_is_seen_of_another(home: Home, name: str) -> None:
    """Same sessions, ids of messages, customers, addresses, claims and anchors: each has only what is its own."""
    wires = {agent: Ids() for agent in ("Ana", "Bea")}
    options: dict[str, Any] = {"anchors": deal_of}
    agents = {agent: Agent[Any](name=agent, model=Echo(), flows=ANCHORED) for agent in wires}
    for agent, tenant in WHO:
        async with hosted(agents[agent], home, channel=wires[agent], **options) as host:
            text = keep_apart(agent, tenant)
            await host.receive("s1", Message(text, id="m1"), customer="c1", address="+1", tenant=tenant)
            await host.drained()
    async with hosted(agents[name], home, channel=wires[name], **options) as host:
        for tenant in ("acme", "bolt"):
            look = await host.look("s1", tenant=tenant)
            assert look is not None
            said = {row.text for row in look.transcript}
            assert said == {keep_apart(name, tenant), f"re: {keep_apart(name, tenant)}"}
            assert look.session is not None
            assert list(look.session.claims) == ["answer:d1:"]
        at = datetime(2030, 1, 1, tzinfo=UTC)
        await host.take_item("wire", Receipt("vendor-1", "read", at), tenant="acme")
        await host.hold("s1", tenant="acme")
        assert await host.erase_customer("c1", tenant="acme") == ("s1",)
        left = await host.look("s1", tenant="bolt")
        assert left is not None
        assert left.held is None
        assert {row.status for row in left.outbox} == {None}
        assert await host.look("s1", tenant="acme") is None
        assert await host.stop_campaign("spring", tenant="acme") == 0
    other = "Bea" if name == "Ana" else "Ana"
    async with hosted(agents[other], home, channel=wires[other], **options) as host:
        for tenant in ("acme", "bolt"):
            kept = await host.look("s1", tenant=tenant)
            assert kept is not None
            assert len(kept.outbox) >= 1
