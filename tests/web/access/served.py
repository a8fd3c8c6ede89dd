"""An application behind a real server, on a loopback port of its own, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from falai.web.serving import bound, serve

__all__ = ["Served", "served"]


class Served:
    """Where it is, and raw connections to it."""

    def __init__(self, port: int, stop: asyncio.Event) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.stop = stop

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *pieces: bytes) -> bytes:
        """What comes back, until the server is silent or has closed, for these bytes."""
        reader, writer = await self.connect()
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        try:
            return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        finally:
            writer.close()


@asynccontextmanager
async def served(app: Any, *, grace_s: float = 5, head_s: float = 20, max_body: int = 1000) -> AsyncGenerator[Served]:
    """The application while it is served; it ends in good order."""
    stop = asyncio.Event()
    with bound("127.0.0.1", 0) as at:
        found = Served(at.getsockname()[1], stop)
        begun = asyncio.Event()
        serving = asyncio.create_task(
            serve(app, at, ready=begun.set, stop=stop, grace_s=grace_s, head_s=head_s, max_body=max_body)
        )
        try:
            await begun.wait()
            yield found
        finally:
            stop.set()
            await serving
