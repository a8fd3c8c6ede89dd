"""Every row of every conformance table is a test of one pure function.

A table's function is in `tables/` under the table's name, with underscores: it takes the row and
raises `AssertionError` when the answer differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from conformance.source import Row, rows
from conformance.tables import classic, flow, model, session

PARTS = (session, flow, model, classic)
OPTIONAL_KEYS = {"flow-id", "step-id", "signal-id"}
"""Ids by the formulas of 3.x, which are optional (D-2)."""


def _wanted() -> list[Row]:
    return [row for row in rows() if row.table != "keys" or row.row["kind"] not in OPTIONAL_KEYS]


def _function(table: str) -> Callable[[Mapping[str, Any]], None] | None:
    found: Iterator[Any] = (getattr(part, table.replace("-", "_"), None) for part in PARTS)
    return next((function for function in found if function is not None), None)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in _wanted()])
def test_row(row: Row) -> None:
    """The function gives the answer of the row."""
    function = _function(row.table)
    assert function is not None, (
        f"no function for the table {row.table}: write {row.table.replace('-', '_')}(row) in tests/conformance/tables"
    )
    function(row.row)
