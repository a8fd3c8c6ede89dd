"""A server for one application: it listens where it may, says nothing about itself, and ends in good order.

When it ends it takes nothing new; streams, which have no end of their own, get one; what else was begun has the
grace to finish. Nothing of a request is logged.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import ceil
from typing import Any, Final

import uvicorn
from anyio import CancelScope

from falai.web.access.authority import is_loopback
from falai.web.access.heads import App, Head, Receive, Send
from falai.web.access.lasting import endable

__all__ = ["Endings", "bound", "loopback_only", "serve", "url_of"]

_HEAD_S: Final = 20.0
_WEBSOCKET: Final = object()
_UVICORN: Final = logging.getLogger("uvicorn.error")


def bound(host: str, port: int) -> socket.socket:
    """A socket at this address, on which nobody listens yet. Raises `OSError` when there can be none."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made


def loopback_only(made: socket.socket) -> bool:
    """Whether only this machine reaches it."""
    return is_loopback(str(made.getsockname()[0]).partition("%")[0])


def url_of(made: socket.socket) -> str:
    """Where it is."""
    host, port, *_ = made.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    app: App,
    at: socket.socket,
    *,
    ready: Callable[[], None],
    stop: asyncio.Event,
    grace_s: float,
    max_body: int,
    head_s: float = _HEAD_S,
) -> None:
    """Serves until `stop` is set and what was begun has ended, within the grace. It runs no lifespan.

    `ready` is called once it listens. A connection that has no whole head of a request for `head_s` is closed.
    """
    endings = Endings(app)
    config = uvicorn.Config(
        endings,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `access.addresses` believes the named proxies, and nobody else
        ws_max_size=max_body,
        timeout_graceful_shutdown=ceil(grace_s),
    )
    server = _Server(config, ready, head_s)
    serving = asyncio.create_task(server.serve([at]))
    stopping = asyncio.create_task(stop.wait())
    _UVICORN.addFilter(_is_true)
    try:
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        endings.end()
        server.should_exit = True
        await serving
        _UVICORN.removeFilter(_is_true)


class Endings:
    """ASGI: gives streams of events an end when `end` was called."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._streams: set[CancelScope] = set()
        self._ended = False

    def end(self) -> None:
        """Ends all streams, and those that begin from now on."""
        self._ended = True
        for scope in self._streams:
            scope.cancel()

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] != "http":  # the server closes WebSockets by itself
            await self._app(head, receive, send)
            return
        begun: list[CancelScope] = []

        def note(scope: CancelScope) -> None:
            begun.append(scope)
            self._streams.add(scope)
            if self._ended:
                scope.cancel()

        try:
            await endable(self._app, head, receive, send, note)
        finally:
            self._streams.difference_update(begun)


class _Server(uvicorn.Server):
    """Signals are the matter of whoever runs it."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], head_s: float) -> None:
        super().__init__(config)
        self._ready = ready
        self._head_s = head_s
        self._silent: dict[Any, float] = {}

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self._close_silent(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def _close_silent(self, now: float) -> None:
        """The server has no limit of its own for a head: who sends one in drops would hold the connection for ever."""
        silent = [one for one in self.server_state.connections if _has_no_request(one)]
        self._silent = {one: self._silent.get(one, now) for one in silent}
        for one, since in self._silent.items():
            if now - since >= self._head_s:
                one.shutdown()

    def capture_signals(self) -> AbstractContextManager[Any]:  # type: ignore[override]  # it is a generator's there
        return nullcontext()


def _is_true(record: logging.LogRecord) -> bool:
    """A WebSocket that was denied with an answer is told as a failure of the application: a stranger could fill the log."""
    return record.msg != "ASGI callable returned without completing handshake."


def _has_no_request(connection: Any) -> bool:
    """Whether nothing is being answered there; a WebSocket has no cycle of requests."""
    cycle: Any = getattr(connection, "cycle", _WEBSOCKET)
    return cycle is None or (cycle is not _WEBSOCKET and cycle.response_complete)
