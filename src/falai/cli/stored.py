"""A store that a command looks at and never changes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from falai.cli.loading import LoadError
from falai.store import Store, store_from_url

__all__ = ["looked_at", "must_be_there"]


@asynccontextmanager
async def looked_at(url: str) -> AsyncGenerator[Store, None]:
    """The store of a URL, closed at the end. It is not entered: that would make the tables that are missing.

    Raises `LoadError` when it is not there, or when what is read inside raises anything.
    """
    must_be_there(url)
    try:
        store = store_from_url(url, **({"read_only": True} if _sqlite_file(url) else {}))
        try:
            yield store
        finally:
            await store.disconnect()
    except Exception as error:  # of whichever driver
        raise LoadError(f"the store cannot be read: {error}") from error


def must_be_there(url: str) -> None:
    """Raises `LoadError` when the file of a store on SQLite is missing: opening the store would make it."""
    path = _sqlite_file(url)
    if path is not None and not Path(path).is_file():
        raise LoadError(f"there is no file {path}")


def _sqlite_file(url: str) -> str | None:
    """The file of a store on SQLite; `None` for a store that is none."""
    path = re.sub(r"^sqlite(\+[a-z]+)?:///", "", url, flags=re.IGNORECASE).partition("?")[0]
    return None if ":" in path else path
