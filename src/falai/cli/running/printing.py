"""Standard output: a JSON object a line, written in order on a thread of its own.

A reader that is slow holds up those who wait for their line, never the host; when nobody reads any
more, `broken` says so.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from falai.channel.port import Channel, ChannelError, Outgoing, Sent

__all__ = ["LinesChannel", "Printer"]


class Printer:
    """Prints to a file descriptor. What was not printed when the program ends is not printed at all."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: SimpleQueue[tuple[bytes, Future[None]]] = SimpleQueue()
        self.broken = asyncio.Event()
        # A daemon: nobody waits for a reader that has stopped reading when the program is to end.
        Thread(target=self._write, name="falai-stdout", daemon=True).start()

    async def print(self, what: str, said: dict[str, Any]) -> None:
        """One line, written when this returns. Raises `OSError` when nobody reads."""
        done: Future[None] = Future()
        self._lines.put((msgspec.json.encode({"type": what, **said}) + b"\n", done))
        try:
            await asyncio.wrap_future(done)
        except OSError:
            self.broken.set()
            raise

    def _write(self) -> None:
        while True:
            line, done = self._lines.get()
            if not done.set_running_or_notify_cancel():
                continue
            try:
                _write_all(self._descriptor, line)
            except OSError as error:
                done.set_exception(error)
            else:
                done.set_result(None)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class LinesChannel(Channel):
    """What is said to customers, on standard output: for a program that sends it on, or a person who looks.

    A line is `{"type": "message", …}` with an `Outgoing` in its JSON form.
    """

    name = "lines"

    def __init__(self, printer: Printer) -> None:
        self._printer = printer

    async def send(self, out: Outgoing) -> Sent:
        try:
            await self._printer.print("message", msgspec.to_builtins(out))
        except OSError as error:
            raise ChannelError(self.name, "nobody reads standard output", retryable=True) from error
        return Sent()

    async def aclose(self) -> None:
        """There is nothing to close: standard output is the program's."""
