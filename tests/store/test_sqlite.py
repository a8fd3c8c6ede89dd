from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.model import Session
from falai.store import SQLiteStore
from falai.testing.store_contract import (
    FailureContract,
    RowContract,
    SharedContract,
    StoreContract,
    TransactionContract,
    full_session,
)

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
PUT = """INSERT INTO agent_sessions VALUES (?, ?, ?, '', '')
         ON CONFLICT (id) DO UPDATE SET version = excluded.version, blob = excluded.blob"""


class TestWithAPath(StoreContract, RowContract, SharedContract, FailureContract):
    """The contract, over a database that the store opens itself."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SQLiteStore]:
        self.path = tmp_path / "sessions.db"
        async with SQLiteStore(self.path) as store:
            yield store

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(PUT, (id, version, blob))

    def another(self) -> SQLiteStore:
        return SQLiteStore(self.path)

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("ALTER TABLE agent_sessions RENAME TO away")
            yield sqlite3.OperationalError
            db.execute("ALTER TABLE away RENAME TO agent_sessions")


class TestWithAConnection(StoreContract, RowContract, TransactionContract):
    """The contract, over a connection of the host, which decodes rows in its own way."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[SQLiteStore]:
        self.db = sqlite3.connect(":memory:")
        self.db.text_factory = bytes
        self.db.row_factory = lambda cursor, row: {
            column[0]: value for column, value in zip(cursor.description, row, strict=True)
        }
        async with SQLiteStore(self.db) as store:
            yield store

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        with self.db:
            self.db.execute(PUT, (id, version, blob))

    @asynccontextmanager
    async def transaction(self, store: SQLiteStore) -> AsyncIterator[SQLiteStore]:
        with self.db:
            self.db.execute("BEGIN")
            yield store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as db:
        yield db


def _rows(path: Path, columns: str = "id, version") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT {columns} FROM agent_sessions ORDER BY id").fetchall()


# --- the table ----------------------------------------------------------------------------------


async def test_the_columns(path: Path) -> None:
    """The table is that of P-33; the dates come from the clock, and `created_at` is written once (P-28, P-34)."""
    times = iter([datetime(2026, 9, 20, 10), datetime(2026, 9, 20, 10, 5, tzinfo=timezone(timedelta(hours=2)))])
    async with SQLiteStore(path, clock=lambda: next(times)) as store:
        await store.save(await store.save(Session.fresh("s1"), 0), 1)
    assert _rows(path, "*") == [
        ("s1", 2, _rows(path, "blob")[0][0], "2026-09-20T10:00:00.000Z", "2026-09-20T08:05:00.000Z")
    ]
    assert json.loads(_rows(path, "blob")[0][0])["version"] == 2


async def test_text_is_not_escaped(path: Path) -> None:
    """The blob is UTF-8 without escapes for what lies outside ASCII (P-17)."""
    async with SQLiteStore(path) as store:
        await store.save(full_session(), 0)
    assert "Ágnes" in _rows(path, "blob")[0][0]


@pytest.mark.parametrize("name", ["", "a b", "a;drop", "a.b.c", "ação", 'a"', "a.", ".a", "a\n"])
def test_what_is_no_name(name: str) -> None:
    """A table's name is checked at construction, since it is written unquoted (P-25)."""
    with pytest.raises(ValueError, match="table"):
        SQLiteStore(":memory:", table=name)


async def test_another_table(path: Path) -> None:
    """The name may have the schema in front."""
    async with SQLiteStore(path, table="main.talks_2$") as store:
        await store.save(Session.fresh("s1"), 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT id FROM talks_2$").fetchall() == [("s1",)]


async def test_an_old_table_is_left_alone(connection: sqlite3.Connection) -> None:
    """On a 3.x table the missing columns show as the database's own error (P-72, P-73)."""
    connection.execute("CREATE TABLE agent_sessions (id TEXT PRIMARY KEY, collectedData TEXT)")
    store = SQLiteStore(connection)
    await store.initialize()
    with pytest.raises(sqlite3.OperationalError, match="column"):
        await store.load("s1")
    with pytest.raises(sqlite3.OperationalError, match="column"):
        await store.save(Session.fresh("s1"), 0)


async def test_the_other_packages_row(path: Path) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    async with SQLiteStore(path) as store:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(PUT, ("conv-9", 6, blob))
        session = await store.load("conv-9")
        assert session is not None
        await store.save(session, 6)
    assert json.loads(_rows(path, "blob")[0][0]) == {**json.loads(blob), "version": 7}


async def test_a_blob_of_bytes(path: Path) -> None:
    """Bytes are read as UTF-8; what is none is an invalid session (P-19)."""
    async with SQLiteStore(path) as store:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(PUT, ("s1", 0, Session.fresh("s1").to_json().encode()))
            db.execute(PUT, ("s2", 0, b"\xff"))
        assert await store.load("s1") == Session.fresh("s1")
        with pytest.raises(InvalidSessionError):
            await store.load("s2")


# --- errors of the backend ----------------------------------------------------------------------


async def test_a_missing_table_passes_through(path: Path) -> None:
    """An error that is no conflict comes as the driver raised it (P-12, C-16)."""
    store = SQLiteStore(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await store.load("s1")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await store.save(Session.fresh("s1"), 0)
    await store.disconnect()


async def test_other_violations_pass_through(connection: sqlite3.Connection) -> None:
    """Only a taken id is a conflict: a constraint of the host is the driver's error, and nothing stays open (P-34, P-35)."""
    store = SQLiteStore(connection)
    await store.initialize()
    connection.execute("CREATE UNIQUE INDEX one_version ON agent_sessions (version)")
    await store.save(Session.fresh("s1"), 0)
    with pytest.raises(sqlite3.IntegrityError):
        await store.save(Session.fresh("s2"), 0)
    assert not connection.in_transaction
    assert await store.load("s2") is None


async def test_a_locked_database_passes_through(path: Path, connection: sqlite3.Connection) -> None:
    """A lock held elsewhere shows as the driver's error (P-36)."""
    store = SQLiteStore(connection)
    await store.initialize()
    connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            await store.save(Session.fresh("s1"), 0)
        other.execute("ROLLBACK")
    assert (await store.save(Session.fresh("s1"), 0)).version == 1


class Recording(sqlite3.Connection):
    """A connection that remembers what was sent."""

    sent: list[str]

    def execute(self, sql: str, *rest: Any) -> sqlite3.Cursor:
        self.sent.append(sql)
        return super().execute(sql, *rest)

    def cursor(self, *rest: Any) -> sqlite3.Cursor:
        self.sent.append("cursor")
        return super().cursor(*rest)


@pytest.mark.parametrize(
    ("id", "version", "value", "error"),
    [
        ("", 0, 1, TypeError),
        ("s1", True, 1, ValueError),
        ("s1", -1, 1, ValueError),
        ("s1", 0, {1}, TypeError),
    ],
)
async def test_bad_arguments_never_reach_the_database(
    id: str, version: Any, value: Any, error: type[Exception]
) -> None:
    """They are refused before anything is sent (P-10, P-11, P-16, C-15)."""
    with closing(sqlite3.connect(":memory:", factory=Recording)) as db:
        db.sent = []
        session = Session.fresh("s1")
        session.id, session.data = id, {"v": value}
        with pytest.raises(error):
            await SQLiteStore(db).save(session, version)
        assert db.sent == []


async def test_one_statement_checks_and_writes() -> None:
    """A save that succeeds is one statement: nothing is read before it (P-6)."""
    with closing(sqlite3.connect(":memory:", factory=Recording)) as db:
        db.sent = []
        store = SQLiteStore(db)
        await store.initialize()
        db.sent.clear()
        await store.save(await store.save(Session.fresh("s1"), 0), 1)
        assert [sql.split()[0] for sql in db.sent] == ["INSERT", "UPDATE"]


# --- transactions of the host -------------------------------------------------------------------


@pytest.mark.parametrize("isolation", ["", None])
async def test_a_save_is_part_of_the_hosts_transaction(path: Path, isolation: Any) -> None:
    """What the host rolls back was never saved; what it commits was, with its outbox (P-35, P-77, C-19)."""
    with closing(sqlite3.connect(path, isolation_level=isolation)) as db:
        store = SQLiteStore(db)
        await store.initialize()
        db.execute("CREATE TABLE outbox (text TEXT)")
        for end, rows in (("ROLLBACK", []), ("COMMIT", [("s1", 1)])):
            db.execute("BEGIN")
            await store.save(Session.fresh("s1"), 0)
            assert db.in_transaction
            assert _rows(path) == []
            db.execute("INSERT INTO outbox VALUES ('hello')")
            db.execute(end)
            assert _rows(path) == rows


async def test_a_conflict_leaves_the_hosts_transaction_usable(connection: sqlite3.Connection) -> None:
    """The host decides what becomes of its transaction (P-35)."""
    store = SQLiteStore(connection)
    await store.initialize()
    await store.save(Session.fresh("s1"), 0)
    connection.execute("BEGIN")
    with pytest.raises(SessionConflictError):
        await store.save(Session.fresh("s1"), 0)
    with pytest.raises(SessionConflictError):
        await store.save(Session.fresh("s2"), 4)
    assert connection.in_transaction
    await store.save(Session.fresh("s2"), 0)
    connection.commit()
    assert await store.load("s2") is not None


async def test_without_a_transaction_every_save_is_committed(path: Path, connection: sqlite3.Connection) -> None:
    """Another connection sees a save as soon as it returns, and nothing is left open, also after a conflict (P-35)."""
    store = SQLiteStore(connection)
    await store.initialize()
    await store.save(Session.fresh("s1"), 0)
    assert _rows(path) == [("s1", 1)]
    with pytest.raises(SessionConflictError):
        await store.save(Session.fresh("s1"), 0)
    assert not connection.in_transaction


# --- the store's own database -------------------------------------------------------------------


async def test_sessions_outlive_the_store(path: Path) -> None:
    """What was saved is there for the next process, and a store may be opened again (P-24)."""
    store = SQLiteStore(str(path))
    async with store:
        saved = await store.save(full_session(), 0)
    async with store:
        assert await store.load("s1") == saved
    async with SQLiteStore(path) as another:
        assert await another.load("s1") == saved


async def test_how_the_database_is_opened(path: Path) -> None:
    """In WAL mode, so that readers do not wait for a writer."""
    async with SQLiteStore(path):
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_read_only_changes_nothing(path: Path, connection: sqlite3.Connection) -> None:
    """The mode stays what it was, and a save raises what the driver says."""
    async with SQLiteStore(connection) as host:
        await host.save(Session.fresh("s"), 0)
        store = SQLiteStore(path, read_only=True)
        assert await store.load("s") is not None
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await store.save(Session.fresh("other"), 0)
        await store.disconnect()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


async def test_read_only_where_nothing_can_be_written(path: Path) -> None:
    """A database in WAL mode is read although the files of the WAL cannot be made."""
    async with SQLiteStore(path) as writing:
        await writing.save(Session.fresh("s"), 0)
    Path(f"{path}-shm").mkdir()
    store = SQLiteStore(path, read_only=True)
    assert await store.load("s") is not None
    await store.disconnect()


async def test_disconnect_ends_the_thread(path: Path) -> None:
    """Nothing of the store is left after `disconnect`, which may be called twice or before any use."""
    store = SQLiteStore(path)
    await store.disconnect()
    await store.initialize()
    assert "falai-sqlite" in " ".join(thread.name for thread in threading.enumerate())
    await store.disconnect()
    await store.disconnect()
    assert "falai-sqlite" not in " ".join(thread.name for thread in threading.enumerate())


async def test_disconnect_closes_the_hosts_connection(connection: sqlite3.Connection) -> None:
    """The store closes the client it was given (P-24)."""
    async with SQLiteStore(connection):
        pass
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")


def test_one_store_serves_loop_after_loop(path: Path) -> None:
    """A script may run one event loop after another over the same store."""
    store = SQLiteStore(path)
    asyncio.run(store.initialize())
    asyncio.run(store.save(Session.fresh("s1"), 0))
    assert asyncio.run(store.load("s1")) is not None
    asyncio.run(store.disconnect())


@pytest.mark.faults
async def test_a_save_that_is_cancelled_is_whole_or_nothing(path: Path, *, full: bool) -> None:
    """Whenever a save is cancelled, the row is that of before or of after, and the next save goes through."""
    async with SQLiteStore(path) as store:
        version = (await store.save(Session.fresh("s1"), 0)).version
        for number in range(400 if full else 40):
            saving = asyncio.ensure_future(store.save(full_session(), version))
            for _ in range(number % 4):
                await asyncio.sleep(0)
            saving.cancel()
            await asyncio.wait([saving])
            loaded = await store.load("s1")
            assert loaded is not None
            assert loaded.version in (version, version + 1)
            version = (await store.save(loaded, loaded.version)).version


OPENER = """
import asyncio, sys
from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import SQLiteStore

async def save_again_until_it_counts(store):
    while True:
        session = await store.load("all") or Session.fresh("all")
        try:
            return await store.save(session, session.version)
        except SessionConflictError:
            continue

async def main(path, id):
    async with SQLiteStore(path) as store:
        await store.save(Session.fresh(id), 0)
        await save_again_until_it_counts(store)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.faults
def test_processes_that_open_and_save_at_once(path: Path, *, full: bool) -> None:
    """Of several processes that make the database at once none fails, and no save is lost (P-6, P-23)."""
    count = 8 if full else 3
    started = [subprocess.Popen([sys.executable, "-c", OPENER, str(path), f"s{n}"]) for n in range(count)]
    assert [process.wait(60) for process in started] == [0] * count
    assert _rows(path) == [("all", count), *((f"s{n}", 1) for n in range(count))]
