"""Sessions in a dictionary: for tests, scripts and demonstrations. Nothing outlives the process."""

from __future__ import annotations

from heapq import nsmallest
from typing import NamedTuple

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_id, check_scan, read_page, read_row, to_row

__all__ = ["MemoryStore", "from_url"]


class _Row(NamedTuple):
    version: int
    blob: str


class MemoryStore(Store):
    """Rows are JSON text, so a value comes back as a database would give it (P-29).

    It may serve many event loops and threads one after another, not two at once (P-32).
    """

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}

    async def load(self, id: str) -> Session | None:
        id = check_id(id)
        row = self._rows.get(id)
        return read_row(id, row.version, row.blob) if row else None

    async def save(self, session: Session, expected_version: int) -> Session:
        # Nothing is awaited in here: that is what makes check and write one step (P-30).
        fresh, blob = to_row(session, expected_version)
        row = self._rows.get(fresh.id)
        if expected_version != (row.version if row else 0):
            raise SessionConflictError(fresh.id, expected_version, row.version if row else None)
        self._rows[fresh.id] = _Row(fresh.version, blob)
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        check_scan(after, limit)
        behind = ((id, row.version, row.blob) for id, row in self._rows.items() if after is None or id > after)
        rows = nsmallest(limit, behind)
        return read_page(rows, rows[-1][0] if len(rows) == limit else None)

    async def delete(self, id: str) -> bool:
        return self._rows.pop(check_id(id), None) is not None

    async def initialize(self) -> None:
        """Nothing needs to be created."""

    async def disconnect(self) -> None:
        """Nothing needs to be closed."""

    def clear(self) -> None:
        """Drops all sessions (P-31)."""
        self._rows.clear()


def from_url(address: str) -> MemoryStore:
    """The store of `memory:`, which has no more to say."""
    if address.partition(":")[2].strip("/"):
        raise ValueError("the sessions in memory have no address: the URL is memory:")
    return MemoryStore()
