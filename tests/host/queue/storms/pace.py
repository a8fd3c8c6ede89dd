"""How slow the machine is: on one that has too much to do, everything takes longer, and nobody is to blame."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import Final

__all__ = ["Pace"]

_EACH_S: Final = 0.5
_BLOCK: Final = bytes(10_000_000)  # some milliseconds of work, which lets other threads go on


class Pace:
    """Measures it while `measure` runs."""

    def __init__(self) -> None:
        self._beats: list[tuple[int, float]] = []

    async def measure(self) -> None:
        """Until it is cancelled."""
        while True:
            self._beats.append(await asyncio.to_thread(_beat))
            await asyncio.sleep(_EACH_S)

    def slowness(self, since_ms: int, until_ms: int) -> float:
        """How many times as long as on a machine of its own something took in this time; 1 at the least."""
        within: Sequence[float] = [slow for at, slow in self._beats if since_ms <= at <= until_ms]
        return max(1.0, sum(within) / len(within)) if within else 1.0


def _beat() -> tuple[int, float]:
    began, worked = time.perf_counter(), time.thread_time()
    hashlib.sha256(_BLOCK).digest()
    took, needed = time.perf_counter() - began, time.thread_time() - worked
    return time.time_ns() // 1_000_000, took / max(needed, 1e-6)
