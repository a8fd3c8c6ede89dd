"""The drivers of SQLAlchemy that are tested, each with its server."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from falai.store import SQLAlchemyStore
from falai.store.sqlalchemy_statements import Statements

DRIVERS = ["sqlite+aiosqlite", "postgresql+psycopg", "postgresql+asyncpg", "mariadb+asyncmy", "mysql+asyncmy"]


def url_of(driver: str, request: pytest.FixtureRequest) -> str:
    """The URL of a server for this driver; it is started when nobody has asked for it before."""
    dialect = driver.partition("+")[0]
    if dialect == "sqlite":
        return f"{driver}:///{request.getfixturevalue('tmp_path')}/a.db"
    server = request.getfixturevalue("postgres_server" if dialect == "postgresql" else "mariadb_server")
    return f"{driver}://{server.url.partition('://')[2]}"


async def execute(engine: AsyncEngine, sql: str, **values: Any) -> Any:
    async with engine.begin() as db:
        result = await db.execute(text(sql), values)
        return result.all() if result.returns_rows else None


def with_a_savepoint(store: SQLAlchemyStore) -> SQLAlchemyStore:
    """The store, which takes its database for one that it does not know."""
    store._sql = Statements(store._place)
    return store
