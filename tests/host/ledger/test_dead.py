from __future__ import annotations

from falai.host.ledger.dead import dead, drop_dead, retry_dead
from falai.host.ledger.playing import note_answers, set_aside, try_later
from falai.host.ledger.port import DeadRow, Done, Ledger, Place, Reply
from falai.host.ledger.sending import next_message, send_failed
from host.ledger.ledgers import NOW, PLACE, ask, job_of, keys_of, play, receive


async def _set_aside(ledger: Ledger, place: Place = PLACE, *, now: int = NOW) -> None:
    await ledger.run(set_aside(await job_of(ledger, place), "it failed", now_ms=now))


async def test_what_was_set_aside_is_seen(ledger: Ledger) -> None:
    """With its error and its attempts, the oldest first; of all tenants, of one, of one session."""
    other = Place("u", "a", "s2")
    await receive(ledger, "m1", place=other)
    await _set_aside(ledger, other, now=NOW + 1)
    await receive(ledger, "m1")
    await ledger.run(try_later(await job_of(ledger), "once", NOW))
    await _set_aside(ledger, now=NOW)
    first = DeadRow("input", PLACE, "m1", "message", '{"text":"m1"}', 2, "it failed", NOW)
    found = await ledger.run(dead("a", limit=9))
    assert found[0] == first
    assert [row.place for row in found] == [PLACE, other]
    assert await ledger.run(dead("a", limit=1)) == (first,)
    assert await ledger.run(dead("a", limit=9, tenant="t")) == (first,)
    assert await ledger.run(dead("a", limit=9, session="s1")) == (first,)
    assert await ledger.run(dead("b", limit=9)) == ()


async def test_an_input_that_is_tried_again(ledger: Ledger) -> None:
    """It stands where it stood, without failures, and with the answers that it had."""
    await receive(ledger, "m1", "m2")
    await ledger.run(note_answers(await job_of(ledger), {("understand", 0): "1"}))
    await _set_aside(ledger)
    (row,) = await ledger.run(dead("a", limit=9))
    assert await ledger.run(retry_dead(row, now_ms=NOW + 5))
    assert not await ledger.run(retry_dead(row, now_ms=NOW + 5))
    job = await job_of(ledger, now=NOW + 5)
    assert (job.key, job.attempts, job.journal) == ("m1", 0, {("understand", 0): "1"})
    assert await ledger.run(dead("a", limit=9)) == ()
    await play(ledger, now=NOW + 5)
    assert await keys_of(ledger, now=NOW + 5) == ["m2"]


async def test_an_input_that_is_let_go(ledger: Ledger) -> None:
    """Nothing of what it said is left, nor of why it failed: an error may quote it."""
    await receive(ledger, "m1")
    await ledger.run(note_answers(await job_of(ledger), {("understand", 0): "1"}))
    await _set_aside(ledger)
    (row,) = await ledger.run(dead("a", limit=9))
    assert await ledger.run(drop_dead(row, now_ms=NOW))
    assert not await ledger.run(drop_dead(row, now_ms=NOW))
    assert await keys_of(ledger) == []
    assert [tuple(row) for row in await ledger.run(ask("SELECT body, error FROM falai_inbox"))] == [("", None)]
    assert list(await ledger.run(ask("SELECT answer FROM falai_journal"))) == []


async def test_a_message_that_is_tried_again_or_let_go(ledger: Ledger) -> None:
    """It stands where it stood, before what was said after it, under its key."""
    await receive(ledger, "m1")
    await play(ledger, Done(blob="{}", outbox=(Reply("1"), Reply("2"))))
    message = await ledger.run(next_message(PLACE))
    assert message is not None
    await ledger.run(send_failed(message, "gone", now_ms=NOW))
    (row,) = await ledger.run(dead("a", limit=9))
    assert (row.what, row.key, row.error, row.attempts) == ("message", message.key, "gone", 1)
    assert await ledger.run(retry_dead(row, now_ms=NOW + 5))
    again = await ledger.run(next_message(PLACE))
    assert again is not None
    assert (again.key, again.body, again.attempts, again.due_at) == (message.key, "1", 0, NOW + 5)
    await ledger.run(send_failed(again, "gone", now_ms=NOW))
    assert await ledger.run(drop_dead(row, now_ms=NOW))
    assert not await ledger.run(retry_dead(row, now_ms=NOW))
    assert await ledger.run(dead("a", limit=9)) == ()
