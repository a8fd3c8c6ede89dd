"""Old rows from a table of any database that SQLAlchemy reaches. A position is the id of the last row."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, id_column, row_of, rows_without_id

__all__ = ["SQLAlchemyRows"]

_PAGE = 100


class SQLAlchemyRows:
    """The rows of a table, in the order of their ids. No read lasts longer than a page."""

    def __init__(self, address: Address) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine

        schema, _, self._name = address.table.rpartition(".")
        self._schema = schema or None
        self._engine = create_async_engine(address.url)
        self._table: Any = None

    async def count(self) -> int | None:
        return await self._count(await self._reflected())

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        from sqlalchemy import select

        table = await self._reflected()
        name = id_column([column.name for column in table.columns], f"the table {self._name}")
        column = table.columns[name]
        statement = select(table).where(column.is_not(None)).order_by(column).limit(_PAGE)
        if after is None and (odd := await self._count(table, column.is_(None))):
            yield OldPage([rows_without_id(odd)], None)
        place: Any = after
        while True:
            page = statement if place is None else statement.where(column > place)
            async with self._engine.connect() as connection:
                rows = [dict(found) for found in (await connection.execute(page)).mappings()]
            if not rows:
                return
            place = rows[-1][name]
            yield OldPage([row_of(values[name], values) for values in rows], str(place))

    async def close(self) -> None:
        await self._engine.dispose()

    async def _count(self, table: Any, *conditions: Any) -> int:
        from sqlalchemy import func, select

        async with self._engine.connect() as connection:
            counting = select(func.count()).select_from(table).where(*conditions)
            return int((await connection.execute(counting)).scalar_one())

    async def _reflected(self) -> Any:
        """The table as the database describes it."""
        from sqlalchemy import MetaData, Table

        if self._table is None:
            async with self._engine.connect() as connection:
                self._table = await connection.run_sync(
                    lambda db: Table(self._name, MetaData(), schema=self._schema, autoload_with=db)
                )
        return self._table
