"""An event loop whose time jumps: when nothing is left to do but to wait, the time has come at once.

Hours of back-off play in milliseconds, and in the same way each time. While a thread is at work
(`busy`), time stands still. A loop that would wait for ever says so instead.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["JumpingLoop"]

_ROUNDS = 5_000  # a life takes some hundreds


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        self._loop.rounds += 1
        if self._loop.rounds > _ROUNDS:
            raise RuntimeError("it goes round and round, and comes to no end")
        if self._loop.threads:
            return super().select(timeout if timeout is not None and timeout <= 0 else None)
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("everything waits, and nothing will ever happen")
        if not found and timeout:
            self._loop.passed += timeout
        return found


class JumpingLoop(asyncio.SelectorEventLoop):
    """`passed` is the time since it was made, in seconds."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.threads = 0
        self.rounds = 0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.passed

    @contextmanager
    def busy(self) -> Generator[None, None, None]:
        """While a thread works for the loop."""
        self.threads += 1
        try:
            yield
        finally:
            self.threads -= 1
