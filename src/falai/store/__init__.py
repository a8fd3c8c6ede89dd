"""Stores: one JSON blob per session, and of two racing writers exactly one wins (P-1 to P-20).

`Store` is the contract; a store of one's own implements it and passes
`falai.testing.store_contract`. The turn never calls a store: the host loads, takes a turn, saves,
and only then sends.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from falai.store.contract import Page, Store
from falai.store.memory import MemoryStore

if TYPE_CHECKING:
    from falai.store.mongo import MongoStore
    from falai.store.opensearch import OpenSearchStore
    from falai.store.postgres import PostgresStore
    from falai.store.redis import RedisStore
    from falai.store.sqlalchemy_store import SQLAlchemyStore
    from falai.store.sqlite import SQLiteStore
    from falai.store.urls import store_from_url

__all__ = [
    "MemoryStore",
    "MongoStore",
    "OpenSearchStore",
    "Page",
    "PostgresStore",
    "RedisStore",
    "SQLAlchemyStore",
    "SQLiteStore",
    "Store",
    "store_from_url",
]

# Each brings a driver that not everybody uses, or is one of many: imported when it is asked for.
_HOMES = {
    "MongoStore": "falai.store.mongo",
    "OpenSearchStore": "falai.store.opensearch",
    "PostgresStore": "falai.store.postgres",
    "RedisStore": "falai.store.redis",
    "SQLAlchemyStore": "falai.store.sqlalchemy_store",
    "SQLiteStore": "falai.store.sqlite",
    "store_from_url": "falai.store.urls",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
