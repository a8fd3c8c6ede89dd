"""Due times: sleeps until the next one, wherever it is kept, and looks there when it has come.

The clock may be a test's, may jump, and may stand still: it is read at least each 100 ms, which costs
nothing; the ledger is asked only when something is due, or the clock was set back: what was due is due
later then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from falai.host.trouble import tell_trouble

__all__ = ["Alarm"]

_TICK_S: Final = 0.1
_PAUSE_MS: Final = 1000


class Alarm:
    """Calls `look` at the start, and whenever the instant has come that it gave, or an earlier one of `note`."""

    def __init__(self, now_ms: Callable[[], int], look: Callable[[], Awaitable[int | None]]) -> None:
        self._now_ms = now_ms
        self._look = look
        self._next: int | None = None
        self._seen = now_ms()
        self._sooner = asyncio.Event()

    def note(self, at_ms: int | None) -> None:
        """Something will be due at this instant."""
        if at_ms is not None and (self._next is None or at_ms < self._next):
            self._next = at_ms
            self._sooner.set()

    async def run(self) -> None:
        """Looks when it is time, until it is cancelled."""
        while True:
            await self.look()
            await self._until_due()

    async def look(self) -> None:
        """Looks now. What fails is logged, and done again a second later."""
        self._next = None
        try:
            self.note(await self._look())
        except Exception as error:  # noqa: BLE001  # the ledger keeps what is due
            tell_trouble("look for what is due", error)
            self.note(self._now_ms() + _PAUSE_MS)

    async def _until_due(self) -> None:
        while (left := self._left_s()) > 0:
            self._sooner.clear()
            try:
                async with asyncio.timeout(min(_TICK_S, left)):
                    await self._sooner.wait()
            except TimeoutError:
                continue

    def _left_s(self) -> float:
        now, seen = self._now_ms(), self._seen
        self._seen = now
        if now < seen:
            return 0.0
        return _TICK_S if self._next is None else (self._next - now) / 1000
