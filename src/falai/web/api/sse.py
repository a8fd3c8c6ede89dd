"""Server-sent events: frames on an answer that stays open, with a sign of life while nothing happens.

A client that goes away ends the answer and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, Final

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from falai.session.jsontext import json_text
from falai.web.api.said import Frame

__all__ = ["EVENT_STREAM", "EventStream", "beating", "described"]

EVENT_STREAM: Final = "text/event-stream"
_EVENT: Final = {
    "type": "object",
    "properties": {
        "event": {"enum": ["accepted", "ready", "message", "delta", "withdrawn", "done", "problem"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string"},
    },
    "required": ["event", "data"],
}
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_ALIVE: Final = b": alive\n\n"


def described(example: str) -> dict[str, Any]:
    """The content of an answer that is a stream, for the OpenAPI document."""
    return {EVENT_STREAM: {"itemSchema": _EVENT, "example": example}}


class EventStream(StreamingResponse):
    """Frames as server-sent events. `held` is left when the answer ends, however it does.

    A comment goes out each `heartbeat_s` seconds without a frame. After `within_s` seconds it ends.
    """

    media_type = EVENT_STREAM

    def __init__(
        self,
        frames: AsyncGenerator[Frame, None],
        *,
        held: AsyncExitStack,
        heartbeat_s: float,
        within_s: float | None = None,
    ) -> None:
        super().__init__(_events(frames, heartbeat_s, within_s), headers=_HEADERS)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._held:
            await super().__call__(scope, receive, send)


async def _events(
    frames: AsyncGenerator[Frame, None], heartbeat_s: float, within_s: float | None
) -> AsyncIterator[bytes]:
    async for frame in beating(frames, heartbeat_s, within_s):
        yield _ALIVE if frame is None else _event(frame)


async def beating(
    frames: AsyncGenerator[Frame, None], heartbeat_s: float, within_s: float | None = None
) -> AsyncGenerator[Frame | None, None]:
    """The frames, and `None` whenever so long there was none; it ends after `within_s` seconds."""
    now = asyncio.get_running_loop().time
    end = None if within_s is None else now() + within_s
    task = asyncio.create_task(_next(frames))
    try:
        while end is None or now() < end:
            await asyncio.wait({task}, timeout=heartbeat_s if end is None else min(heartbeat_s, end - now()))
            if not task.done():
                yield None
            elif (frame := task.result()) is not None:
                yield frame
                task = asyncio.create_task(_next(frames))
            else:
                return
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await frames.aclose()


async def _next(frames: AsyncGenerator[Frame, None]) -> Frame | None:
    return await anext(frames, None)


def _event(frame: Frame) -> bytes:
    head = f"event: {frame.event}\n" + ("" if frame.id is None else f"id: {frame.id}\n")
    return f"{head}data: {json_text(frame.data)}\n\n".encode("utf-8", "backslashreplace")
