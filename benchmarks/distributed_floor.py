"""The rows of a host's turn in PostgreSQL by hand, by any number of processes: the floor of `benchmarks.distributed`.

What a careful program writes that plays an agent's turns: a row for each session that has something to do, which
is leased with `FOR UPDATE SKIP LOCKED`; reading, saving, and noting what was sent are a transaction each, whose
statements go out in one pipeline. The tables and indexes of a session are the host's own, without their triggers. It
looks for nothing that is not there (claims, people who took over, opt-outs, limits), has no heartbeat, and repeats
nothing that fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks import host_floor as by_hand
from benchmarks.host_floor import DECODE, Kept, kept
from falai import Agent, Message
from falai.session.dates import to_ms

if TYPE_CHECKING:
    from psycopg import AsyncConnection

__all__ = ["TABLES", "floor"]

TABLES = """
    CREATE TABLE floor_ready (session TEXT PRIMARY KEY, at BIGINT NOT NULL, until TIMESTAMPTZ NOT NULL);
    CREATE INDEX floor_ready_at ON floor_ready (at);
    INSERT INTO floor_ready SELECT session, min(seq), '-infinity' FROM falai_inbox WHERE state = 'new' GROUP BY session"""
TAKE = """
    UPDATE floor_ready SET until = now() + INTERVAL '30 s' WHERE session = (
        SELECT session FROM floor_ready WHERE until < now() ORDER BY at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING session"""
GIVE_BACK = """
    UPDATE floor_ready SET until = '-infinity', at = n.seq
    FROM (SELECT seq FROM falai_inbox WHERE tenant = %s AND agent = %s AND session = %s AND state = 'new' ORDER BY seq LIMIT 1) n
    WHERE session = %s RETURNING 1"""
GO = "DELETE FROM floor_ready WHERE session = %s"
POLL_S = 0.05

LOAD, HISTORY, NEXT = (sql.replace("?", "%s") for sql in (by_hand.LOAD, by_hand.HISTORY, by_hand.NEXT))
SAVE, SETTLE, SAY, SEND, LOG, FORGET, UNSENT, SENT = (
    sql.replace("?", "%s")
    for sql in (
        *(by_hand.SAVE, by_hand.SETTLE, by_hand.SAY, by_hand.SEND),
        *(by_hand.LOG, by_hand.FORGET, by_hand.UNSENT, by_hand.SENT),
    )
)

Connection = Any  # psycopg's, whose rows are tuples


async def floor(url: str, agent: Agent[None], at_once: int) -> None:
    """Plays and sends until it is cancelled, so many sessions at a time."""
    from psycopg import AsyncConnection

    connections = [await AsyncConnection.connect(url, autocommit=True, prepare_threshold=1) for _ in range(at_once)]
    await asyncio.gather(*(_each(connection, agent) for connection in connections))


async def _each(db: AsyncConnection[Any], agent: Agent[None]) -> None:
    while True:
        row = await (await db.execute(TAKE)).fetchone()
        if row is None:
            await asyncio.sleep(POLL_S)
        else:
            await _answer(db, agent, row[0])


async def _answer(db: Connection, agent: Agent[None], session: str) -> None:
    who, now = ("default", "Ana", session), to_ms(agent.clock())
    (first,), (row,), lines = await _together(db, (NEXT, who), (LOAD, who), (HISTORY, who))
    key, taken, _ = first
    revision, _, blob = row
    given = msgspec.json.decode(taken, type=Message)
    history = [{"role": role, "content": line} for role, line in reversed(lines)] or None
    loaded = None if blob is None else DECODE(blob)
    result = await agent.turn(session, given, session=loaded, history=history)
    await _commit(db, who, kept(key, given.text, revision, result), now)
    ((message,),) = await _together(db, (UNSENT, who))
    assert msgspec.json.decode(message[3])["session"] == session
    _, back = await _together(db, (SENT, (now, message[2], *who, message[0], message[1])), (GIVE_BACK, (*who, session)))
    if not back:
        await db.execute(GO, (session,))


async def _commit(db: Connection, who: Sequence[Any], done: Kept, now: int) -> None:
    key, revision, blob, text, said, name, letter, log = done
    async with db.pipeline(), db.transaction():
        saved = await db.execute(SAVE, (blob, now, *who, revision))
        await db.execute(SETTLE, (now, key, *who, key))
        await db.execute(SAY, (*who, revision + 1, 0, "user", text, now, key, now))
        await db.execute(SAY, (*who, revision + 1, 1, "assistant", said, now, name, now))
        await db.execute(SEND, (*who, revision + 1, 0, name, letter, now))
        await db.execute(LOG, (*who, key, now, log))
        await db.execute(FORGET, (*who, key))
    assert saved.rowcount == 1


async def _together(db: Connection, *statements: tuple[str, Sequence[Any]]) -> list[list[Any]]:
    """The rows of each, from one transaction and one way there and back."""
    async with db.pipeline(), db.transaction():
        cursors = [await db.execute(sql, params) for sql, params in statements]
    return [await cursor.fetchall() if cursor.description else [] for cursor in cursors]
