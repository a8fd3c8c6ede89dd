from __future__ import annotations

import pytest

from falai.host.ledger.committing import commit
from falai.host.ledger.gating import hold, opt_out
from falai.host.ledger.playing import next_job, note_answers, put_off, set_aside, try_later
from falai.host.ledger.port import Claim, Done, Gate, Ledger, LiveRun, Place, TranscriptLine
from falai.host.ledger.ready import next_not_before, ready_places
from host.ledger.ledgers import NOW, PLACE, ask, job_of, keys_of, play, receive


async def test_first_in_first_out(ledger: Ledger) -> None:
    """Inputs of a place are played one at a time, in the order in which they came, whatever their kind."""
    await receive(ledger, "m1")
    await receive(ledger, "e1", kind="event")
    await receive(ledger, "m2")
    for key in ("m1", "e1", "m2"):
        assert await keys_of(ledger) == [key]
        await play(ledger)
    assert await keys_of(ledger) == []


async def test_a_job_has_all_that_a_turn_needs(ledger: Ledger) -> None:
    """Session, gate, opt-out, address, the last lines of the conversation oldest first, answers, attempts."""
    await receive(ledger, "m1", customer="c1", channel="wa", address="+1")
    lines = tuple(TranscriptLine("user", str(n), n) for n in range(5))
    await play(ledger, Done(blob='{"v":4}', transcript=lines))
    await ledger.run(hold(PLACE, Gate(reason="a person", understand=True), now_ms=NOW))
    await ledger.run(opt_out(PLACE, now_ms=NOW))
    await receive(ledger, "m2")
    await ledger.run(note_answers(await job_of(ledger), {("understand", 0): "{}"}))
    await ledger.run(try_later(await job_of(ledger), "timeout", NOW))
    job = await ledger.run(next_job(PLACE, now_ms=NOW, history_items=3))
    assert job is not None
    assert (job.key, job.version, job.blob, job.revision) == ("m2", 1, '{"v":4}', 1)
    assert job.gate == Gate(1, "a person", understand=True, skip=False)
    assert job.opted_out is True
    assert (job.customer, job.channel, job.address) == ("c1", "wa", "+1")
    assert [row.text for row in job.history] == ["2", "3", "4"]
    assert job.journal == {("understand", 0): "{}"}
    assert job.attempts == 1


async def test_what_the_customers_other_sessions_hold(ledger: Ledger) -> None:
    """Their claims and live runs are in the job; those of other customers, and its own, are not."""
    for session, customer in (("s1", "c1"), ("s2", "c1"), ("s3", "c2"), ("s4", None)):
        place = Place("t", "a", session)
        await receive(ledger, "m1", place=place, customer=customer)
        held = Done(blob="{}", claims=(Claim(f"f:{session}:", "2026-01-01"),), live=(LiveRun("f", session),))
        await play(ledger, held, place)
        await receive(ledger, "m2", place=place)
    job = await job_of(ledger)
    assert job.held == {"f:s2:": "2026-01-01"}
    assert job.active == ("f:s2",)
    assert (await job_of(ledger, Place("t", "a", "s4"))).held == {}


# --- bursts -------------------------------------------------------------------------------------


async def test_a_burst_is_one_job(ledger: Ledger) -> None:
    """Messages that come before the pause of the one before is over are played together, when it is quiet."""
    for n, at in enumerate((0, 900, 1800, 2900)):
        await receive(ledger, f"m{n}", now=NOW + at, not_before=NOW + at + 1000)
    assert await keys_of(ledger, now=NOW + 2799) == []  # the third one's pause is not over
    assert await keys_of(ledger, now=NOW + 2800) == ["m0", "m1", "m2"]
    await play(ledger, now=NOW + 2800)
    assert await keys_of(ledger, now=NOW + 3899) == []
    assert await keys_of(ledger, now=NOW + 3900) == ["m3"]
    leads = await ledger.run(ask("SELECT key, lead FROM falai_inbox WHERE lead IS NOT NULL ORDER BY seq"))
    assert [tuple(row) for row in leads] == [("m0", "m0"), ("m1", "m0"), ("m2", "m0")]


async def test_only_messages_make_a_burst(ledger: Ledger) -> None:
    """An event between two messages parts them."""
    await receive(ledger, "m1", not_before=NOW + 1000)
    await receive(ledger, "e1", kind="event")
    await receive(ledger, "m2", not_before=NOW + 1000)
    assert await keys_of(ledger, now=NOW) == []
    assert await keys_of(ledger, now=NOW + 1000) == ["m1"]


async def test_without_a_pause_there_are_no_bursts(ledger: Ledger) -> None:
    """Two messages of the same millisecond are two turns."""
    await receive(ledger, "m1", "m2")
    assert await keys_of(ledger) == ["m1"]


async def test_a_burst_that_does_not_end(ledger: Ledger) -> None:
    """After fifty messages it is played, though the customer goes on."""
    for n in range(51):
        await receive(ledger, f"m{n}", now=NOW + n, not_before=NOW + n + 1000)
    assert await keys_of(ledger, now=NOW + 1040) == [f"m{n}" for n in range(50)]


async def test_a_burst_that_failed_comes_again_as_it_was(ledger: Ledger) -> None:
    """What the customer wrote meanwhile does not join it."""
    await receive(ledger, "m1", not_before=NOW + 10)
    await receive(ledger, "m2", now=NOW + 5, not_before=NOW + 15)
    await ledger.run(try_later(await job_of(ledger, now=NOW + 15), "timeout", NOW + 1000))
    await receive(ledger, "m3", now=NOW + 500, not_before=NOW + 510)
    assert await keys_of(ledger, now=NOW + 999) == []
    assert await keys_of(ledger, now=NOW + 1000) == ["m1", "m2"]


# --- what cannot be played now -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["message", "event"])
async def test_a_failed_input_holds_up_the_session(ledger: Ledger, kind: str) -> None:
    """What came after it waits, so that the order stays; another session does not."""
    await receive(ledger, "x1", kind=kind)
    await receive(ledger, "m2")
    assert await ledger.run(try_later(await job_of(ledger), "timeout", NOW + 60_000))
    assert await keys_of(ledger, now=NOW + 59_999) == []
    assert await ledger.run(ready_places("a", now_ms=NOW + 59_999, limit=9)) == ()
    assert await ledger.run(next_not_before("a", now_ms=NOW)) == NOW + 60_000
    assert await ledger.run(ready_places("a", now_ms=NOW + 60_000, limit=9)) == (PLACE,)
    job = await job_of(ledger, now=NOW + 60_000)
    assert (job.key, job.attempts) == ("x1", 1)


async def test_what_was_put_off_lets_others_pass(ledger: Ledger) -> None:
    """A follow-up that waits for the morning does not keep a customer waiting; it counts no failure."""
    await receive(ledger, "w1", kind="wake")
    await receive(ledger, "m2")
    assert await ledger.run(put_off(await job_of(ledger), NOW + 60_000))
    assert await keys_of(ledger) == ["m2"]
    assert await ledger.run(ready_places("a", now_ms=NOW, limit=9)) == (PLACE,)
    await play(ledger)
    assert await keys_of(ledger) == []
    job = await job_of(ledger, now=NOW + 60_000)
    assert (job.key, job.attempts) == ("w1", 0)


async def test_inputs_that_were_put_off_do_not_hide_a_message(ledger: Ledger) -> None:
    """However many they are."""
    for n in range(60):
        await receive(ledger, f"w{n}", kind="start", not_before=NOW + 60_000)
    await receive(ledger, "m1")
    assert await keys_of(ledger) == ["m1"]
    assert await ledger.run(ready_places("a", now_ms=NOW, limit=9)) == (PLACE,)


async def test_an_input_that_is_set_aside(ledger: Ledger) -> None:
    """The session goes on with the next one."""
    await receive(ledger, "m1", "m2")
    assert await ledger.run(set_aside(await job_of(ledger), "no", now_ms=NOW))
    assert await keys_of(ledger) == ["m2"]


async def test_a_job_that_is_over(ledger: Ledger) -> None:
    """Whoever comes late with it changes nothing."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    await ledger.run(commit(job, Done(blob="{}"), now_ms=NOW))
    assert not await ledger.run(try_later(job, "no", NOW))
    assert not await ledger.run(put_off(job, NOW))
    assert not await ledger.run(set_aside(job, "no", now_ms=NOW))
    assert not await ledger.run(note_answers(job, {("understand", 0): "{}"}))
    assert await keys_of(ledger) == []


# --- the journal --------------------------------------------------------------------------------


async def test_answers_stay_until_the_turn_counts(ledger: Ledger) -> None:
    """They are there at each repetition, of this input only, and go with the commit."""
    await receive(ledger, "m1", "m2")
    job = await job_of(ledger)
    assert await ledger.run(note_answers(job, {("understand", 0): "1", ("speak", 0): "2"}))
    await ledger.run(try_later(job, "timeout", NOW))
    again = await job_of(ledger)
    assert again.journal == {("understand", 0): "1", ("speak", 0): "2"}
    await ledger.run(commit(again, Done(blob="{}"), now_ms=NOW))
    assert (await job_of(ledger)).journal == {}
    assert await ledger.run(ask("SELECT count(*) FROM falai_journal")) in ([(0,)], [[0]])


async def test_the_first_answer_counts(ledger: Ledger) -> None:
    """A second worker with the same input is told not to act; nothing of its answers is kept."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    assert await ledger.run(note_answers(job, {("understand", 0): "1"}))
    assert not await ledger.run(note_answers(job, {("understand", 0): "2", ("speak", 0): "2"}))
    assert (await job_of(ledger)).journal == {("understand", 0): "1"}


async def test_no_answers_for_a_session_that_moved_on(ledger: Ledger) -> None:
    """A turn that can no longer count is told so before it acts."""
    await receive(ledger, "m1")
    job = await job_of(ledger)
    await ledger.run(ask("UPDATE falai_sessions SET revision = revision + 1 RETURNING session"))
    assert not await ledger.run(note_answers(job, {("understand", 0): "1"}))
