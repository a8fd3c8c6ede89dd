from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Column, DateTime, Integer, MetaData, String, Table, Text, TypeDecorator, inspect, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.model import Session
from falai.store import PostgresStore, SQLAlchemyStore, SQLiteStore, Store, store_from_url
from falai.testing.store_contract import full_session
from store.sqlalchemy_engines import DRIVERS, execute, url_of

pytestmark = pytest.mark.servers

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)


@pytest.fixture(params=DRIVERS)
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(url_of(request.param, request))
    yield engine
    await engine.dispose()


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    yield engine
    await engine.dispose()


# --- the store's own table ----------------------------------------------------------------------

COLUMNS = {
    "sqlite": ["TEXT", "INTEGER", "TEXT", "TEXT", "TEXT"],
    "postgresql": ["VARCHAR(255)", "INTEGER", "JSONB", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"],
    "mysql": ["varchar(255)", "int(11)", "longtext", "datetime(6)", "datetime(6)"],
}


async def test_the_columns(engine: AsyncEngine, place: str) -> None:
    """They are those of P-64, none may be null, and the id is the key; the collation tells cases apart."""
    dialect = engine.dialect.name.replace("mariadb", "mysql")
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    async with engine.connect() as db:
        columns = await db.run_sync(lambda sync: inspect(sync).get_columns(place))
        key = await db.run_sync(lambda sync: inspect(sync).get_pk_constraint(place))
    assert [column["name"] for column in columns] == ["id", "version", "blob", "created_at", "updated_at"]
    assert not any(column["nullable"] for column in columns)
    assert key["constrained_columns"] == ["id"]
    if dialect == "mysql":
        sql = "SELECT column_type, collation_name FROM information_schema.columns WHERE table_name = :t ORDER BY ordinal_position"
        found = [tuple(row) for row in await execute(engine, sql, t=place)]
        assert [kind for kind, _ in found] == COLUMNS[dialect]
        assert [collation for _, collation in found] == ["utf8mb4_bin", None, "utf8mb4_bin", None, None]
    else:
        assert [column["type"].compile(engine.dialect) for column in columns] == COLUMNS[dialect]


async def test_the_dates(engine: AsyncEngine, place: str) -> None:
    """In UTC, from the clock, in PostgreSQL from the server; the first is written once (P-28, P-64)."""
    times = iter([NOW, NOW.astimezone(timezone(timedelta(hours=5))) + timedelta(milliseconds=1, microseconds=999)])
    store = SQLAlchemyStore(engine, table=place, clock=lambda: next(times))
    await store.initialize()
    await store.save(Session.fresh("s1"), 0)
    await store.save(Session.fresh("s1"), 1)
    [(created, updated)] = await execute(engine, f"SELECT created_at, updated_at FROM {place}")
    match engine.dialect.name:
        case "sqlite":
            assert (created, updated) == ("2026-09-20T10:00:00.000Z", "2026-09-20T10:00:00.001Z")
        case "postgresql":
            assert created < updated
            assert created.tzinfo is not None
        case _:
            assert (created, updated) == (datetime(2026, 9, 20, 10), datetime(2026, 9, 20, 10, 0, 0, 1000))


async def test_a_name_of_its_own(engine: AsyncEngine, place: str) -> None:
    """It is written unquoted, with capitals, $ and a schema in front, and is found again (P-25)."""
    schema = {"sqlite": "main.", "postgresql": "public."}.get(engine.dialect.name, "falai.")
    columns = {"blob": "Order", "id": "key"}
    for _ in range(2):
        store = SQLAlchemyStore(engine, table=f"{schema}T{place}$", columns=columns)
        await store.initialize()
        await store.delete("s1")
        saved = await store.save(Session.fresh("s1"), 0)
        assert await store.load("s1") == saved
    assert len((await store.scan()).sessions) == 1
    assert len(await execute(engine, f"SELECT * FROM {schema}T{place}$")) == 1


@pytest.mark.parametrize("name", ["", "a b", "a;drop", "a.b.c", "ação", 'a"', "a.", ".a", "a\n"])
async def test_what_is_no_name(sqlite: AsyncEngine, name: str) -> None:
    """A table's name is checked at construction (P-25)."""
    with pytest.raises(ValueError, match="table"):
        SQLAlchemyStore(sqlite, table=name)


async def test_an_old_table_is_left_alone(engine: AsyncEngine, place: str) -> None:
    """On a 3.x table the missing columns show as the database's own error (P-72, P-73)."""
    await execute(engine, f"CREATE TABLE {place} (id varchar(99) PRIMARY KEY, collected_data int)")
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    for call in (store.load("s1"), store.save(Session.fresh("s1"), 0)):
        with pytest.raises(DBAPIError, match=r"(?i)column"):
            await call


async def test_a_table_that_many_create(engine: AsyncEngine, place: str) -> None:
    """None of them fails (P-23)."""
    for number in range(3):
        await asyncio.gather(
            *(SQLAlchemyStore(engine, table=f"{place}_{number}").initialize() for _ in range(8))
        )  # fmt: skip


# --- rows that other stores wrote ---------------------------------------------------------------


async def test_the_rows_of_the_store_on_sqlite(tmp_path: Path) -> None:
    """Both stores have one table, whichever made it, and one conflict (P-64)."""
    path = tmp_path / "a.db"
    for table in ("a", "b"):
        ours = store_from_url(f"sqlite+aiosqlite:///{path}?table={table}")
        stores: list[Store] = [SQLiteStore(path, table=table), ours]
        await _take_turns(stores if table == "a" else stores[::-1])


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_the_rows_of_the_store_on_postgresql(postgres_server: Any, place: str, driver: str) -> None:
    """Likewise."""
    url = f"{postgres_server.url}?table={place}"
    stores = [store_from_url(url + end) for end in ("_a", "_b")]
    others = [store_from_url(url.replace("://", f"+{driver}://") + end) for end in ("_a", "_b")]
    assert isinstance(stores[0], PostgresStore)
    await _take_turns([stores[0], others[0]])
    await _take_turns([others[1], stores[1]])


async def _take_turns(stores: list[Store]) -> None:
    """Each loads, scans and deletes what the other has saved, and loses against it."""
    for store in stores:
        await store.initialize()
    session = full_session()
    for version in range(4):
        writer, reader = stores[version % 2], stores[1 - version % 2]
        session = await writer.save(session, version)
        assert await reader.load("s1") == session
        assert (await reader.scan()).sessions == [session]
        with pytest.raises(SessionConflictError) as caught:
            await reader.save(session, version)
        assert caught.value.actual_version == version + 1
    assert [await store.delete("s1") for store in stores] == [True, False]
    for store in stores:
        await store.disconnect()


async def test_the_other_packages_row(engine: AsyncEngine, place: str) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    await store.save(Session.fresh("conv-9"), 0)
    cast_to = "jsonb" if engine.dialect.name == "postgresql" else "char"
    column = engine.dialect.identifier_preparer.quote("blob")
    await execute(engine, f"UPDATE {place} SET version = 6, {column} = CAST(:blob AS {cast_to})", blob=blob)
    session = await store.load("conv-9")
    assert session is not None
    await store.save(session, 6)
    [(found,)] = await execute(engine, f"SELECT {column} FROM {place}")
    assert (found if isinstance(found, dict) else json.loads(found)) == {**json.loads(blob), "version": 7}


# --- tables of the host -------------------------------------------------------------------------


class Reversed(TypeDecorator[str]):
    """A text of the host's that is stored in a way of its own."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return value and value[::-1]

    process_result_value = process_bind_param


class Boxed(TypeDecorator[Any]):
    """The same for a JSON type."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        assert isinstance(value, dict)
        return {"box": value}

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        return value["box"]


BLOBS = {
    "json": JSON(),
    "jsonb": JSON().with_variant(JSONB(), "postgresql"),
    "text": Text(),
    "text, json on postgresql": Text().with_variant(JSONB(), "postgresql"),
    "decorated text": Reversed(),
    "decorated json": Boxed(),
}


@pytest.mark.parametrize("kind", BLOBS)
async def test_a_table_of_the_host(engine: AsyncEngine, place: str, kind: str) -> None:
    """It has more columns, other names and types; a JSON type is given an object, another text (P-66)."""
    on_postgres = engine.dialect.name == "postgresql"
    table = Table(
        place,
        MetaData(),
        Column("n", Integer, primary_key=True),
        Column("key", String(99), unique=True, nullable=False),
        Column("rev", Integer, nullable=False),
        Column("payload", BLOBS[kind], nullable=False),
        Column("made", DateTime, nullable=False),
        Column("seen", String(30), nullable=False),
        Column("note", String(9), server_default="-", nullable=False),
    )  # fmt: skip
    names = {"id": "key", "version": "rev", "blob": "payload", "created_at": "made", "updated_at": "seen"}
    store = SQLAlchemyStore(engine, table=table, columns=names, clock=lambda: NOW)
    await store.initialize()
    with pytest.raises(DBAPIError):  # the table is the host's to create (P-65)
        await store.load("s1")
    async with engine.begin() as db:
        await db.run_sync(table.metadata.create_all)
    session = full_session()
    session.data["wish"] = "no zero byte"
    session.data["big"] = 2**60
    saved = await store.save(session, 0)
    assert saved.data["big"] == 2**60
    saved = await store.save(saved, 1)
    assert await store.load("s1") == saved
    assert (await store.scan()).sessions == [saved]
    for version in (0, 1):
        with pytest.raises(SessionConflictError) as caught:
            await store.save(session, version)
        assert caught.value.actual_version == 2
    async with engine.connect() as db:
        row = (await db.execute(select(table))).one()
    assert (row.made, row.seen, row.note) == (datetime(2026, 9, 20, 10), "2026-09-20T10:00:00.000Z", "-")
    assert (row.payload if isinstance(row.payload, dict) else json.loads(row.payload))["version"] == 2
    assert isinstance(row.payload, dict) == (
        kind.startswith(("json", "decorated json")) or (", json" in kind and on_postgres)
    )
    assert await store.delete("s1") is True


@pytest.mark.parametrize("blob", ["{", "null", "[]", '{"nope": true}'])
async def test_a_bad_row_in_a_json_column_of_the_host(sqlite: AsyncEngine, blob: str) -> None:
    """It is an invalid session, and hides no other row, although the type of the column could not read it (P-19)."""
    table = Table("t", MetaData(), *_columns(JSON()))
    async with sqlite.begin() as db:
        await db.run_sync(table.metadata.create_all)
    store = SQLAlchemyStore(sqlite, table=table)
    saved = await store.save(Session.fresh("s2"), 0)
    await store.save(Session.fresh("s1"), 0)
    await execute(sqlite, "UPDATE t SET blob = :blob WHERE id = 's1'", blob=blob)
    with pytest.raises(InvalidSessionError):
        await store.load("s1")
    page = await store.scan()
    assert (page.sessions, [error.session_id for error in page.bad]) == ([saved], ["s1"])


async def test_a_row_that_is_no_text(sqlite: AsyncEngine) -> None:
    """Bytes are read as UTF-8; what is none is an invalid session, and hides no other row (P-19)."""
    async with SQLAlchemyStore(sqlite) as store:
        saved = await store.save(full_session(), 0)
        await store.save(Session.fresh("s2"), 0)
        await execute(sqlite, "UPDATE agent_sessions SET blob = CAST(blob AS BLOB) WHERE id = 's1'")
        await execute(sqlite, "UPDATE agent_sessions SET blob = CAST(x'ff' AS TEXT) WHERE id = 's2'")
        assert await store.load("s1") == saved
        page = await store.scan()
        assert (page.sessions, [error.session_id for error in page.bad]) == ([saved], ["s2"])


def _columns(blob: Any, date: Any = None) -> list[Column[Any]]:
    dates = [Column(name, date or DateTime(timezone=True), nullable=False) for name in ("created_at", "updated_at")]
    return [Column("id", String(255), primary_key=True), Column("version", Integer), Column("blob", blob), *dates]


class Base(DeclarativeBase):
    pass


class Talk(Base):
    """A mapped class whose attributes are called otherwise than the columns."""

    __tablename__ = "talks"

    key: Mapped[str] = mapped_column("talk_key", String(255), primary_key=True)
    version: Mapped[int]
    state: Mapped[dict[str, Any]] = mapped_column("talk_state", JSON)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    changed: Mapped[datetime] = mapped_column("changed_at", DateTime(timezone=True))


async def test_a_mapped_class(sqlite: AsyncEngine) -> None:
    """Its attributes name the columns; a session of the ORM sees what was saved, in one transaction with its own."""
    async with sqlite.begin() as db:
        await db.run_sync(Base.metadata.create_all)
    names = {"id": "key", "blob": "state", "updated_at": "changed"}
    async with async_sessionmaker(sqlite)() as session:
        store = SQLAlchemyStore(session, table=Talk, columns=names, clock=lambda: NOW)
        await store.save(Session.fresh("s1"), 0)
        talk = await session.get(Talk, "s1")
        assert talk is not None
        assert (talk.version, talk.state["id"], talk.changed) == (1, "s1", datetime(2026, 9, 20, 10))
        await session.rollback()
        assert await store.load("s1") is None


@pytest.mark.parametrize("table", [Talk, Talk.__table__], ids=["class", "table"])
async def test_a_column_that_is_missing(sqlite: AsyncEngine, table: Any) -> None:
    """The error names the table, the columns, and how to say what they are called (P-66)."""
    with pytest.raises(TypeError, match=r"(?i)talk.*id, blob, updated_at.*columns=") as caught:
        SQLAlchemyStore(sqlite, table=table)
    assert "key" in str(caught.value)


@pytest.mark.parametrize("table", [5, None, object(), Session, b"x"])
async def test_what_is_no_table(sqlite: AsyncEngine, table: Any) -> None:
    """It is refused at construction."""
    with pytest.raises(TypeError, match="mapped class"):
        SQLAlchemyStore(sqlite, table=table)


async def test_a_name_that_is_no_column(sqlite: AsyncEngine) -> None:
    """The keys of `columns` are the five."""
    with pytest.raises(TypeError, match=r"blobb.*id, version"):
        SQLAlchemyStore(sqlite, columns={"blobb": "x"})
