"""Starts of many sessions: each is planned once, comes once, and can be taken back until then."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from falai.host.ledger.campaigning import (
    PlannedStart,
    begin_campaign,
    due_starts,
    next_start,
    plan_starts,
    stop_campaign,
)
from falai.host.ledger.erasing import erase
from falai.host.ledger.looking import session, waiting
from falai.host.ledger.port import Ledger, Place
from host.ledger.ledgers import NOW, PLACE, keys_of, play

SPRING = {"tenant": "t", "campaign": "spring"}


def starts(*sessions: str, every: int = 10) -> Sequence[PlannedStart]:
    """One for each session, one after another."""
    body = '{"flow":"offer","key":"spring"}'
    return [PlannedStart(id, "start:offer:spring", body, NOW + at * every) for at, id in enumerate(sessions)]


async def plan(ledger: Ledger, *sessions: str) -> int | None:
    return await ledger.run(plan_starts("a", starts(*sessions), tenant="t", campaign="spring"))


async def come(ledger: Ledger, *, now: int, limit: int = 100) -> list[str]:
    """The sessions whose starts came into the inbox."""
    return [place.session for place in await ledger.run(due_starts("a", now_ms=now, limit=limit))]


async def test_each_comes_at_its_time(ledger: Ledger) -> None:
    """Only the due ones, the oldest first, no more than asked for."""
    assert await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING)) == NOW
    assert await plan(ledger, "s1", "s2", "s3") == 3
    assert await come(ledger, now=NOW - 1) == []
    assert await come(ledger, now=NOW + 15, limit=1) == ["s1"]
    assert await come(ledger, now=NOW + 15) == ["s2"]
    assert await ledger.run(next_start("a")) == NOW + 20
    (row,) = await ledger.run(waiting(PLACE))
    assert (row.key, row.kind, row.body) == ("start:offer:spring", "start", '{"flow":"offer","key":"spring"}')


async def test_a_repetition_starts_nobody_twice(ledger: Ledger) -> None:
    """Whether its start is planned still, is waiting, or was played."""
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    await plan(ledger, "s1", "s2", "s3")
    assert await come(ledger, now=NOW + 10) == ["s1", "s2"]
    await play(ledger, now=NOW + 10)
    assert await ledger.run(begin_campaign("a", begins_at=NOW + 9, **SPRING)) == NOW
    assert await plan(ledger, "s1", "s2", "s3", "s4") == 1
    assert await come(ledger, now=NOW + 99) == ["s3", "s4"]
    assert [await keys_of(ledger, Place("t", "a", id), now=NOW + 99) for id in ("s1", "s2")] == [
        [],
        ["start:offer:spring"],
    ]


async def test_a_stopped_one_plans_nothing(ledger: Ledger) -> None:
    """What came stays; begun again, it goes on with the others."""
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    await plan(ledger, "s1", "s2", "s3")
    await come(ledger, now=NOW)
    assert await ledger.run(stop_campaign("a", **SPRING)) == 2
    assert await plan(ledger, "s4") is None
    assert await come(ledger, now=NOW + 99) == []
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    assert await plan(ledger, "s1", "s2", "s3") == 2


async def test_whose_they_are(ledger: Ledger) -> None:
    """Another tenant's and another agent's campaign of this name is another one."""
    for tenant, agent in (("t", "a"), ("u", "a"), ("t", "b")):
        await ledger.run(begin_campaign(agent, tenant=tenant, campaign="spring", begins_at=NOW))
        await ledger.run(plan_starts(agent, starts("s1"), tenant=tenant, campaign="spring"))
    assert await ledger.run(stop_campaign("a", **SPRING)) == 1
    assert await ledger.run(due_starts("a", now_ms=NOW, limit=9)) == (Place("u", "a", "s1"),)
    assert await ledger.run(due_starts("b", now_ms=NOW, limit=9)) == (Place("t", "b", "s1"),)


async def test_what_it_says_of_a_session(ledger: Ledger) -> None:
    """Is noted when it comes; what is erased meanwhile does not come."""
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    told = [
        PlannedStart("s1", "k", "{}", NOW, customer="c1", channel="wire", address="+1"),
        PlannedStart("s2", "k", "{}", NOW),
    ]
    await ledger.run(plan_starts("a", told, tenant="t", campaign="spring"))
    await ledger.run(erase(Place("t", "a", "s2")))
    assert await come(ledger, now=NOW) == ["s1"]
    row = await ledger.run(session(PLACE))
    assert row is not None
    assert (row.customer, row.channel, row.address) == ("c1", "wire", "+1")


async def test_several_look_at_once(ledger: Ledger) -> None:
    """Each finds others."""
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    ids = [f"s{n}" for n in range(60)]
    await plan(ledger, *ids)
    found = await asyncio.gather(*(come(ledger, now=NOW + 999, limit=20) for _ in range(4)))
    rest = await come(ledger, now=NOW + 999)
    assert sorted([id for some in (*found, rest) for id in some]) == sorted(ids)
