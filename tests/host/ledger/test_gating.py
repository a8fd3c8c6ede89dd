from __future__ import annotations

from falai.host.ledger.gating import hold, opt_in, opt_out, opted_out, release
from falai.host.ledger.looking import messages, session, transcript
from falai.host.ledger.port import Done, Gate, Ledger, Place, Reply, TranscriptLine
from falai.host.ledger.sending import next_message
from host.ledger.ledgers import NOW, PLACE, job_of, play, receive


async def test_a_gate_that_closes_withholds_what_is_not_sent(ledger: Ledger) -> None:
    """What the assistant said is never sent, and is no part of the conversation; what a person said is sent."""
    await receive(ledger, "m1", "m2")
    lines = (TranscriptLine("user", "hi", NOW), TranscriptLine("assistant", "hello", NOW, message=0))
    await play(ledger, Done(blob="{}", transcript=lines, outbox=(Reply("hello"), Reply("a person", by_person=True))))
    assert await ledger.run(hold(PLACE, Gate(reason="Ana", skip=True), now_ms=NOW)) == 1
    message = await ledger.run(next_message(PLACE))
    assert message is not None
    assert message.body == "a person"
    assert [row.text for row in await ledger.run(transcript(PLACE, limit=9))] == ["hi"]
    assert {row.state for row in await ledger.run(messages(PLACE, limit=9))} == {"new", "withheld"}
    job = await job_of(ledger)
    assert job.gate == Gate(1, "Ana", understand=False, skip=True)
    assert [row.text for row in job.history] == ["hi"]


async def test_a_gate_that_opens(ledger: Ledger) -> None:
    """Once; what was withheld stays withheld."""
    await receive(ledger, "m1", "m2")
    await play(ledger, Done(blob="{}", outbox=(Reply("hello"),)))
    await ledger.run(hold(PLACE, Gate(reason=""), now_ms=NOW))
    assert (await job_of(ledger)).gate == Gate(1, "")
    assert await ledger.run(release(PLACE))
    assert not await ledger.run(release(PLACE))
    assert (await job_of(ledger)).gate == Gate(2)
    assert await ledger.run(next_message(PLACE)) is None


async def test_a_gate_may_close_before_the_first_message(ledger: Ledger) -> None:
    """The first input finds it closed."""
    await ledger.run(hold(PLACE, Gate(reason="x", understand=True), now_ms=NOW))
    found = await ledger.run(session(PLACE))
    assert found is not None
    assert (found.blob, found.version) == (None, 0)
    await receive(ledger, "m1")
    assert (await job_of(ledger)).gate == Gate(1, "x", understand=True)


async def test_opting_out(ledger: Ledger) -> None:
    """For the session, and for all that its customer has; taking it back does so for both."""
    other, strange = Place("t", "a", "s2"), Place("t", "a", "s3")
    await receive(ledger, "m1", customer="c1")
    await receive(ledger, "m1", place=other, customer="c1")
    await receive(ledger, "m1", place=strange)
    await ledger.run(opt_out(PLACE, now_ms=NOW))
    await ledger.run(opt_out(PLACE, now_ms=NOW + 1))
    assert [await ledger.run(opted_out(place)) for place in (PLACE, other, strange)] == [True, True, False]
    await ledger.run(opt_in(PLACE))
    assert [await ledger.run(opted_out(place)) for place in (PLACE, other, strange)] == [False, False, False]
    await ledger.run(opt_out(strange, now_ms=NOW))
    assert await ledger.run(opted_out(strange))
    assert not await ledger.run(opted_out(Place("u", "a", "s3")))
