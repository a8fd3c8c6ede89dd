"""The store of a command that reads or changes sessions: opened, closed, and its failures in words without secrets."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Literal

import click

from falai.cli.clean import clean
from falai.cli.loading import LoadError
from falai.cli.stored import for_reading, must_be_there
from falai.cli.urls import check_hosts, hidden
from falai.errors import words_of
from falai.store import Store, store_from_url

__all__ = ["Troubles", "guarded", "note", "on_store"]

Access = Literal["read", "change", "make"]


class Troubles:
    """What went wrong with single sessions: told at once on standard error, and counted for the exit code."""

    def __init__(self) -> None:
        self.count = 0

    def tell(self, text: str) -> None:
        self.count += 1
        note(text)

    @property
    def exit_code(self) -> int:
        return 1 if self.count else 0


def note(text: str) -> None:
    """A sentence for the person at the keyboard, beside what the command prints."""
    print(clean(text), file=sys.stderr)


def on_store(url: str, work: Callable[[Store], Awaitable[int]], access: Access = "read") -> int:
    """What `work` gives on the store of a URL. Only with `make` is created what is missing there.

    Raises `LoadError`, without the URL's password, for whatever the store's driver raises.
    """
    return guarded(lambda: _worked(url, work, access), url)


def guarded(work: Callable[[], Awaitable[int]], *urls: str) -> int:
    """Runs `work` to its end; what a driver raises comes as `LoadError`, without the passwords of these URLs."""
    for url in urls:
        check_hosts(url)
    try:
        return asyncio.run(_awaited(work))
    except (click.ClickException, click.Abort, BrokenPipeError):
        raise  # the command's own, or nobody reads what it prints
    except Exception as error:  # of whichever driver
        name = "" if isinstance(error, LoadError | ValueError | ImportError) else f"{type(error).__name__}: "
        raise LoadError(hidden(f"{name}{words_of(error)}", *urls)) from error


async def _worked(url: str, work: Callable[[Store], Awaitable[int]], access: Access) -> int:
    if access == "change":
        must_be_there(url)
    store = for_reading(url) if access == "read" else store_from_url(url)
    try:
        if access == "make":
            await store.initialize()
        return await work(store)
    finally:
        await store.disconnect()


async def _awaited(work: Callable[[], Awaitable[int]]) -> int:
    return await work()
