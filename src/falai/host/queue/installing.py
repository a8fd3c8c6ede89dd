"""The queue's tables in the database: Procrastinate's own, then ours, each once.

Both count their migrations in `falai_meta`, beside the ledger's. All of it is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falai.host.ledger.migrating import SchemaError

if TYPE_CHECKING:
    from psycopg import AsyncConnection

__all__ = ["QueueState", "install", "queue_migrations", "state_of"]

ALONE: Final = 7_130_002
"""The advisory lock under which this is done."""

_OURS: Final = "queue"
_ENGINE: Final = "procrastinate"
_READ = "SELECT value FROM falai_meta WHERE name = %s"
_NOTE = "INSERT INTO falai_meta (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class QueueState(NamedTuple):
    """How far a database is: our migrations, and the last one of Procrastinate (None: it was not ours to make)."""

    ours: int
    engine: str | None


@cache
def queue_migrations() -> tuple[str, ...]:
    """Our migrations, the first first."""
    return tuple(text for _, text in _scripts("falai.host.queue"))


async def state_of(connection: AsyncConnection[Any]) -> QueueState:
    """What is there. The ledger's tables have to be."""
    ours, engine = await _value(connection, _OURS), await _value(connection, _ENGINE)
    return QueueState(int(ours or 0), engine)


async def install(connection: AsyncConnection[Any]) -> None:
    """Brings the queue up to date, in a database that has the ledger's tables; the connection is in autocommit.

    Raises `SchemaError` when a newer release made it.
    """
    known = len(queue_migrations())
    if (await state_of(connection)) == (known, _engine_scripts()[-1][0]):
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (ALONE,))
        found = await state_of(connection)
        if found.ours > known:
            raise SchemaError(found.ours, known)
        await _install_engine(connection, found.engine)
        for number, script in enumerate(queue_migrations()[found.ours :], found.ours + 1):
            await connection.execute(script.encode())
            await connection.execute(_NOTE, (_OURS, str(number)))


async def _install_engine(connection: AsyncConnection[Any], done: str | None) -> None:
    """A new database gets the whole schema, an older one the migrations that it lacks. One that somebody else made stays."""
    from procrastinate.schema import SchemaManager  # an extra

    scripts = _engine_scripts()
    if done is not None:
        for name, text in scripts:
            if name > done:
                await connection.execute(text.encode())
    elif await _is_there(connection):
        return
    else:
        await connection.execute(SchemaManager.get_schema().encode())
    await connection.execute(_NOTE, (_ENGINE, scripts[-1][0]))


async def _is_there(connection: AsyncConnection[Any]) -> bool:
    """In this schema: another one may have a queue of its own."""
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'procrastinate_jobs'"
    return await (await connection.execute(sql)).fetchone() is not None


async def _value(connection: AsyncConnection[Any], name: str) -> str | None:
    row = await (await connection.execute(_READ, (name,))).fetchone()
    return row[0] if row else None


@cache
def _engine_scripts() -> Sequence[tuple[str, str]]:
    return _scripts("procrastinate.sql")


def _scripts(package: str) -> Sequence[tuple[str, str]]:
    folder = files(package) / "migrations"
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [(file.name, file.read_text(encoding="utf-8")) for file in found]
