"""The ledger in one file of SQLite: one connection, on a thread of its own, one hop for a transaction.

One process only is the host of a file: it holds a lock on a file beside it, which the system takes
away with the process, however that ends. Who only reads needs no lock, nor does who writes rows that no
host writes: SQLite lets one after the other write.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from falai.host.ledger.dialect import SQLITE, in_dialect, storable
from falai.host.ledger.locking import FileLock
from falai.host.ledger.migrating import migrate
from falai.host.ledger.port import Row, Statement, Undo, Work
from falai.store.sqlite import open_for_reading
from falai.store.worker import Worker

__all__ = ["SQLiteLedger"]

T = TypeVar("T")
_BUSY_SECONDS = 5.0
_STATEMENTS = 256  # more than there are: each is prepared once
_PAGES_OF_WAL = 8000  # a page that each turn writes is then copied into the file once in hundreds of turns
_CACHE_KB = 16_000  # the pages of the indexes of many sessions


class SQLiteLedger:
    """A ledger in the file `path`, made when it is not there.

    With `read_only` nothing is changed, a host may run on the same file, and no file is made; a work
    that writes is then the driver's error. With `beside_host` works may write, no table is made or changed,
    and the same holds: it is for tables that a host only reads, such as the tokens. `open` raises `HostBusyError` when a host runs on the file,
    and `SchemaError` when a newer release made its tables.
    """

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False, beside_host: bool = False) -> None:
        self._path = fspath(path)
        self._read_only = read_only
        self._beside_host = beside_host
        self._lock = FileLock(self._path)
        self._native: dict[str, str] = {}
        self._worker: Worker | None = None
        self._db: sqlite3.Connection | None = None

    async def open(self) -> None:
        if self._worker is not None:
            raise RuntimeError("the ledger is open already: each host needs one of its own")
        self._worker = Worker("falai-ledger", self._end)
        try:
            await self._worker.run(self._begin)
        except BaseException:
            await self.close()
            raise

    async def run(self, work: Work[T]) -> T:
        if self._worker is None:
            raise RuntimeError("the ledger is not open: call `await ledger.open()` first")
        return await self._worker.run(lambda: self._transact(work))

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.get_running_loop().run_in_executor(None, worker.stop)

    def _begin(self) -> None:
        if self._read_only:
            self._db = open_for_reading(self._path)
            return
        if self._beside_host:
            address = f"{Path(self._path).absolute().as_uri()}?mode=rw"  # no file is made
            self._db = sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
            self._db.execute("PRAGMA secure_delete = ON")
            return
        self._lock.take()
        self._db = db = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, cached_statements=_STATEMENTS
        )
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")  # what is erased is written over, however SQLite was built
        db.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_OF_WAL}")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        self._transact(migrate(after=True))  # nobody else is on it

    def _end(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        self._lock.give_back()

    def _transact(self, work: Work[T]) -> T:
        db = self._db
        assert db is not None
        db.execute("BEGIN" if self._read_only else "BEGIN IMMEDIATE")
        try:
            value = self._carry_out(db, work)
            db.execute("COMMIT")
        except Undo as end:
            _roll_back(db)
            return end.value  # type: ignore[no-any-return]  # the work gives what it promises, either way
        except BaseException:
            _roll_back(db)
            raise
        return value

    def _carry_out(self, db: sqlite3.Connection, work: Work[T]) -> T:
        try:
            step = next(work)
            while True:
                step = work.send([self._execute(db, statement) for statement in step])
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what a generator returns is untyped there

    def _execute(self, db: sqlite3.Connection, statement: Statement) -> Sequence[Row]:
        sql, params, many = statement
        native = self._native.get(sql)
        if native is None:
            native = self._native[sql] = in_dialect(sql, SQLITE)
        try:
            return _rows(db, native, params, many=many)
        except UnicodeEncodeError:
            clean = [storable(row) for row in params] if many else storable(params)
            return _rows(db, native, clean, many=many)


def _rows(db: sqlite3.Connection, sql: str, params: Sequence[Any], *, many: bool) -> Sequence[Row]:
    if many:
        db.executemany(sql, params)
        return ()
    return db.execute(sql, params).fetchall()


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:  # a full disk ends it by itself
        db.execute("ROLLBACK")
