from __future__ import annotations

import pytest

from falai.host.ledger.gating import hold
from falai.host.ledger.looking import messages, transcript
from falai.host.ledger.port import Done, Gate, Ledger, OutMessage, Place, Reply, TranscriptLine
from falai.host.ledger.ready import next_delivery, places_to_deliver
from falai.host.ledger.sending import next_message, receipt, send_failed, send_later, sent
from host.ledger.ledgers import NOW, PLACE, play, receive


async def _say(ledger: Ledger, *replies: Reply, place: Place = PLACE, key: str = "m1") -> None:
    await receive(ledger, key, place=place, channel="wa", address="+1")
    lines = tuple(TranscriptLine("assistant", reply.body, NOW, message=n) for n, reply in enumerate(replies))
    await play(ledger, Done(blob="{}", outbox=replies, transcript=lines), place)


async def _next(ledger: Ledger, place: Place = PLACE) -> OutMessage:
    message = await ledger.run(next_message(place))
    assert message is not None
    return message


async def test_messages_go_out_in_order(ledger: Ledger) -> None:
    """Those of one turn by their place, and the turns by theirs; each once."""
    await _say(ledger, Reply("1"), Reply("2"))
    await _say(ledger, Reply("3"), key="m2")
    bodies = []
    while message := await ledger.run(next_message(PLACE)):
        bodies.append(message.body)
        assert (message.channel, message.address) == ("wa", "+1")
        assert await ledger.run(sent(message, now_ms=NOW, provider_id=None))
        assert not await ledger.run(sent(message, now_ms=NOW, provider_id=None))
    assert bodies == ["1", "2", "3"]


async def test_the_pause_begins_when_the_one_before_was_sent(ledger: Ledger) -> None:
    """A message that was late does not shorten the pause of the next (B-16.1)."""
    await _say(ledger, Reply("1"), Reply("2", 700), Reply("3"))
    await ledger.run(sent(await _next(ledger), now_ms=NOW + 5000, provider_id=None))
    assert (await _next(ledger)).due_at == NOW + 5700
    assert await ledger.run(places_to_deliver("a", now_ms=NOW + 5699, limit=9)) == ()
    assert await ledger.run(next_delivery("a", now_ms=NOW + 5000)) == NOW + 5700
    assert await ledger.run(places_to_deliver("a", now_ms=NOW + 5700, limit=9)) == (PLACE,)


async def test_a_message_that_is_tried_again_holds_up_the_next(ledger: Ledger) -> None:
    """The order stays; another session does not wait."""
    other = Place("t", "a", "s2")
    await _say(ledger, Reply("1"), Reply("2"))
    await _say(ledger, Reply("1"), place=other)
    assert await ledger.run(send_later(await _next(ledger), "503", NOW + 9000))
    assert await ledger.run(places_to_deliver("a", now_ms=NOW + 8999, limit=9)) == (other,)
    message = await _next(ledger)
    assert (message.body, message.attempts, message.due_at) == ("1", 1, NOW + 9000)


async def test_a_message_that_is_set_aside(ledger: Ledger) -> None:
    """Those after it go on."""
    await _say(ledger, Reply("1"), Reply("2"))
    assert await ledger.run(send_failed(await _next(ledger), "no such number", now_ms=NOW))
    assert (await _next(ledger)).body == "2"
    second, first = await ledger.run(messages(PLACE, limit=9))
    assert (first.state, first.error, first.attempts, second.state) == ("dead", "no such number", 1, "new")


async def test_a_message_that_is_no_longer_to_be_sent(ledger: Ledger) -> None:
    """Whoever comes late with a failure of it changes nothing."""
    await _say(ledger, Reply("1"))
    message = await _next(ledger)
    await ledger.run(sent(message, now_ms=NOW, provider_id="p1"))
    assert not await ledger.run(send_later(message, "no", NOW))
    assert not await ledger.run(send_failed(message, "no", now_ms=NOW))
    (row,) = await ledger.run(messages(PLACE, limit=9))
    assert (row.state, row.provider_id) == ("sent", "p1")


async def test_what_was_sent_while_the_gate_closed(ledger: Ledger) -> None:
    """It counts as sent, and stands in the conversation."""
    await _say(ledger, Reply("1"))
    message = await _next(ledger)
    assert await ledger.run(hold(PLACE, Gate(reason="x"), now_ms=NOW)) == 1
    assert await ledger.run(transcript(PLACE, limit=9)) == ()
    assert await ledger.run(sent(message, now_ms=NOW, provider_id="p1"))
    assert [row.state for row in await ledger.run(messages(PLACE, limit=9))] == ["sent"]
    assert [row.text for row in await ledger.run(transcript(PLACE, limit=9))] == ["1"]


# --- receipts -----------------------------------------------------------------------------------


async def test_receipts(ledger: Ledger) -> None:
    """They are noted by the vendor's id; one that comes late takes nothing back; an unknown id is nobody's."""
    await _say(ledger, Reply("1"))
    await ledger.run(sent(await _next(ledger), now_ms=NOW, provider_id="p1"))
    noted = []
    for status in ("sent", "delivered", "sent", "read", "delivered", "failed"):
        await ledger.run(receipt("a", channel="wa", provider_id="p1", status=status, at=NOW))
        noted += [row.status for row in await ledger.run(messages(PLACE, limit=9))]
    assert noted == ["sent", "delivered", "delivered", "read", "read", "read"]
    assert await ledger.run(receipt("a", channel="wa", provider_id="p2", status="read", at=NOW)) is None
    assert await ledger.run(receipt("a", channel="telegram", provider_id="p1", status="read", at=NOW)) is None


@pytest.mark.parametrize("aside", [False, True])
async def test_a_receipt_for_a_message_without_an_answer(ledger: Ledger, *, aside: bool) -> None:
    """By its idempotency key it is found, and is not sent again."""
    await _say(ledger, Reply("1"))
    message = await _next(ledger)
    if aside:
        await ledger.run(send_failed(message, "timeout", now_ms=NOW))
    told = receipt("a", channel="wa", provider_id="p1", status="delivered", key=message.key, at=NOW)
    assert await ledger.run(told) == PLACE
    assert await ledger.run(next_message(PLACE)) is None
    (row,) = await ledger.run(messages(PLACE, limit=9))
    assert (row.state, row.provider_id, row.status) == ("sent", "p1", "delivered")
