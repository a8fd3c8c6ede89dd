"""Sessions in a table of any database that SQLAlchemy reaches asynchronously (P-64 to P-71).

It takes an engine, and works alone; or a connection or session of SQLAlchemy, and takes part in the
host's transaction. The table is the store's own, or one that the host has mapped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from falai.errors import SessionConflictError
from falai.session.dates import system_now, to_ms
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_scan, read_page, read_row

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

__all__ = ["SQLAlchemyStore", "from_url"]


class SQLAlchemyStore(Store):
    """Sessions in one table.

    The client is exactly one of `engine`, `connection` and `session`, by name or as the only
    positional argument. With an engine each call is a transaction of its own. A connection or
    session takes part in the transaction that it is in, or begins one as SQLAlchemy does: the host
    commits it, and a conflict leaves it usable (P-69). Tasks that share such a store wait for one
    another.

    `table` is the name of a table that the store creates; or a `Table` or mapped class of the host,
    which the store never creates. `columns` says how its columns are called where they are not
    called `id`, `version`, `blob`, `created_at` and `updated_at`: `columns={"blob": "payload"}`,
    for a mapped class the attributes. A blob column of a JSON type is given an object, another JSON
    text (P-66). `clock` dates the rows, but in PostgreSQL the server does.

    On PostgreSQL U+0000 is removed from every text, keys included (P-40).

    Raises `TypeError` for another client, for a table that lacks a column, and for a name in
    `columns` that is none of the five; `ValueError` when `table` is no table's name, or the dialect
    cannot count the rows that a statement has changed. Methods that take an id raise `ValueError`
    when it has more than 255 characters (P-70).
    """

    def __init__(
        self,
        client: AsyncEngine | AsyncConnection | AsyncSession | None = None,
        *,
        engine: AsyncEngine | None = None,
        connection: AsyncConnection | None = None,
        session: AsyncSession | None = None,
        table: Any = "agent_sessions",
        columns: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        # SQLAlchemy takes a second to import: whoever builds this store has done so (P-22).
        from falai.store.sqlalchemy_clients import client_of
        from falai.store.sqlalchemy_statements import statements_for
        from falai.store.sqlalchemy_tables import place_of

        self._client = client_of(client, engine, connection, session)
        dialect = self._client.dialect
        if not dialect.supports_sane_rowcount:
            raise ValueError(f"the dialect {dialect.name} cannot count the rows that a statement has changed (P-68)")
        self._place = place_of(table, columns or {}, dialect)
        self._sql = statements_for(self._place, dialect.name)
        self._clock = clock or system_now

    async def load(self, id: str) -> Session | None:
        id = self._sql.id(id)
        async with self._client.begin() as db:
            row = (await db.execute(self._sql.read(id))).one_or_none()
        return read_row(id, *row) if row else None

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, blob = self._sql.row(session, expected_version)
        values = self._place.values(fresh, blob, to_ms(self._clock()))
        expected = fresh.version - 1
        async with self._client.begin() as db:
            if expected:
                won = (await db.execute(self._sql.update(fresh.id, expected, values))).rowcount > 0
            else:
                won = await self._sql.insert(db, values)
            if not won:
                found = (await db.execute(self._sql.version(fresh.id))).scalar()
                raise SessionConflictError(fresh.id, expected, found)
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        """In the order that the database gives to the ids."""
        check_scan(after, limit)
        async with self._client.begin() as db:
            rows = (await db.execute(self._sql.scan(after, limit))).all()
        return read_page(
            ((id, version, blob) for id, version, blob in rows), rows[-1][0] if len(rows) == limit else None
        )

    async def delete(self, id: str) -> bool:
        id = self._sql.id(id)
        async with self._client.begin() as db:
            return (await db.execute(self._sql.delete(id))).rowcount > 0

    async def initialize(self) -> None:
        """Creates the table when it is missing and the store's own (P-65)."""
        from falai.store.sqlalchemy_clients import create  # like the others

        if self._place.own:
            await create(self._client, self._place.table)

    async def disconnect(self) -> None:
        await self._client.close()


def from_url(address: str, **options: Any) -> SQLAlchemyStore:
    """The store of a URL of SQLAlchemy, which names dialect and driver: `mysql+asyncmy://user@host/database`.

    Raises `ValueError` when SQLAlchemy cannot read it, or the driver is not asynchronous.
    """
    from sqlalchemy.exc import ArgumentError, InvalidRequestError  # an extra, and slow to import
    from sqlalchemy.ext.asyncio import create_async_engine

    try:
        return SQLAlchemyStore(create_async_engine(address), **options)
    except (ArgumentError, InvalidRequestError) as error:
        raise ValueError(f"SQLAlchemy does not take the URL: {error}") from error
