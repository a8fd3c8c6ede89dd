"""The chat's file: one SQLite database with the sessions and everything around them.

Whatever comes in (a typed line, an event) is written down before its turn is taken. What a turn
did is one transaction: the session, the record of the turn, the timers, and the end of what came
in (B-16.2). So a program that is killed at any moment has either all of a turn or none of it, and
an input without a turn is played when the program starts again, under the same id.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from falai.cli.chat.records import TurnRecord
from falai.session.dates import read_date, to_ms
from falai.session.jsontext import json_text
from falai.session.model import Session
from falai.store.sqlite import SQLiteStore
from falai.turn.result import ScheduledWake, TurnResult

__all__ = ["ChatFile", "Due", "Incoming"]

_TABLES = """
CREATE TABLE IF NOT EXISTS chat_turns (n INTEGER PRIMARY KEY, session_id TEXT NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS chat_turns_by_session ON chat_turns (session_id, n);
CREATE TABLE IF NOT EXISTS chat_incoming (n INTEGER PRIMARY KEY, session_id TEXT NOT NULL, input TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chat_wakes (
    session_id TEXT NOT NULL, key TEXT NOT NULL, at_ms INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, key));
CREATE TABLE IF NOT EXISTS chat_settings (
    session_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (session_id, name));
"""
_BUSY_SECONDS = 5.0
_WHOLE_FILE = ""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Something that came in and has not had its turn; `input` is in the wire form."""

    n: int
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Due:
    """A timer that has not gone off; `at_ms` is an instant of the chat's clock."""

    key: str
    at_ms: int


class ChatFile:
    """The file of a chat. Used on one thread; another process may have it open as well.

    Raises `sqlite3.DatabaseError` when the file is no database, `OSError` when its folder cannot be made.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript(_TABLES)
        self.store = SQLiteStore(self._db)

    async def initialize(self) -> None:
        """Makes the sessions' table, if it is not there."""
        await self.store.initialize()

    def close(self) -> None:
        self._db.close()

    # --- what came in -------------------------------------------------------------------------

    def receive(self, session_id: str, input: Mapping[str, Any]) -> None:
        """Writes an input down; it is there until its turn is kept."""
        self._db.execute("INSERT INTO chat_incoming (session_id, input) VALUES (?, ?)", (session_id, _json(input)))

    def incoming(self, session_id: str) -> list[Incoming]:
        """What has not had its turn, oldest first."""
        rows = self._db.execute("SELECT n, input FROM chat_incoming WHERE session_id = ? ORDER BY n", (session_id,))
        return [Incoming(n, json.loads(text)) for n, text in rows]

    def forget_incoming(self, session_id: str) -> int:
        """Drops what has not had its turn; gives how many there were."""
        return self._db.execute("DELETE FROM chat_incoming WHERE session_id = ?", (session_id,)).rowcount

    # --- turns --------------------------------------------------------------------------------

    async def keep(self, session_id: str, result: TurnResult, record: TurnRecord, incoming: int | None) -> None:
        """Keeps all of a turn, or nothing of it.

        Raises `SessionConflictError` when another program took a turn of this session meanwhile.
        """
        with self._transaction():
            if result.changed:
                await self.store.save(result.session, result.session.version)
                self._arm(session_id, result.schedule)
                self._spend_stale(result.session)
            self._spend(session_id, record.input.get("wake"))
            self._db.execute("DELETE FROM chat_incoming WHERE n = ?", (incoming,))
            if not record.repeated:
                turn = (session_id, _json(record))
                self._db.execute("INSERT INTO chat_turns (session_id, record) VALUES (?, ?)", turn)

    def records(self, session_id: str, last: int) -> list[TurnRecord]:
        """The last turns, oldest first."""
        rows = self._db.execute(
            "SELECT record FROM chat_turns WHERE session_id = ? ORDER BY n DESC LIMIT ?", (session_id, last)
        )
        return [msgspec.convert(json.loads(text), TurnRecord) for (text,) in rows][::-1]

    # --- timers -------------------------------------------------------------------------------

    def arm(self, session_id: str, wakes: Iterable[ScheduledWake]) -> None:
        """Arms timers, but none again that has gone off."""
        with self._transaction():
            self._arm(session_id, wakes)

    def next_due(self, session_id: str) -> Due | None:
        """The timer that goes off first."""
        return next(iter(self.timers(session_id)), None)

    def timers(self, session_id: str) -> list[Due]:
        """Every timer that has not gone off, the first one first."""
        rows = self._db.execute(
            "SELECT key, at_ms FROM chat_wakes WHERE session_id = ? AND NOT spent ORDER BY at_ms, key", (session_id,)
        )
        return [Due(key, at_ms) for key, at_ms in rows]

    def postpone(self, session_id: str, key: str, at_ms: int) -> None:
        """Lets a timer go off again later; a wake counts whenever it comes (T-5.6)."""
        self._db.execute("UPDATE chat_wakes SET at_ms = ? WHERE session_id = ? AND key = ?", (at_ms, session_id, key))

    # --- settings, sessions -------------------------------------------------------------------

    def setting(self, name: str, session_id: str = _WHOLE_FILE) -> str | None:
        row = self._db.execute(
            "SELECT value FROM chat_settings WHERE session_id = ? AND name = ?", (session_id, name)
        ).fetchone()
        return None if row is None else str(row[0])

    def set(self, name: str, value: str | None, session_id: str = _WHOLE_FILE) -> None:
        """Keeps a setting; `None` removes it."""
        if value is None:
            self._db.execute("DELETE FROM chat_settings WHERE session_id = ? AND name = ?", (session_id, name))
        else:
            self._db.execute("REPLACE INTO chat_settings VALUES (?, ?, ?)", (session_id, name, value))

    def fresh_session_id(self) -> str:
        """An id that no conversation of this file has."""
        rows = self._db.execute("SELECT session_id FROM chat_turns UNION SELECT session_id FROM chat_incoming")
        taken = {id for (id,) in rows}
        return next(id for n in range(1, len(taken) + 2) if (id := f"chat-{n}") not in taken)

    # --- inside -------------------------------------------------------------------------------

    def _arm(self, session_id: str, wakes: Iterable[ScheduledWake]) -> None:
        for wake in wakes:
            self._db.execute(
                "INSERT INTO chat_wakes (session_id, key, at_ms) VALUES (?, ?, ?)"
                " ON CONFLICT (session_id, key) DO UPDATE SET at_ms = excluded.at_ms",
                (session_id, wake.key, to_ms(wake.at)),
            )
            self._spend(session_id, wake.replaces)

    def _spend(self, session_id: str, key: str | None) -> None:
        self._db.execute("UPDATE chat_wakes SET spent = 1 WHERE session_id = ? AND key = ?", (session_id, key))

    def _spend_stale(self, session: Session) -> None:
        """Drops the timers that would be ignored for certain (T-5.5, T-5.8): nobody should wait for them."""
        counting = {run.waiting.key for run in session.runs if run.waiting}
        silence = f":{read_date(session.last_assistant_at)}"
        for due in self.timers(session.id):
            if due.key not in counting and not (due.key.startswith("silence:") and due.key.endswith(silence)):
                self._spend(session.id, due.key)

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _json(value: Any) -> str:
    """JSON text in which a whole number may have any size, as in a session."""
    return json_text(msgspec.to_builtins(value))
