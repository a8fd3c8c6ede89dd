"""What ends a program that runs until it is told to: a signal, or the end of what it waits for."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

from falai.log import line

__all__ = ["Stop", "first_of"]

_LOG: Final = logging.getLogger("falai.cli")


class Stop:
    """Waits for a signal; a second one ends the program at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.why = "nothing is left to do"
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # Windows: there Ctrl-C is a KeyboardInterrupt
                asyncio.get_running_loop().add_signal_handler(number, self._ask, number)

    def _ask(self, number: signal.Signals) -> None:
        if self.asked.is_set():
            _LOG.warning("a second signal: it ends at once", extra=line("run.cut_short"))
            os._exit(1)
        self.why = number.name
        self.asked.set()


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Waits until one of these is done, and cancels the others. Raises what that one raised."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
