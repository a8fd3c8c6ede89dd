from __future__ import annotations

import asyncio
from typing import Any

import pytest

from falai.host.ledger.committing import commit
from falai.host.ledger.erasing import erase
from falai.host.ledger.gating import hold, opted_out, release
from falai.host.ledger.looking import messages, run_log, session, transcript, wakes
from falai.host.ledger.port import (
    Claim,
    Committed,
    Done,
    Gate,
    Ledger,
    LiveRun,
    Place,
    Reply,
    TranscriptLine,
    WakeWrite,
)
from host.ledger.ledgers import NOW, PLACE, dump, job_of, keys_of, play, receive

OTHER = Place("t", "a", "s2")
FULL = Done(
    blob='{"v":4}',
    claims=(Claim("f:s1:", "2026-01-01"),),
    live=(LiveRun("f", "s1"),),
    transcript=(TranscriptLine("user", "hi", NOW, "m1"), TranscriptLine("assistant", "hello", NOW, message=0)),
    outbox=(Reply('{"text":"hello"}'), Reply('{"text":"again"}', 500)),
    wakes=(WakeWrite("w1", NOW + 5000),),
    log='{"outcomes":[]}',
)


async def test_a_commit_keeps_all_of_it(ledger: Ledger) -> None:
    """Session, transcript, messages, timers, log; and the input is done."""
    await receive(ledger, "m1", channel="wa", address="+1")
    assert await play(ledger, FULL) == Committed()
    found = await ledger.run(session(PLACE))
    assert found is not None
    assert (found.version, found.blob, found.updated_at) == (1, '{"v":4}', NOW)
    newest, first = await ledger.run(transcript(PLACE, limit=9))
    second, hello = await ledger.run(messages(PLACE, limit=9))
    assert (first.role, first.text, first.id) == ("user", "hi", "m1")
    assert (newest.role, newest.text, newest.id) == ("assistant", "hello", hello.key)
    assert (hello.body, hello.due_at, second.due_at) == ('{"text":"hello"}', NOW, NOW + 500)
    assert hello.key != second.key
    assert await ledger.run(wakes(PLACE)) == (WakeWrite("w1", NOW + 5000),)
    (line,) = await ledger.run(run_log(PLACE, limit=9))
    assert (line.key, line.log, line.at) == ("m1", '{"outcomes":[]}', NOW)
    assert await keys_of(ledger) == []


async def test_a_turn_that_changed_nothing(ledger: Ledger) -> None:
    """Its input is done; the blob and its version stay as they are (B-16.1)."""
    await receive(ledger, "m1", "m2", "m3")
    await play(ledger)
    await play(ledger, Done(log="[]"))
    found = await ledger.run(session(PLACE))
    assert found is not None
    assert (found.version, found.blob) == (1, "{}")
    assert (await job_of(ledger)).revision == 2


# --- conflicts ----------------------------------------------------------------------------------


async def test_of_two_turns_one_counts(ledger: Ledger) -> None:
    """The second is told, and nothing of it is kept."""
    await receive(ledger, "m1", "m2")
    job = await job_of(ledger)
    assert await ledger.run(commit(job, FULL, now_ms=NOW)) == Committed()
    before = await dump(ledger)
    assert await ledger.run(commit(job, FULL, now_ms=NOW)) == Committed("version")
    assert await dump(ledger) == before


async def test_of_many_turns_at_once_one_counts(ledger: Ledger) -> None:
    """Whatever their order is."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    ends = await asyncio.gather(*(ledger.run(commit(job, FULL, now_ms=NOW)) for _ in range(6)))
    assert sorted(end.conflict or "" for end in ends) == ["", *["version"] * 5]
    assert len(await ledger.run(messages(PLACE, limit=9))) == 2


@pytest.mark.parametrize("move", [hold, release])
async def test_a_gate_that_moved_meanwhile(ledger: Ledger, move: Any) -> None:
    """The turn does not count, whether it closed or opened: it was played for another gate."""
    await receive(ledger, "m1")
    if move is release:
        await ledger.run(hold(PLACE, Gate(reason="x"), now_ms=NOW))
    job = await job_of(ledger)
    if move is release:
        await ledger.run(release(PLACE))
    else:
        await ledger.run(hold(PLACE, Gate(reason="x"), now_ms=NOW))
    assert await ledger.run(commit(job, FULL, now_ms=NOW)) == Committed("gate")
    assert await ledger.run(messages(PLACE, limit=9)) == ()
    assert await play(ledger, FULL) == Committed()


async def test_a_session_that_was_erased_meanwhile(ledger: Ledger) -> None:
    """The turn does not bring it back."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    await ledger.run(erase(PLACE))
    assert await ledger.run(commit(job, FULL, now_ms=NOW)) == Committed("version")
    assert not any((await dump(ledger)).values())


async def test_an_input_that_comes_again_after_an_erasure(ledger: Ledger) -> None:
    """The turn that was being played for the first one does not count for it."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    await ledger.run(erase(PLACE))
    await receive(ledger, "m1", now=NOW + 1)
    assert await ledger.run(commit(job, FULL, now_ms=NOW + 1)) == Committed("version")
    assert await keys_of(ledger, now=NOW + 1) == ["m1"]


# --- claims and live runs ------------------------------------------------------------------------


async def _two_jobs(ledger: Ledger) -> None:
    for place in (PLACE, OTHER):
        await receive(ledger, "m1", place=place)


async def test_a_claim_is_held_by_one(ledger: Ledger) -> None:
    """The second is told what is held, though it is of no session of its customer; nothing of it is kept."""
    await _two_jobs(ledger)
    await play(ledger, Done(blob="{}", claims=(Claim("k", "2026-01-01"), Claim("l", "2026-01-02"))))
    before = await dump(ledger)
    wanted = Done(blob="{}", claims=(Claim("m", "x"), Claim("k", "2026-02-01")), outbox=(Reply("{}"),))
    assert await play(ledger, wanted, OTHER) == Committed("claims", {"k": "2026-01-01"})
    assert await dump(ledger) == before
    seen = Done(blob="{}", claims=(Claim("k", "2026-02-01", seen="2026-01-01"),))
    assert await play(ledger, seen, OTHER) == Committed()


async def test_a_claim_that_moved_meanwhile(ledger: Ledger) -> None:
    """Who saw an older date does not get it: the cooldown began anew."""
    await _two_jobs(ledger)
    await play(ledger, Done(blob="{}", claims=(Claim("k", "2026-02-01"),)))
    late = Done(blob="{}", claims=(Claim("k", "2026-02-02", seen="2026-01-01"),))
    assert (await play(ledger, late, OTHER)).held == {"k": "2026-02-01"}


async def test_a_claim_of_ones_own_is_written_anew(ledger: Ledger) -> None:
    """Whatever the turn saw of it: the session itself is what is compared."""
    await receive(ledger, "m1", "m2", "m3")
    for at in ("2026-01-01", "2026-02-01"):
        assert await play(ledger, Done(blob="{}", claims=(Claim("k", at),))) == Committed()
    await play(ledger, Done(blob="{}", claims_gone=("k",)))
    await receive(ledger, "m1", place=OTHER)
    assert await play(ledger, Done(blob="{}", claims=(Claim("k", "x"),)), OTHER) == Committed()


async def test_a_claim_that_was_seen_and_is_gone(ledger: Ledger) -> None:
    """It is written: nobody holds it."""
    await receive(ledger, "m1")
    assert await play(ledger, Done(blob="{}", claims=(Claim("k", "x", seen="w"),))) == Committed()


async def test_one_live_run_for_an_anchor(ledger: Ledger) -> None:
    """The second session is told; when the run has ended it may start (B-4.2)."""
    await _two_jobs(ledger)
    run = LiveRun("f", "customer:1")
    await receive(ledger, "m2")
    await play(ledger, Done(blob="{}", live=(run,)))
    assert await play(ledger, Done(blob="{}", live=(run,)), OTHER) == Committed("claims", {}, ("f:customer:1",))
    await play(ledger, Done(blob="{}", live_gone=(run,)))
    assert await play(ledger, Done(blob="{}", live=(run,)), OTHER) == Committed()


async def test_a_run_that_ends_and_starts_again_in_one_turn(ledger: Ledger) -> None:
    """It is live then."""
    await receive(ledger, "m1")
    run = LiveRun("f", "x")
    assert await play(ledger, Done(blob="{}", live=(run,), live_gone=(run,))) == Committed()
    assert (await dump(ledger))["falai_live_runs"] == [("t", "a", "f", "x", "s1")]


async def test_who_wants_the_same_two_at_once(ledger: Ledger) -> None:
    """One gets both, the other is told; neither waits for ever."""
    await _two_jobs(ledger)
    first, second = await job_of(ledger), await job_of(ledger, OTHER)
    one = Done(blob="{}", claims=(Claim("k", "1"), Claim("l", "1")), live=(LiveRun("f", "x"), LiveRun("g", "x")))
    two = Done(blob="{}", claims=(Claim("l", "2"), Claim("k", "2")), live=(LiveRun("g", "x"), LiveRun("f", "x")))
    ends = await asyncio.gather(ledger.run(commit(first, one, now_ms=NOW)), ledger.run(commit(second, two, now_ms=NOW)))
    assert sorted(end.conflict or "" for end in ends) == ["", "claims"]


# --- the rest -----------------------------------------------------------------------------------


async def test_timers_replace_each_other(ledger: Ledger) -> None:
    """A known key moves; the one that is replaced goes (B-16.1)."""
    await receive(ledger, "m1", "m2")
    await play(ledger, Done(blob="{}", wakes=(WakeWrite("a", 1), WakeWrite("b", 2))))
    await play(ledger, Done(blob="{}", wakes=(WakeWrite("a", 3), WakeWrite("c", 4, replaces="b"))))
    assert await ledger.run(wakes(PLACE)) == (WakeWrite("a", 3), WakeWrite("c", 4, None))


async def test_a_turn_that_hands_over(ledger: Ledger) -> None:
    """The gate closes with the commit; what the turn said is sent, and the next input finds it closed."""
    await receive(ledger, "m1", "m2")
    await play(ledger, Done(blob="{}", outbox=(Reply("{}"),), hold=Gate(reason="wants a person", skip=True)))
    assert (await job_of(ledger)).gate == Gate(1, "wants a person", understand=False, skip=True)
    assert [row.state for row in await ledger.run(messages(PLACE, limit=9))] == ["new"]


async def test_a_turn_that_opts_out(ledger: Ledger) -> None:
    """It holds for all sessions of the customer."""
    await receive(ledger, "m1", customer="c1")
    await receive(ledger, "m1", place=OTHER, customer="c1")
    await play(ledger, Done(blob="{}", opt_out=True))
    assert await ledger.run(opted_out(OTHER))
    assert (await job_of(ledger, OTHER)).opted_out


async def test_no_two_messages_have_one_key(ledger: Ledger) -> None:
    """Nor has one of a session that was erased and begins anew (B-9.4)."""
    seen: set[str] = set()
    for n, place in enumerate((PLACE, PLACE, OTHER)):
        await receive(ledger, f"m{n}", place=place)
        await play(ledger, Done(blob="{}", outbox=(Reply("{}"), Reply("{}"))), place)
        seen |= {row.key for row in await ledger.run(messages(place, limit=9))}
    await ledger.run(erase(PLACE))
    await receive(ledger, "m9")
    await play(ledger, Done(blob="{}", outbox=(Reply("{}"),)))
    (row,) = await ledger.run(messages(PLACE, limit=9))
    assert len(seen | {row.key}) == 7
