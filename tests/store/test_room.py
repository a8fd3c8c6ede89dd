from __future__ import annotations

import subprocess
import sys

import pytest

from falai import store


def test_a_store_that_is_not_used_is_not_imported() -> None:
    """`falai.store` alone imports no driver (P-22)."""
    code = """
import sys, falai.store
assert 'sqlite3' not in sys.modules
falai.store.PostgresStore, falai.store.SQLAlchemyStore
assert not {'psycopg', 'psycopg_pool', 'asyncpg', 'sqlalchemy'} & set(sys.modules)
falai.store.SQLiteStore
import sqlite3
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_rooms_names() -> None:
    """What the room offers can be imported, and nothing else."""
    assert [getattr(store, name).__name__ for name in store.__all__] == store.__all__
    with pytest.raises(AttributeError, match="PaperStore"):
        store.PaperStore  # noqa: B018 - asking is the point
