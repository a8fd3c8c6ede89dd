"""Hands lines to the host: each is durable or refused before the next one is looked at, and none is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any, Final

from falai.cli.running.feeds import LONGEST
from falai.cli.running.requests import Request, read_request
from falai.errors import words_of
from falai.host import Host
from falai.host.errors import OverloadedError
from falai.log import line
from falai.session.jsontext import quoted

__all__ = ["Taker"]

_LOG: Final = logging.getLogger("falai.cli")
_PAUSE_S: Final = 1.0

Tell = Callable[[str, dict[str, Any]], Awaitable[None]]


class Taker:
    """`take` is for a feed. `tell` is told of each line: `received` with its key, or `refused` with the reason.

    `channels` are the names of those that the host has.
    """

    def __init__(self, host: Host[Any], channels: Collection[str], tell: Tell | None = None) -> None:
        self._host = host
        self._channels = channels
        self._tell = tell
        self._count = 0

    async def take(self, read: bytes) -> str | None:
        """Why the line was refused, or `None` when it is durable; it waits for as long as the host cannot take it."""
        self._count += 1
        try:
            request = _read(read)
            self._check_channel(request)
            await self._say("received", await self._handed_over(request))
        except ValueError as error:
            return await self._refused(str(error))
        return None

    def _check_channel(self, request: Request) -> None:
        named = request.who.get("channel")
        if named is not None and named not in self._channels:
            raise ValueError(f"there is no channel {quoted(named)}; there is {', '.join(self._channels)}")

    async def _handed_over(self, request: Request) -> dict[str, Any]:
        while True:
            try:
                return {"session": request.session, **await self._hand_over(request)}
            except OverloadedError as error:
                await asyncio.sleep(error.retry_after_ms / 1000)
            except ValueError:
                raise  # the line's fault
            except Exception as error:  # noqa: BLE001  # the host's, such as a disk that is full: the line waits
                why = words_of(error)
                extra = line("run.line_failed", error=type(error).__name__)
                _LOG.error("a line could not be kept, and is tried again: %s", why, exc_info=error, extra=extra)
                await asyncio.sleep(_PAUSE_S)

    async def _hand_over(self, request: Request) -> dict[str, Any]:
        host, session, who, said = self._host, request.session, request.who, request.said
        if request.input is not None:
            received = await host.receive(session, request.input, attachments=request.attachments, **who)
        elif request.kind == "human":
            received = await host.human_message(session, said["human"], id=said["id"], by=said.get("by"), **who)
        elif request.kind == "hold":
            await host.hold(session, said["hold"], tenant=who.get("tenant"))
            return {"held": True}
        else:
            await host.release(session, tenant=who.get("tenant"))
            return {"held": False}
        return {"key": received.key, "new": received.new}

    async def _refused(self, why: str) -> str:
        extra = line("run.refused", number=self._count)
        _LOG.warning("line %d is refused: %s", self._count, why, extra=extra)
        await self._say("refused", {"line": self._count, "why": why})
        return why

    async def _say(self, what: str, said: dict[str, Any]) -> None:
        if self._tell is not None:
            with suppress(OSError):  # nobody reads: the program is about to end for it
                await self._tell(what, said)


def _read(read: bytes) -> Request:
    if len(read.removesuffix(b"\n")) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} bytes")
    return read_request(read)
