"""What was begun goes on to its end, also when the page that asked for it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

__all__ = ["Works"]

T = TypeVar("T")
_GRACE_S: Final = 3.0


class Works:
    """The plays that are under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begins it, whoever waits for it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def done(self, work: Coroutine[Any, Any, T]) -> T:
        """What it gives. Raises what it raises."""
        return await asyncio.shield(self.begin(work))

    async def ended(self) -> None:
        """Waits for all of them, and gives up what takes too long: a model that does not answer."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
