"""The terminal as a channel: what is said is printed, and each line that is typed is a message."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Final, TextIO

from falai.channel.port import Attachment, Channel, ChannelError, Incoming, Outgoing, Sent
from falai.errors import words_of
from falai.session.dates import system_now, to_ms

__all__ = ["ConsoleChannel"]

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class ConsoleChannel(Channel):
    """Talks with one person at a terminal, for trying an agent out. One message is one line, or several.

    `reads` gives the messages, as `async for` takes them; the ends of the streams are the caller's.
    """

    def __init__(
        self,
        name: str = "console",
        *,
        address: str = "you",
        reads: TextIO | None = None,
        writes: TextIO | None = None,
        clock: Callable[[], datetime] = system_now,
    ) -> None:
        self.name = name
        self._address = address
        self._reads = reads or sys.stdin
        self._writes = writes or sys.stdout
        self._clock = clock

    async def send(self, out: Outgoing) -> Sent:
        """Prints the message, without what would move a terminal's cursor. Nothing stops a second print of it."""
        try:
            self._writes.write("".join(f"{_CONTROL.sub('', line)}\n" for line in _lines(out)))
            self._writes.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            raise ChannelError(self.name, words_of(error), retryable=False, maybe_delivered=True) from error
        return Sent()

    async def read(self) -> AsyncIterator[Incoming]:
        """The lines that are typed, until the end of the input; blank ones are left out."""
        lines: asyncio.Queue[str] = asyncio.Queue()
        # A thread that ends with the program: reading cannot be broken off, and nobody waits for a last line.
        threading.Thread(target=self._type, args=(asyncio.get_running_loop(), lines), daemon=True).start()
        number = 0
        while line := await lines.get():
            if line.strip():
                number += 1
                now = self._clock()
                yield Incoming(self._address, f"{to_ms(now)}-{number}", line.strip(), now)

    def _type(self, loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[str]) -> None:
        line = "first"
        while line and not loop.is_closed():
            line = self._reads.readline()
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:  # the loop was closed while a person was typing
                return


def _lines(out: Outgoing) -> list[str]:
    lines = out.text.splitlines()
    if isinstance(out.media, Attachment):
        lines.append(f"[{out.media.kind} {out.media.url or out.media.id or ''}]")
    elif out.media is not None:
        lines.append(f"[{out.media}]")
    return [*lines, *(f"[{button.title}]" for button in out.buttons)]
