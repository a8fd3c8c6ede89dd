from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.event import listen
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import SQLAlchemyStore, Store, store_from_url
from falai.testing.store_contract import (
    FailureContract,
    RowContract,
    SharedContract,
    StoreContract,
    TransactionContract,
)
from store.sqlalchemy_engines import DRIVERS, execute, url_of, with_a_savepoint

pytestmark = pytest.mark.servers


class SQLAlchemy(StoreContract, RowContract, SharedContract, TransactionContract, FailureContract):
    """The contract, over an engine; a subclass says of which driver."""

    longest_id = 255
    driver: str

    @pytest.fixture
    async def store(self, request: pytest.FixtureRequest, place: str) -> AsyncIterator[Store]:
        self.url, self.table = url_of(self.driver, request), place
        self.engine = create_async_engine(self.url)
        async with SQLAlchemyStore(self.engine, table=place) as store:
            yield store
            await execute(self.engine, f"DROP TABLE {place}")

    def another(self) -> Store:
        return store_from_url(f"{self.url}?table={self.table}")

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        await execute(self.engine, f"DELETE FROM {self.table} WHERE id = :id", id=id)
        await execute(
            self.engine,
            f"INSERT INTO {self.table} VALUES (:id, :version, {self.blob}, '2026-09-20 10:00:00', '2026-09-20 10:00:00')",
            id=id,
            version=version,
            blob=blob,
        )

    blob = ":blob"

    @asynccontextmanager
    async def transaction(self, store: Any) -> AsyncIterator[SQLAlchemyStore]:
        async with self.engine.begin() as connection:
            yield SQLAlchemyStore(connection, table=self.table)

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        await execute(self.engine, f"ALTER TABLE {self.table} RENAME TO {self.table}_away")
        yield DBAPIError
        await execute(self.engine, f"ALTER TABLE {self.table}_away RENAME TO {self.table}")


class InASession(SQLAlchemy):
    """The host's transaction is that of a session."""

    @asynccontextmanager
    async def transaction(self, store: Any) -> AsyncIterator[SQLAlchemyStore]:
        async with AsyncSession(self.engine) as session, session.begin():
            yield SQLAlchemyStore(session=session, table=self.table)


class OnPostgres(SQLAlchemy):
    keeps_nul = False
    keeps_floats = False
    keeps_order = False
    knows_json = True
    blob = "CAST(CAST(:blob AS text) AS jsonb)"


class TestSQLite(InASession):
    driver = "sqlite+aiosqlite"


class TestPsycopg(OnPostgres):
    driver = "postgresql+psycopg"


class TestAsyncpg(OnPostgres, InASession):
    driver = "postgresql+asyncpg"


class TestMariaDB(SQLAlchemy):
    driver = "mariadb+asyncmy"
    keeps_blanks = False


class TestWithASavepoint(SQLAlchemy):
    """As on a database of which no more is known than that ids are unique (P-67)."""

    driver = "mariadb+asyncmy"
    keeps_blanks = False

    @pytest.fixture
    async def store(self, request: pytest.FixtureRequest, place: str) -> AsyncIterator[Store]:
        self.url, self.table = url_of(self.driver, request), place
        self.engine = create_async_engine(self.url)
        async with with_a_savepoint(SQLAlchemyStore(self.engine, table=place)) as store:
            yield store
            await execute(self.engine, f"DROP TABLE {place}")

    @asynccontextmanager
    async def transaction(self, store: Any) -> AsyncIterator[SQLAlchemyStore]:
        async with self.engine.begin() as connection:
            yield with_a_savepoint(SQLAlchemyStore(connection, table=self.table))


class TestMySQLDialect(InASession):
    driver = "mysql+asyncmy"
    keeps_blanks = False


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


# --- clients ------------------------------------------------------------------------------------


async def test_exactly_one_client(sqlite: AsyncEngine) -> None:
    """By name or by position; none, several, and what is none are refused."""
    wrong: list[Any] = [
        {},
        {"client": sqlite, "engine": sqlite},
        {"engine": create_engine("sqlite://")},
        {"session": 5},
    ]
    for given in wrong:
        with pytest.raises(TypeError, match="ngine"):
            SQLAlchemyStore(**given)
    scoped = async_scoped_session(async_sessionmaker(sqlite), scopefunc=asyncio.current_task)
    async with sqlite.connect() as connection, AsyncSession(sqlite) as session:
        for store in (
            SQLAlchemyStore(sqlite),
            SQLAlchemyStore(engine=sqlite),
            SQLAlchemyStore(connection=connection),
            SQLAlchemyStore(session=session),
            SQLAlchemyStore(scoped),
        ):
            await store.initialize()
            assert await store.load("s1") is None
        await scoped.remove()


async def test_a_dialect_that_cannot_count(sqlite: AsyncEngine) -> None:
    """It is refused at construction (P-68)."""
    sqlite.dialect.supports_sane_rowcount = False
    with pytest.raises(ValueError, match="count"):
        SQLAlchemyStore(sqlite)


async def test_what_is_no_url() -> None:
    """A driver that is not asynchronous, and what SQLAlchemy cannot read, is a `ValueError`; a driver that is
    missing says what to install."""
    for url in ("sqlite+pysqlite:///a.db", "nothing+all://x"):
        with pytest.raises(ValueError, match="SQLAlchemy"):
            store_from_url(url)
    with pytest.raises(ImportError, match=r'aiomysql.*pip install "falai\[sqlalchemy\]" aiomysql'):
        store_from_url("mysql+aiomysql://x/y")


async def test_disconnect_closes_the_client(tmp_path: Path) -> None:
    """And the store of a URL may be used again, since an engine connects when it has to."""
    store = store_from_url(f"sqlite+aiosqlite:///{tmp_path}/a.db")
    for version in range(2):
        async with store:
            await store.save(Session.fresh("s1"), version)
    await store.disconnect()


# --- transactions of the host -------------------------------------------------------------------


async def test_tasks_that_share_a_connection(engine: AsyncEngine, place: str) -> None:
    """They wait for one another; without a commit of the host nothing is kept (P-69)."""
    await SQLAlchemyStore(engine, table=place).initialize()
    async with engine.connect() as connection:
        store = SQLAlchemyStore(connection, table=place)
        await asyncio.gather(*(store.save(Session.fresh(f"s{n}"), 0) for n in range(10)))
        assert len((await store.scan()).sessions) == 10
        await connection.rollback()
        await store.save(Session.fresh("s1"), 0)
        await connection.commit()
    assert [session.id for session in (await SQLAlchemyStore(engine, table=place).scan()).sessions] == ["s1"]


async def test_other_violations_pass_through(engine: AsyncEngine, place: str) -> None:
    """Only a taken id is a conflict; a constraint of the host is the driver's error (P-67)."""
    async with engine.connect() as connection:
        store = SQLAlchemyStore(connection, table=place)
        await store.initialize()
        await connection.commit()
        await execute(engine, f"CREATE UNIQUE INDEX one_{place} ON {place} (version)")
        await store.save(Session.fresh("s1"), 0)
        await connection.commit()
        with pytest.raises(IntegrityError):
            await store.save(Session.fresh("s2"), 0)
        await connection.rollback()
        assert await store.load("s2") is None


@pytest.mark.parametrize("driver", DRIVERS)
async def test_autocommit(request: pytest.FixtureRequest, place: str, driver: str) -> None:
    """A save is one statement, so it needs no transaction."""
    engine = create_async_engine(url_of(driver, request), isolation_level="AUTOCOMMIT")
    async with SQLAlchemyStore(engine, table=place) as store:
        await store.save(Session.fresh("s1"), 0)
        with pytest.raises(SessionConflictError):
            await store.save(Session.fresh("s1"), 0)
        assert (await store.save(Session.fresh("s1"), 1)).version == 2


async def test_what_won_is_seen_in_an_old_snapshot(request: pytest.FixtureRequest, place: str) -> None:
    """MariaDB shows a transaction the rows as they were at its first look; the conflict tells the version that won."""
    engine = create_async_engine(url_of("mariadb+asyncmy", request))
    async with SQLAlchemyStore(engine, table=place) as store:
        await store.save(Session.fresh("s1"), 0)
        async with engine.begin() as connection:
            inside = SQLAlchemyStore(connection, table=place)
            assert (await inside.load("s1"), await inside.load("s2")) != (None, None)
            await store.save(Session.fresh("s1"), 1)
            await store.save(Session.fresh("s2"), 0)
            for id, expected, actual in (("s1", 1, 2), ("s2", 0, 1)):
                with pytest.raises(SessionConflictError) as caught:
                    await inside.save(Session.fresh(id), expected)
                assert caught.value.actual_version == actual


# --- one statement ------------------------------------------------------------------------------


async def test_one_statement_checks_and_writes(engine: AsyncEngine, place: str) -> None:
    """Nothing is read before it (P-6), and bad arguments send nothing at all (C-15)."""
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    sent: list[str] = []
    listen(
        engine.sync_engine, "before_cursor_execute", lambda c, cursor, sql, *rest: sent.append(sql.split(maxsplit=1)[0])
    )
    await store.save(Session.fresh("s1"), 0)
    await store.save(Session.fresh("s1"), 1)
    assert [word for word in sent if word not in ("SAVEPOINT", "RELEASE")] == ["INSERT", "UPDATE"]
    sent.clear()
    bad: list[Any] = [
        store.load(" "),
        store.load("x" * 256),
        store.delete("x" * 256),
        store.save(Session.fresh("x" * 256), 0),
        store.save(Session.fresh("s1"), -1),
        store.scan(limit=0),
    ]
    for call in bad:
        with pytest.raises((TypeError, ValueError)):
            await call
    assert sent == []
