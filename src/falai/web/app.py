"""The web of a host as one ASGI application: the routes behind their guard, and the host's life if it is wanted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from starlette.applications import Starlette

from falai.flow.durations import parse_duration
from falai.host import Host
from falai.web.access import Headers, Keys, guarded
from falai.web.api import channels, dead, flows, inputs, messages, people, sessions, socket, status, streaming
from falai.web.api.document import documented
from falai.web.problems import Problems, install
from falai.web.settings import WebSettings

__all__ = ["create_app", "mount"]

_ROUTERS: Final = (messages, streaming, socket, inputs, people, sessions, flows, dead, status, channels)


def create_app(
    host: Host[Any], *, settings: WebSettings | None = None, lifespan: bool = False, keys: Keys | None = None
) -> FastAPI:
    """The API of this host, below `/v1`; `GET /v1/openapi.json` describes it.

    With `lifespan` the host runs while the application does; otherwise whoever has made it runs it, and
    requests before and after are answered with 503. `keys` are the tokens that count, if not those of the
    host's store.
    """
    settings = settings or WebSettings()
    app = FastAPI(
        title="falai",
        version=version("falai"),
        openapi_url="/v1/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_running(host) if lifespan else None,
    )
    app.state.host = host
    app.state.heartbeat_s = parse_duration(settings.heartbeat) / 1000
    for part in _ROUTERS:
        app.router.routes.extend(part.router.routes)  # included as routers they would be looked for level by level
    install(app)
    keys = keys or Keys(lambda: host.ledger, host.agent.plan.name)
    app.add_middleware(guarded, settings, keys)
    app.add_middleware(Problems, lambda: _is_running(host))
    app.add_middleware(Headers)
    documented(app)
    return app


def mount(app: Starlette, host: Host[Any], path: str = "/falai", *, settings: WebSettings | None = None) -> FastAPI:
    """Adds the API to an application of FastAPI or Starlette, and runs the host as long as that runs. Gives what was added."""
    api = create_app(host, settings=settings)
    app.mount(path, api)
    before: Callable[[Any], AbstractAsyncContextManager[Any]] = app.router.lifespan_context

    @asynccontextmanager
    async def with_host(outer: Starlette) -> AsyncGenerator[Any, None]:
        async with host, before(outer) as state:
            yield state

    app.router.lifespan_context = with_host
    return api


def _running(host: Host[Any]) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncGenerator[None, None]:
        async with host:
            yield

    return running


def _is_running(host: Host[Any]) -> bool:
    try:
        _ = host.ledger
    except RuntimeError:
        return False
    return True
