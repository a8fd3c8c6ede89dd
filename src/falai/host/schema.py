"""The tables of a host's database: how far they are, and how they are brought up to date, before and after a deploy."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from falai.host.ledger.migrating import SchemaError, before_deploy, meta, migration_names
from falai.host.ledger.port import Ledger
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger

__all__ = ["Part", "beside_host", "for_looking", "is_postgres", "schema_of", "upgrade"]


class Part(NamedTuple):
    """Tables with migrations of their own: how many were run, which ones this release has, and how many it must have."""

    name: str
    done: int
    names: Sequence[str]
    needs: int = 0

    @property
    def before(self) -> Sequence[str]:
        """What is to be run before the deploy of this release; all of it in a new database."""
        return self.names[self.done : before_deploy(self.names) if self.done else None]

    @property
    def after(self) -> Sequence[str]:
        """What is to be run once no process of the release before is left."""
        return self.names[max(self.done, before_deploy(self.names)) :] if self.done else ()


def is_postgres(store: str) -> bool:
    """Whether this is the URL of a database that several processes may work on."""
    return store.startswith(("postgresql://", "postgres://"))


@asynccontextmanager
async def for_looking(store: str) -> AsyncGenerator[Ledger, None]:
    """The ledger of a store as it is, open; no table is made or changed. Raises what the driver raises."""
    async with _opened(store, read_only=True) as ledger:
        yield ledger


@asynccontextmanager
async def beside_host(store: str) -> AsyncGenerator[Ledger, None]:
    """The ledger of a store, open, to write what no host writes, while one may run on it. Raises as `for_looking`."""
    async with _opened(store, beside_host=True) as ledger:
        yield ledger


@asynccontextmanager
async def _opened(store: str, **for_sqlite: bool) -> AsyncGenerator[Ledger, None]:
    ledger: Ledger = (
        PostgresLedger(store, connections=1, upgrade="never")
        if is_postgres(store)
        else SQLiteLedger(store.removeprefix("sqlite:///"), **for_sqlite)
    )
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.close()


async def schema_of(store: str) -> tuple[Part, ...]:
    """How far the tables of a store are. Raises what the driver raises."""
    async with for_looking(store) as ledger:
        found = await ledger.run(meta())
    parts = [Part("ledger", int(found.get("schema", 0)), migration_names(), int(found.get("needs", 0)))]
    if not is_postgres(store):
        return tuple(parts)
    from falai.host.queue.installing import engine_names, queue_names  # an extra

    parts.append(Part("queue", int(found.get("queue", 0)), queue_names(), int(found.get("queue_needs", 0))))
    if "procrastinate" in found or "queue" not in found:  # else somebody else has made it
        done = sum(name <= found.get("procrastinate", "") for name in engine_names())
        parts.append(Part("procrastinate", done, engine_names()))
    return tuple(parts)


async def upgrade(store: str, *, after: bool) -> None:
    """Runs what is to be run before a deploy; with `after`, what comes after it too. Running it again does nothing.

    Raises `SchemaError` when the tables need a newer release, `HostBusyError` when a host runs on a file of SQLite.
    """
    for part in await schema_of(store) if is_postgres(store) else ():
        if part.needs > len(part.names):
            raise SchemaError(part.needs, len(part.names))
    ledger: Ledger = (
        PostgresLedger(store, connections=1, upgrade="after" if after else "before")
        if is_postgres(store)
        else SQLiteLedger(store.removeprefix("sqlite:///"))
    )
    await ledger.open()
    await ledger.close()
    if is_postgres(store):
        await _upgrade_queue(store, after=after)


async def _upgrade_queue(url: str, *, after: bool) -> None:
    from psycopg import AsyncConnection  # an extra

    from falai.host.queue.installing import install

    async with await AsyncConnection.connect(url, autocommit=True) as connection:
        await install(connection, after=after)
