"""Against a stand-in that speaks MongoDB's protocol, or a real server: `FALAI_TEST_MONGO_URL=mongodb://…`, which for
the tests of transactions has to be a replica set."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from bson.errors import InvalidDocument
from pymongo import AsyncMongoClient, ReadPreference
from pymongo.errors import ConnectionFailure
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.model import Session
from falai.store import MongoStore, Store, store_from_url
from falai.testing.store_contract import (
    FailureContract,
    RowContract,
    SharedContract,
    StoreContract,
    TransactionContract,
    full_session,
)
from servers.process import Server
from servers.proxy import Proxy, Side

pytestmark = pytest.mark.servers

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
DATABASE = "falai_test"


def connect(url: str, **options: Any) -> AsyncMongoClient[Any]:
    """A client that gives up soon, and tries nothing a second time. It looks for a lost server every half second."""
    once = {"retryWrites": False, "retryReads": False, "serverSelectionTimeoutMS": 1500}
    return AsyncMongoClient(url, **once | options)


class TestMongo(StoreContract, RowContract, SharedContract, FailureContract, TransactionContract):
    """The whole contract."""

    @pytest.fixture
    async def store(self, mongo_server: Server, place: str, proxy_to: Callable[[str], Proxy]) -> AsyncIterator[Store]:
        self.url, self.place, self.proxy = mongo_server.url, place, proxy_to(mongo_server.url)
        async with MongoStore(connect(self.proxy.url), database_name=DATABASE, collection=place) as store:
            yield store
        await self.drop()

    async def drop(self) -> None:
        async with connect(self.url) as client:
            await client[DATABASE][self.place].drop()

    def another(self) -> Store:
        return MongoStore(connect(self.url), database_name=DATABASE, collection=self.place)

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        async with connect(self.url) as client:
            rows = client[DATABASE][self.place]
            await rows.delete_one({"_id": id})  # the stand-in takes no id out of the filter of an upsert
            await rows.insert_one({"_id": id, "version": version, "blob": blob})

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        self.proxy.close()
        yield ConnectionFailure
        self.proxy.open()

    @asynccontextmanager
    async def transaction(self, store: Any) -> AsyncIterator[Store]:
        async with connect(self.url) as client, client.start_session() as session, await session.start_transaction():
            yield MongoStore(client, database_name=DATABASE, collection=self.place, session=session)

    async def test_a_conflict_leaves_the_transaction_usable(self, store: Store) -> None:
        """A late save does. A first save that finds a document ends the transaction: the host repeats the whole."""
        first = await store.save(Session.fresh("s1"), 0)
        async with self.transaction(store) as inside:
            await inside.save(Session.fresh("s2"), 0)
            for id, actual in (("s1", 1), ("s3", None)):
                with pytest.raises(SessionConflictError) as caught:
                    await inside.save(Session.fresh(id), 7)
                assert caught.value.actual_version == actual
            await inside.save(first, 1)
        assert [session.version for session in (await store.scan()).sessions] == [2, 1]
        with pytest.raises(SessionConflictError) as caught:  # noqa: PT012 - the error ends the transaction
            async with self.transaction(store) as inside:
                await inside.save(Session.fresh("s4"), 0)
                await inside.save(Session.fresh("s2"), 0)
        assert caught.value.actual_version == 1
        assert await store.load("s4") is None


class Recording(CommandListener):
    """Remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        self.sent.append(dict(event.command))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass

    @property
    def names(self) -> list[str]:
        return [next(iter(command)) for command in self.sent]


@pytest.fixture
def recording() -> Recording:
    return Recording()


@pytest.fixture
async def client(mongo_server: Server, place: str, recording: Recording) -> AsyncIterator[AsyncMongoClient[Any]]:
    async with connect(mongo_server.url, event_listeners=[recording]) as client:
        yield client
        await client[DATABASE][place].drop()


@pytest.fixture
def store(client: AsyncMongoClient[Any], place: str) -> MongoStore:
    return MongoStore(client, database_name=DATABASE, collection=place)


# --- what is stored -----------------------------------------------------------------------------


async def test_the_document(client: AsyncMongoClient[Any], place: str, recording: Recording) -> None:
    """It is that of P-54; the dates come from the clock, and `createdAt` is written once (P-28, P-55)."""
    zone = timezone(timedelta(hours=2))
    times = iter([datetime(2026, 9, 20, 10), datetime(2026, 9, 20, 12, 5, 0, 1999, tzinfo=zone)])
    store = MongoStore(client=client, database_name=DATABASE, collection=place, clock=lambda: next(times))
    first = await store.save(full_session(), 0)
    second = await store.save(first, 1)
    at, later = datetime(2026, 9, 20, 10, tzinfo=UTC), datetime(2026, 9, 20, 10, 5, 0, 1000, tzinfo=UTC)
    # The stand-in keeps no date that an update brings: what was sent counts.
    assert recording.sent[0]["documents"] == [
        {"_id": "s1", "version": 1, "blob": first.to_json(), "createdAt": at, "updatedAt": at}
    ]
    assert recording.sent[1]["updates"][0]["u"]["$set"] == {
        "version": 2,
        "blob": second.to_json(),
        "updatedAt": later,
    }
    assert "Ágnes" in first.to_json()  # text is not escaped (P-17)
    assert set(await client[DATABASE][place].find_one({})) == {"_id", "version", "blob", "createdAt", "updatedAt"}


async def test_the_other_packages_row(store: MongoStore, client: AsyncMongoClient[Any], place: str) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    then = datetime(2020, 1, 1)
    row = {"_id": "conv-9", "version": 6.0, "blob": blob, "createdAt": then, "updatedAt": then}
    await client[DATABASE][place].insert_one(row)
    session = await store.load("conv-9")
    assert session is not None
    await store.save(session, 6)
    found = await client[DATABASE][place].find_one({})
    assert json.loads(found["blob"]) == {**json.loads(blob), "version": 7}
    assert (found["version"], found["createdAt"]) == (7, then)


@pytest.mark.parametrize(
    "row", [{}, {"version": 1}, {"blob": None, "version": 1}, {"blob": 5, "version": 1}, {"collectedData": {}}]
)
async def test_a_document_that_is_no_row(
    store: MongoStore, client: AsyncMongoClient[Any], place: str, row: dict[str, Any]
) -> None:
    """One without a blob, as of 3.x, is an invalid session, alone and in a scan (P-19, P-73)."""
    await client[DATABASE][place].insert_one({"_id": "s1", **row})
    with pytest.raises(InvalidSessionError, match='"s1"'):
        await store.load("s1")
    page = await store.scan()
    assert ([error.session_id for error in page.bad], page.sessions) == (["s1"], [])


async def test_a_blob_that_is_an_object(store: MongoStore, client: AsyncMongoClient[Any], place: str) -> None:
    """It is taken as it is (P-19)."""
    blob = json.loads(Session.fresh("s1").to_json())
    await client[DATABASE][place].insert_one({"_id": "s1", "version": 0, "blob": blob})
    assert await store.load("s1") == Session.fresh("s1")


# --- what is sent -------------------------------------------------------------------------------


async def test_one_command_checks_and_writes(store: MongoStore, recording: Recording) -> None:
    """A save that succeeds is one command; a conflict is told after one further read (P-6, P-7, P-55)."""
    await store.initialize()
    await store.save(await store.save(Session.fresh("s1"), 0), 1)
    assert recording.names == ["insert", "update"]
    update = recording.sent[1]["updates"][0]
    assert update["q"] == {"_id": "s1", "version": 1}
    assert set(update["u"]) == {"$set"}
    assert set(update["u"]["$set"]) == {"version", "blob", "updatedAt"}
    assert not update.get("upsert")
    recording.sent.clear()
    for version in (0, 7):
        with pytest.raises(SessionConflictError):
            await store.save(Session.fresh("s1"), version)
    assert recording.names == ["insert", "find", "update", "find"]


async def test_reads_go_to_the_primary(mongo_server: Server, place: str) -> None:
    """Whatever the client prefers for its own reads (P-56)."""
    async with connect(mongo_server.url, readPreference="secondary") as client:
        store = MongoStore(client, database_name=DATABASE, collection=place)
        assert store._rows.read_preference == ReadPreference.PRIMARY
        assert await store.load("s1") is None


async def test_a_client_that_waits_for_no_word(mongo_server: Server) -> None:
    """Such a client could not hear of a conflict: it is refused (P-6)."""
    async with connect(mongo_server.url, w=0) as client:
        with pytest.raises(ValueError, match="w=0"):
            MongoStore(client, database_name=DATABASE)


@pytest.mark.parametrize(
    ("id", "version", "value"), [("", 0, 1), ({"$ne": None}, 0, 1), ("s1", True, 1), ("s1", -1, 1), ("s1", 0, {1})]
)
async def test_bad_arguments_never_reach_the_server(
    store: MongoStore, recording: Recording, id: Any, version: Any, value: Any
) -> None:
    """They are refused before anything is sent (P-10, P-11, P-16, C-15)."""
    session = Session.fresh("s1")
    session.id, session.data = id, {"v": value}
    with pytest.raises((TypeError, ValueError)):
        await store.save(session, version)
    assert recording.sent == []


@pytest.mark.parametrize("name", ["", "a$b", "system.users", ".a", "a.", "a\0", "x" * 201, None])
async def test_what_is_no_collection(mongo_server: Server, name: Any) -> None:
    """What MongoDB does not allow is refused at construction (P-25)."""
    async with connect(mongo_server.url) as client:
        with pytest.raises(ValueError, match="collection is"):
            MongoStore(client, database_name=DATABASE, collection=name)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a/b", "a\\b", 'a"', "$a", "a\0", "x" * 64, None])
async def test_what_is_no_database(mongo_server: Server, name: Any) -> None:
    """The same for its name."""
    async with connect(mongo_server.url) as client:
        with pytest.raises(ValueError, match="database_name is"):
            MongoStore(client, database_name=name)


# --- failures -----------------------------------------------------------------------------------


async def test_a_session_that_is_too_large(store: MongoStore) -> None:
    """Beyond 16 MB it is the driver's error, and nothing is written (P-12)."""
    large = Session.fresh("s1")
    large.data = {"text": "x" * (17 * 1024 * 1024)}
    with pytest.raises(InvalidDocument):
        await store.save(large, 0)
    assert await store.load("s1") is None
    assert (await store.save(Session.fresh("s1"), 0)).version == 1


@pytest.mark.faults
@pytest.mark.parametrize(("side", "version"), [("before", 1), ("after", 2)])
async def test_a_save_whose_line_is_cut(
    mongo_server: Server, place: str, proxy_to: Callable[[str], Proxy], side: Side, version: int
) -> None:
    """The next load shows whether it was applied (P-13), and the next call works."""
    proxy = proxy_to(mongo_server.url)
    async with MongoStore(connect(proxy.url), database_name=DATABASE, collection=place) as store:
        saved = await store.save(full_session(), 0)
        proxy.cut_on(b"updatedAt", side)
        with pytest.raises(ConnectionFailure):
            await store.save(saved, 1)
        loaded = await store.load("s1")
        assert loaded is not None
        assert loaded.version == version
        assert (await store.save(loaded, version)).version == version + 1
        await store.delete("s1")


@pytest.mark.faults
async def test_a_server_that_starts_again(mongo_server: Server, place: str) -> None:
    """What was saved is there, and the same store goes on."""
    async with MongoStore(connect(mongo_server.url), database_name=DATABASE, collection=place) as store:
        saved = await store.save(full_session(), 0)
        mongo_server.stop()
        for _ in range(2):
            with pytest.raises(ConnectionFailure):
                await store.save(saved, 1)
        mongo_server.start()
        assert await store.load("s1") == saved
        assert (await store.save(saved, 1)).version == 2
        await store.delete("s1")


# --- by its URL ---------------------------------------------------------------------------------


async def test_by_its_url(mongo_server: Server, place: str) -> None:
    """The database is the path; the collection may stand behind the `?`, beside what is the driver's."""
    base = mongo_server.url.partition("?")[0].rstrip("/")
    url = f"{base}/{DATABASE}?collection={place}&serverSelectionTimeoutMS=5000"
    async with store_from_url(url) as store:
        assert isinstance(store, MongoStore)
        await store.save(Session.fresh("s1"), 0)
    async with store_from_url(mongo_server.url, database_name=DATABASE, collection=place) as store:
        assert await store.load("s1") is not None
        assert await store.delete("s1") is True


@pytest.mark.parametrize("end", ["", "/", "/?x=1"])
def test_a_url_without_a_database(end: str) -> None:
    """It says what is missing, and not the password."""
    with pytest.raises(ValueError, match="names the database") as caught:
        store_from_url(f"mongodb://ana:geheim@host{end}")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["mongodb://ana:geheim@host/d b", "mongodb+srv://ana:geheim@host:27017/desk"])
def test_a_url_that_the_driver_does_not_take(wrong: str) -> None:
    """It is a `ValueError`, as for any other store."""
    with pytest.raises(ValueError, match="PyMongo does not take the URL") as caught:
        store_from_url(wrong)
    assert "geheim" not in str(caught.value)
