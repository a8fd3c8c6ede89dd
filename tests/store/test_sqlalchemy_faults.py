"""Faults of real databases behind SQLAlchemy: the error passes through, nothing is half-written, the next call works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from falai.errors import FalaiError
from falai.session.model import Session
from falai.store import SQLAlchemyStore
from servers.process import Server
from servers.proxy import Proxy, Side
from store.sqlalchemy_engines import DRIVERS, execute, url_of, with_a_savepoint

pytestmark = [pytest.mark.servers, pytest.mark.faults]

SERVERS = [driver for driver in DRIVERS if "sqlite" not in driver]
Make = Callable[..., AsyncEngine]


@pytest.fixture
async def engine_of() -> AsyncIterator[Make]:
    """Engines that are disposed of at the test's end."""
    made: list[AsyncEngine] = []

    def make(url: str, **options: Any) -> AsyncEngine:
        made.append(create_async_engine(url, **options))
        return made[-1]

    yield make
    for engine in made:
        await engine.dispose()


def marked(text: str) -> Session:
    """A session that the proxy knows by a text in it."""
    session = Session.fresh("s1")
    session.data = {"text": text}
    return session


@pytest.fixture(params=SERVERS)
async def behind(
    request: pytest.FixtureRequest, engine_of: Make, proxy_to: Any, place: str
) -> tuple[SQLAlchemyStore, Proxy]:
    """A store with a row and some connections, and the line to its server."""
    proxy: Proxy = proxy_to(url_of(request.param, request))
    store = SQLAlchemyStore(engine_of(proxy.url), table=place)
    await store.initialize()
    await store.save(marked("there"), 0)
    await asyncio.gather(*(store.load("s1") for _ in range(4)))
    return store, proxy


@pytest.mark.parametrize(
    ("on", "side", "made"),
    [(b"on its way", "before", False), (b"on its way", "after", False), (b"COMMIT", "after", True)],
)
async def test_a_line_that_is_cut_during_a_save(
    behind: tuple[SQLAlchemyStore, Proxy], on: bytes, side: Side, *, made: bool
) -> None:
    """What was not committed is not there, `load` shows it (P-13), and the next call already works."""
    store, proxy = behind
    proxy.cut_on(on, side)
    with pytest.raises(DBAPIError):
        await store.save(marked("on its way"), 1)
    loaded = await store.load("s1")
    assert loaded is not None
    assert (loaded.version, loaded.data["text"]) == ((2, "on its way") if made else (1, "there"))
    assert (await store.save(loaded, loaded.version)).version == loaded.version + 1


async def test_a_server_that_cannot_be_reached(behind: tuple[SQLAlchemyStore, Proxy]) -> None:
    """Every call fails until it is back, and works from then on."""
    store, proxy = behind
    saved = await store.load("s1")
    assert saved is not None
    proxy.close()
    for call in (lambda: store.load("s1"), lambda: store.save(saved, 1), store.scan, lambda: store.delete("s1")):
        with pytest.raises((DBAPIError, OSError)):
            await call()
    proxy.open()
    assert await store.load("s1") == saved
    assert (await store.save(saved, 1)).version == 2


@pytest.mark.parametrize("driver", SERVERS)
async def test_a_server_that_is_started_again(
    request: pytest.FixtureRequest, engine_of: Make, place: str, driver: str
) -> None:
    """One call may fail, however many connections the pool has lost."""
    engine = engine_of(url_of(driver, request))
    server: Server = request.getfixturevalue("postgres_server" if "postgres" in driver else "mariadb_server")
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    saved = await store.save(marked("there"), 0)
    await asyncio.gather(*(store.load("s1") for _ in range(4)))
    await asyncio.to_thread(server.restart)
    failed = 0
    for _ in range(6):
        try:
            assert await store.load("s1") == saved
        except DBAPIError:
            failed += 1
    assert failed <= 1
    assert (await store.save(saved, 1)).version == 2


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_pool_that_is_full(request: pytest.FixtureRequest, engine_of: Make, place: str, driver: str) -> None:
    """The wait for a connection ends as the host has set it."""
    engine = engine_of(url_of(driver, request), pool_size=1, max_overflow=0, pool_timeout=0.1)
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    async with engine.connect():
        for call in (lambda: store.load("s1"), lambda: store.save(Session.fresh("s1"), 0)):
            with pytest.raises(PoolTimeoutError):
                await call()
    assert (await store.save(Session.fresh("s1"), 0)).version == 1


WAITS: dict[str, dict[str, Any]] = {
    "sqlite+aiosqlite": {"timeout": 0.1},
    "postgresql+psycopg": {"options": "-c lock_timeout=100"},
    "postgresql+asyncpg": {"server_settings": {"lock_timeout": "100"}},
    "mariadb+asyncmy": {"init_command": "SET innodb_lock_wait_timeout = 1"},
    "mysql+asyncmy": {"init_command": "SET innodb_lock_wait_timeout = 1"},
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("first", [False, True])
async def test_a_lock_that_lasts_too_long(
    request: pytest.FixtureRequest, engine_of: Make, place: str, driver: str, *, first: bool
) -> None:
    """It is the driver's error; nothing was written, first saves and later ones alike."""
    engine = engine_of(url_of(driver, request), connect_args=WAITS[driver])
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    if not first:
        await store.save(marked("there"), 0)
    async with engine.connect() as other:
        await SQLAlchemyStore(other, table=place).save(marked("of another"), 0 if first else 1)
        with pytest.raises(DBAPIError) as caught:
            await store.save(marked("new"), 0 if first else 1)
        assert not isinstance(caught.value, FalaiError)
        await other.rollback()
    loaded = await store.load("s1")
    assert (loaded and loaded.data["text"]) == (None if first else "there")
    assert (await store.save(marked("new"), 0 if first else 1)).version == (1 if first else 2)


@asynccontextmanager
async def _inside(
    engine: AsyncEngine, table: str, made: Callable[[SQLAlchemyStore], SQLAlchemyStore] = lambda store: store
) -> AsyncIterator[tuple[AsyncConnection, SQLAlchemyStore]]:
    """A transaction that the host ends."""
    async with engine.connect() as connection:
        yield connection, made(SQLAlchemyStore(connection, table=table))


@pytest.mark.parametrize("made", [lambda store: store, with_a_savepoint], ids=["plain", "savepoint"])
async def test_a_time_out_inside_a_transaction(
    request: pytest.FixtureRequest, engine_of: Make, place: str, made: Any
) -> None:
    """MariaDB gives up the statement alone: what the host did before it may be committed, and is all that is."""
    driver = "mariadb+asyncmy"
    engine = engine_of(url_of(driver, request), connect_args=WAITS[driver])
    await SQLAlchemyStore(engine, table=place).initialize()
    async with _inside(engine, place) as (other, theirs), _inside(engine, place, made) as (connection, ours):
        await theirs.save(Session.fresh("s1"), 0)
        await ours.save(Session.fresh("s2"), 0)
        with pytest.raises(OperationalError, match="Lock wait timeout"):
            await ours.save(Session.fresh("s1"), 0)
        await other.rollback()
        await ours.save(Session.fresh("s3"), 0)
        await connection.commit()
    assert await _ids(engine, place) == ["s2", "s3"]


@pytest.mark.parametrize("made", [lambda store: store, with_a_savepoint], ids=["plain", "savepoint"])
async def test_a_deadlock(request: pytest.FixtureRequest, engine_of: Make, place: str, made: Any) -> None:
    """Of two transactions that wait for each other the server ends one: its host is told so, and may repeat it whole."""
    engine = engine_of(url_of("mariadb+asyncmy", request))
    await SQLAlchemyStore(engine, table=place).initialize()
    async with _inside(engine, place, made) as one, _inside(engine, place, made) as two:
        await one[1].save(Session.fresh("s1"), 0)
        await two[1].save(Session.fresh("s2"), 0)
        crossed = (one[1].save(Session.fresh("s2"), 0), two[1].save(Session.fresh("s1"), 0))
        results = await asyncio.gather(*crossed, return_exceptions=True)
        lost = next(n for n, result in enumerate(results) if isinstance(result, OperationalError))
        assert "Deadlock" in str(results[lost])
        assert isinstance(results[1 - lost], Session)
        await (one, two)[lost][0].rollback()
        await (one, two)[1 - lost][0].commit()
        for id in ("s1", "s2"):
            await (one, two)[lost][1].delete(id)
        await (one, two)[lost][0].commit()
    assert await _ids(engine, place) == []


async def _ids(engine: AsyncEngine, table: str) -> list[str]:
    return [session.id for session in (await SQLAlchemyStore(engine, table=table).scan()).sessions]


@pytest.mark.parametrize("driver", SERVERS)
async def test_a_connection_that_the_server_ends(
    request: pytest.FixtureRequest, engine_of: Make, place: str, driver: str
) -> None:
    """A save that waits for a lock when its connection is ended was not made."""
    engine = engine_of(url_of(driver, request))
    store = SQLAlchemyStore(engine, table=place)
    await store.initialize()
    await store.save(marked("there"), 0)
    async with _inside(engine, place) as (other, theirs):
        await theirs.save(marked("of another"), 1)
        saving = asyncio.ensure_future(store.save(marked("new"), 1))
        await _end_what_waits(engine)
        with pytest.raises(DBAPIError):
            await saving
        await other.rollback()
    loaded = await store.load("s1")
    assert loaded is not None
    assert loaded.data["text"] == "there"
    await store.save(loaded, 1)


async def _end_what_waits(engine: AsyncEngine) -> None:
    if engine.dialect.name == "postgresql":
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while not await execute(engine, ended):
            await asyncio.sleep(0.02)
        return
    waits = "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE %' AND id <> connection_id()"
    while not (found := await execute(engine, waits)):
        await asyncio.sleep(0.02)
    async with engine.connect() as db:
        await db.execute(text(f"KILL CONNECTION {int(found[0][0])}"))
