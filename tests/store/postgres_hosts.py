"""What a host gives to `PostgresStore`: a pool or a connection of psycopg or of asyncpg."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
from psycopg_pool import AsyncConnectionPool

from falai.store import PostgresStore


class Host(ABC):
    """Makes clients, begins transactions, and knows the error of a table that is missing."""

    missing_table: type[Exception]

    @abstractmethod
    async def connect(self, url: str) -> Any:
        """A client, ready to be used."""

    @abstractmethod
    def transaction(self, client: Any) -> Any:
        """A block in a transaction; gives the connection that is inside it."""

    async def execute(self, client: Any, sql: str) -> None:
        """Runs a statement of the host's."""
        await client.execute(sql)


class PsycopgPool(Host):
    missing_table = psycopg.errors.UndefinedTable

    def __init__(self, timeout: float = 10) -> None:
        self.timeout = timeout

    async def connect(self, url: str) -> Any:
        pool = AsyncConnectionPool(url, min_size=1, max_size=4, timeout=self.timeout, reconnect_timeout=0, open=False)
        await pool.open(wait=True)
        return pool

    @asynccontextmanager
    async def transaction(self, client: Any) -> AsyncIterator[Any]:
        async with client.connection() as connection:
            yield connection


class PsycopgConnection(Host):
    missing_table = psycopg.errors.UndefinedTable

    async def connect(self, url: str) -> Any:
        return await psycopg.AsyncConnection.connect(url, autocommit=True)

    @asynccontextmanager
    async def transaction(self, client: Any) -> AsyncIterator[Any]:
        async with client.transaction():
            yield client


class AsyncpgPool(Host):
    missing_table = asyncpg.UndefinedTableError

    async def connect(self, url: str) -> Any:
        return await asyncpg.create_pool(url, min_size=1, max_size=4)

    @asynccontextmanager
    async def transaction(self, client: Any) -> AsyncIterator[Any]:
        async with client.acquire() as connection, connection.transaction():
            yield connection


class AsyncpgConnection(Host):
    missing_table = asyncpg.UndefinedTableError

    async def connect(self, url: str) -> Any:
        return await asyncpg.connect(url)

    @asynccontextmanager
    async def transaction(self, client: Any) -> AsyncIterator[Any]:
        async with client.transaction():
            yield client


HOSTS = {
    "psycopg pool": PsycopgPool(),
    "psycopg connection": PsycopgConnection(),
    "asyncpg pool": AsyncpgPool(),
    "asyncpg connection": AsyncpgConnection(),
}
POOLS = [name for name in HOSTS if "pool" in name]


class LateStore(PostgresStore):
    """Makes its client in the event loop that enters it; `client` is what the host has then."""

    client: Any = None

    def __init__(self, host: Host, url: str, table: str) -> None:
        self._host, self._url, self._table = host, url, table

    async def initialize(self) -> None:
        if self.client is None:
            self.client = await self._host.connect(self._url)
            super().__init__(self.client, table=self._table)
        await super().initialize()
