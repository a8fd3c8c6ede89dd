from __future__ import annotations

import asyncio

from falai.host.ledger.dead import dead, drop_dead
from falai.host.ledger.looking import session, waiting
from falai.host.ledger.playing import set_aside
from falai.host.ledger.port import Ledger, Limits, Place, TakenIn
from falai.host.ledger.taking import take_in
from host.ledger.ledgers import MANY, NOW, PLACE, arrival, job_of, keys_of, play, receive


async def test_an_input_is_kept_as_it_came(ledger: Ledger) -> None:
    """What was taken in waits, with all that was said of it; the session knows whom it is with."""
    told = arrival("m1", attachments='[{"kind":"image"}]', customer="c1", channel="wa", address="+1")
    assert await ledger.run(take_in(PLACE, [told], now_ms=NOW, limits=MANY)) == TakenIn(("m1",))
    (row,) = await ledger.run(waiting(PLACE))
    assert (row.key, row.kind, row.body, row.attachments, row.received_at) == (
        *("m1", "message", '{"text":"m1"}'),
        *('[{"kind":"image"}]', NOW),
    )
    found = await ledger.run(session(PLACE))
    assert found is not None
    assert (found.customer, found.channel, found.address, found.version, found.blob) == ("c1", "wa", "+1", 0, None)


async def test_a_known_key_is_dropped_for_good(ledger: Ledger) -> None:
    """While it waits, when it has been played, and when it was set aside and let go."""
    await receive(ledger, "m1", "m2")
    assert await ledger.run(take_in(PLACE, [arrival("m1"), arrival("m3")], now_ms=NOW, limits=MANY)) == TakenIn(("m3",))
    await play(ledger)
    await ledger.run(set_aside(await job_of(ledger), "no", now_ms=NOW))
    (row,) = await ledger.run(dead("a", limit=9))
    await ledger.run(drop_dead(row, now_ms=NOW))
    assert await ledger.run(take_in(PLACE, [arrival("m1"), arrival("m2")], now_ms=NOW, limits=MANY)) == TakenIn()
    assert await keys_of(ledger) == ["m3"]


async def test_the_same_key_twice_at_once(ledger: Ledger) -> None:
    """Exactly one of many concurrent deliveries is new."""
    taken = await asyncio.gather(
        *(ledger.run(take_in(PLACE, [arrival("m1")], now_ms=NOW, limits=MANY)) for _ in range(8))
    )
    assert sorted(t.new for t in taken) == [*[()] * 7, ("m1",)]


async def test_the_same_key_twice_in_one_call(ledger: Ledger) -> None:
    """Counts once."""
    twice = [arrival("m1"), arrival("m1")]
    assert await ledger.run(take_in(PLACE, twice, now_ms=NOW, limits=MANY)) == TakenIn(("m1",))


async def test_keys_are_of_their_place(ledger: Ledger) -> None:
    """Tenants, agents and sessions do not share keys, nor see each other's inputs."""
    places = [Place("t", "a", "s1"), Place("t", "a", "s2"), Place("t", "b", "s1"), Place("u", "a", "s1")]
    for place in places:
        await receive(ledger, "m1", place=place)
    for place in places:
        assert await keys_of(ledger, place) == ["m1"]
        await play(ledger, place=place)
        assert await keys_of(ledger, place) == []


async def test_a_session_that_is_full(ledger: Ledger) -> None:
    """Nothing of the call is taken in; a known key is no new one and is not refused; another session is not full."""
    limits = Limits(session=2, host=100)
    await receive(ledger, "m1", "m2")
    full = await ledger.run(take_in(PLACE, [arrival("m1"), arrival("m3")], now_ms=NOW, limits=limits))
    assert full == TakenIn(full="session")
    assert [row.key for row in await ledger.run(waiting(PLACE))] == ["m1", "m2"]
    assert await ledger.run(take_in(PLACE, [arrival("m1")], now_ms=NOW, limits=limits)) == TakenIn()
    other = Place("t", "a", "s2")
    assert (await ledger.run(take_in(other, [arrival("m1")], now_ms=NOW, limits=limits))).full is None
    await play(ledger)
    assert (await ledger.run(take_in(PLACE, [arrival("m3")], now_ms=NOW, limits=limits))).new == ("m3",)


async def test_a_host_that_is_full(ledger: Ledger) -> None:
    """It counts all sessions of the agent; a refused session leaves no trace; another agent is not full."""
    limits = Limits(session=100, host=2)
    await receive(ledger, "m1", place=Place("t", "a", "s1"))
    await receive(ledger, "m1", place=Place("u", "a", "s1"))
    third = Place("t", "a", "s3")
    assert (await ledger.run(take_in(third, [arrival("m1")], now_ms=NOW, limits=limits))).full == "host"
    assert await ledger.run(session(third)) is None
    assert (await ledger.run(take_in(Place("t", "b", "s1"), [arrival("m1")], now_ms=NOW, limits=limits))).full is None


async def test_what_is_noted_of_a_session_stays(ledger: Ledger) -> None:
    """A later input that says nothing of it leaves it; one that says otherwise changes it."""
    await receive(ledger, "m1", customer="c1", channel="wa", address="+1")
    await receive(ledger, "m2")
    await receive(ledger, "m3", address="+2")
    found = await ledger.run(session(PLACE))
    assert found is not None
    assert (found.customer, found.channel, found.address) == ("c1", "wa", "+2")


async def test_texts_that_no_database_holds(ledger: Ledger) -> None:
    """Halves of surrogate pairs are replaced, emoji and marks of direction are kept: nothing raises."""
    odd = Place("t", "a", "s\ud800")
    text = "\U0001f600 \u200f\u0301\ud83d x"
    await ledger.run(take_in(odd, [arrival("m1", address=text)], now_ms=NOW, limits=MANY))
    job = await job_of(ledger, odd)
    assert job.address == "\U0001f600 \u200f\u0301\ufffd x"
    await play(ledger, place=odd)
    assert await keys_of(ledger, odd) == []
