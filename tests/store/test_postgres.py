from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import PostgresStore, SQLiteStore, Store, store_from_url
from falai.testing.store_contract import (
    FailureContract,
    RowContract,
    SharedContract,
    StoreContract,
    TransactionContract,
    full_session,
)
from falai.testing.store_contract.races import race
from servers.process import Server
from store.postgres_hosts import (
    HOSTS,
    AsyncpgConnection,
    AsyncpgPool,
    Host,
    LateStore,
    PsycopgConnection,
    PsycopgPool,
)

pytestmark = pytest.mark.servers

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"


class Postgres(StoreContract, RowContract, SharedContract, FailureContract):
    """The contract, over PostgreSQL; a subclass says with which client."""

    keeps_nul = False
    keeps_floats = False
    keeps_order = False
    knows_json = True
    longest_id = 255

    url: str
    table: str

    @pytest.fixture
    async def store(self, postgres_server: Server, place: str) -> AsyncIterator[Store]:
        self.url, self.table = postgres_server.url, place
        async with self.another() as store:
            yield store
        self._execute(f"DROP TABLE {place}")

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        self._execute(
            f"INSERT INTO {self.table} VALUES (%s, %s, %s) ON CONFLICT (id)"
            " DO UPDATE SET version = excluded.version, blob = excluded.blob",
            (id, version, blob),
        )

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> None:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(sql.encode(), values)

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        self._execute(f"ALTER TABLE {self.table} RENAME TO {self.table}_away")
        yield self.missing_table(store)
        self._execute(f"ALTER TABLE {self.table}_away RENAME TO {self.table}")

    def missing_table(self, store: Any) -> type[Exception]:
        return psycopg.errors.UndefinedTable


class HostContract(Postgres, TransactionContract):
    """With a client that the host has made."""

    host: Host

    def another(self) -> LateStore:
        return LateStore(self.host, self.url, self.table)

    def missing_table(self, store: Any) -> type[Exception]:
        return self.host.missing_table

    @asynccontextmanager
    async def transaction(self, store: Any) -> AsyncIterator[PostgresStore]:
        async with self.host.transaction(store.client) as connection:
            yield PostgresStore(connection, table=self.table)


class TestPsycopgPool(HostContract):
    host = PsycopgPool()


class TestPsycopgConnection(HostContract):
    host = PsycopgConnection()


class TestAsyncpgPool(HostContract):
    host = AsyncpgPool()


class TestAsyncpgConnection(HostContract):
    host = AsyncpgConnection()


class TestUrl(Postgres):
    """With a pool that the store makes itself."""

    def another(self) -> Store:
        return store_from_url(f"{self.url}?table={self.table}")


@pytest.fixture
def db(postgres_server: Server) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_server.url, autocommit=True) as db:
        yield db


@pytest.fixture
async def client(postgres_server: Server) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(postgres_server.url, autocommit=True) as client:
        yield client


@pytest.fixture(params=HOSTS)
def host(request: pytest.FixtureRequest) -> Host:
    return HOSTS[request.param]


# --- the table ----------------------------------------------------------------------------------


async def test_the_columns(client: Any, db: psycopg.Connection[Any], place: str) -> None:
    """The table is that of P-37, and its dates are the server's: the first is written once (P-28, P-38)."""
    store = PostgresStore(client, table=place)
    await store.initialize()
    found = db.execute(
        "SELECT column_name, data_type, character_maximum_length, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position",
        (place,),
    ).fetchall()
    assert found == [
        ("id", "character varying", 255, "NO", None),
        ("version", "integer", None, "NO", None),
        ("blob", "jsonb", None, "NO", None),
        ("created_at", "timestamp with time zone", None, "NO", "now()"),
        ("updated_at", "timestamp with time zone", None, "NO", "now()"),
    ]
    dates = f"SELECT created_at, updated_at FROM {place}".encode()
    await store.save(Session.fresh("s1"), 0)
    [(created, updated)] = db.execute(dates).fetchall()
    assert created == updated
    await store.save(Session.fresh("s1"), 1)
    [(same, later)] = db.execute(dates).fetchall()
    assert same == created < later


async def test_another_schema(client: Any, db: psycopg.Connection[Any], place: str) -> None:
    """The name may have the schema in front, and is written unquoted (P-25)."""
    db.execute(f"CREATE SCHEMA {place}".encode())
    store = PostgresStore(client, table=f"{place}.Talks_2$")
    await store.initialize()
    await store.save(Session.fresh("s1"), 0)
    assert db.execute(f'SELECT id FROM {place}."talks_2$"'.encode()).fetchall() == [("s1",)]
    db.execute(f"DROP SCHEMA {place} CASCADE".encode())


@pytest.mark.parametrize("name", ["", "a b", "a;drop", "a.b.c", "ação", 'a"', "a.", ".a", "a\n"])
async def test_what_is_no_name(client: Any, name: str) -> None:
    """A table's name is checked at construction (P-25)."""
    with pytest.raises(ValueError, match="table"):
        PostgresStore(client, table=name)


@pytest.mark.parametrize(
    "client",
    [None, 5, "postgresql://x", ConnectionPool("", open=False)],
    ids=["None", "a number", "an address", "a pool of the other kind"],
)
def test_what_is_no_client(client: Any) -> None:
    """It is refused at construction, and told what would be one."""
    with pytest.raises(TypeError, match="psycopg"):
        PostgresStore(client)


@pytest.mark.parametrize("setting", ["role", "default_transaction_read_only"])
async def test_a_table_that_somebody_else_made(
    postgres_server: Server, db: psycopg.Connection[Any], place: str, setting: str
) -> None:
    """An account that may create nothing, and a server that only reads, can be used: nothing is missing (P-23)."""
    async with store_from_url(postgres_server.url, table=place) as store:
        saved = await store.save(Session.fresh("s1"), 0)
    db.execute(f"CREATE ROLE {place}".encode())
    db.execute(f"GRANT SELECT ON {place} TO {place}".encode())
    value = {"role": place}.get(setting, "on")
    async with store_from_url(f"{postgres_server.url}?options=-c%20{setting}%3D{value}", table=place) as store:
        assert await store.load("s1") == saved
    db.execute(f"DROP OWNED BY {place}; DROP ROLE {place}".encode())


async def test_an_old_table_is_left_alone(client: Any, db: psycopg.Connection[Any], place: str) -> None:
    """On a 3.x table the missing columns show as the database's own error (P-72, P-73)."""
    db.execute(f"CREATE TABLE {place} (id text PRIMARY KEY, collected_data jsonb)".encode())
    store = PostgresStore(client, table=place)
    await store.initialize()
    with pytest.raises(psycopg.errors.UndefinedColumn):
        await store.load("s1")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        await store.save(Session.fresh("s1"), 0)


async def test_the_other_packages_row(client: Any, db: psycopg.Connection[Any], place: str) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    store = PostgresStore(client, table=place)
    await store.initialize()
    db.execute(f"INSERT INTO {place} (id, version, blob) VALUES ('conv-9', 6, %s)".encode(), (blob,))
    session = await store.load("conv-9")
    assert session is not None
    await store.save(session, 6)
    assert db.execute(f"SELECT blob FROM {place}".encode()).fetchall() == [({**json.loads(blob), "version": 7},)]


async def test_the_rows_of_a_store_on_sqlite(client: Any, place: str, tmp_path: Path) -> None:
    """A session that goes from one to the other and back is the same (P-64)."""
    session = full_session()
    session.data["wish"] = "no zero byte"
    postgres = PostgresStore(client, table=place)
    await postgres.initialize()
    async with SQLiteStore(tmp_path / "a.db") as sqlite:
        there = await sqlite.save(await postgres.save(session, 0), 0)
    assert await postgres.load("s1") == there


# --- what a host may have set -------------------------------------------------------------------


async def test_settings_of_psycopg(postgres_server: Server, place: str) -> None:
    """Rows that are mappings, and other placeholders in the host's cursors, are not in the way (P-39)."""
    async with await psycopg.AsyncConnection.connect(
        postgres_server.url, autocommit=True, row_factory=dict_row, cursor_factory=psycopg.AsyncClientCursor
    ) as connection:
        psycopg.types.json.set_json_loads(lambda _: "spoilt", connection)
        store = PostgresStore(connection, table=place)
        await store.initialize()
        saved = await store.save(full_session(), 0)
        assert await store.load("s1") == saved
        assert (await store.scan()).sessions == [saved]


async def test_a_pipeline_of_psycopg(client: psycopg.AsyncConnection[Any], place: str) -> None:
    """Inside the host's pipeline each call waits for its own answer: a row is found, a conflict and an error told."""
    store = PostgresStore(client, table=place)
    async with client.pipeline():
        with pytest.raises(psycopg.errors.UndefinedTable):
            await store.load("s1")
        await store.initialize()
        saved = await store.save(full_session(), 0)
        assert await store.load("s1") == saved
        await race([store], saved, 1)
        assert [session.version for session in (await store.scan()).sessions] == [2]
        async with client.transaction(force_rollback=True):
            await store.save(saved, 2)
            with pytest.raises(SessionConflictError, match="version 3 is stored"):
                await store.save(saved, 1)
        assert (await store.save(saved, 2)).version == 3
        assert [await store.delete("s1"), await store.delete("s1")] == [True, False]


async def test_settings_of_asyncpg(postgres_server: Server, place: str) -> None:
    """A codec for JSON neither encodes the blob twice nor decodes it (P-39)."""
    connection = await asyncpg.connect(postgres_server.url)
    for kind in ("json", "jsonb"):
        await connection.set_type_codec(kind, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    async with PostgresStore(connection, table=place) as store:
        saved = await store.save(full_session(), 0)
        assert await store.load("s1") == saved
        assert (await connection.fetchval(f"SELECT blob FROM {place}"))["version"] == 1


async def test_a_connection_of_psycopg_that_does_not_commit(postgres_server: Server, place: str) -> None:
    """The driver begins its transaction, and the host ends it: the store neither commits nor rolls back (P-41)."""
    async with await psycopg.AsyncConnection.connect(postgres_server.url) as connection:
        store = PostgresStore(connection, table=place)
        await store.initialize()
        await connection.commit()
        await store.save(Session.fresh("s1"), 0)
        with pytest.raises(SessionConflictError):
            await store.save(Session.fresh("s1"), 0)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        await connection.rollback()
        assert await store.load("s1") is None


async def test_disconnect_closes_the_client(host: Host, postgres_server: Server, place: str) -> None:
    """Whichever it is, and leaving the block does so too (P-24)."""
    async with LateStore(host, postgres_server.url, place) as store:
        await store.save(Session.fresh("s1"), 0)
    with pytest.raises(Exception, match="clos"):
        await store.load("s1")


async def test_a_store_of_a_url_opens_again(postgres_server: Server, place: str) -> None:
    """It connects when it is first used, entered or not, and again after it was closed; in any event loop."""
    store = store_from_url(f"{postgres_server.url}?table={place}&application_name=falai")
    await store.disconnect()

    async def use(version: int) -> None:
        async with store:
            await store.save(Session.fresh("s1"), version)

    await use(0)
    await asyncio.to_thread(asyncio.run, use(1))
    loaded = await store.load("s1")
    assert loaded is not None
    assert loaded.version == 2
    await store.disconnect()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://[host/db",
        "postgresql://ana:ge%zzheim@host/db",
        "postgresql://host/db?colour=red",
        "postgresql://host/db?password=ge%zzheim",
        "postgresql://host/db?user=ana&sslPassword=ge heim",
    ],
)
def test_what_libpq_does_not_take(url: str) -> None:
    """It is a `ValueError` before anything is connected, and shows no password."""
    with pytest.raises(ValueError, match="URL") as caught:
        store_from_url(url)
    assert "heim" not in str(caught.value)
    store_from_url("PostgreSQL://ana:geheim@host/db?sslmode=require&table=talks")


async def test_a_url_that_leads_nowhere(postgres_server: Server) -> None:
    """The error is that of the connection, and comes at once."""
    store = store_from_url(postgres_server.url.replace("/postgres", "/nowhere"))
    for _ in range(2):
        with pytest.raises(psycopg.OperationalError, match="nowhere"):
            await store.load("s1")
    await store.disconnect()


# --- one statement ------------------------------------------------------------------------------


class Recording:
    """A stand-in for a connection of asyncpg: keeps what it was asked, and has no rows."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        self.asked.append((sql.split(maxsplit=1)[0], *values))
        return []


async def test_one_statement_checks_and_writes() -> None:
    """After it only a conflict asks again (P-6, P-7)."""
    client = Recording()
    store = PostgresStore(client)
    for expected in (0, 4):
        with pytest.raises(SessionConflictError) as caught:
            await store.save(Session.fresh("s1"), expected)
        assert caught.value.actual_version is None
    assert [asked[0] for asked in client.asked] == ["INSERT", "SELECT", "UPDATE", "SELECT"]


async def test_bad_arguments_never_reach_the_database() -> None:
    """They are refused before anything is sent (P-10, P-11, C-15)."""
    client = Recording()
    store = PostgresStore(client)
    session = Session.fresh("s1")
    session.data = {"x": object()}
    bad: list[Any] = [
        store.load(""),
        store.delete("x" * 256),
        store.save(session, 0),
        store.save(Session.fresh("s1"), -1),
        store.save(Session.fresh("x" * 256), 0),
        store.scan(limit=0),
    ]
    for call in bad:
        with pytest.raises((TypeError, ValueError)):
            await call
    assert client.asked == []


# --- isolation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize("name", HOSTS)
async def test_a_race_lost_in_a_strict_transaction(postgres_server: Server, place: str, name: str, level: str) -> None:
    """It is the server's serialization failure, which passes through; the transaction repeated goes well (P-42)."""
    async with LateStore(HOSTS[name], postgres_server.url, place) as store:
        other = await psycopg.AsyncConnection.connect(postgres_server.url, autocommit=True)
        async with PostgresStore(other, table=place) as rival:
            await rival.save(Session.fresh("s1"), 0)
            with pytest.raises(Exception, match="could not serialize") as caught:  # noqa: PT012 - the block is the test's
                async with HOSTS[name].transaction(store.client) as connection:
                    await connection.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
                    inside = PostgresStore(connection, table=place)
                    assert await inside.load("s1") is not None
                    await rival.save(Session.fresh("s1"), 1)
                    await inside.save(Session.fresh("s2"), 0)
                    await inside.save(Session.fresh("s1"), 1)
            assert getattr(caught.value, "sqlstate", None) == "40001"
            assert await rival.load("s2") is None
            async with HOSTS[name].transaction(store.client) as connection:
                await PostgresStore(connection, table=place).save(Session.fresh("s1"), 2)


async def test_a_table_that_many_create(postgres_server: Server, place: str) -> None:
    """Who loses the race for the catalogue's row tries once more (P-43)."""
    async with AsyncConnectionPool(postgres_server.url, min_size=12, max_size=12, open=False) as pool:
        await pool.wait()
        for number in range(5):
            await asyncio.gather(*(PostgresStore(pool, table=f"{place}_{number}").initialize() for _ in range(12)))
