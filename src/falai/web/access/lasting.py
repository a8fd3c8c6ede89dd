"""Answers that have no end of their own: streams of events, and WebSockets. Somebody else may end them.

A token is looked at again for as long as one is open: when it is revoked or expires, that ends too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from anyio import CancelScope

from falai.web.access.heads import App, Head, Message, Receive, Send

__all__ = ["endable", "while_valid"]

_EVERY_S: Final = 2.0  # with the moment for which a token is known, less than five seconds
_STREAM: Final = b"text/event-stream"
_POLICY: Final = 1008  # of a WebSocket's close codes


async def endable(app: App, head: Head, receive: Receive, send: Send, begun: Callable[[CancelScope], None]) -> None:
    """Runs the application. Once an answer without an end has begun, `begun` is given what ends it."""
    scope = CancelScope()

    async def sending(message: Message) -> None:
        await send(message)
        if _has_no_end(message):
            begun(scope)

    with scope:
        await app(head, receive, sending)
    if scope.cancelled_caught and head["type"] == "http":
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    elif scope.cancelled_caught:
        await send({"type": "websocket.close", "code": _POLICY, "reason": "the token is over"})


async def while_valid(
    app: App, head: Head, receive: Receive, send: Send, is_valid: Callable[[], Awaitable[bool]]
) -> None:
    """Runs the application, and ends what has no end once it is not valid. Raises what `is_valid` raises, too."""
    watches: list[asyncio.Task[None]] = []

    async def watch(scope: CancelScope) -> None:
        try:
            while True:
                await asyncio.sleep(_EVERY_S)
                if not await is_valid():
                    return
        finally:
            scope.cancel()

    try:
        await endable(app, head, receive, send, lambda scope: watches.append(asyncio.create_task(watch(scope))))
    finally:
        for one in watches:
            one.cancel()
        ended = await asyncio.gather(*watches, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception):
            raise error


def _has_no_end(message: Message) -> bool:
    if message["type"] == "websocket.accept":
        return True
    headers: Sequence[tuple[bytes, bytes]] = message.get("headers", ())
    types = (value for name, value in headers if name.lower() == b"content-type")
    return message["type"] == "http.response.start" and any(value.startswith(_STREAM) for value in types)
