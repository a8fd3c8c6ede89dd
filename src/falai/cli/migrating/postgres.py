"""Old rows from a table of PostgreSQL, over psycopg. A position is the id of the last row.

The server makes JSON text of a row, so that no value of it, such as a date without end, is the
driver's to refuse.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, OldRow, id_column, rows_without_id
from falai.session.jsontext import parse_json
from falai.store.row import check_table

if TYPE_CHECKING:
    from psycopg import AsyncConnection, sql

__all__ = ["PostgresRows"]

_PAGE = 100


class PostgresRows:
    """The rows of a table, in the order of their ids. No read lasts longer than a page."""

    def __init__(self, address: Address) -> None:
        from psycopg import AsyncConnection

        self._connect = AsyncConnection.connect
        self._table = check_table(address.table)
        self._url = address.url
        self._connection: AsyncConnection[Any] | None = None

    async def count(self) -> int | None:
        from psycopg import sql

        return int((await self._read(sql.SQL("SELECT count(*) FROM {}").format(self._name())))[0][0])

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        from psycopg import sql

        columns = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        names = [str(name) for (name,) in await self._read(sql.SQL(columns), self._table)]
        column = sql.Identifier(id_column(names, f"the table {self._table}"))
        without = sql.SQL("SELECT count(*) FROM {} WHERE {} IS NULL").format(self._name(), column)
        if after is None and (odd := (await self._read(without))[0][0]):
            yield OldPage([rows_without_id(odd)], None)
        select = sql.SQL("SELECT {0}::text, row_to_json(t)::text FROM {1} t WHERE {0} ").format(column, self._name())
        order = sql.SQL(" ORDER BY {0} LIMIT {1}").format(column, _PAGE)
        first, more = select + sql.SQL("IS NOT NULL") + order, select + sql.SQL("> %s") + order
        found = await (self._read(first) if after is None else self._read(more, after))
        while found:
            place = str(found[-1][0])
            yield OldPage([_row(*values) for values in found], place)
            found = await self._read(more, place)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def _name(self) -> sql.Identifier:
        """The table as an unquoted name is understood."""
        from psycopg import sql

        return sql.Identifier(*self._table.lower().split("."))

    async def _read(self, statement: sql.SQL | sql.Composed, *values: object) -> list[Any]:
        if self._connection is None:
            self._connection = await self._connect(self._url, autocommit=True)
        cursor = await self._connection.execute(statement, values)
        return await cursor.fetchall()


def _row(id: str, text: str) -> OldRow:
    try:
        return OldRow(id, parse_json(text))
    except ValueError:
        return OldRow(id, text)
