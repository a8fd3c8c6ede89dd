"""Stores: one JSON blob per session, and of two racing writers exactly one wins (P-1 to P-20).

`Store` is the contract; a store of one's own implements it and passes
`falai.testing.store_contract`. The turn never calls a store: the host loads, takes a turn, saves,
and only then sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from falai.store.contract import Store
from falai.store.memory import MemoryStore

if TYPE_CHECKING:
    from falai.store.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore", "Store"]


def __getattr__(name: str) -> Any:
    if name == "SQLiteStore":
        from falai.store.sqlite import SQLiteStore  # imports sqlite3, which not everybody uses

        return SQLiteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
