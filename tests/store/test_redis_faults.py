"""A line that is cut, a server that is gone, full, read-only, busy or not ready: the driver's error passes through,
nothing is half-written, the next call works."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, suppress
from typing import Any

import pytest
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from falai.session.model import Session
from falai.store import RedisStore, Store, store_from_url
from falai.testing.store_contract import full_session
from servers import programs
from servers.process import free_port
from servers.proxy import Proxy, Side

pytestmark = [pytest.mark.servers, pytest.mark.faults]


@pytest.fixture(scope="module")
def server() -> Iterator[programs.Redis]:
    """A server of this module's own, since its tests break it."""
    server = programs.Redis()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
async def raw(server: programs.Redis) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url, decode_responses=True) as client:
        yield client


@pytest.fixture
def behind(server: programs.Redis, proxy_to: Callable[[str], Proxy]) -> Proxy:
    return proxy_to(server.url)


@pytest.fixture
async def store(behind: Proxy, place: str) -> AsyncIterator[Store]:
    async with store_from_url(behind.url, key_prefix=f"{place}:") as store:
        yield store


async def row(raw: Redis, place: str) -> dict[str, str]:
    return await raw.hgetall(f"{place}:session:s1") | {"ttl": str(await raw.ttl(f"{place}:session:s1") > 0)}


async def fails(store: Store, saved: Session, error: type[Exception]) -> None:
    """Both kinds of saves do, with an error of the driver."""
    for session, version in ((saved, 1), (Session.fresh("s2"), 0)):
        with pytest.raises(error):
            await store.save(session, version)


# --- the line -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "version"), [("before", 1), ("after", 2)])
async def test_a_save_whose_line_is_cut(store: Store, behind: Proxy, side: Side, version: int) -> None:
    """The next load shows whether it was applied (P-13), and it was tried once."""
    saved = await store.save(full_session(), 0)
    behind.cut_on(b"EVALSHA", side)
    with pytest.raises(exceptions.ConnectionError):
        await store.save(saved, 1)
    loaded = await store.load("s1")
    assert loaded is not None
    assert loaded.version == version
    assert (await store.save(loaded, version)).version == version + 1


@pytest.mark.parametrize(("side", "there"), [("before", False), ("after", True)])
async def test_a_first_save_whose_line_is_cut(store: Store, behind: Proxy, side: Side, *, there: bool) -> None:
    """The same for the first one."""
    await store.load("s1")
    behind.cut_on(b"EVALSHA", side)
    with pytest.raises(exceptions.ConnectionError):
        await store.save(full_session(), 0)
    assert (await store.load("s1") is not None) is there


async def test_lines_that_were_cut_while_nobody_used_them(store: Store, behind: Proxy) -> None:
    """They are made again before they are used: nothing fails."""
    saved = await store.save(full_session(), 0)
    for _ in range(2):
        await asyncio.gather(*(store.load("s1") for _ in range(8)))
        behind.cut()
        await asyncio.sleep(0.05)  # until the loop has heard of it
    assert await asyncio.gather(*(store.load("s1") for _ in range(8))) == [saved] * 8
    behind.cut()
    await asyncio.sleep(0.05)
    assert (await store.save(saved, 1)).version == 2


@pytest.mark.parametrize("how", ["restart", "kill"])
async def test_a_server_that_starts_again(server: programs.Redis, place: str, how: str) -> None:
    """What was saved is there, and the scripts that the server has forgotten are sent again."""
    async with store_from_url(server.url, key_prefix=f"{place}:") as store:
        saved = await store.save(full_session(), 0)
        server.kill() if how == "kill" else server.stop()
        for _ in range(2):
            with pytest.raises(exceptions.ConnectionError):
                await store.save(saved, 1)
        server.start()
        assert await store.load("s1") == saved
        assert (await store.save(saved, 1)).version == 2


async def test_a_client_that_tries_again(behind: Proxy, place: str) -> None:
    """A host whose client does so may see its own save as another writer's: the conflict shows what is stored."""
    client = Redis.from_url(behind.url, retry=Retry(NoBackoff(), 3))
    async with RedisStore(client, key_prefix=f"{place}:") as store:
        saved = await store.save(full_session(), 0)
        behind.cut_on(b"EVALSHA", "before")
        assert (await store.save(saved, 1)).version == 2
        behind.cut_on(b"EVALSHA", "after")
        with pytest.raises(Exception, match="version 2 was expected and version 3 is stored"):
            await store.save(saved, 2)


# --- time and connections -----------------------------------------------------------------------


@asynccontextmanager
async def paused(raw: Redis) -> AsyncIterator[None]:
    """A server that takes what writes, and does not answer it."""
    await raw.client_pause(60_000, all=False)
    try:
        yield
    finally:
        await raw.client_unpause()


async def test_a_server_that_does_not_answer(server: programs.Redis, raw: Redis, place: str) -> None:
    """The time-out is the driver's error; the row is that of before or of after."""
    async with store_from_url(f"{server.url}?socket_timeout=0.2", key_prefix=f"{place}:") as store:
        saved = await store.save(full_session(), 0)
        async with paused(raw):
            with pytest.raises(exceptions.TimeoutError):
                await store.save(saved, 1)
            with pytest.raises(exceptions.TimeoutError):
                await store.save(full_session("s2"), 0)
            assert await store.load("s1") == saved
        loaded = await store.load("s1")
        assert loaded is not None
        assert loaded.data == saved.data
        assert (await store.save(loaded, loaded.version)).version == loaded.version + 1


async def test_a_pool_that_is_full(server: programs.Redis, raw: Redis, place: str) -> None:
    """Whoever gets no connection gets the driver's error; the others are not disturbed."""
    async with store_from_url(f"{server.url}?max_connections=1&timeout=0.1", key_prefix=f"{place}:") as store:
        async with paused(raw):
            first = asyncio.ensure_future(store.save(full_session("s1"), 0))
            await asyncio.sleep(0.05)
            with pytest.raises(exceptions.ConnectionError, match="connection"):
                await store.save(full_session("s2"), 0)
            assert not first.done()
        assert (await first).version == 1
        assert await store.load("s2") is None
        assert (await store.save(full_session("s2"), 0)).version == 1


# --- a server that will not ---------------------------------------------------------------------


async def test_a_server_that_has_no_room(store: Store, raw: Redis, place: str) -> None:
    """The script fails before it has written, loads go on, and a delete makes room."""
    saved = await store.save(full_session(), 0)
    before = await row(raw, place)
    await raw.config_set("maxmemory", "1")
    try:
        await fails(store, saved, exceptions.OutOfMemoryError)
        assert await store.load("s1") == saved
        assert await row(raw, place) == before
        assert await store.delete("s2") is False
    finally:
        await raw.config_set("maxmemory", "0")
    assert (await store.save(saved, 1)).version == 2


async def test_a_session_for_which_the_room_is_too_small(store: Store, raw: Redis) -> None:
    """It is there whole or not at all, whenever the server counts."""
    used = (await raw.info("memory"))["used_memory"]
    large = Session.fresh("s1")
    large.data = {"text": "x" * 3_000_000}
    await raw.config_set("maxmemory", str(used + 1_000_000))
    try:
        with suppress(exceptions.OutOfMemoryError):
            for version in range(3):
                large = await store.save(large, version)
        loaded = await store.load("s1")
        assert loaded == (large if large.version else None)
    finally:
        await raw.config_set("maxmemory", "0")


async def test_a_server_that_only_reads(store: Store, raw: Redis, place: str) -> None:
    """As a replica after a failover: loads go on, saves and deletes are refused, and later they are not."""
    saved = await store.save(full_session(), 0)
    before = await row(raw, place)
    await raw.execute_command("REPLICAOF", "127.0.0.1", free_port())
    try:
        with pytest.raises(exceptions.ReadOnlyError):
            await store.save(saved, 1)
        with pytest.raises(exceptions.ReadOnlyError):
            await store.delete("s1")
        assert await store.load("s1") == saved
        assert await row(raw, place) == before
    finally:
        await raw.execute_command("REPLICAOF", "NO", "ONE")
    assert (await store.save(saved, 1)).version == 2


async def test_a_user_who_may_not(server: programs.Redis, raw: Redis, store: Store, place: str) -> None:
    """What a user may not do is the server's error, however the command is called (P-12)."""
    saved = await store.save(full_session(), 0)
    await raw.execute_command("ACL", "SETUSER", "reader", "reset", "on", ">geheim", "~*", "+hgetall")
    async with store_from_url(server.url.replace("//", "//reader:geheim@"), key_prefix=f"{place}:") as reader:
        assert await reader.load("s1") == saved
        await fails(reader, saved, exceptions.NoPermissionError)
        with pytest.raises(exceptions.NoPermissionError):
            await reader.scan()
        with pytest.raises(exceptions.NoPermissionError):
            await reader.delete("s1")
    assert (await store.save(saved, 1)).version == 2


async def test_a_server_that_is_busy(server: programs.Redis, raw: Redis, store: Store) -> None:
    """While a script of another program runs on and on, every call hears of it."""
    saved = await store.save(full_session(), 0)
    await raw.config_set("busy-reply-threshold", "1")
    async with Redis.from_url(server.url, socket_timeout=None) as other:
        endless = asyncio.ensure_future(other.eval("while true do end", 0))
        await asyncio.sleep(0.1)
        await fails(store, saved, exceptions.ResponseError)
        with pytest.raises(exceptions.ResponseError, match="BUSY"):
            await store.load("s1")
        await raw.script_kill()
        with pytest.raises(exceptions.ResponseError):
            await endless
    await raw.config_set("busy-reply-threshold", "5000")
    assert (await store.save(saved, 1)).version == 2


class SlowToLoad(programs.Redis):
    """A server that takes its time over every key when it starts, and counts as started before."""

    delay = 0

    def command(self) -> list[str]:
        slow = ["--key-load-delay", str(self.delay), "--loading-process-events-interval-bytes", "1024"]
        file = ["--appendonly", "no", "--save", "3600 1"]  # one file, written at the end
        return [*super().command(), *file, *slow]

    def ready(self) -> bool:
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), 1)) as line:
            line.sendall(b"PING\r\n")
            return line.recv(64)[:1] in (b"+", b"-")
        return False


@pytest.fixture
def slow() -> Iterator[SlowToLoad]:
    server = SlowToLoad()
    try:
        server.start()
        yield server
    finally:
        server.remove()


async def test_a_server_that_is_not_ready(slow: SlowToLoad) -> None:
    """A server that still reads its file says so, and has every session when it is done."""
    async with store_from_url(slow.url) as store:
        saved: dict[str, Any] = {f"s{n}": await store.save(full_session(f"s{n}"), 0) for n in range(100)}
        slow.stop()
        slow.delay = 10_000  # microseconds
        slow.start()
        await asyncio.sleep(0.05)  # until the loop has heard of the end
        with pytest.raises(exceptions.BusyLoadingError):
            await store.load("s1")
        await fails(store, saved["s1"], exceptions.BusyLoadingError)
        with pytest.raises(exceptions.BusyLoadingError):
            await store.scan()
        for _ in range(3000):
            try:
                assert await store.load("s99") == saved["s99"]
                break
            except exceptions.BusyLoadingError:
                time.sleep(0.02)
        assert await store.load("s1") == saved["s1"]
        assert (await store.save(saved["s1"], 1)).version == 2
