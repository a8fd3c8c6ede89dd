"""`falai demo`: the playground, on this machine only, for whoever opens the printed address first."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from contextlib import AsyncExitStack, redirect_stdout, suppress
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import Any, Final

from falai.cli.loading import Loaded, LoadError, load_agent
from falai.cli.models import close_model
from falai.cli.running.logs import logging_to_stderr
from falai.cli.running.stopping import Stop

__all__ = ["run_demo"]

_HOST: Final = "127.0.0.1"
_PORT: Final = 8800
_GRACE_S: Final = 2.0
_MAX_BODY: Final = 4_000_000  # a spec that somebody edits
_TIME: Final = "20s"
_PAGE: Final = '<!doctype html><title>falai</title><meta http-equiv="refresh" content="0; url={}">'


def run_demo(agent: str, *, port: int | None, opens: bool) -> int:
    """Serves the playground until a signal; gives the exit code. Raises `LoadError`."""
    loaded = load_agent(agent)
    stdout = sys.stdout
    with logging_to_stderr("warning", "text", ()), redirect_stdout(sys.stderr):
        return asyncio.run(_demo(loaded, port, opens, stdout))


async def _demo(loaded: Loaded, port: int | None, opens: bool, stdout: Any) -> int:
    from falai.web.access.visitor import Visitor  # a web framework and a server: an extra, and slow to load
    from falai.web.playground import create_playground
    from falai.web.serving import serve, url_of

    stop = Stop()
    playground = create_playground(loaded.agent, context=loaded.chat_context and loaded.context)
    async with AsyncExitStack() as stack:
        at = stack.enter_context(_socket(port))
        stack.push_async_callback(close_model, loaded.agent.model)
        await stack.enter_async_context(playground.router.lifespan_context(playground))
        visitor = Visitor(playground, port=at.getsockname()[1])
        address = f"{url_of(at)}/?token={visitor.token}"

        def ready() -> None:
            words = f"The playground of {loaded.agent.plan.name}; this address opens it once:"
            print(f"{words}\n{address}", file=stdout, flush=True)
            if opens:
                stack.enter_context(_opened(address))

        app = _guarded(visitor)
        await serve(app, at, ready=ready, stop=stop.asked, grace_s=_GRACE_S, max_body=_MAX_BODY)
    return 0


def _guarded(visitor: Any) -> Any:
    from falai.web.access.addresses import Proxies  # as above
    from falai.web.access.bodies import Bodies
    from falai.web.access.headers import Headers
    from falai.web.access.hosts import Hosts
    from falai.web.access.origins import Origins

    return Headers(Hosts(Origins(Bodies(visitor, _MAX_BODY, _TIME), (), Proxies(())), ()))


def _socket(port: int | None) -> socket:
    """At the port that was asked for; without one at the usual one, or at a free one. Raises `LoadError`."""
    from falai.web.serving import bound  # as above

    if port is None:
        with suppress(OSError):
            return bound(_HOST, _PORT)
    try:
        return bound(_HOST, port or 0)
    except OSError as error:
        raise LoadError(f"it cannot listen on port {port}: {error.strerror or error}") from error


def _opened(address: str) -> TemporaryDirectory[str]:
    """Opens a browser by a file that only this user reads: a command line, which others see, has no token in it."""
    folder = TemporaryDirectory(prefix="falai-demo-")
    page = Path(folder.name) / "open.html"
    page.touch(mode=0o600)
    page.write_text(_PAGE.format(address), encoding="utf-8")
    asyncio.get_running_loop().run_in_executor(None, webbrowser.open, page.as_uri())  # it may wait for the page
    return folder
