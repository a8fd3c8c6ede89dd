"""The ledger in PostgreSQL, over a pool of psycopg 3: a step of a work is one round trip.

Each transaction is a pipeline: the statements of a step go out together, with the BEGIN before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from falai.host.ledger.dialect import POSTGRES, in_dialect, storable
from falai.host.ledger.migrating import migrate
from falai.host.ledger.port import Row, Statement, Step, Undo, Work

if TYPE_CHECKING:
    from psycopg import AsyncConnection, AsyncPipeline, AsyncRawCursor
    from psycopg_pool import AsyncConnectionPool

__all__ = ["UNHEARD", "PostgresLedger", "watchful"]

T = TypeVar("T")
_WAIT_SECONDS = 5.0
_STATEMENTS = 512  # a statement is prepared once for each combination of the widths of its numbers
# A network that drops what is sent says nothing: the system gives such a connection up after a quarter of an hour.
_WATCH = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
UNHEARD: Final = "SET idle_in_transaction_session_timeout = '6s'"
"""For a connection: who was not heard of for so long in a transaction holds nothing any more. The server learns
only after two hours that a machine is gone, and until then others would wait for its locks."""

_ALONE = 7_130_001  # the advisory lock under which tables are made


class PostgresLedger:
    """A ledger in the database of `url`, in the schema that the connection's `search_path` names.

    Any number of processes may use it. `connections` is how many this one opens at the most. U+0000
    is removed from texts, since PostgreSQL has no place for it (P-40). `open` runs the migrations that
    come before a deploy, with `upgrade` those for after it too, or none. It raises `SchemaError` when
    the tables need a newer release.
    """

    def __init__(
        self, url: str, *, connections: int = 10, upgrade: Literal["before", "after", "never"] = "before"
    ) -> None:
        self._url = url
        self._connections = connections
        self._upgrade = upgrade
        self._native: dict[str, tuple[bytes, bool]] = {}
        self._pool: AsyncConnectionPool[Any] | None = None

    @property
    def url(self) -> str:
        """Where the database is."""
        return self._url

    async def open(self) -> None:
        from psycopg import AsyncConnection  # an extra
        from psycopg_pool import AsyncConnectionPool

        async with await AsyncConnection.connect(self._url, autocommit=True) as connection:  # it says why there is none
            if self._upgrade != "never":
                await self._migrate(connection)
        self._pool = AsyncConnectionPool(
            self._url,
            kwargs={"autocommit": True, "prepare_threshold": 1, **watchful(self._url)},
            configure=_configure,
            min_size=1,
            max_size=self._connections,
            timeout=_WAIT_SECONDS,
            reconnect_timeout=0,  # each call tries anew; pauses that grow would outlast what failed
            open=False,
        )
        await self._pool.open()

    async def run(self, work: Work[T]) -> T:
        if self._pool is None:
            raise RuntimeError("the ledger is not open: call `await ledger.open()` first")
        lost = False
        try:
            async with self._pool.connection() as connection:
                try:
                    return await self._transact(connection, work)
                finally:
                    lost = connection.closed
        finally:
            if lost:  # the others mostly are lost too: the next call gets none of them
                await self._pool.check()

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _migrate(self, connection: AsyncConnection[Any]) -> None:
        """One process at a time: IF NOT EXISTS looks before it locks."""
        await connection.execute("SELECT pg_advisory_lock(%s)", (_ALONE,))
        try:
            await self._transact(connection, migrate(after=self._upgrade == "after"))
        finally:
            await connection.execute("SELECT pg_advisory_unlock(%s)", (_ALONE,))

    async def _transact(self, connection: AsyncConnection[Any], work: Work[T]) -> T:
        try:
            async with connection.pipeline() as pipeline, connection.transaction():
                return await self._carry_out(connection, pipeline, work)
        except Undo as end:
            return end.value  # type: ignore[no-any-return]  # the work gives what it promises, either way

    async def _carry_out(self, connection: AsyncConnection[Any], pipeline: AsyncPipeline, work: Work[T]) -> T:
        try:
            step = next(work)
            while True:
                step = work.send(await self._take(connection, pipeline, step))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what a generator returns is untyped there

    async def _take(
        self, connection: AsyncConnection[Any], pipeline: AsyncPipeline, step: Step
    ) -> Sequence[Sequence[Row]]:
        cursors = [await self._send(connection, statement) for statement in step]
        if any(cursors):
            await pipeline.sync()  # only behind it the server counts the time in which nothing is heard of this one
        return [[] if cursor is None else await cursor.fetchall() for cursor in cursors]

    async def _send(self, connection: AsyncConnection[Any], statement: Statement) -> AsyncRawCursor[Any] | None:
        """The cursor that will have the rows, if the statement gives any."""
        sql, params, many = statement
        known = self._native.get(sql)
        if known is None:
            known = self._native[sql] = (_numbered(in_dialect(sql, POSTGRES)), _gives_rows(sql))
        native, gives_rows = known
        if not many:
            cursor = await _execute(connection, native, params)
            return cursor if gives_rows else None
        for row in params:
            await _execute(connection, native, row)
        return None


def watchful(url: str) -> dict[str, int]:
    """Options of a connection that notices within ten seconds or so that its network is gone; the URL's own stay."""
    return {name: value for name, value in _WATCH.items() if name not in url}


async def _execute(connection: AsyncConnection[Any], sql: bytes, params: Sequence[Any]) -> AsyncRawCursor[Any]:
    from psycopg import AsyncRawCursor, DataError  # loaded since `open`

    cursor = AsyncRawCursor[Any](connection)
    try:
        await cursor.execute(sql, params)
    except (UnicodeEncodeError, DataError):
        await cursor.execute(sql, storable(params))
    return cursor


async def _configure(connection: AsyncConnection[Any]) -> None:
    connection.prepared_max = _STATEMENTS
    await connection.execute(UNHEARD)


def _gives_rows(sql: str) -> bool:
    return sql.lstrip().startswith("SELECT") or "RETURNING" in sql


def _numbered(sql: str) -> bytes:
    """With the server's own placeholders."""
    parts, numbers = sql.split("?"), count(1)
    return "".join([parts[0], *(f"${next(numbers)}{part}" for part in parts[1:])]).encode()
