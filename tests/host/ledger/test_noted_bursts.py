"""A burst of which the model's answers are noted is what those answers are about, and stays so."""

from __future__ import annotations

from falai.host.ledger.dead import dead, retry_dead
from falai.host.ledger.playing import note_answers, set_aside
from falai.host.ledger.port import Ledger
from host.ledger.ledgers import NOW, job_of, keys_of, play, receive


async def _note(ledger: Ledger, *, now: int) -> None:
    assert await ledger.run(note_answers(await job_of(ledger, now=now), {("understand", 0): "{}"}))


async def test_a_clock_that_goes_back(ledger: Ledger) -> None:
    """A message that seems to come within the pause would be swallowed by answers that know nothing of it."""
    await receive(ledger, "m1", not_before=NOW + 1000)
    await receive(ledger, "m2", now=NOW + 500, not_before=NOW + 1500)
    await _note(ledger, now=NOW + 1500)
    await receive(ledger, "m3", now=NOW + 700, not_before=NOW + 1700)
    assert await keys_of(ledger, now=NOW + 1700) == ["m1", "m2"]
    await play(ledger, now=NOW + 1700)
    assert await keys_of(ledger, now=NOW + 1700) == ["m3"]


async def test_without_a_pause_there_is_no_burst(ledger: Ledger) -> None:
    """Two messages are two, though the clock was set back between them."""
    await receive(ledger, "m1")
    await receive(ledger, "m2", now=NOW - 5)
    assert await keys_of(ledger) == ["m1"]


async def test_a_message_alone(ledger: Ledger) -> None:
    """Likewise one that was played alone."""
    await receive(ledger, "m1", not_before=NOW + 1000)
    await _note(ledger, now=NOW + 1000)
    await receive(ledger, "m2", now=NOW + 1, not_before=NOW + 1001)
    assert await keys_of(ledger, now=NOW + 1001) == ["m1"]


async def test_a_burst_that_is_tried_again_by_hand(ledger: Ledger) -> None:
    """Its messages come back together, whichever of them is named."""
    await receive(ledger, "m1", not_before=NOW + 1000)
    await receive(ledger, "m2", now=NOW + 500, not_before=NOW + 1500)
    await _note(ledger, now=NOW + 1500)
    await ledger.run(set_aside(await job_of(ledger, now=NOW + 1500), "no", now_ms=NOW + 1500))
    last = next(row for row in await ledger.run(dead("a", limit=9)) if row.key == "m2")
    assert await ledger.run(retry_dead(last, now_ms=NOW + 2000))
    assert await ledger.run(dead("a", limit=9)) == ()
    assert await keys_of(ledger, now=NOW + 2000) == ["m1", "m2"]
