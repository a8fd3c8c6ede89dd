"""Every row of every conformance table is a test of one pure function.

A table's function is in `tables/` under the table's name, with underscores: it takes the row and
raises `AssertionError` when the answer differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from conformance.source import Row, rows
from conformance.tables import flow, model, session

LEFT_OUT = {
    "directive-merge": "the 3.x face is not built yet",
    "directive-validate": "the 3.x face is not built yet",
}
LEFT_OUT_ROWS = {
    "D-2": "ids made from titles are optional, and of the 3.x face",
}


def _wanted() -> list[Row]:
    return [row for row in rows() if row.table not in LEFT_OUT and row.rules.isdisjoint(LEFT_OUT_ROWS)]


def _function(table: str) -> Callable[[Mapping[str, Any]], None] | None:
    found = (getattr(part, table.replace("-", "_"), None) for part in (session, flow, model))
    return next((function for function in found if callable(function)), None)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in _wanted()])
def test_row(row: Row) -> None:
    """The function gives the answer of the row."""
    function = _function(row.table)
    assert function is not None, (
        f"no function for the table {row.table}: write {row.table.replace('-', '_')}(row) in tests/conformance/tables"
    )
    function(row.row)


def test_left_out_tables_have_no_function() -> None:
    """A table that is left out for want of a function is taken in as soon as there is one."""
    assert [table for table in LEFT_OUT if _function(table)] == []
