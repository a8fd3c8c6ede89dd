from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from falai.errors import InvalidSessionError
from falai.session.model import Session
from falai.store import RedisStore, Store, store_from_url
from falai.testing.store_contract import FailureContract, RowContract, SharedContract, StoreContract, full_session
from servers.process import Server
from servers.proxy import Proxy

pytestmark = pytest.mark.servers

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"


def connect(url: str, **options: Any) -> Redis:
    """A client that tries nothing a second time, with connections enough for the contract."""
    return Redis.from_url(url, retry=Retry(NoBackoff(), 0), **{"max_connections": 200, **options})


class Contract(StoreContract, RowContract, SharedContract, FailureContract):
    """The contract, with clients of one kind."""

    ordered = False
    options: dict[str, Any]

    @pytest.fixture
    async def store(self, redis_server: Server, place: str, proxy_to: Callable[[str], Proxy]) -> AsyncIterator[Store]:
        self.url, self.prefix, self.proxy = redis_server.url, f"{place}:", proxy_to(redis_server.url)
        async with RedisStore(connect(self.proxy.url, **self.options), key_prefix=self.prefix) as store:
            yield store

    def another(self) -> Store:
        return RedisStore(connect(self.url, **self.options), key_prefix=self.prefix)

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        async with connect(self.url) as client:
            await client.hset(f"{self.prefix}session:{id}", mapping={"version": version, "blob": blob})

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        self.proxy.close()
        yield exceptions.ConnectionError
        self.proxy.open()


class TestBytes(Contract):
    """The client leaves bytes as they are."""

    options = {}  # noqa: RUF012 - never changed


class TestTexts(Contract):
    """The client decodes, and speaks the older protocol."""

    options = {"decode_responses": True, "protocol": 2}  # noqa: RUF012 - never changed


class TestOneConnection(Contract):
    """All tasks share one connection, on which texts are decoded."""

    options = {"decode_responses": True, "single_connection_client": True}  # noqa: RUF012 - never changed


class TestByURL(Contract):
    """The client is that of a store by its URL: tasks wait for one of its few connections."""

    @pytest.fixture
    async def store(self, redis_server: Server, place: str, proxy_to: Callable[[str], Proxy]) -> AsyncIterator[Store]:
        self.url, self.prefix, self.proxy = redis_server.url, f"{place}:", proxy_to(redis_server.url)
        async with store_from_url(f"{self.proxy.url}?prefix={self.prefix}&ttl=60&max_connections=3") as store:
            yield store

    def another(self) -> Store:
        return store_from_url(self.url, key_prefix=self.prefix)


KINDS_OF_CLIENTS = {
    "bytes": {},
    "texts": {"decode_responses": True},
    "one line": {"decode_responses": True, "single_connection_client": True},
}


@pytest.fixture(params=KINDS_OF_CLIENTS)
async def client(redis_server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Redis]:
    async with connect(redis_server.url, **KINDS_OF_CLIENTS[request.param]) as client:
        yield client


@pytest.fixture
async def raw(redis_server: Server) -> AsyncIterator[Redis]:
    """A client of the test's own."""
    async with connect(redis_server.url, decode_responses=True) as client:
        yield client


@pytest.fixture
def key(place: str) -> str:
    return f"{place}:session:s1"


@pytest.fixture
def store(client: Redis, place: str) -> RedisStore:
    return RedisStore(client, key_prefix=f"{place}:")


# --- what is stored -----------------------------------------------------------------------------


async def test_the_fields(client: Redis, raw: Redis, place: str) -> None:
    """The hash is that of P-45; the dates come from the clock, and `createdAt` is written once (P-28, P-47)."""
    times = iter([datetime(2026, 9, 20, 10), datetime(2026, 9, 20, 10, 5, tzinfo=timezone(timedelta(hours=2)))])
    store = RedisStore(redis=client, key_prefix=place, clock=lambda: next(times))
    saved = await store.save(await store.save(full_session(), 0), 1)
    assert await raw.hgetall(f"{place}session:s1") == {
        "version": "2",
        "blob": saved.to_json(),
        "createdAt": "2026-09-20T10:00:00.000Z",
        "updatedAt": "2026-09-20T08:05:00.000Z",
    }
    assert "Ágnes" in saved.to_json()  # text is not escaped (P-17)
    assert json.loads(saved.to_json())["version"] == 2


async def test_where_it_is_unless_told_otherwise(client: Redis, raw: Redis) -> None:
    """At `agent:session:<id>`, for seven days (P-45)."""
    store = RedisStore(client)
    await store.delete("falai test")
    await store.save(Session.fresh("falai test"), 0)
    assert await raw.ttl("agent:session:falai test") in range(604_795, 604_801)
    assert await store.delete("falai test") is True


async def test_another_prefix(client: Redis, raw: Redis, place: str) -> None:
    """The hash is at the new key only (C-21)."""
    await RedisStore(client, key_prefix=f"{place}:new:").save(Session.fresh("s1"), 0)
    assert await raw.keys(f"{place}*") == [f"{place}:new:session:s1"]
    assert await RedisStore(client, key_prefix=f"{place}:").load("s1") is None


async def test_the_other_packages_row(store: RedisStore, raw: Redis, place: str) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    await raw.hset(f"{place}:session:conv-9", mapping={"version": "6", "blob": blob, "createdAt": "then"})
    session = await store.load("conv-9")
    assert session is not None
    await store.save(session, 6)
    row = await raw.hgetall(f"{place}:session:conv-9")
    assert json.loads(row["blob"]) == {**json.loads(blob), "version": 7}
    assert (row["version"], row["createdAt"]) == ("7", "then")


# --- how long it is stored ----------------------------------------------------------------------


async def test_a_ttl_that_is_taken_back(client: Redis, raw: Redis, place: str, key: str) -> None:
    """A save of a store whose sessions stay removes what an earlier setting left (C-20)."""
    await RedisStore(client, key_prefix=f"{place}:", session_ttl=60).save(Session.fresh("s1"), 0)
    assert await raw.ttl(key) in range(55, 61)
    await RedisStore(client, key_prefix=f"{place}:", session_ttl=0).save(Session.fresh("s1"), 1)
    assert await raw.ttl(key) == -1


async def test_the_ttl_begins_at_a_save(client: Redis, raw: Redis, place: str, key: str) -> None:
    """At every save, and at nothing else: not at a load, a scan or a save that lost (P-50)."""
    store = RedisStore(client, key_prefix=f"{place}:", session_ttl=1000)
    saved = await store.save(Session.fresh("s1"), 0)
    await raw.expire(key, 500)
    await store.load("s1")
    await store.scan()
    for version in (0, 7):
        with pytest.raises(Exception, match="SessionConflictError"):
            await store.save(saved, version)
    assert await raw.ttl(key) in range(490, 501)
    await store.save(saved, 1)
    assert await raw.ttl(key) in range(990, 1001)


async def test_a_session_that_has_expired(store: RedisStore, raw: Redis, key: str) -> None:
    """It is gone: a load finds none, a scan neither, and a save of it says so (P-50)."""
    saved = await store.save(Session.fresh("s1"), 0)
    await raw.pexpire(key, 1)
    while await raw.exists(key):
        pass
    assert await store.load("s1") is None
    assert (await store.scan()).sessions == []
    with pytest.raises(Exception, match="no row: it was deleted or has expired"):
        await store.save(saved, 1)


@pytest.mark.parametrize("ttl", [-1, 1.5, True, None, "60", float("nan"), 10**16])
def test_what_is_no_ttl(ttl: Any) -> None:
    """A whole number of 0 or more; one too large for Redis would make a script fail that has written (P-51)."""
    with pytest.raises(ValueError, match="session_ttl"):
        RedisStore(Redis(), session_ttl=ttl)


async def test_the_longest_ttl(client: Redis, raw: Redis, place: str, key: str) -> None:
    """Whatever is taken at construction, Redis takes too."""
    store = RedisStore(client, key_prefix=f"{place}:", session_ttl=10**15)
    await store.save(Session.fresh("s1"), 0)
    assert await raw.ttl(key) > 10**14
    await store.delete("s1")


# --- what else may be at a key ------------------------------------------------------------------


KINDS = {"SET": "string", "RPUSH": "list", "SADD": "set"}


@pytest.mark.parametrize("write", KINDS)
async def test_a_value_of_another_type(store: RedisStore, raw: Redis, key: str, write: str) -> None:
    """On a load, and in a scan, it is an invalid session of that type; on a save the server's error (P-52, P-73)."""
    await raw.execute_command(write, key, '{"id": "s1"}')
    await store.save(Session.fresh("s2"), 0)
    with pytest.raises(InvalidSessionError, match=f"holds a {KINDS[write]}") as caught:
        await store.load("s1")
    assert caught.value.session_id == "s1"
    for version in (0, 1):
        with pytest.raises(exceptions.ResponseError, match="WRONGTYPE"):
            await store.save(Session.fresh("s1"), version)
    page = await store.scan()
    assert ([session.id for session in page.sessions], [error.session_id for error in page.bad]) == (["s2"], ["s1"])
    assert await store.delete("s1") is True


@pytest.mark.parametrize("field", ["version", "blob"])
async def test_a_row_that_is_no_text(store: RedisStore, raw: Redis, key: str, field: str) -> None:
    """Bytes that are no UTF-8 are an invalid session, hide no other one, and the client is usable at once (P-19)."""
    for id in ("s1", "s2"):
        await store.save(Session.fresh(id), 0)
    await raw.hset(key, field, b"\xff")
    with pytest.raises(InvalidSessionError, match='"s1"'):
        await store.load("s1")
    page = await store.scan()
    assert ([session.id for session in page.sessions], [error.session_id for error in page.bad]) == (["s2"], ["s1"])
    assert (await store.save(Session.fresh("s2"), 1)).version == 2


async def test_a_key_that_is_no_text(store: RedisStore, raw: Redis, place: str) -> None:
    """No id is written so; a scan tells of it and gives the others, also when it comes on the next page."""
    await store.save(Session.fresh("s2"), 0)
    for number in range(3):
        await raw.hset(f"{place}:session:".encode() + b"\xff" + b"%d" % number, "version", "1")
    found, bad = await everything(store, 1)
    assert found == ["s2"]
    assert set(bad) == {f"\ufffd{number}" for number in range(3)}


@pytest.mark.parametrize("row", [{"version": "1"}, {"blob": "{}"}, {"version": "one", "blob": "{}"}, {"x": "y"}])
async def test_fields_that_are_missing(store: RedisStore, raw: Redis, key: str, row: dict[str, str]) -> None:
    """A hash that is no row of ours is an invalid session (P-19, P-20)."""
    await raw.hset(key, mapping=row)
    with pytest.raises(InvalidSessionError):
        await store.load("s1")


async def test_a_version_that_is_no_number(store: RedisStore, raw: Redis, key: str) -> None:
    """A save over it writes nothing and says what is there."""
    await raw.hset(key, mapping={"version": "one", "blob": "{}"})
    for version in (0, 1):
        with pytest.raises(InvalidSessionError, match='"one"'):
            await store.save(Session.fresh("s1"), version)
    assert await raw.hgetall(key) == {"version": "one", "blob": "{}"}


# --- the script ---------------------------------------------------------------------------------


class Recording(Redis):
    """A client that remembers what it sent."""

    sent: list[Any]

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        self.sent.append(args[0])
        return await super().execute_command(*args, **options)


@pytest.fixture
async def recording(redis_server: Server) -> AsyncIterator[Recording]:
    async with Recording.from_url(redis_server.url, retry=Retry(NoBackoff(), 0)) as client:
        client.sent = []
        yield client


async def test_one_script_checks_and_writes(recording: Recording, raw: Redis, place: str) -> None:
    """It is sent by digest, in full to a server that has forgotten it, and nothing else is sent (P-6, P-48, P-49)."""
    store = RedisStore(recording, key_prefix=place)
    await store.save(Session.fresh("s1"), 0)
    await raw.script_flush()
    recording.sent.clear()
    await store.save(Session.fresh("s1"), 1)
    assert recording.sent == ["EVALSHA", "EVAL"]
    recording.sent.clear()
    await store.save(Session.fresh("s1"), 2)
    for version in (0, 7):
        with pytest.raises(Exception, match="version 3 is stored"):
            await store.save(Session.fresh("s1"), version)
    assert recording.sent == ["EVALSHA"] * 3


@pytest.mark.parametrize(
    ("id", "version", "value", "error"),
    [("", 0, 1, TypeError), ("s1", True, 1, ValueError), ("s1", -1, 1, ValueError), ("s1", 0, {1}, TypeError)],
)
async def test_bad_arguments_never_reach_the_server(
    recording: Recording, id: str, version: Any, value: Any, error: type[Exception]
) -> None:
    """They are refused before anything is sent (P-10, P-11, P-16, C-15)."""
    session = Session.fresh("s1")
    session.id, session.data = id, {"v": value}
    with pytest.raises(error):
        await RedisStore(recording).save(session, version)
    assert recording.sent == []


# --- a scan -------------------------------------------------------------------------------------


async def everything(store: RedisStore, limit: int = 100) -> tuple[list[str], list[str]]:
    """The ids that a scan gives, and those of bad rows."""
    page = await store.scan(limit=limit)
    found, bad = [s.id for s in page.sessions], [e.session_id for e in page.bad]
    while page.after is not None:
        page = await store.scan(page.after, limit)
        assert len(page.sessions) + len(page.bad) <= limit
        found += [s.id for s in page.sessions]
        bad += [e.session_id for e in page.bad]
    return found, bad


@pytest.mark.parametrize("odd", ["*", "a?", "[ab]", "a[", "]", "\\", "^a", "\\*", "é*", "a-z"])
async def test_a_prefix_with_the_letters_of_patterns(client: Redis, place: str, odd: str) -> None:
    """It is taken as it is: keys that only look alike are not found."""
    own = RedisStore(client, key_prefix=f"{place}{odd}:")
    for other in ("", "a", "b", "ax", "^", "\\a", "éa", "m", "**"):
        await RedisStore(client, key_prefix=f"{place}{other}:").save(Session.fresh("other"), 0)
    await own.save(Session.fresh("own"), 0)
    assert (await everything(own))[0] == ["own"]


async def test_keys_of_others_are_passed_over(client: Redis, raw: Redis, place: str) -> None:
    """A scan goes through all keys of the database, and gives the sessions of its prefix."""
    await raw.mset({f"{place}:noise:{number}": "x" for number in range(2000)})
    store = RedisStore(client, key_prefix=f"{place}:")
    ids = {f"s{number}" for number in range(50)}
    for id in ids:
        await store.save(Session.fresh(id), 0)
    for limit in (1, 7, 10_000):
        assert set((await everything(store, limit))[0]) == ids


async def test_a_page_has_no_more_than_was_asked_for(client: Redis, place: str) -> None:
    """What the server finds beyond it comes on the next pages, which a further store may ask for."""
    ids = {f"é{number}" for number in range(200)}
    store = RedisStore(client, key_prefix=f"{place}:")
    for id in ids:
        await store.save(Session.fresh(id), 0)
    found: set[str] = set()
    page = await store.scan(limit=2)
    while page.after is not None:
        assert len(page.sessions) <= 2
        found |= {session.id for session in page.sessions}
        page = await RedisStore(client, key_prefix=f"{place}:").scan(page.after, 2)
    assert found | {session.id for session in page.sessions} == ids


@pytest.mark.parametrize("after", ["", "s1", "17", "[]", "[0, -1, [], false]", '[0, "x", [], false]', "[0, 1, 2, 3]"])
async def test_what_no_scan_gave(store: RedisStore, after: str) -> None:
    """A position of another store is refused, and not taken for the beginning."""
    with pytest.raises(ValueError, match="after"):
        await store.scan(after)


# --- by its URL ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("/0?ttl=-1", "session_ttl is -1"),
        ("/0?ttl=week", "session_ttl is"),
        ("/desk", "number of a database"),
        ("/0/1", "number of a database"),
    ],
)
def test_a_url_with_a_wrong_part(end: str, words: str) -> None:
    """What the store refuses is refused by the URL too, without its password; no other database is taken."""
    with pytest.raises(ValueError, match=words) as caught:
        store_from_url(f"redis://ana:geheim@host{end}")
    assert "geheim" not in str(caught.value)
