"""What a store costs beside its bare driver: load and save of one session. Exit code 1 when over the limit.

The floor is what a careful host writes by hand for the same rows: the same statements through the
same driver, on a thread of its own where the driver blocks; the blob read into `Session` and
written from it by msgspec; the version compared. It checks no value, copies nothing and tells no
conflict from another. Both sides take turns in one run, and of each the least of many counts: what
else runs on the machine can only add. Times are elapsed.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import pytest

from falai.session.model import Session
from falai.store import PostgresStore, SQLiteStore, Store
from falai.testing.store_contract import full_session

ROUNDS, TURN = 60, 25
LIMIT = 1.3
ID = "s1"
ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder(Session).decode


class Sides(NamedTuple):
    """A store, and its floor: one call loads the session and saves it again."""

    store: Store
    floor: Callable[[], Awaitable[None]]


def session_of(size: int) -> Session:
    """A session with a run that waits and a history, of about so many bytes."""
    session = full_session(ID)
    session.data["wish"] = "a table in the garden"  # U+0000 in a text is read the slow way, and in no conversation
    session.history = [{"role": "user", "content": f"line {n}: I would like to know when"} for n in range(size // 65)]
    return session


@asynccontextmanager
async def sqlite(session: Session) -> AsyncIterator[Sides]:
    """A file, in WAL mode."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        async with SQLiteStore(Path(folder) / "ours.db") as store:
            await store.save(session, 0)
            loop = asyncio.get_running_loop()
            db = await loop.run_in_executor(thread, _sqlite_floor, Path(folder) / "floor.db", session)

            async def floor() -> None:
                version, blob = await loop.run_in_executor(thread, _sqlite_load, db)
                loaded = DECODE(blob)
                assert loaded.version == version
                loaded.version += 1
                text = ENCODE(loaded).decode()
                await loop.run_in_executor(thread, _sqlite_save, db, loaded.version, text)

            yield Sides(store, floor)
            await loop.run_in_executor(thread, db.close)


def _sqlite_floor(path: Path, session: Session) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE t (id TEXT PRIMARY KEY, version INTEGER, blob TEXT, created_at TEXT, updated_at TEXT)")
    session.version = 1
    db.execute("INSERT INTO t VALUES (?, 1, ?, '', '')", (ID, ENCODE(session).decode()))
    return db


def _sqlite_load(db: sqlite3.Connection) -> tuple[int, str]:
    found: tuple[int, str] = db.execute("SELECT version, blob FROM t WHERE id = ?", (ID,)).fetchone()
    return found


def _sqlite_save(db: sqlite3.Connection, version: int, blob: str) -> None:
    values = (version, blob, "2026-09-20T10:00:00.000Z", ID, version - 1)
    changed = db.execute("UPDATE t SET version = ?, blob = ?, updated_at = ? WHERE id = ? AND version = ?", values)
    assert changed.rowcount == 1


@asynccontextmanager
async def redis(session: Session) -> AsyncIterator[Sides]:
    """A server on loopback, and on each side a client of the same kind with one connection."""
    from falai.store.redis import _SAVE, from_url  # pyright: ignore[reportPrivateUsage] - the same script

    with a_server("Redis") as url:
        client: Any = from_url(url)._redis  # noqa: SLF001 - it is made as the store's own is
        digest = await client.script_load(_SAVE)

        async def floor() -> None:
            row = await client.hgetall("floor")
            loaded = DECODE(row[b"blob"])
            assert loaded.version == int(row[b"version"])
            loaded.version += 1
            expected, version = str(loaded.version - 1), str(loaded.version)
            values = (expected, version, ENCODE(loaded), "2026-09-20T10:00:00.000Z", "604800")
            assert await client.evalsha(digest, 1, "floor", *values) is None

        session.version = 1
        await client.hset("floor", mapping={"version": "1", "blob": ENCODE(session)})
        async with from_url(url) as store:
            await store.save(session, 0)
            yield Sides(store, floor)
        await client.aclose()


READ = "SELECT version, blob::text FROM floor WHERE id = {}"
WRITE = (
    "UPDATE floor SET version = {}, blob = {}::text::jsonb, updated_at = NOW() WHERE id = {} AND version = {}"
    " RETURNING version"
)


@asynccontextmanager
async def psycopg(session: Session) -> AsyncIterator[Sides]:
    """A server on loopback, and on each side a pool of psycopg with one connection in autocommit mode."""
    from psycopg_pool import AsyncConnectionPool

    read, write = READ.format("%s"), WRITE.format(*["%s"] * 4)

    async def open_pool(url: str) -> Any:
        pool = AsyncConnectionPool(url, kwargs={"autocommit": True}, min_size=1, max_size=1, open=False)
        await pool.open(wait=True)
        return pool

    async def load(pool: Any) -> Any:
        async with pool.connection() as db:
            return await (await db.execute(read, (ID,))).fetchone()

    async def save(pool: Any, *values: Any) -> Any:
        async with pool.connection() as db:
            return await (await db.execute(write, values)).fetchone()

    async with _postgres(session, open_pool, load, save) as sides:
        yield sides


@asynccontextmanager
async def asyncpg(session: Session) -> AsyncIterator[Sides]:
    """Likewise, with pools of asyncpg."""
    from asyncpg import create_pool

    read, write = READ.format("$1"), WRITE.format("$1", "$2", "$3", "$4")

    async def open_pool(url: str) -> Any:
        return await create_pool(url, min_size=1, max_size=1)

    async def load(pool: Any) -> Any:
        return await pool.fetchrow(read, ID)

    async def save(pool: Any, *values: Any) -> Any:
        return await pool.fetchrow(write, *values)

    async with _postgres(session, open_pool, load, save) as sides:
        yield sides


@asynccontextmanager
async def _postgres(session: Session, open_pool: Any, load: Any, save: Any) -> AsyncIterator[Sides]:
    """Two tables of one server, each with a pool of its own."""
    with a_server("PostgreSQL") as url:
        other = await open_pool(url)
        async with PostgresStore(other, table="floor") as seed, PostgresStore(await open_pool(url)) as store:
            await seed.save(session, 0)
            await store.save(session, 0)

            async def floor() -> None:
                version, blob = await load(other)
                loaded = DECODE(blob)
                assert loaded.version == version
                loaded.version += 1
                assert await save(other, loaded.version, ENCODE(loaded).decode(), ID, version) is not None

            yield Sides(store, floor)


@contextmanager
def a_server(kind: str) -> Iterator[str]:
    """The URL of one that the tests know how to start."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from servers import programs  # beside the tests, where benchmarks have no business but here

    server: Any = getattr(programs, kind)()
    try:
        server.prepare()
        server.start()
        yield server.url
    finally:
        server.remove()


STORES: dict[str, Callable[[Session], AbstractAsyncContextManager[Sides]]] = {
    "SQLite": sqlite,
    "Redis": redis,
    "psycopg": psycopg,
    "asyncpg": asyncpg,
}


async def least(sides: Sides) -> tuple[float, float]:
    """Seconds of ours and of the floor."""
    ours: list[float] = []
    floor: list[float] = []
    for _ in range(ROUNDS):
        ours += [await _timed(partial(_load_and_save, sides.store)) for _ in range(TURN)]
        floor += [await _timed(sides.floor) for _ in range(TURN)]
    return min(ours), min(floor)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    begun = perf_counter()
    await work()
    return perf_counter() - begun


async def _load_and_save(store: Store) -> None:
    session = await store.load(ID)
    assert session is not None
    await store.save(session, session.version)


async def measure(name: str, size: int) -> bool:
    """Prints a line of the table; whether it is within the limit."""
    session = session_of(size)
    try:
        async with STORES[name](session) as sides:
            ours, floor = await least(sides)
    except pytest.skip.Exception as missing:
        print(f"{name:<12}not measured: {missing}")
        return True
    over = ours / floor > LIMIT
    kilobytes = len(session.to_json().encode()) / 1000
    line = f"{name:<12}{kilobytes:>6.1f} kB{ours * 1e6:>9.0f} µs{floor * 1e6:>9.0f} µs{ours / floor:>7.2f} times"
    print(f"{line}  at most {LIMIT}{'  OVER' if over else ''}")
    return not over


async def main() -> int:
    """All stores, or those named: `python -m benchmarks.stores SQLite`."""
    gc.freeze()
    print("load and save       ours   the bare driver")
    within = [await measure(name, size) for name in sys.argv[1:] or STORES for size in (1_500, 16_000)]
    return int(not all(within))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
