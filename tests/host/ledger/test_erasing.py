"""Erasure, while others are at work on the same rows."""

from __future__ import annotations

import asyncio

from falai.host.ledger.campaigning import PlannedStart, begin_campaign, due_starts, plan_starts
from falai.host.ledger.erasing import erase, erase_customer
from falai.host.ledger.port import Done, Ledger, Place, WakeWrite
from falai.host.ledger.waking import due_wakes
from host.ledger.ledgers import NOW, ask, dump, play, receive

IDS = [f"s{number:02}" for number in range(40)]
SPRING = {"tenant": "t", "campaign": "spring"}


async def _plan(ledger: Ledger, *starts: PlannedStart) -> None:
    await ledger.run(begin_campaign("a", begins_at=NOW, **SPRING))
    await ledger.run(plan_starts("a", starts, **SPRING))


async def test_what_is_planned_for_an_erased_customer_does_not_come(ledger: Ledger) -> None:
    """Also where nothing ever came in: who is erased is written to no more, and no address is left."""
    await receive(ledger, "m1", place=Place("t", "a", "s1"), customer="c1")
    await _plan(
        ledger,
        PlannedStart("s1", "k", "{}", NOW),
        PlannedStart("s2", "k", "{}", NOW, customer="c1", address="+1"),
        PlannedStart("s3", "k", "{}", NOW, customer="c2", address="+2"),
    )
    assert await ledger.run(erase_customer("a", tenant="t", customer="c1")) == ("s1", "s2")
    assert [row[0] for row in await ledger.run(ask("SELECT session FROM falai_starts"))] == ["s3"]
    assert await ledger.run(due_starts("a", now_ms=NOW, limit=9)) == (Place("t", "a", "s3"),)


async def test_a_timer_that_is_just_becoming_an_input_is_erased_too(ledger: Ledger) -> None:
    """Whichever of the two is first, no input is left of a session that is not there."""
    for id in IDS:
        await receive(ledger, "m1", place=Place("t", "a", id))
        await play(ledger, Done(blob="{}", wakes=(WakeWrite("w", NOW),)), Place("t", "a", id))
    erasures = [ledger.run(erase(Place("t", "a", id))) for id in IDS]
    await asyncio.gather(*erasures, *(ledger.run(due_wakes("a", now_ms=NOW, limit=7)) for _ in range(12)))
    assert not any((await dump(ledger)).values())


async def test_a_start_that_is_just_becoming_an_input_is_erased_too(ledger: Ledger) -> None:
    """Or it comes after the erasure, as a new session; nobody waits for one who waits."""
    for id in IDS:
        await receive(ledger, "m1", place=Place("t", "a", id), customer="c1")
    await _plan(ledger, *(PlannedStart(id, "k", "{}", NOW) for id in IDS))
    erasures = [ledger.run(erase(Place("t", "a", id))) for id in IDS]
    await asyncio.gather(*erasures, *(ledger.run(due_starts("a", now_ms=NOW, limit=7)) for _ in range(12)))
    left = await dump(ledger)
    assert {row[:3] for row in left["falai_inbox"]} <= {row[:3] for row in left["falai_sessions"]}
