"""Where sessions come from and where they go: the choice of one, its lock, its save (D-19, D-32 to D-34).

With `persistence` there is the host's store; without it, one in memory that lives as long as the agent.
"""

from __future__ import annotations

import asyncio
import logging
import secrets  # noqa: TID251  a session that nobody named needs an id; no turn sees how it was made
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

from falai.classic.hooks import settled
from falai.classic.sessions import OWN, ClassicSession, as_classic, copied_session, own_state, read_session
from falai.flow.places import is_object
from falai.log import line
from falai.session.dates import system_now, to_ms
from falai.session.jsontext import copied, json_equal, quoted, show
from falai.session.model import Session
from falai.store.contract import Store
from falai.store.memory import MemoryStore

__all__ = ["Keeper", "Opened"]

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A session under its lock. `expected` is the version that a save asks for, `None` where nothing is saved."""

    session: ClassicSession
    expected: int | None
    is_default: bool


class _Lock(asyncio.Lock):
    """The lock of a session, which raises where its own holder would wait for itself, for ever."""

    def __init__(self, id: str) -> None:
        super().__init__()
        self._id = id
        self._holder: asyncio.Task[Any] | None = None

    async def acquire(self) -> Literal[True]:
        for _ in range(3):  # a stream that nobody reads any more is closed by the event loop meanwhile
            if self._is_mine():
                await asyncio.sleep(0)
        if self._is_mine():
            raise RuntimeError(
                f"session {quoted(self._id)}: who asks for it has it already, and would wait for ever. In a handler, "
                "return a directive or use its own dispatch; read a stream to its end, or close it, before the next "
                "message"
            )
        await super().acquire()
        self._holder = asyncio.current_task()
        return True

    def release(self) -> None:
        self.let_go()
        super().release()

    def let_go(self) -> None:
        """The holder is about to release it: who waits from now on does not wait for ever."""
        self._holder = None

    def _is_mine(self) -> bool:
        return self.locked() and self._holder is asyncio.current_task()


class Keeper:
    """The sessions of one agent. Raises `ValueError`, or `InvalidSessionError`, for a wrong default session."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        persistence: Mapping[str, Any] = options.get("persistence") or {}
        self.persistent = bool(persistence)
        self.store: Store = persistence["adapter"] if persistence else MemoryStore()
        self._saves = persistence.get("autoSave", True)
        self._user_id: str | None = persistence.get("userId")
        self._schema_version: Any = persistence.get("schemaVersion")
        self._migrate: Any = persistence.get("migrateSession")
        self._initial: Mapping[str, Any] = options.get("initialData") or {}
        self._locks: WeakValueDictionary[str, _Lock] = WeakValueDictionary()
        self._default_id: str | None = options.get("sessionId")
        self._held: ClassicSession | None = None
        if options.get("session") is not None:
            self._held = read_session(options["session"], self._default_id or _new_id())
            self._default_id = self._held.id

    @property
    def has_default(self) -> bool:
        """Whether there is a default session yet: it is made when it is used first."""
        return self._default_id is not None

    def lock(self, id: str) -> _Lock:
        """The lock of a session: its turns run one after another."""
        return self._locks.setdefault(id, _Lock(id))

    @asynccontextmanager
    async def opened(self, session: object, session_id: str | None) -> AsyncGenerator[Opened, None]:
        """The session that a call means (D-19), locked as long as it is looked at.

        Raises what the store raises, and `RuntimeError` where a turn would wait for itself.
        """
        given = None if session is None else read_session(session, self._default_id or _new_id())
        id = given.id if given else session_id or self._default()
        async with self.lock(id):
            if given is None:
                yield await self._reached(id, is_default=session_id is None)
            else:
                stored = not isinstance(session, Session) or session.version > 0
                yield await self._handed_in(given, stored=stored)

    async def keep(self, opened: Opened, session: ClassicSession) -> ClassicSession:
        """Saves the session as a turn left it, where that is wanted; gives what the caller gets (D-33).

        Raises `SessionConflictError` when another writer was faster, and what the store raises.
        """
        session = self._stamped(session)
        if opened.expected is not None:
            session = as_classic(await self.store.save(session, opened.expected))
        if opened.is_default:
            self._held = copied_session(session) if opened.expected is None else None
        return session

    def _default(self) -> str:
        if self._default_id is None:
            self._default_id = _new_id()
        return self._default_id

    async def _reached(self, id: str, *, is_default: bool) -> Opened:
        """A session by its id; the default one may be held here, not stored yet."""
        if is_default and self._held is not None:
            expected = self._held.version if self.persistent else 0
            return Opened(await self._migrated(self._held), expected if self._saves else None, is_default)
        stored = await self.store.load(id)
        session = as_classic(self._fresh(id) if stored is None else stored)
        ready = session if stored is None else await self._migrated(session)
        return Opened(ready, session.version if self._saves else None, is_default)

    def _fresh(self, id: str) -> Session:
        session = Session.fresh(id)
        session.data = copied(self._initial)
        return session

    async def _handed_in(self, session: ClassicSession, *, stored: bool) -> Opened:
        ready = await self._migrated(session) if stored else session
        return Opened(ready, session.version if self.persistent and self._saves else None, is_default=False)

    async def _migrated(self, session: ClassicSession) -> ClassicSession:
        """The session in the form that the data have now (D-34)."""
        wanted, found = self._schema_version, own_state(session).get("schemaVersion")
        if wanted is None or json_equal(wanted, found):
            return session
        if self._migrate is None:
            words = "the session carries schemaVersion %r, %r is wanted, and there is no migrateSession: it is taken as it is"
            _LOG.warning(words, found, wanted, extra=line("session.schema_version"))
            return session
        fresh = copied_session(session)
        collected = {"data": fresh.data, "metadata": fresh.metadata, "history": fresh.history or []}
        moved = await settled(self._migrate(collected, found))
        if not is_object(moved) or not is_object(moved.get("data")):
            raise TypeError(
                f"migrateSession gave {show(moved)}; it must give an object with data, metadata and history"
            )
        fresh.data = dict(moved["data"])
        fresh.metadata = dict(moved.get("metadata") or {})
        fresh.history = list(moved.get("history") or [])
        return fresh

    def _stamped(self, session: ClassicSession) -> ClassicSession:
        """The session with the user and the version of the data's form on it."""
        if not self.persistent:
            return session
        stamped = copied_session(session)
        if self._user_id is not None:
            stamped.metadata["userId"] = self._user_id
        if self._schema_version is not None:
            stamped.metadata[OWN] = {**own_state(stamped), "schemaVersion": self._schema_version}
        return stamped


def _new_id() -> str:
    return f"session_{to_ms(system_now())}_{secrets.token_hex(6)}"
