"""What a customer should see: in order, nothing twice, nothing lost, whenever and however often it is asked for."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.host.ledger.dead import dead, retry_dead
from falai.host.ledger.erasing import erase
from falai.host.ledger.gating import hold, release
from falai.host.ledger.port import Done, Gate, Ledger, Place, Reply, Work
from falai.host.ledger.said import said_after, said_by_turn, said_last
from falai.host.ledger.sending import next_message, send_failed, send_later, sent
from host.ledger.ledgers import NOW, PLACE, ask, play, receive, sqlite_ledger


async def say(ledger: Ledger, *replies: Reply, key: str = "m1", now: int = NOW) -> None:
    """A turn that says this."""
    await receive(ledger, key, now=now)
    await play(ledger, Done(blob="{}", outbox=replies), now=now)


async def send(ledger: Ledger, now: int = NOW) -> None:
    """The next message goes out."""
    message = await ledger.run(next_message(PLACE))
    assert message is not None
    await ledger.run(sent(message, now_ms=now, provider_id=None))


async def bodies(ledger: Ledger, cursor: str | None = None, limit: int = 100) -> list[str]:
    return [row.body for row in await ledger.run(said_after(PLACE, cursor, limit=limit))]


async def test_what_was_sent_is_seen_in_order(ledger: Ledger) -> None:
    """From the beginning, or from where one stopped; a message is there once its pause is over and it is sent."""
    await say(ledger, Reply("a"), Reply("b", 500))
    assert await bodies(ledger) == []
    await send(ledger)
    (first,) = await ledger.run(said_after(PLACE, limit=9))
    assert (first.body, first.by_person, first.after_ms, first.state, first.at) == ("a", False, 0, "sent", NOW)
    await send(ledger, NOW + 500)
    (second,) = await ledger.run(said_after(PLACE, first.cursor, limit=9))
    assert (second.body, second.after_ms, second.at) == ("b", 500, NOW + 500)
    assert await bodies(ledger, second.cursor) == []
    assert await bodies(ledger, limit=1) == ["a"]
    assert await ledger.run(said_last(PLACE)) == second.cursor


async def test_what_a_gate_held_back_is_not_seen(ledger: Ledger) -> None:
    """A person takes over between two messages: the customer sees the first, then what the person writes."""
    await say(ledger, Reply("a"), Reply("b", 500))
    await send(ledger)
    await ledger.run(hold(PLACE, Gate(reason="Bo"), now_ms=NOW))
    await say(ledger, Reply("c", by_person=True), key="h1")
    await send(ledger)
    rows = await ledger.run(said_after(PLACE, limit=9))
    assert [(row.body, row.by_person) for row in rows] == [("a", False), ("c", True)]


async def test_what_no_channel_took_was_said_all_the_same(ledger: Ledger) -> None:
    """It is seen once it is set aside, as one of a session whose channel the host does not have; and not again."""
    await say(ledger, Reply("a"), Reply("b"))
    message = await ledger.run(next_message(PLACE))
    assert message is not None
    await ledger.run(send_later(message, "down", NOW + 9))
    assert await bodies(ledger) == []
    await ledger.run(send_failed(message, "no such channel", now_ms=NOW))
    (row,) = await ledger.run(said_after(PLACE, limit=9))
    assert (row.body, row.state) == ("a", "dead")
    for one in await ledger.run(dead(PLACE.agent, limit=9)):
        await ledger.run(retry_dead(one, now_ms=NOW))
    assert await bodies(ledger, row.cursor) == []
    await send(ledger)
    await send(ledger)
    assert await bodies(ledger, row.cursor) == ["b"]


async def test_the_messages_of_a_turn(ledger: Ledger) -> None:
    """At once, with their pauses, before they are sent; those that were held back are not among them."""
    await say(ledger, Reply("a"))
    await say(ledger, Reply("b"), Reply("c", 500), key="m2")
    rows = await ledger.run(said_by_turn(PLACE, 2))
    assert [(row.body, row.after_ms, row.state) for row in rows] == [("b", 0, "new"), ("c", 500, "new")]
    await send(ledger)
    await send(ledger)
    assert [row.cursor for row in await ledger.run(said_after(PLACE, limit=9))][1:] == [rows[0].cursor]
    await ledger.run(hold(PLACE, Gate(reason="Bo"), now_ms=NOW))
    assert [row.body for row in await ledger.run(said_by_turn(PLACE, 2))] == ["b"]


async def test_a_session_that_was_erased_begins_anew(ledger: Ledger) -> None:
    """With an old cursor one sees all that the new session of this id says."""
    for number in range(3):
        await say(ledger, Reply("a"), key=f"m{number}")
        await send(ledger)
    old = await ledger.run(said_last(PLACE))
    await ledger.run(erase(PLACE))
    assert await bodies(ledger, old) == []
    await say(ledger, Reply("new"), now=NOW + 1)
    await send(ledger)
    assert await bodies(ledger, old) == ["new"]


async def test_a_session_of_which_nothing_is_known(ledger: Ledger) -> None:
    """Nothing was said in it, and what will be said in it is behind the cursor of then."""
    begin = await ledger.run(said_last(PLACE))
    assert await bodies(ledger, begin) == []
    await say(ledger, Reply("a"))
    await send(ledger)
    assert await bodies(ledger, begin) == ["a"]


@pytest.mark.parametrize(
    "cursor", ["", "1", "1-2", "1-2-3-4", "a-b-c", "1-2--3", "1-2-3\n", "9" * 99 + "-1-1", "١-2-3"]
)
async def test_what_is_no_cursor_is_refused(ledger: Ledger, cursor: str) -> None:
    """It says what to give in its place."""
    with pytest.raises(ValueError, match="is no cursor"):
        await ledger.run(said_after(PLACE, cursor, limit=9))


# --- readers who come and go ---------------------------------------------------------------------

DEEDS = st.sampled_from(
    ["say", "say", "send", "send", "send", "fail", "later", "hold", "release", "person", "erase", "retry"]
)
READS = st.sampled_from([None, None, 0, 1, 2])


class Talk:
    """A session to which things happen, and readers who each have a cursor and all that they saw."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.now = NOW
        self.count = 0
        self.readers: list[tuple[str | None, list[str]]] = [(None, []), (None, []), (None, [])]
        self.gone: list[list[str]] = [[], [], []]
        self.retried = set[str]()
        """What was seen when it was set aside; a gate may hold it back when it is tried again."""

    async def do(self, deed: str) -> None:
        self.now += 1
        match deed:
            case "say" | "person":
                self.count += 1
                replies = [Reply(f"{self.count}.{part}", by_person=deed == "person") for part in range(self.count % 3)]
                await say(self.ledger, *replies, key=f"k{self.count}", now=self.now)
            case "hold":
                await self.run(hold(PLACE, Gate(reason="Bo"), now_ms=self.now))
            case "release":
                await self.run(release(PLACE))
            case "erase":
                await self.run(erase(PLACE))
                self.gone = [[*gone, *seen] for gone, (_, seen) in zip(self.gone, self.readers, strict=True)]
                self.readers = [(cursor, []) for cursor, _ in self.readers]
            case "retry":
                for row in await self.run(dead(PLACE.agent, limit=1)):
                    self.retried.add(row.body)
                    await self.run(retry_dead(row, now_ms=self.now))
            case _:
                await self._send(deed)

    async def _send(self, deed: str) -> None:
        message = await self.run(next_message(PLACE))
        if message is None:
            return
        match deed:
            case "send":
                await self.run(sent(message, now_ms=self.now, provider_id=None))
            case "fail":
                await self.run(send_failed(message, "no", now_ms=self.now))
            case _:
                await self.run(send_later(message, "no", self.now + 9))

    async def read(self, who: int, limit: int) -> None:
        cursor, seen = self.readers[who]
        rows = await self.run(said_after(PLACE, cursor, limit=limit))
        self.readers[who] = (rows[-1].cursor if rows else cursor, [*seen, *(row.body for row in rows)])

    async def settle(self) -> None:
        """All that waits goes out, and everybody reads to the end."""
        while await self.run(next_message(PLACE)) is not None:
            await self.do("send")
        for who in range(len(self.readers)):
            for _ in range(self.count + 2):
                await self.read(who, 3)

    async def run(self, work: Work[Any]) -> Any:
        return await self.ledger.run(work)


@pytest.mark.property
@given(st.lists(st.tuples(DEEDS, READS), min_size=20, max_size=60))
def test_every_reader_sees_all_of_it_once_and_in_order(deeds: Sequence[tuple[str, int | None]]) -> None:
    """Whoever reads now and then, from the cursor of the last time, has in the end what was sent: no more, no less."""

    async def go() -> None:
        with tempfile.TemporaryDirectory() as folder:
            ledger = sqlite_ledger(Path(folder))
            await ledger.open()
            try:
                await _checked(Talk(ledger), deeds)
            finally:
                await ledger.close()

    asyncio.run(go())


async def _checked(talk: Talk, deeds: Sequence[tuple[str, int | None]]) -> None:
    for deed, reader in deeds:
        await talk.do(deed)
        if reader is not None:
            await talk.read(reader, reader + 1)
    await talk.settle()
    sql = "SELECT body FROM falai_outbox WHERE state IN ('sent', 'dead') ORDER BY revision, position"
    said = [row[0] for row in await talk.run(ask(sql))]
    for (_, seen), gone in zip(talk.readers, talk.gone, strict=True):
        assert [body for body in seen if body in said or body not in talk.retried] == said
        assert len({*gone, *seen}) == len([*gone, *seen])


def test_places_are_apart() -> None:
    """A cursor says nothing of whose it is: it is good for the place with which it is given."""

    async def go() -> None:
        with tempfile.TemporaryDirectory() as folder:
            ledger = sqlite_ledger(Path(folder))
            await ledger.open()
            await say(ledger, Reply("a"))
            await send(ledger)
            cursor = await ledger.run(said_last(PLACE))
            assert await ledger.run(said_after(Place("u", "a", "s1"), cursor, limit=9)) == ()
            await ledger.close()

    asyncio.run(go())
