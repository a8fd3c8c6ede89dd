"""Which sessions a command is about: those that it names, or those that pass its filters, one after another.

The age of a session counts from what was said last, by the customer or the assistant. A session in
which nobody has spoken yet, such as one that came from 3.x, counts from its newest claim: a claim is
written whenever a run starts. One without any date passes no filter by age.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass

from falai.cli.store_access import Troubles
from falai.errors import InvalidSessionError
from falai.session.dates import read_date
from falai.session.model import Session
from falai.store import Store

__all__ = ["Selection", "last_activity", "rows", "selected"]

_PAGE = 50  # a session may have some megabytes


@dataclass(frozen=True, slots=True)
class Selection:
    """Without ids and filters, every session."""

    ids: tuple[str, ...] = ()
    flow: str | None = None
    status: str | None = None
    until_ms: int | None = None
    """Nothing happened after this instant."""
    since_ms: int | None = None
    """Something happened at or after it."""
    limit: int | None = None

    @property
    def everything(self) -> bool:
        return self == Selection()

    @property
    def filters(self) -> bool:
        """Whether anything but ids is asked for."""
        return self != Selection(ids=self.ids)

    def takes(self, session: Session) -> bool:
        return self._by_run(session) and self._by_age(session)

    def _by_run(self, session: Session) -> bool:
        if self.flow is None and self.status is None:
            return True
        return any(self.flow in (None, run.flow_id) and self.status in (None, run.status) for run in session.runs)

    def _by_age(self, session: Session) -> bool:
        if self.until_ms is None and self.since_ms is None:
            return True
        at = last_activity(session)
        if at is None:
            return False
        return (self.until_ms is None or at <= self.until_ms) and (self.since_ms is None or at >= self.since_ms)


def last_activity(session: Session) -> int | None:
    """When something happened last, in epoch milliseconds; `None` when the session has no date that can be read."""
    said = _newest([session.last_user_at, session.last_assistant_at])
    return _newest(claim.at for claim in session.claims.values()) if said is None else said


def _newest(dates: Iterable[str | None]) -> int | None:
    return max((at for at in map(read_date, dates) if at is not None), default=None)


async def selected(store: Store, selection: Selection, troubles: Troubles) -> AsyncGenerator[Session, None]:
    """The sessions, as the store gives them; ids that are not there and rows that hold no session are told of."""
    left = selection.limit
    async for session in _named(store, selection.ids, troubles) if selection.ids else rows(store, troubles):
        if left == 0:
            return
        if selection.takes(session):
            left = None if left is None else left - 1
            yield session


async def rows(store: Store, troubles: Troubles) -> AsyncGenerator[Session, None]:
    """Every session of a store, page by page."""
    after = None
    while True:
        page = await store.scan(after, _PAGE)
        for error in page.bad:
            troubles.tell(str(error))
        for session in page.sessions:
            yield session
        if page.after is None:
            return
        after = page.after


async def _named(store: Store, ids: tuple[str, ...], troubles: Troubles) -> AsyncGenerator[Session, None]:
    for id in dict.fromkeys(ids):
        try:
            session = await store.load(id)
        except (InvalidSessionError, TypeError) as error:
            troubles.tell(str(error))
            continue
        if session is None:
            troubles.tell(f"there is no session {id}")
        else:
            yield session
