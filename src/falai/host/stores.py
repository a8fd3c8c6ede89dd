"""Where a host keeps everything, as a program or a configuration names it: a file of SQLite, or a URL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from os import PathLike
from typing import Final

from falai.host.ledger.port import Ledger
from falai.host.ledger.postgres import PostgresLedger
from falai.host.queue.clock import DatabaseClock
from falai.session.dates import system_now
from falai.session.jsontext import show

__all__ = ["check_store", "clock_of", "ledger_of"]

_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")


def check_store(store: str) -> None:
    """Raises `ValueError` for the URL of something else, and for no name: SQLite would forget all at the end."""
    scheme, url, _ = store.partition("://")
    if not store.removeprefix(_SQLITE) or (url and not store.startswith((_SQLITE, *_POSTGRES))):
        where = show(f"{scheme}{url}")
        raise ValueError(f"a host keeps nothing in {where} like this: write a file of SQLite, or a postgresql:// URL")


def ledger_of(store: str | PathLike[str] | Ledger) -> Ledger:
    """The ledger that is named, or given. Raises `ValueError` as `check_store`."""
    if isinstance(store, str):
        check_store(store)
        if store.startswith(_POSTGRES):
            return PostgresLedger(store)
        store = store.removeprefix(_SQLITE)
    elif not isinstance(store, PathLike):
        return store
    from falai.host.ledger.sqlite import SQLiteLedger  # a host on another ledger needs no SQLite

    return SQLiteLedger(store)


def clock_of(ledger: Ledger, given: Callable[[], datetime]) -> Callable[[], datetime]:
    """Several processes go by one clock: that of their database, unless somebody gave another."""
    if given is not system_now or not isinstance(ledger, PostgresLedger):
        return given
    return DatabaseClock(system_now)
