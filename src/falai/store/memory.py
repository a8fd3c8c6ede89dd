"""Sessions in a dictionary: for tests, scripts and demonstrations. Nothing outlives the process."""

from __future__ import annotations

from typing import NamedTuple

from falai.errors import SessionConflictError
from falai.session.codec import stamped
from falai.session.model import Session
from falai.store.contract import Store
from falai.store.row import check_id, check_version, read_row

__all__ = ["MemoryStore"]


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
        check_id(session.id)
        check_version(expected_version)
        fresh, blob = stamped(session, int(expected_version) + 1)
        row = self._rows.get(fresh.id)
        if expected_version != (row.version if row else 0):
            raise SessionConflictError(fresh.id, expected_version, row.version if row else None)
        self._rows[fresh.id] = _Row(fresh.version, blob)
        return fresh

    async def initialize(self) -> None:
        """Nothing needs to be created."""

    async def disconnect(self) -> None:
        """Nothing needs to be closed."""

    def clear(self) -> None:
        """Drops all sessions (P-31)."""
        self._rows.clear()
