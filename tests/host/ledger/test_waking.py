from __future__ import annotations

import asyncio
import json

from falai.host.ledger.erasing import erase
from falai.host.ledger.looking import counts, run_log, waiting
from falai.host.ledger.port import Done, Ledger, Place, WakeWrite
from falai.host.ledger.waking import due_wakes, next_due
from host.ledger.ledgers import NOW, PLACE, ask, job_of, keys_of, play, receive


async def _set(ledger: Ledger, *wakes: WakeWrite, place: Place = PLACE, key: str = "m1") -> None:
    await receive(ledger, key, place=place)
    await play(ledger, Done(blob="{}", wakes=wakes), place)


async def test_a_due_timer_becomes_an_input_once(ledger: Ledger) -> None:
    """At its time, not before; its place is named; the input has its key."""
    await _set(ledger, WakeWrite("w1", NOW + 1000))
    assert await ledger.run(next_due("a")) == NOW + 1000
    assert await ledger.run(due_wakes("a", now_ms=NOW + 999, limit=9)) == ()
    assert await ledger.run(due_wakes("a", now_ms=NOW + 1000, limit=9)) == (PLACE,)
    assert await ledger.run(due_wakes("a", now_ms=NOW + 1000, limit=9)) == ()
    assert await ledger.run(next_due("a")) is None
    (row,) = (await job_of(ledger, now=NOW + 1000)).inputs
    assert (row.kind, json.loads(row.body)) == ("wake", {"key": "w1"})


async def test_the_oldest_first(ledger: Ledger) -> None:
    """A bounded number at a time, in the order of their times."""
    await _set(ledger, *(WakeWrite(f"w{n}", NOW + 10 - n) for n in range(5)))
    assert await ledger.run(due_wakes("a", now_ms=NOW + 99, limit=2)) == (PLACE,)
    assert await ledger.run(due_wakes("a", now_ms=NOW + 99, limit=9)) == (PLACE,)
    keys = [json.loads(row.body)["key"] for row in await ledger.run(waiting(PLACE))]
    assert keys == ["w4", "w3", "w2", "w1", "w0"]


async def test_a_timer_that_is_set_again(ledger: Ledger) -> None:
    """Under the same key, after it fired: it fires again."""
    await _set(ledger, WakeWrite("w1", NOW))
    await ledger.run(due_wakes("a", now_ms=NOW, limit=9))
    await play(ledger, Done(blob="{}", wakes=(WakeWrite("w1", NOW + 50),)))
    assert await ledger.run(due_wakes("a", now_ms=NOW + 50, limit=9)) == (PLACE,)
    assert len(await keys_of(ledger, now=NOW + 50)) == 1


async def test_two_who_look_at_once(ledger: Ledger) -> None:
    """Every timer becomes one input."""
    for n in range(20):
        await _set(ledger, WakeWrite("w", NOW + n), place=Place("t", "a", f"s{n}"))
    found = await asyncio.gather(*(ledger.run(due_wakes("a", now_ms=NOW + 99, limit=6)) for _ in range(4)))
    places = [place for some in found for place in some]
    assert len(places) == len(set(places)) == 20
    assert (await ledger.run(counts("a", now_ms=NOW))).inputs == 20


async def test_timers_of_another_agent(ledger: Ledger) -> None:
    """They are its matter."""
    await _set(ledger, WakeWrite("w1", NOW), place=Place("t", "b", "s1"))
    assert await ledger.run(due_wakes("a", now_ms=NOW, limit=9)) == ()
    assert await ledger.run(next_due("a")) is None
    assert await ledger.run(due_wakes("b", now_ms=NOW, limit=9)) == (Place("t", "b", "s1"),)


async def test_a_timer_whose_session_is_gone(ledger: Ledger) -> None:
    """It goes too, and makes nothing."""
    await _set(ledger, WakeWrite("w1", NOW))
    await ledger.run(ask("DELETE FROM falai_sessions RETURNING session"))
    assert await ledger.run(due_wakes("a", now_ms=NOW, limit=9)) == ()
    assert await ledger.run(next_due("a")) is None
    await _set(ledger, WakeWrite("w2", NOW), key="m2")
    await ledger.run(erase(PLACE))
    assert await ledger.run(next_due("a")) is None


async def test_late_timers(ledger: Ledger) -> None:
    """A follow-up on a silence that is too late is let go, with a line in the log; a waiting run is woken."""
    late, fresh, waits = "silence:f:s1:1", "silence:f:s1:2", "f#m1:pause:0"
    await _set(ledger, WakeWrite(late, NOW), WakeWrite(fresh, NOW + 1), WakeWrite(waits, NOW - 10**9))
    assert await ledger.run(due_wakes("a", now_ms=NOW + 1001, limit=9, max_late=1000)) == (PLACE,)
    keys = {json.loads(row.body)["key"] for row in await ledger.run(waiting(PLACE))}
    assert keys == {fresh, waits}
    (line,) = await ledger.run(run_log(PLACE, limit=9))
    assert json.loads(line.log) == {"skipped": "late", "wake": late, "due": NOW}
