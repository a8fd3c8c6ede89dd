"""The rate of a channel's number: never more than it says in any period, people first, no line that is asked twice."""

from __future__ import annotations

import asyncio

from falai.host.ledger.limiting import Rate, admit
from falai.host.ledger.port import Done, Ledger, OutMessage, Place, Reply
from falai.host.ledger.sending import next_message, sent
from host.ledger.ledgers import NOW, play, receive

RATE = Rate("number", 20, 1000)


async def say(ledger: Ledger, session: str, *, kind: str = "message", tenant: str = "t") -> Place:
    """A session whose turn said something."""
    place = Place(tenant, "a", session)
    await receive(ledger, "m", place=place, kind=kind)
    await play(ledger, Done(blob="{}", outbox=(Reply("{}"),)), place=place)
    return place


async def message_of(ledger: Ledger, place: Place) -> OutMessage:
    message = await ledger.run(next_message(place))
    assert message is not None
    return message


async def asked(ledger: Ledger, place: Place, *, now: int = NOW) -> int | None:
    return await ledger.run(admit(await message_of(ledger, place), RATE, now_ms=now))


async def test_never_more_than_it_says(ledger: Ledger) -> None:
    """In no period of its length; each message asks as often as it is put off, and once more."""
    places = [await say(ledger, f"s{n}") for n in range(60)]
    at, tries = dict.fromkeys(places, NOW), 0
    went: list[int] = []
    while at:
        place = min(at, key=lambda place: at[place])
        tries += 1
        wait = await asked(ledger, place, now=at[place])
        if wait is None:
            went.append(at.pop(place))
            await ledger.run(sent(await message_of(ledger, place), now_ms=went[-1], provider_id=None))
        else:
            assert wait > at[place]
            at[place] = wait
    assert len(went) == 60
    assert all(sum(start <= one < start + 1000 for one in went) <= 20 for start in went)
    assert went[-1] - went[0] <= 60 * 1000 / (20 - 2) + 200
    assert tries <= 2.2 * 60


async def test_it_is_put_off_without_a_failure(ledger: Ledger) -> None:
    """With its time, and the attempts as they were."""
    places = [await say(ledger, f"s{n}") for n in range(3)]
    assert [await asked(ledger, place) for place in places[:2]] == [None, None]
    at = await asked(ledger, places[2])
    message = await message_of(ledger, places[2])
    assert (message.due_at, message.attempts, message.lined) == (at, 0, 1)


async def test_who_waits_goes_first(ledger: Ledger) -> None:
    """A crowd that nobody waits for leaves room for an answer, also while it stands in line."""
    crowd = [await say(ledger, f"c{n}", kind="start") for n in range(30)]
    waits = [await asked(ledger, place) for place in crowd]
    assert waits.count(None) == 1
    assert max(at for at in waits if at is not None) > NOW + 1000
    assert await asked(ledger, await say(ledger, "s1")) is None


async def test_a_newcomer_does_not_pass_the_line(ledger: Ledger) -> None:
    """The token that comes free is that of the first in line."""
    first, second, third, late = [await say(ledger, f"s{n}") for n in range(4)]
    assert (await asked(ledger, first), await asked(ledger, second)) == (None, None)
    at = await asked(ledger, third)
    assert at is not None
    later = await asked(ledger, late, now=at - 1)
    assert later is not None
    assert later > at
    assert await asked(ledger, third, now=at) is None


async def test_one_bucket_for_all(ledger: Ledger) -> None:
    """Whoever asks at the same moment, of whatever tenant: no token is given twice."""
    places = [await say(ledger, "s1", tenant=f"t{n}") for n in range(10)]
    waits = await asyncio.gather(*(asked(ledger, place) for place in places))
    assert waits.count(None) == RATE.burst
