"""Sessions in a table of SQLite (P-33 to P-36), over the standard library's `sqlite3`.

A save is one piece of work that nothing interrupts: the statement that checks and writes, its
commit, and after a conflict the look at the version that won. For a database that the store opened
itself, pieces run one after another on a thread of their own; a task that is cancelled while it
waits leaves no transaction open, since the thread finishes what it has begun, and what it has not
begun never happens. A connection of the host is used where the host uses it, on the caller's thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from falai.errors import SessionConflictError
from falai.session.dates import iso, system_now, to_ms
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_id, check_scan, check_table, read_page, read_row, to_row
from falai.store.worker import Worker

__all__ = ["SQLiteStore", "from_url", "open_for_reading"]

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
_BUSY_SECONDS = 5.0


class SQLiteStore(Store):
    """Sessions in one table of one database.

    With a path the store opens the database when it is first used, in WAL mode and with a time-out
    of 5 seconds for what other processes have locked. With a connection of the host, a save inside
    a transaction that the host has begun becomes part of it: the store commits and rolls back only
    what it began itself (P-35).

    `clock` dates `created_at` and `updated_at`. With `read_only` a database of the store's own is not
    changed in any way, its mode included, and may stand where nothing can be written. Raises
    `ValueError` when `table` is no table's name.
    """

    def __init__(
        self,
        db: str | PathLike[str] | sqlite3.Connection,
        *,
        table: str = "agent_sessions",
        clock: Callable[[], datetime] | None = None,
        read_only: bool = False,
    ) -> None:
        opener = open_for_reading if read_only else _for_writing
        self._db = _Own(db, opener) if isinstance(db, str | PathLike) else _Given(db)
        self._sql = _Statements(check_table(table))
        self._clock = clock or system_now

    async def load(self, id: str) -> Session | None:
        id = check_id(id)
        return await self._db.run(lambda db: self._load(db, id))

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, blob = to_row(session, expected_version)
        now = iso(to_ms(self._clock()))
        await self._db.run(lambda db: self._write(db, fresh, blob, now))
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        check_scan(after, limit)
        rows = await self._db.run(lambda db: self._scan(db, after or "", limit))
        last = rows[-1][0].decode("utf-8", "surrogateescape") if len(rows) == limit else None
        return read_page(((id.decode("utf-8", "replace"), version, blob) for id, version, blob in rows), last)

    async def delete(self, id: str) -> bool:
        id = check_id(id)
        return await self._db.run(lambda db: self._delete(db, id))

    async def initialize(self) -> None:
        await self._db.run(self._create)

    async def disconnect(self) -> None:
        await self._db.close()

    def _create(self, db: sqlite3.Connection) -> None:
        with _transaction(db):
            db.execute(self._sql.create)

    def _load(self, db: sqlite3.Connection, id: str) -> Session | None:
        row = self._read(db, id)
        return read_row(id, *row) if row else None

    def _read(self, db: sqlite3.Connection, id: str) -> tuple[Any, ...] | None:
        """Version and blob of a row."""
        found: tuple[Any, ...] | None = _plain_cursor(db).execute(self._sql.read, (id,)).fetchone()
        return found

    def _scan(self, db: sqlite3.Connection, after: str, limit: int) -> list[tuple[Any, ...]]:
        """Id, version and blob of the rows behind a position."""
        place = after.encode("utf-8", "surrogateescape")
        return _plain_cursor(db).execute(self._sql.scan, (place, limit)).fetchall()

    def _delete(self, db: sqlite3.Connection, id: str) -> bool:
        with _transaction(db):
            return db.execute(self._sql.delete, (id,)).rowcount > 0

    def _write(self, db: sqlite3.Connection, fresh: Session, blob: str, now: str) -> None:
        expected = fresh.version - 1
        with _transaction(db):
            if expected:
                cursor = db.execute(self._sql.update, (fresh.version, blob, now, fresh.id, expected))
            else:
                cursor = db.execute(self._sql.insert, (fresh.id, fresh.version, blob, now, now))
        if not cursor.rowcount:
            found = self._read(db, fresh.id)
            raise SessionConflictError(fresh.id, expected, found[0] if found else None)


class _Statements:
    """The SQL for one table; its name has been checked, and values travel as parameters.

    What is read comes as bytes: text that is no UTF-8 would be the driver's error, and in a scan
    hide all other rows. An id that is no text is no row of ours: neither load nor delete finds it.
    """

    def __init__(self, table: str) -> None:
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {table} (id TEXT PRIMARY KEY, version INTEGER NOT NULL,"
            " blob TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)"
        )
        self.read = f"SELECT version, CAST(blob AS BLOB) FROM {table} WHERE id = ?"  # noqa: S608 - see above
        self.scan = (
            f"SELECT CAST(id AS BLOB), version, CAST(blob AS BLOB) FROM {table}"  # noqa: S608 - see above
            " WHERE id > CAST(? AS TEXT) AND typeof(id) = 'text' ORDER BY id LIMIT ?"
        )
        self.delete = f"DELETE FROM {table} WHERE id = ?"  # noqa: S608 - see above
        self.insert = (
            f"INSERT INTO {table} (id, version, blob, created_at, updated_at)"  # noqa: S608 - see above
            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        )
        self.update = f"UPDATE {table} SET version = ?, blob = ?, updated_at = ? WHERE id = ? AND version = ?"  # noqa: S608 - see above


def _plain_cursor(db: sqlite3.Connection) -> sqlite3.Cursor:
    """A cursor whose rows are tuples, whatever the host has set for its own."""
    cursor = db.cursor()
    cursor.row_factory = None
    return cursor


def _transaction(db: sqlite3.Connection) -> sqlite3.Connection | nullcontext[None]:
    """Commits or rolls back at its end; inside a transaction of the host it does neither (P-35)."""
    return nullcontext() if db.in_transaction else db


class _Given:
    """The host's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def run(self, work: Work[T]) -> T:
        return work(self._connection)

    async def close(self) -> None:
        self._connection.close()


class _Own:
    """A connection of the store's own, opened, used and closed on one thread."""

    def __init__(self, path: str | PathLike[str], opener: Callable[[str | PathLike[str]], sqlite3.Connection]) -> None:
        self._path = path
        self._opener = opener
        self._connection: sqlite3.Connection | None = None
        self._worker: Worker | None = None

    async def run(self, work: Work[T]) -> T:
        if self._worker is None:
            self._worker = Worker("falai-sqlite", self._close)
        return await self._worker.run(lambda: work(self._opened()))

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.get_running_loop().run_in_executor(None, worker.stop)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._opener(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _for_writing(path: str | PathLike[str]) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    with suppress(sqlite3.OperationalError):  # no time-out covers the switch; the other who holds the lock makes it
        db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def open_for_reading(path: str | PathLike[str]) -> sqlite3.Connection:
    """A connection that changes nothing: `rw`, since a reader in mode `ro` leaves the files of the WAL behind.

    In WAL mode SQLite needs to write beside the database even to read it. Where it cannot, and no
    one has a WAL open, nobody writes, and the file is read as one that stays as it is.
    """
    address = Path(path).absolute().as_uri()
    db = sqlite3.connect(f"{address}?mode=rw", uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    db.execute("PRAGMA query_only = ON")
    try:
        db.execute("PRAGMA schema_version")
    except sqlite3.OperationalError:
        if Path(f"{path}-wal").exists():
            raise
        db.close()
        return sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True, isolation_level=None)
    return db


def from_url(address: str, **options: Any) -> SQLiteStore:
    """The store of `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite://:memory:`, or of a bare path."""
    path = address
    if address.lower().startswith("sqlite:"):
        kind, slash, rest = address.partition(":")[2].removeprefix("//").partition("/")
        path = unquote(kind if kind == ":memory:" and not slash else rest)
        if "?" in address or not path or (kind and slash):
            raise ValueError(
                "the URL of an SQLite database is sqlite:///relative.db, sqlite:////absolute.db or sqlite://:memory:,"
                " and its only option is ?table="
            )
    return SQLiteStore(path, **options)
