"""The rows of a host's turn by hand: the floor of `benchmarks.host`.

What a careful program writes that plays an agent's turns from an inbox in SQLite and sends from an outbox:
the same tables with the same indexes, the same settings of the connection, the same thread, and the same
transactions: take in, read what a turn needs, note the model's answers before an action, save, read
the message, note that it was sent and look for the next. It looks for nothing that is not there (claims,
people who took over, opt-outs, limits), checks no value, and repeats nothing that fails.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from falai import Agent, Message, TurnResult
from falai.session.dates import iso, to_ms
from falai.session.model import Session
from falai.store.worker import Worker

__all__ = ["DECODE", "ENCODE", "HandWritten", "Kept", "kept"]

ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder(Session).decode
WHO = "tenant = ? AND agent = ? AND session = ?"
NOTE = (
    "INSERT INTO falai_sessions (tenant, agent, session, created_at, updated_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (tenant, agent, session) DO NOTHING"
)
TAKE_IN = (
    "INSERT INTO falai_inbox (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)"
    " VALUES (?, ?, ?, ?, 'message', ?, '[]', ?, ?, ?) ON CONFLICT (tenant, agent, session, key) DO NOTHING"
)
NEXT = f"SELECT key, body, received_at FROM falai_inbox WHERE {WHO} AND state = 'new' ORDER BY seq LIMIT 1"
LOAD = f"SELECT revision, version, blob FROM falai_sessions WHERE {WHO}"
HISTORY = f"SELECT role, text FROM falai_transcript WHERE {WHO} ORDER BY revision DESC, position DESC LIMIT 50"
ANSWER = "INSERT INTO falai_journal VALUES (?, ?, ?, ?, ?, ?, ?)"
LEAD = f"UPDATE falai_inbox SET lead = ? WHERE {WHO} AND key = ?"
SAVE = (
    "UPDATE falai_sessions SET revision = revision + 1, version = version + 1, blob = ?, updated_at = ?"
    f" WHERE {WHO} AND revision = ?"
)
SETTLE = f"UPDATE falai_inbox SET state = 'done', settled_at = ?, lead = ? WHERE {WHO} AND key = ?"
SAY = (
    "INSERT INTO falai_transcript (tenant, agent, session, revision, position, role, text, at, id, kept_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
SEND = (
    "INSERT INTO falai_outbox (tenant, agent, session, revision, position, key, body, by_person, after_ms, due_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?)"
)
LOG = "INSERT INTO falai_run_log (tenant, agent, session, key, at, log) VALUES (?, ?, ?, ?, ?, ?)"
FORGET = f"DELETE FROM falai_journal WHERE {WHO} AND input = ?"
UNSENT = (
    f"SELECT revision, position, key, body FROM falai_outbox WHERE {WHO} AND state = 'new'"
    " ORDER BY revision, position LIMIT 1"
)
SENT = (
    "UPDATE falai_outbox SET state = 'sent', settled_at = ?, provider_id = ?"
    f" WHERE {WHO} AND revision = ? AND position = ?"
)


class Kept(NamedTuple):
    """What is saved of a turn."""

    key: str
    revision: int
    blob: str
    text: str
    said: str
    name: str
    letter: str
    log: str


class HandWritten:
    """Answers messages, over a database that a ledger has made."""

    def __init__(self, agent: Agent[None], path: str, settings: Sequence[str]) -> None:
        self._agent, self._path, self._settings = agent, path, settings
        self._worker = Worker("floor", self._end)
        self._db: sqlite3.Connection

    async def open(self) -> None:
        await self._worker.run(self._begin)

    def close(self) -> None:
        self._worker.stop()

    async def answer(self, session: str, message: Message, replies: Sequence[tuple[str, Any]]) -> None:
        """A message, from the inbox to the channel. `replies` are the model's, by name, if there is an action."""
        who, now = ("default", "Ana", session), to_ms(self._agent.clock())
        whole = Message(message.text, id=message.id, at=iso(now))
        await self._run(self._take_in, who, f"message:{message.id}", ENCODE(whole).decode(), now)
        (key, taken, _), (revision, _, blob), lines = await self._run(self._job, who)
        given = msgspec.json.decode(taken, type=Message)
        history = [{"role": role, "content": line} for role, line in reversed(lines)] or None
        if replies:
            await self._run(self._answers, who, key, [(name, ENCODE(reply).decode()) for name, reply in replies])
        loaded = None if blob is None else DECODE(blob)
        result = await self._agent.turn(session, given, session=loaded, history=history)
        await self._run(self._commit, who, kept(key, given.text, revision, result), now)
        sent = await self._run(self._unsent, who)
        assert msgspec.json.decode(sent[3])["session"] == session
        assert await self._run(self._sent, who, sent, now) is None

    async def _run(self, work: Callable[..., Any], *given: Any) -> Any:
        return await self._worker.run(lambda: self._transact(work, *given))

    def _transact(self, work: Callable[..., Any], *given: Any) -> Any:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            value = work(self._db, *given)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return value

    def _begin(self) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None, cached_statements=256)
        for setting in self._settings:
            self._db.execute(setting)

    def _end(self) -> None:
        self._db.close()

    # --- the transactions -------------------------------------------------------------------------

    @staticmethod
    def _take_in(db: sqlite3.Connection, who: Sequence[Any], key: str, body: str, now: int) -> None:
        db.execute(NOTE, (*who, now, now))
        assert db.execute(TAKE_IN, (*who, key, body, now, now, now)).rowcount == 1

    @staticmethod
    def _job(db: sqlite3.Connection, who: Sequence[Any]) -> Any:
        first = db.execute(NEXT, who).fetchone()
        return first, db.execute(LOAD, who).fetchone(), db.execute(HISTORY, who).fetchall()

    @staticmethod
    def _answers(db: sqlite3.Connection, who: Sequence[Any], key: str, replies: Sequence[tuple[str, str]]) -> None:
        for name, reply in replies:
            db.execute(ANSWER, (*who, key, name, 0, reply))
        db.execute(LEAD, (key, *who, key))

    @staticmethod
    def _commit(db: sqlite3.Connection, who: Sequence[Any], kept: Kept, now: int) -> None:
        key, revision, blob, text, said, name, letter, log = kept
        assert db.execute(SAVE, (blob, now, *who, revision)).rowcount == 1
        db.execute(SETTLE, (now, key, *who, key))
        db.execute(SAY, (*who, revision + 1, 0, "user", text, now, key, now))
        db.execute(SAY, (*who, revision + 1, 1, "assistant", said, now, name, now))
        db.execute(SEND, (*who, revision + 1, 0, name, letter, now))
        db.execute(LOG, (*who, key, now, log))
        db.execute(FORGET, (*who, key))
        assert db.execute(NEXT, who).fetchone() is None

    @staticmethod
    def _unsent(db: sqlite3.Connection, who: Sequence[Any]) -> Any:
        return db.execute(UNSENT, who).fetchone()

    @staticmethod
    def _sent(db: sqlite3.Connection, who: Sequence[Any], message: Sequence[Any], now: int) -> Any:
        db.execute(SENT, (now, message[2], *who, message[0], message[1]))
        return db.execute(UNSENT, who).fetchone()


def kept(key: str, text: str, revision: int, result: TurnResult) -> Kept:
    """What is to be saved of a turn."""
    saved, said = result.session, result.messages[0].text
    saved.version = revision + 1
    letter = {"session": saved.id, "address": "", "text": said, "idempotencyKey": "", "kind": "ai"}
    log = {"kind": "message", "outcomes": result.outcomes, "llmCalls": result.llm_calls}
    name = f"{saved.id}{revision}0".zfill(32)
    texts = (ENCODE(part).decode() for part in (saved, letter, log))
    blob, body, line = texts
    return Kept(key, revision, blob, text, said, name, body, line)
