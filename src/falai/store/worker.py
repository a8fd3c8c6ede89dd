"""A thread for a driver that blocks: it carries out pieces of work in the order in which they came.

An executor of the standard library does the same, and takes twice as long to hand a piece over and
back; for a session in SQLite that is most of the time.
"""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Runs until `stop`, or the end of the program; the last that the thread does is `at_end`."""

    def __init__(self, name: str, at_end: Callable[[], None]) -> None:
        self._jobs: SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._at_end = at_end
        self._thread = Thread(target=self._go, name=name, daemon=True)  # as a daemon it does not keep a program alive
        self._thread.start()
        atexit.register(self.stop)

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` gives or raises. A task that is cancelled before its work has begun takes it back."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((future, work))
        return await future

    def stop(self) -> None:
        """Ends the thread when it has done what it was given, and waits for that."""
        atexit.unregister(self.stop)
        self._jobs.put(None)
        self._thread.join()

    def _go(self) -> None:
        while job := self._jobs.get():
            _carry_out(*job)
            del job  # while it waits for the next it holds nothing
        self._at_end()


def _carry_out(future: asyncio.Future[Any], work: Callable[[], Any]) -> None:
    if future.cancelled():
        return
    try:
        value = work()
    except BaseException as error:  # noqa: BLE001 - whoever waits for it is told
        _report(future, future.set_exception, error)
    else:
        _report(future, future.set_result, value)


def _report(future: asyncio.Future[Any], tell: Callable[[Any], None], outcome: Any) -> None:
    def done() -> None:
        if not future.cancelled():
            tell(outcome)

    with suppress(RuntimeError):  # the loop is closed: nobody waits
        future.get_loop().call_soon_threadsafe(done)
