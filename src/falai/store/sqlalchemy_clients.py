"""An engine, a connection or a session of SQLAlchemy: where a store's statements run, and whose transaction that is."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, cast

from sqlalchemy import Dialect, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, async_scoped_session

__all__ = ["Client", "client_of", "create"]


class Client(Protocol):
    """What a store does with that which the host gave it."""

    @property
    def dialect(self) -> Dialect: ...

    def begin(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A connection for some statements that belong together."""
        ...

    async def close(self) -> None: ...


def client_of(*given: Any) -> Client:
    """The one of them that is given; raises `TypeError` for none, for several, and for what is no client."""
    clients = [client for client in given if client is not None]
    if len(clients) != 1:
        raise TypeError(f"exactly one of engine, connection and session must be given; there are {len(clients)}")
    client: Any = clients[0]
    if isinstance(client, AsyncEngine):
        return _Engine(client)
    if isinstance(client, AsyncConnection):
        return _Connection(client)
    if isinstance(client, AsyncSession | async_scoped_session):
        return _Session(cast(AsyncSession, client))  # the scoped one has the same methods
    raise TypeError(
        f"the client is {type(client).__name__}; it must be an AsyncEngine, AsyncConnection or AsyncSession of SQLAlchemy"
    )


class _Engine:
    """Each block is a transaction of its own."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self.dialect: Dialect = engine.dialect

    def begin(self) -> AbstractAsyncContextManager[AsyncConnection]:
        return self._engine.begin()

    async def close(self) -> None:
        await self._engine.dispose()


class _Connection:
    """The transaction is the host's; one task at a time."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._turn = Lock()
        self.dialect: Dialect = connection.dialect

    @asynccontextmanager
    async def begin(self) -> AsyncGenerator[AsyncConnection]:
        async with self._turn:
            yield self._connection

    async def close(self) -> None:
        await self._connection.close()


class _Session:
    """Likewise; the session's objects are neither written nor looked at."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session
        self._turn = Lock()
        self.dialect: Dialect = session.get_bind().dialect

    @asynccontextmanager
    async def begin(self) -> AsyncGenerator[AsyncConnection]:
        async with self._turn:
            yield await self._session.connection()

    async def close(self) -> None:
        await self._session.close()


async def create(client: Client, table: Table) -> None:
    """Creates the table when it is missing: tried again once, since another process may have been faster (P-43)."""
    try:
        await _create_once(client, table)
    except DBAPIError:
        await _create_once(client, table)


async def _create_once(client: Client, table: Table) -> None:
    async with client.begin() as db:
        await db.run_sync(lambda connection: table.create(connection, checkfirst=True))
