"""Sessions over two databases of PostgreSQL: each is in one of them, and a vendor's request finds all of them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from falai.channel import Incoming, Receipt
from falai.host import Host, Shards
from falai.host.errors import HostBusyError
from host.ledger.ledgers import postgres_url
from host.stage import Wire, echo
from servers.process import Server

AT = datetime(2030, 1, 1, tzinfo=UTC)


class Vendor(Wire):
    """A channel whose requests are lists of ids of messages: `["+1", "m1"]`, and of receipts."""

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        assert headers["signed"] == "yes"

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:
        items = json.loads(body)
        return [
            Receipt(item, "read", AT) if isinstance(item, str) else Incoming(item[0], item[1], item[1], AT)
            for item in items
        ]


@pytest.fixture
async def shards(postgres_server: Server, place: str) -> AsyncIterator[Shards[Any]]:
    urls = [postgres_url(postgres_server, f"{place}_{n}") for n in range(2)]
    async with Shards([Host(echo(), url, channel=Vendor()) for url in urls]) as shards:
        yield shards


async def drained(shards: Shards[Any]) -> None:
    for host in shards.hosts:
        await host.drained()


@pytest.mark.servers
async def test_a_session_is_in_one_of_them(shards: Shards[Any]) -> None:
    """It is played there and nowhere else, and both have their share."""
    sessions = [f"s{n}" for n in range(20)]
    for session in sessions:
        await shards.of(session).receive(session, "hello")
    await drained(shards)
    places = [[await host.look(session) is not None for host in shards.hosts] for session in sessions]
    assert all(sum(place) == 1 for place in places)
    assert {place[0] for place in places} == {True, False}
    chosen = [shards.hosts.index(shards.of(session)) for session in sessions]
    assert chosen == [place.index(True) for place in places]


@pytest.mark.servers
async def test_a_request_of_a_vendor(shards: Shards[Any]) -> None:
    """Each message goes where its session is, a receipt where its message is; a repetition is dropped."""
    body = json.dumps([[f"+{n}", f"m{n}"] for n in range(8)]).encode()
    assert [one.new for one in await shards.take("wire", {"signed": "yes"}, body)] == [True] * 8
    assert [one.new for one in await shards.take("wire", {"signed": "yes"}, body)] == [False] * 8
    await drained(shards)
    await shards.take("wire", {"signed": "yes"}, b'["vendor-1"]')
    statuses: list[str | None] = []
    for n in range(8):
        look = await shards.of(f"wire:+{n}").look(f"wire:+{n}")
        assert look is not None
        statuses.append(look.outbox[0].status)
    assert statuses.count("read") == 2  # each database has a message that its vendor calls so


def test_where_a_session_is_never_changes() -> None:
    """By its id, or by the part of it that is named: then a customer's sessions are together."""
    hosts = [Host(echo(), f"{n}.db") for n in range(4)]
    shards, together = Shards(hosts), Shards(hosts, by=lambda session: session.partition("/")[0])
    found = [hosts.index(shards.of(f"s{n}")) for n in range(12)]
    assert found == [1, 0, 2, 2, 0, 0, 3, 1, 2, 3, 0, 2]
    assert len({together.of(f"c1/{n}") for n in range(9)}) == 1


async def test_one_that_cannot_be_opened(tmp_path: Any) -> None:
    """Leaves none open."""
    paths = [tmp_path / f"{n}.db" for n in range(2)]
    async with Host(echo(), paths[1]):
        with pytest.raises(HostBusyError):
            await Shards([Host(echo(), path) for path in paths]).__aenter__()
    async with Host(echo(), paths[0]):
        pass


def test_none_at_all() -> None:
    """Is refused."""
    with pytest.raises(ValueError, match="at least one"):
        Shards([])
