"""Sessions in a table of PostgreSQL (P-37 to P-44), over psycopg 3 or asyncpg.

A save is one statement that gives a row back, or none: that is the conflict. The store begins no
transaction and ends none. The blob travels as text and is cast in the statement, so that whatever
codec the host has set for JSON never sees it (P-39).
"""

from __future__ import annotations

from typing import Any

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.jsonb import LONGEST_ID, jsonb_id, to_jsonb_row
from falai.store.postgres_clients import Client, Opened, client_of
from falai.store.row import check_scan, check_table, read_page, read_row

__all__ = ["PostgresStore", "from_url"]

_MADE_MEANWHILE = frozenset({"23505", "42P07", "42710"})  # the SQLSTATEs of what another process has just created


class PostgresStore(Store):
    """Sessions in one table of one database.

    `client` is an `AsyncConnectionPool` or `AsyncConnection` of psycopg 3, or a `Pool` or
    `Connection` of asyncpg. With a pool each call takes a connection and gives it back. With a
    connection inside a transaction that the host has begun, a save is part of it, and a conflict
    leaves it usable (P-41).

    A connection of psycopg should be in autocommit mode, where a transaction is what the host puts
    into `async with connection.transaction()`. Out of that mode psycopg begins a transaction before
    the first statement, a `load` too: nothing is saved then before the host says `commit()`.

    U+0000 is removed from every text, keys included (P-40). Under REPEATABLE READ or SERIALIZABLE a
    lost race is the server's serialization failure: the host's transaction has to be repeated (P-42).

    Raises `ValueError` when `table` is no table's name, `TypeError` when `client` is none of these.
    Methods that take an id raise `ValueError` when it has more than 255 characters (P-70).
    """

    def __init__(self, client: Any, *, table: str = "agent_sessions") -> None:
        self._client: Client = client_of(client)
        self._sql = _Statements(check_table(table))

    async def load(self, id: str) -> Session | None:
        id = jsonb_id(id)
        rows = await self._client.run(self._sql.read, id)
        return read_row(id, *rows[0]) if rows else None

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, blob = to_jsonb_row(session, expected_version)
        expected = fresh.version - 1
        if expected:
            rows = await self._client.run(self._sql.update, fresh.version, blob, fresh.id, expected)
        else:
            rows = await self._client.run(self._sql.insert, fresh.id, fresh.version, blob)
        if not rows:
            found = await self._client.run(self._sql.version, fresh.id)
            raise SessionConflictError(fresh.id, expected, found[0][0] if found else None)
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        """In the order that the database gives to texts, which is that of its index."""
        check_scan(after, limit)
        rows = await self._client.run(self._sql.scan, after or "", limit)
        return read_page(
            ((id, version, blob) for id, version, blob in rows), rows[-1][0] if len(rows) == limit else None
        )

    async def delete(self, id: str) -> bool:
        return bool(await self._client.run(self._sql.delete, jsonb_id(id)))

    async def initialize(self) -> None:
        if await self._client.run(self._sql.there):  # IF NOT EXISTS asks for the right to create all the same
            return
        try:
            await self._client.run(self._sql.create)
        except Exception as error:
            if getattr(error, "sqlstate", None) not in _MADE_MEANWHILE:
                raise
            await self._client.run(self._sql.create)  # IF NOT EXISTS looks before it locks (P-43)

    async def disconnect(self) -> None:
        await self._client.close()


class _Statements:
    """The SQL for one table; its name has been checked, and values travel as parameters."""

    def __init__(self, table: str) -> None:
        self.create = (
            f"CREATE TABLE IF NOT EXISTS {table} (id VARCHAR({LONGEST_ID}) PRIMARY KEY, version INTEGER NOT NULL,"
            " blob JSONB NOT NULL, created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),"
            " updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())"
        )
        self.there = f"SELECT 1 WHERE to_regclass('{table}') IS NOT NULL"
        self.read = f"SELECT version, blob::text FROM {table} WHERE id = $1"  # noqa: S608 - see above
        self.version = f"SELECT version FROM {table} WHERE id = $1"  # noqa: S608 - see above
        self.scan = f"SELECT id, version, blob::text FROM {table} WHERE id > $1 ORDER BY id LIMIT $2"  # noqa: S608 - see above
        self.delete = f"DELETE FROM {table} WHERE id = $1 RETURNING version"  # noqa: S608 - see above
        self.insert = (
            f"INSERT INTO {table} (id, version, blob) VALUES ($1, $2, $3::text::jsonb)"  # noqa: S608 - see above
            " ON CONFLICT (id) DO NOTHING RETURNING version"
        )
        self.update = (
            f"UPDATE {table} SET version = $1, blob = $2::text::jsonb, updated_at = NOW()"  # noqa: S608 - see above
            " WHERE id = $3 AND version = $4 RETURNING version"
        )


def from_url(address: str, **options: Any) -> PostgresStore:
    """The store of `postgresql://user:password@host:port/database`, with a pool of psycopg.

    What stands behind the `?` and is no option of the store is libpq's, such as `sslmode`.
    """
    return PostgresStore(Opened(address), **options)
