"""A store that a command looks at and never changes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from falai.cli.loading import LoadError
from falai.cli.urls import check_hosts, hidden
from falai.errors import words_of
from falai.store import Store, store_from_url

__all__ = ["for_reading", "looked_at", "must_be_there"]


@asynccontextmanager
async def looked_at(url: str) -> AsyncGenerator[Store, None]:
    """The store of a URL, closed at the end. It is not entered: that would make the tables that are missing.

    Raises `LoadError` when it is not there, or when what is read inside raises anything.
    """
    try:
        store = for_reading(url)
        try:
            yield store
        finally:
            await store.disconnect()
    except LoadError:
        raise
    except Exception as error:  # of whichever driver
        raise LoadError(hidden(f"the store cannot be read: {words_of(error)}", url)) from error


def for_reading(url: str) -> Store:
    """A store whose place is there, to be read only. Raises `LoadError` when it is not, or the URL is none."""
    check_hosts(url)
    must_be_there(url)
    ours = _sqlite_file(url) and not url.lower().startswith("sqlite+")
    return store_from_url(url, **({"read_only": True} if ours else {}))


def must_be_there(url: str) -> None:
    """Raises `LoadError` when the file of a store on SQLite is missing: opening the store would make it."""
    path = _sqlite_file(url)
    if path is not None and not Path(path).is_file():
        raise LoadError(f"there is no file {path}")


def _sqlite_file(url: str) -> str | None:
    """The file of a store on SQLite; `None` for a store that is none."""
    path = re.sub(r"^sqlite(\+[a-z]+)?:///", "", url, flags=re.IGNORECASE).partition("?")[0]
    return None if ":" in path else path
