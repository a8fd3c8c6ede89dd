"""The queue's tables in the database: Procrastinate's own, then ours, each once.

Both count their migrations in `falai_meta`, beside the ledger's. All of it is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falai.host.errors import HostError
from falai.host.ledger.migrating import SchemaError, before_deploy, is_after

if TYPE_CHECKING:
    from psycopg import AsyncConnection

__all__ = ["OldQueueError", "QueueState", "engine_names", "install", "queue_migrations", "queue_names", "state_of"]

ALONE: Final = 7_130_002
"""The advisory lock under which this is done."""

_OURS: Final = "queue"
_NEEDS: Final = "queue_needs"
_ENGINE: Final = "procrastinate"
# In this schema: another one may have a queue of its own.
_IS_THERE = """
    SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'procrastinate_jobs')"""
_SPEAKS = "SELECT to_regproc('procrastinate_retry_job_v2') IS NOT NULL"  # what its last migration has made
_READ = "SELECT value FROM falai_meta WHERE name = %s"
_NOTE = "INSERT INTO falai_meta (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


class OldQueueError(HostError):
    """Somebody else made the tables of Procrastinate in this schema, and they are too old."""

    def __init__(self) -> None:
        super().__init__(
            "[OldQueueError] this schema has tables of Procrastinate that are not the host's, from before release 3.4. "
            "Run Procrastinate's migrations, or give the host a schema of its own: "
            "…?options=-c%20search_path%3Dfalai at the end of the URL."
        )


class QueueState(NamedTuple):
    """How far a database is: our migrations, and the last one of Procrastinate (None: it was not ours to make).

    A release that knows fewer than `needs` of ours cannot work on it.
    """

    ours: int
    engine: str | None
    needs: int


@cache
def queue_migrations() -> tuple[str, ...]:
    """Our migrations, the first first."""
    return tuple(text for _, text in _scripts("falai.host.queue"))


@cache
def queue_names() -> tuple[str, ...]:
    """The names of their files."""
    return tuple(name for name, _ in _scripts("falai.host.queue"))


@cache
def engine_names() -> tuple[str, ...]:
    """The names of Procrastinate's."""
    return tuple(name for name, _ in _engine_scripts())


async def state_of(connection: AsyncConnection[Any]) -> QueueState:
    """What is there. The ledger's tables have to be."""
    ours, needs = await _value(connection, _OURS), await _value(connection, _NEEDS)
    return QueueState(int(ours or 0), await _value(connection, _ENGINE), int(needs or 0))


async def install(connection: AsyncConnection[Any], *, after: bool = False) -> None:
    """Brings the queue up to date, in a database that has the ledger's tables; the connection is in autocommit.

    With `after`, by the migrations for after a deploy too. Raises `SchemaError` when it needs a newer release, and
    `OldQueueError` when Procrastinate is there already, in a release that this one cannot use.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (ALONE,))
        found, names = await state_of(connection), queue_names()
        if found.needs > len(names):
            raise SchemaError(found.needs, len(names))
        await _install_engine(connection, found.engine, after=after)
        last = len(names) if after or not found.ours else before_deploy(names)
        for number in range(found.ours + 1, last + 1):
            await connection.execute(queue_migrations()[number - 1].encode())
            await connection.execute(_NOTE, (_OURS, str(number)))
            if is_after(names[number - 1]):
                await connection.execute(_NOTE, (_NEEDS, str(number)))


async def _install_engine(connection: AsyncConnection[Any], done: str | None, *, after: bool) -> None:
    """A new database gets the whole schema, an older one the migrations that it lacks. One that somebody else made stays."""
    from procrastinate.schema import SchemaManager  # an extra

    scripts = _engine_scripts()
    if done is not None:
        scripts = scripts[: len(scripts) if after else before_deploy(engine_names())]
        if not scripts or done >= scripts[-1][0]:
            return
        for name, text in scripts:
            if name > done:
                await connection.execute(text.encode())
    elif await _is_true(connection, _IS_THERE):
        if not await _is_true(connection, _SPEAKS):
            raise OldQueueError
        return
    else:
        await connection.execute(SchemaManager.get_schema().encode())
    await connection.execute(_NOTE, (_ENGINE, scripts[-1][0]))


async def _is_true(connection: AsyncConnection[Any], sql: str) -> bool:
    row = await (await connection.execute(sql.encode())).fetchone()
    return bool(row and row[0])


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
