"""How often a call is tried, and how long it waits in between (M-20).

A call has one model at a time: first the primary one, then the backups in order, each with its own
attempts. Nothing here knows what an attempt does.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from falai.errors import ProviderError
from falai.log import line
from falai.session.dates import system_now, to_ms

__all__ = ["Attempts", "Pace"]

_LOG: Final = logging.getLogger(__name__)
_LONGEST: Final = 30.0
_TRANSIENT: Final = frozenset({"timeout", "network", "overload", "rate"})
_BACKUP_HELPS: Final = frozenset({"overload", "rate", "model"})


@dataclass(frozen=True, slots=True)
class Pace:
    """Where the waiting between attempts gets its time from: replaced in tests (M-20.7).

    `sleep` takes seconds; `random` gives a number from 0 to 1; `clock` says when it is now.
    """

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random.random
    clock: Callable[[], datetime] = system_now

    def now_ms(self) -> int:
        return to_ms(self.clock())


class Attempts:
    """The attempts of one call. `model` is the number of the one to be asked: 0 is the primary."""

    def __init__(self, models: int, retries: int, pace: Pace) -> None:
        self.model = 0
        self._models = models
        self._retries = retries
        self._failed = 0
        self._pace = pace

    async def after(self, failure: ProviderError) -> None:
        """Makes ready for the next attempt, waiting for its time. Raises the failure when there is none."""
        self._failed += 1
        wait = self._wait(failure)
        if _is_transient(failure) and self._failed <= self._retries and wait is not None:
            _LOG.info("%s; trying again", failure.kind, extra=line("model.retried", kind=failure.kind))
            await self._pace.sleep(wait)
        elif failure.kind in _BACKUP_HELPS and self.model + 1 < self._models:
            self.model += 1
            self._failed = 0
            _LOG.warning("%s; asking the next model", failure.kind, extra=line("model.backup", kind=failure.kind))
        else:
            raise failure

    def _wait(self, failure: ProviderError) -> float | None:
        """Seconds until the next attempt; `None` when the provider wants more than half a minute (M-20.5)."""
        stated = [failure.retry_after_ms] if failure.retry_after_ms is not None else []
        if failure.reset_at_ms is not None:
            stated.append(failure.reset_at_ms - self._pace.now_ms())
        if stated:
            wait = max(0, *stated) / 1000
            return wait if wait <= _LONGEST else None
        return self._pace.random() * min(_LONGEST, 2.0 ** (self._failed - 1))


def _is_transient(failure: ProviderError) -> bool:
    """By the provider's own word, else by kind (M-19.2, M-19.7)."""
    return failure.kind in _TRANSIENT if failure.should_retry is None else failure.should_retry
