"""The drivers of PostgreSQL behind one method: run a statement with its parameters, give the rows.

Both drivers are given the server's own placeholders (`$1`), so there is one SQL.
"""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

__all__ = ["Client", "Opened", "client_of"]

Rows = Sequence[Sequence[Any]]
_WAIT_SECONDS = 5.0
_LOST = ("08", "57P0")  # the SQLSTATEs of a connection that is gone, and of a server that goes


class Client(Protocol):
    """A connection or a pool of any driver."""

    async def run(self, sql: str, *values: object) -> Rows:
        """The rows that the statement gives; none when it gives none."""
        ...

    async def close(self) -> None: ...


def client_of(client: Any) -> Client:
    """The client that the host built. Raises `TypeError` when it is of no kind that is known."""
    if isinstance(client, Opened):
        return client
    if hasattr(client, "fetch"):
        return _AsyncpgPool(client) if hasattr(client, "acquire") else _Asyncpg(client)
    if iscoroutinefunction(getattr(client, "close", None)):  # the blocking ones have the same names
        if hasattr(client, "getconn"):
            return _PsycopgPool(client)
        if hasattr(client, "cursor"):
            return _Psycopg(client)
    raise TypeError(
        f"client is {type(client).__name__}; it must be an AsyncConnectionPool or AsyncConnection of psycopg,"
        " or a Pool or Connection of asyncpg"
    )


class _Asyncpg:
    """A connection of asyncpg, which carries out one statement at a time."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._turn = Lock()

    async def run(self, sql: str, *values: object) -> Rows:
        async with self._turn:
            return cast(Rows, await self._connection.fetch(sql, *values))

    async def close(self) -> None:
        await self._connection.close()


class _AsyncpgPool:
    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def run(self, sql: str, *values: object) -> Rows:
        try:
            return cast(Rows, await self._pool.fetch(sql, *values))
        except Exception as error:
            if str(getattr(error, "sqlstate", "")).startswith(_LOST):
                await self._pool.expire_connections()  # the others mostly are lost too: the next call gets none of them
            raise

    async def close(self) -> None:
        await self._pool.close()


class _Psycopg:
    """A connection of psycopg, which lets its statements wait for one another."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def run(self, sql: str, *values: object) -> Rows:
        return await _run(self._connection, sql, values)

    async def close(self) -> None:
        await self._connection.close()


class _PsycopgPool:
    def __init__(self, pool: AsyncConnectionPool[Any]) -> None:
        self._pool = pool

    async def run(self, sql: str, *values: object) -> Rows:
        return await _run_in(self._pool, sql, values)

    async def close(self) -> None:
        await self._pool.close()


class Opened:
    """A pool of psycopg that is made when it is first used, and again after it was closed.

    Raises `ValueError` for a URL that libpq does not take.
    """

    def __init__(self, url: str) -> None:
        from psycopg import AsyncConnection, ProgrammingError  # an extra: what is missing is said now, not at first use
        from psycopg.conninfo import conninfo_to_dict
        from psycopg_pool import AsyncConnectionPool

        scheme, _, rest = url.partition(":")
        url = f"{scheme.lower()}:{rest}"  # libpq knows it in small letters only
        try:
            conninfo_to_dict(url)
        except ProgrammingError as error:
            raise ValueError(f"libpq does not take the URL: {error}") from error
        self._connect = partial(AsyncConnection.connect, url)
        self._make_pool = partial(
            AsyncConnectionPool[Any],
            url,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=10,
            timeout=_WAIT_SECONDS,
            reconnect_timeout=0,  # each call tries anew; pauses that grow would outlast what failed
            open=False,
        )
        self._pool: AsyncConnectionPool[Any] | None = None

    async def run(self, sql: str, *values: object) -> Rows:
        return await _run_in(self._pool or await self._opened(), sql, values)

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _opened(self) -> AsyncConnectionPool[Any]:
        # The pool would only say that it has waited in vain; a connection says why there is none.
        await (await self._connect()).close()
        if self._pool is None:
            self._pool = self._make_pool()
        await self._pool.open()
        return self._pool


async def _run_in(pool: AsyncConnectionPool[Any], sql: str, values: Sequence[object]) -> Rows:
    lost = False
    try:
        async with pool.connection() as connection:
            try:
                return await _run(connection, sql, values)
            finally:
                lost = connection.closed
    finally:
        if lost:  # likewise
            await pool.check()


async def _run(connection: AsyncConnection[Any], sql: str, values: Sequence[object]) -> Rows:
    """With a cursor of our own: the host's may have other placeholders and other rows."""
    from psycopg import AsyncRawCursor  # the host has imported it
    from psycopg.rows import tuple_row

    async with AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(sql.encode(), values)
        if cursor.statusmessage is None:  # the host's pipeline: its answers come when it is synchronized
            async with connection.pipeline():
                pass
        return await cursor.fetchall() if cursor.description else []
