"""Ledgers to test, and the shortest way to say what comes in and what a turn leaves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import psycopg

from falai.host.ledger.committing import commit
from falai.host.ledger.playing import next_job
from falai.host.ledger.port import Arrival, Committed, Done, Job, Ledger, Limits, Place, Statement, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.taking import take_in

NOW = 1_000_000
PLACE = Place("t", "a", "s1")
MANY = Limits(1000, 1000)


class Server(Protocol):
    @property
    def url(self) -> str: ...


def sqlite_ledger(folder: Path) -> SQLiteLedger:
    return SQLiteLedger(folder / "falai.db")


def postgres_url(server: Server, schema: str) -> str:
    """The URL of an empty schema of this name."""
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    return f"{server.url}?options=-csearch_path%3D{schema}"


def postgres_ledger(server: Server, schema: str) -> PostgresLedger:
    return PostgresLedger(postgres_url(server, schema), connections=4)


def arrival(key: str, kind: Any = "message", **more: Any) -> Arrival:
    return Arrival(key, kind, f'{{"text":"{key}"}}', **more)


async def receive(ledger: Ledger, *keys: str, place: Place = PLACE, now: int = NOW, **more: Any) -> None:
    arrivals = [arrival(key, **more) for key in keys]
    await ledger.run(take_in(place, arrivals, now_ms=now, limits=MANY))


async def job_of(ledger: Ledger, place: Place = PLACE, *, now: int = NOW) -> Job:
    job = await ledger.run(next_job(place, now_ms=now, history_items=20))
    assert job is not None
    return job


async def keys_of(ledger: Ledger, place: Place = PLACE, *, now: int = NOW) -> list[str]:
    """The keys of the next job; none when there is none."""
    job = await ledger.run(next_job(place, now_ms=now, history_items=20))
    return [row.key for row in job.inputs] if job else []


async def play(ledger: Ledger, done: Done | None = None, place: Place = PLACE, *, now: int = NOW) -> Committed:
    """Plays the next job of the place, which has to be there."""
    job = await job_of(ledger, place, now=now)
    return await ledger.run(commit(job, done or Done(blob="{}"), now_ms=now))


def ask(sql: str, *params: object) -> Work[Sequence[Sequence[Any]]]:
    """A statement of the test's own."""
    return (yield (Statement(sql, params),))[0]


TABLES = (
    *("falai_sessions", "falai_inbox", "falai_journal", "falai_outbox", "falai_wakes", "falai_claims"),
    *("falai_live_runs", "falai_transcript", "falai_run_log", "falai_optouts"),
)


async def dump(ledger: Ledger) -> dict[str, list[Any]]:
    """Every row that there is, numbers apart."""
    found = {}
    for table in TABLES:
        rows = await ledger.run(ask(f"SELECT * FROM {table}"))
        numbered = table in {"falai_inbox", "falai_outbox", "falai_transcript", "falai_run_log"}
        found[table] = sorted((tuple(row)[1 if numbered else 0 :] for row in rows), key=repr)
    return found
