"""What is so in PostgreSQL only: many processes, lost connections, and order among those who write at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import psycopg
import pytest

from falai.host.ledger.committing import commit
from falai.host.ledger.gating import hold
from falai.host.ledger.looking import messages, waiting
from falai.host.ledger.migrating import SchemaError, migrations
from falai.host.ledger.port import Committed, Done, Gate, Place, Reply, Statement, Work
from falai.host.ledger.postgres import PostgresLedger, watchful
from falai.host.ledger.taking import take_in
from host.ledger.ledgers import MANY, NOW, PLACE, arrival, ask, dump, job_of, keys_of, play, postgres_url, receive
from servers.process import Server
from servers.proxy import Proxy

pytestmark = pytest.mark.servers


@pytest.fixture
def url(postgres_server: Server, place: str) -> str:
    return postgres_url(postgres_server, place)


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[PostgresLedger]:
    ledger = PostgresLedger(url, connections=8)
    await ledger.open()
    yield ledger
    await ledger.close()


async def test_many_open_at_once(url: str) -> None:
    """The tables are made once."""
    ledgers = [PostgresLedger(url, connections=1) for _ in range(6)]
    await asyncio.gather(*(ledger.open() for ledger in ledgers))
    assert await ledgers[0].run(ask("SELECT value FROM falai_meta WHERE name = 'schema'")) == [
        (str(len(migrations())),)
    ]
    for ledger in ledgers:
        await ledger.close()


def test_a_connection_notices_that_the_network_is_gone() -> None:
    """Within seconds, unless the URL says otherwise."""
    assert watchful("postgresql://h/d")["tcp_user_timeout"] == 10_000
    assert "tcp_user_timeout" not in watchful("postgresql://h/d?tcp_user_timeout=1")


@pytest.mark.faults
async def test_who_is_gone_holds_nothing(url: str, ledger: PostgresLedger, proxy_to: Callable[[str], Proxy]) -> None:
    """A machine that vanished in the middle of a transaction keeps no row from the others, though the server believes
    for hours that it is still there."""
    await receive(ledger, "m1")
    behind, locked = proxy_to(url), asyncio.Event()
    gone = PostgresLedger(behind.url, connections=1)
    await gone.open()

    def vanishes() -> Work[None]:
        yield (Statement("SELECT session FROM falai_sessions WHERE session = ? FOR UPDATE", (PLACE.session,)),)
        behind.freeze()
        locked.set()
        yield (Statement("SELECT 1", ()),)

    last = asyncio.create_task(gone.run(vanishes()))
    await locked.wait()
    async with asyncio.timeout(30):
        assert await play(ledger) == Committed()
    behind.cut()
    with pytest.raises(psycopg.Error):
        await last
    await gone.close()


async def test_tables_of_a_newer_release(url: str, ledger: PostgresLedger) -> None:
    """They are not touched."""
    await ledger.run(ask("UPDATE falai_meta SET value = '999' RETURNING value"))
    with pytest.raises(SchemaError, match="999"):
        await PostgresLedger(url).open()


async def test_u0000_is_removed(ledger: PostgresLedger) -> None:
    """PostgreSQL has no place for it (P-40); nothing raises."""
    odd = Place("t", "a", "s\0")
    await ledger.run(take_in(odd, [arrival("m\0\ud800", address="+\0001")], now_ms=NOW, limits=MANY))
    assert await keys_of(ledger, odd) == ["m\ufffd"]
    assert (await job_of(ledger, odd)).address == "+1"


async def test_an_error_of_the_server_keeps_nothing(ledger: PostgresLedger) -> None:
    """It passes through, and the next work goes on."""
    with pytest.raises(psycopg.errors.UndefinedTable):
        await ledger.run(ask("SELECT 1 FROM nowhere"))
    with pytest.raises(psycopg.errors.UndefinedTable):
        await ledger.run(ask("DELETE FROM nowhere"))
    await receive(ledger, "m1")
    assert await keys_of(ledger) == ["m1"]


async def test_inputs_that_come_at_once_keep_one_order(ledger: PostgresLedger) -> None:
    """Nothing that becomes visible later has a lower number: what is played first stays first."""
    await asyncio.gather(*(receive(ledger, f"m{n}") for n in range(40)))
    first = [row.key for row in await ledger.run(waiting(PLACE))]
    assert len(first) == 40
    for key in first:
        assert await keys_of(ledger) == [key]
        await play(ledger)


async def test_a_gate_that_closes_while_a_turn_is_saved(ledger: PostgresLedger) -> None:
    """Either the turn does not count, or what it said is withheld: it is never left to be sent."""
    for n in range(30):
        place = Place("t", "a", f"s{n}")
        await receive(ledger, "m1", place=place)
        job = await job_of(ledger, place)
        end, withheld = await asyncio.gather(
            ledger.run(commit(job, Done(blob="{}", outbox=(Reply("x"),)), now_ms=NOW)),
            ledger.run(hold(place, Gate(reason="x"), now_ms=NOW)),
        )
        states = [row.state for row in await ledger.run(messages(place, limit=9))]
        assert (end.conflict, withheld, states) in [("gate", 0, []), (None, 1, ["withheld"])]


async def test_connections_that_are_lost(url: str, ledger: PostgresLedger) -> None:
    """The work that meets it fails; the next ones get new connections."""
    await receive(ledger, "m1")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                   " AND datname = current_database()")  # fmt: skip
    for _ in range(3):
        try:
            assert await keys_of(ledger) == ["m1"]
        except psycopg.OperationalError:
            continue
    assert await keys_of(ledger) == ["m1"]


@pytest.mark.faults
@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_line_that_is_cut_at_the_commit(
    url: str, ledger: PostgresLedger, proxy_to: Callable[[str], Proxy], side: str
) -> None:
    """The work fails; all of it was kept, or nothing, and whoever looks again sees which."""
    behind = proxy_to(url)
    far = PostgresLedger(behind.url, connections=1)
    await far.open()
    await receive(far, "m1")
    job = await job_of(far)
    before = await dump(ledger)
    behind.cut_on(b"COMMIT", "before" if side == "before" else "after")
    with pytest.raises(psycopg.OperationalError):
        await far.run(commit(job, Done(blob="{}", outbox=(Reply("x"),)), now_ms=NOW))
    if side == "before":
        assert await dump(ledger) == before
    else:
        assert await keys_of(ledger) == []
        assert len(await ledger.run(messages(PLACE, limit=9))) == 1
    again = await far.run(commit(job, Done(blob="{}", outbox=(Reply("x"),)), now_ms=NOW))
    assert again.conflict == (None if side == "before" else "version")
    await far.close()
