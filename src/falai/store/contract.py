"""What every store promises, and which errors it may raise. A store adds only its differences."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from falai.session.model import Session

__all__ = ["Store"]


class Store(Protocol):
    """Keeps sessions. One instance serves many tasks.

    As a context manager it creates what is missing on the way in, and closes its client on the way
    out. Every method may also raise what the backend's driver raises, unchanged (P-12); a save that
    ended so may or may not have been applied, and the next `load` shows which (P-13).
    """

    async def load(self, id: str) -> Session | None:
        """The stored session, `None` when there is no row. Changing it does not change the store.

        Raises `InvalidSessionError` when the row holds no session of this id and version (P-19,
        P-20), `TypeError` when `id` is not text or is blank.
        """
        ...

    async def save(self, session: Session, expected_version: int) -> Session:
        """Writes the session if the stored version is `expected_version`; 0 means that there is no row.

        Gives what the next `load` would give: a copy with the version `expected_version + 1`,
        whatever `session.version` says. `session` is not changed. Check and write are one step.

        Raises `SessionConflictError` when another version is stored, or no row where one was
        expected: nothing is written. Before anything is sent to the backend, raises `TypeError` for
        a blank id or a value that has no JSON form (P-16, with its path), and `ValueError` when
        `expected_version` is not a whole number of 0 or more.
        """
        ...

    async def initialize(self) -> None:
        """Creates what is missing; safe to call again, also from two processes at once (P-23)."""
        ...

    async def disconnect(self) -> None:
        """Closes the client (P-24)."""
        ...

    async def __aenter__(self) -> Self:
        await self.initialize()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.disconnect()
