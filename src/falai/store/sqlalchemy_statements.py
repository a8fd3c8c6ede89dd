"""The statements of a store on SQLAlchemy, for one table; every one that writes also checks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from sqlalchemy import Column, Delete, Select, Update, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from falai.session.model import Session
from falai.store.jsonb import check_length, jsonb_id, to_jsonb_row
from falai.store.row import check_id, to_row
from falai.store.sqlalchemy_tables import Place

__all__ = ["Statements", "statements_for"]

Row = tuple[Any, ...]
Values = dict[Column[Any], Any]


class Statements:
    """Of a database of which no more is known than that ids are unique."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def id(self, id: object) -> str:
        """The id as it is stored. Raises `TypeError` and `ValueError` for what is none."""
        return check_length(check_id(id))

    def row(self, session: Session, expected_version: object) -> tuple[Session, str]:
        """What a save stores and gives back, and its blob, as `to_row` has it."""
        fresh, blob = to_row(session, expected_version)
        check_length(fresh.id)
        return fresh, blob

    def read(self, id: str) -> Select[*Row]:
        """Version and blob."""
        return select(self._place.version, self._place.stored_blob()).where(self._place.id == id)

    def version(self, id: str) -> Select[*Row]:
        """The version that won."""
        return select(self._place.version).where(self._place.id == id)

    def scan(self, after: str | None, limit: int) -> Select[*Row]:
        """Id, version and blob of the rows behind a position."""
        place = self._place
        rows = select(place.id, place.version, place.stored_blob()).order_by(place.id).limit(limit)
        return rows if after is None else rows.where(place.id > after)

    def delete(self, id: str) -> Delete:
        return delete(self._place.table).where(self._place.id == id)

    def update(self, id: str, expected: int, values: Values) -> Update:
        place = self._place
        new = {column: values[column] for column in (place.version, place.blob, place.updated_at)}
        return update(place.table).where(place.id == id, place.version == expected).values(new)

    async def insert(self, db: AsyncConnection, values: Values) -> bool:
        """Whether there was no such row; within a savepoint, since a statement that fails may end a transaction (P-67)."""
        savepoint = await db.begin_nested()
        try:
            await db.execute(insert(self._place.table).values(values).inline())
        except DBAPIError as error:
            with suppress(SQLAlchemyError):  # it is gone when the database has rolled back more, or is gone itself
                await savepoint.rollback()
            if not isinstance(error, IntegrityError) or not await self._is_there(db, values):
                raise
            return False
        await savepoint.commit()
        return True

    async def _is_there(self, db: AsyncConnection, values: Values) -> bool:
        return (await db.execute(self.version(values[self._place.id]))).first() is not None


class _MySQL(Statements):
    async def insert(self, db: AsyncConnection, values: Values) -> bool:
        """Without a savepoint: a statement that fails ends no transaction here, and in autocommit mode there is none."""
        try:
            await db.execute(insert(self._place.table).values(values).inline())
        except IntegrityError:
            if not await self._is_there(db, values):
                raise
            return False
        return True

    def version(self, id: str) -> Select[*Row]:
        """With a lock, which sees what is committed; a plain look sees what was when the transaction began."""
        return super().version(id).with_for_update(read=True)


class _SQLite(Statements):
    async def insert(self, db: AsyncConnection, values: Values) -> bool:
        """Whether there was no such row."""
        return await _did(
            db, sqlite.insert(self._place.table).values(values).on_conflict_do_nothing(index_elements=[self._place.id])
        )


class _PostgreSQL(Statements):
    """The same, for what JSONB and texts of PostgreSQL can hold (P-40)."""

    def id(self, id: object) -> str:
        return jsonb_id(id)

    def row(self, session: Session, expected_version: object) -> tuple[Session, str]:
        return to_jsonb_row(session, expected_version)

    async def insert(self, db: AsyncConnection, values: Values) -> bool:
        """Whether there was no such row."""
        rows = postgresql.insert(self._place.table).values(values)
        return await _did(db, rows.on_conflict_do_nothing(index_elements=[self._place.id]))


async def _did(db: AsyncConnection, rows: postgresql.Insert | sqlite.Insert) -> bool:
    result = await db.execute(rows.inline(), execution_options={"preserve_rowcount": True})
    return result.rowcount > 0


_DIALECTS: dict[str, type[Statements]] = {
    "mariadb": _MySQL,
    "mysql": _MySQL,
    "postgresql": _PostgreSQL,
    "sqlite": _SQLite,
}


def statements_for(place: Place, dialect: str) -> Statements:
    """The statements for what the dialect of a database is called."""
    return _DIALECTS.get(dialect, Statements)(place)
