"""What every store promises, and which errors it may raise. A store adds only its differences."""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from falai.errors import InvalidSessionError
from falai.session.model import Session

__all__ = ["Page", "Store"]


class Page(NamedTuple):
    """Some of the rows of a store, and where the next ones begin.

    `bad` has an error for each row that holds no session: it names the id, and hides no other row.
    `after` is what the next `scan` is given, `None` behind the last row. It is a position, to be
    handed back as it is.
    """

    sessions: list[Session]
    bad: list[InvalidSessionError]
    after: str | None


class Store(Protocol):
    """Keeps sessions. One instance serves many tasks.

    As a context manager it creates what is missing on the way in, and closes its client on the way
    out. Every method may also raise what the backend's driver raises, unchanged (P-12); a save that
    ended so may or may not have been applied, and the next `load` shows which (P-13).

    A subclass that lacks a method cannot be made: it would find and keep nothing, without a word.
    """

    @abstractmethod
    async def load(self, id: str) -> Session | None:
        """The stored session, `None` when there is no row. Changing it does not change the store.

        Raises `InvalidSessionError` when the row holds no session of this id and version (P-19,
        P-20), `TypeError` when `id` is not text or is blank.
        """
        ...

    @abstractmethod
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

    @abstractmethod
    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        """At most `limit` rows (1 to 10,000) behind the position `after`, from the first without one.

        Whoever goes on until `after` is `None` is given every row that is there the whole time, at
        least once; in the order of the ids, and once only, where the backend can. A page may have
        no rows at all and yet have a next one.

        Raises `ValueError` for any other `limit`, `TypeError` when `after` is neither text nor `None`.
        """
        ...

    @abstractmethod
    async def delete(self, id: str) -> bool:
        """Removes the row, whatever it holds; whether there was one. Raises `TypeError` like `load`."""
        ...

    @abstractmethod
    async def initialize(self) -> None:
        """Creates what is missing; safe to call again, also from two processes at once (P-23)."""
        ...

    @abstractmethod
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
