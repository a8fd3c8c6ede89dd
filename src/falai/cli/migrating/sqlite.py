"""Old rows from a table of SQLite, opened for reading only. A position is the id of the last row."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import closing
from typing import Any

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, id_column, row_of, rows_without_id
from falai.store.row import check_table
from falai.store.sqlite import open_for_reading

__all__ = ["SQLiteRows"]

_PAGE = 100


class SQLiteRows:
    """The rows of a table, in the order of their ids. No read lasts longer than a page."""

    def __init__(self, address: Address) -> None:
        self._table = check_table(address.table)
        self._db = open_for_reading(address.path)
        self._db.text_factory = bytes  # a text that is no UTF-8 hides no other row

    async def count(self) -> int | None:
        return int(self._read(f"SELECT count(*) FROM {self._table}")[0][0])  # noqa: S608 - the name was checked

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        names = [column[1].decode() for column in self._read(f"PRAGMA table_info({self._table})")]
        column = id_column(names, f"the table {self._table}")
        has_id = f"typeof(\"{column}\") IN ('text', 'integer')"
        odd = self._read(f"SELECT count(*) FROM {self._table} WHERE NOT {has_id}")[0][0]  # noqa: S608 - see above
        if after is None and odd:
            yield OldPage([rows_without_id(odd)], None)
        select = f"SELECT * FROM {self._table} WHERE {has_id}"  # noqa: S608 - see above
        order = f' ORDER BY "{column}" LIMIT {_PAGE}'
        more = f'{select} AND "{column}" > CAST(? AS TEXT){order}'
        place = None if after is None else after.encode("utf-8", "surrogateescape")
        while found := self._read(select + order) if place is None else self._read(more, place):
            rows = [dict(zip(names, values, strict=True)) for values in found]
            last = rows[-1][column]
            place = last if isinstance(last, bytes) else str(last).encode()
            yield OldPage([row_of(values[column], values) for values in rows], place.decode("utf-8", "surrogateescape"))

    async def close(self) -> None:
        self._db.close()

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(self._db.execute(sql, values)) as cursor:
            return cursor.fetchall()
