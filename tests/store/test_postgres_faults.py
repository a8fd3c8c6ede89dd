"""Faults of a real server: the driver's error passes through, nothing is half-written, the next call works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from falai.errors import FalaiError
from falai.session.model import Session
from falai.store import PostgresStore, Store, store_from_url
from falai.testing.store_contract import FailureContract
from servers.process import Server
from servers.proxy import Proxy, Side
from store.postgres_hosts import HOSTS, POOLS, AsyncpgPool, Host, LateStore, PsycopgPool

pytestmark = [pytest.mark.servers, pytest.mark.faults]

KINDS = [*POOLS, "url"]
LOST: tuple[type[Exception], ...] = (
    psycopg.OperationalError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.AdminShutdownError,
    OSError,
)


def store_of(kind: str, url: str, table: str) -> Store:
    return store_from_url(f"{url}?table={table}") if kind == "url" else LateStore(HOSTS[kind], url, table)


@pytest.fixture
def behind(postgres_server: Server, proxy_to: Callable[[str], Proxy]) -> Proxy:
    return proxy_to(postgres_server.url)


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, behind: Proxy, place: str) -> AsyncIterator[Store]:
    async with store_of(request.param, behind.url, place) as store:
        yield store


def marked(text: str) -> Session:
    """A session that the proxy knows by a text in it."""
    session = Session.fresh("s1")
    session.data = {"text": text}
    return session


class Unreachable(FailureContract):
    """The contract of failures, where the server cannot be reached for a while."""

    keeps_nul = False
    host: Host

    @pytest.fixture
    async def store(self, behind: Proxy, place: str) -> AsyncIterator[Store]:
        self.behind = behind
        async with LateStore(self.host, behind.url, place) as store:
            yield store

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        self.behind.close()
        yield Exception
        self.behind.open()


class TestPsycopgPool(Unreachable):
    host = PsycopgPool(timeout=0.5)


class TestAsyncpgPool(Unreachable):
    host = AsyncpgPool()


async def test_a_server_that_is_not_there_yet(behind: Proxy, place: str) -> None:
    """The store of a URL says at once why it cannot connect, and connects as soon as that is possible."""
    behind.close()
    store = store_from_url(f"{behind.url}?table={place}")
    for call in (store.initialize, store.scan):
        with pytest.raises(psycopg.OperationalError, match="refused"):
            await call()
    behind.open()
    async with store:
        assert await store.load("s1") is None


@pytest.mark.parametrize(("side", "on"), [("before", b"on its way"), ("after", b"on its way"), ("after", b"COMMIT")])
async def test_a_line_that_is_cut_during_a_save(store: Store, behind: Proxy, side: Side, on: bytes) -> None:
    """The save was made whole or not at all, `load` shows which (P-13), and the next call already works."""
    for version in range(3):
        await store.save(marked("there"), version)
    commits = isinstance(store, LateStore) and isinstance(store.client, AsyncConnectionPool)
    if on == b"COMMIT" and not commits:
        pytest.skip("only a pool that is not in autocommit mode sends it")
    behind.cut_on(on, side)
    with pytest.raises(LOST):
        await store.save(marked("on its way"), 3)
    loaded = await store.load("s1")
    assert loaded is not None
    assert (loaded.version, loaded.data["text"]) == (
        (3, "there") if side == "before" or (commits and on != b"COMMIT") else (4, "on its way")
    )
    assert (await store.save(loaded, loaded.version)).version == loaded.version + 1


async def test_lines_that_are_all_cut(store: Store, behind: Proxy) -> None:
    """One call may fail, however many connections a pool has lost."""
    await store.save(marked("there"), 0)
    for _ in range(3):
        await asyncio.gather(*(store.load("s1") for _ in range(8)))
        behind.cut()
        await _at_most_one_fails(store)


async def test_a_server_that_is_started_again(store: Store, postgres_server: Server) -> None:
    """What was saved is there, and after one call that may fail all work."""
    saved = await store.save(marked("there"), 0)
    await asyncio.gather(*(store.load("s1") for _ in range(8)))
    await asyncio.to_thread(postgres_server.restart)
    await _at_most_one_fails(store)
    assert await store.load("s1") == saved
    assert (await store.save(saved, 1)).version == 2


async def _at_most_one_fails(store: Store) -> None:
    failed = 0
    for _ in range(8):
        try:
            await store.load("s1")
        except LOST:
            failed += 1
    assert failed <= 1


@pytest.mark.parametrize("kind", KINDS)
async def test_a_server_that_ends_a_connection(postgres_server: Server, place: str, kind: str) -> None:
    """A save that waits when its connection is ended was not made."""
    async with store_of(kind, postgres_server.url, place) as store, _connection(postgres_server) as other:
        await store.save(marked("there"), 0)
        async with _locked(other, place):
            saving = asyncio.ensure_future(store.save(marked("new"), 1))
            await _end_all_that_wait(postgres_server)
            with pytest.raises(LOST):
                await saving
        loaded = await store.load("s1")
        assert loaded is not None
        assert loaded.data["text"] == "there"
        await store.save(loaded, 1)


async def test_a_pool_that_is_full(postgres_server: Server, place: str) -> None:
    """Both drivers let a call wait; what ends the wait passes through, and when a connection is free it works."""
    async with AsyncConnectionPool(postgres_server.url, min_size=1, max_size=1, timeout=0.1, open=False) as pool:
        await _full(PostgresStore(pool, table=place), pool.connection, PoolTimeout)
    async with asyncpg.create_pool(postgres_server.url, min_size=1, max_size=1) as pool:
        await _full(PostgresStore(pool, table=place), pool.acquire, TimeoutError)


async def _full(store: PostgresStore, take: Any, failure: type[Exception]) -> None:
    await store.initialize()
    async with take():
        for call in (lambda: store.save(Session.fresh("s1"), 0), lambda: store.load("s1"), store.scan):
            with pytest.raises(failure):
                await asyncio.wait_for(call(), None if failure is PoolTimeout else 0.1)
    assert await store.load("s1") is None
    assert (await store.save(Session.fresh("s1"), 0)).version == 1
    assert await store.delete("s1") is True


@pytest.mark.parametrize("kind", [*HOSTS, "url"])
@pytest.mark.parametrize(("setting", "state"), [("lock_timeout", "55P03"), ("statement_timeout", "57014")])
async def test_a_save_that_waits_too_long(
    postgres_server: Server, place: str, kind: str, setting: str, state: str
) -> None:
    """A time-out that the host has set is the driver's error; the row is as it was, and the connection works on."""
    options = f"?{setting}=100" if "asyncpg" in kind else f"?options=-c%20{setting}%3D100"
    host = HOSTS.get(kind)
    late = LateStore(host, postgres_server.url + options, place) if host else None
    async with (
        late or store_from_url(f"{postgres_server.url}{options}&table={place}") as store,
        _connection(postgres_server) as other,
    ):
        saved = await store.save(marked("there"), 0)
        async with _locked(other, place):
            for call in (lambda: store.save(marked("new"), 1), lambda: store.delete("s1")):
                with pytest.raises(Exception, match="timeout") as caught:
                    await call()
                assert getattr(caught.value, "sqlstate", None) == state
                assert not isinstance(caught.value, FalaiError)
            assert await store.load("s1") == saved
        assert (await store.save(saved, 1)).version == 2


@asynccontextmanager
async def _connection(server: Server) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(server.url, autocommit=True) as connection:
        yield connection


@asynccontextmanager
async def _locked(connection: Any, table: str) -> AsyncIterator[None]:
    """Another program has the row in hand."""
    async with connection.transaction():
        await connection.execute(f"SELECT 1 FROM {table} WHERE id = 's1' FOR UPDATE")
        yield


async def _end_all_that_wait(server: Server) -> None:
    """Ends each connection that waits for a lock, when there is one."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with _connection(server) as other:
        while not await (await other.execute(ended)).fetchall():
            await asyncio.sleep(0.02)
