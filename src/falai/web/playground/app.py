"""The playground as an ASGI application: the page, and the API that only the page uses.

Who may reach it is the matter of whoever serves it: there is no access control here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from falai.agent import Agent
from falai.session.dates import system_now
from falai.web.playground import doing, showing
from falai.web.playground.page import serve_file
from falai.web.playground.sandbox import Sandbox
from falai.web.playground.working import Works
from falai.web.problems import ProblemError, Problems, problem_of, response

__all__ = ["create_playground"]

_GET = {
    "state": showing.state,
    "graph": showing.graph,
    "spec": showing.spec,
    "scenario": showing.scenario,
}
_POST = {
    "message": doing.message,
    "event": doing.event,
    "start": doing.start,
    "person": doing.person,
    "gate": doing.gate,
    "clock": doing.clock,
    "model": doing.model,
    "take-back": doing.take_back,
    "new": doing.new,
    "spec/check": showing.check_spec,
    "spec/apply": doing.apply_spec,
}


def create_playground(
    agent: Agent[Any],
    *,
    context: Callable[[Path], Any] | None = None,
    clock: Callable[[], datetime] = system_now,
) -> Starlette:
    """A playground with this agent: the page under `/playground/`, its API under `/playground/api/`.

    Its lifespan opens the sandbox, in a temporary folder that is gone at its end. `context(folder)` makes the
    context of the agent's turns, once for each conversation: what it keeps in the folder belongs to that
    conversation, and goes back with it when that is taken back. `clock` is the system's clock.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        with TemporaryDirectory(prefix="falai-playground-", ignore_cleanup_errors=True) as folder:
            sandbox = Sandbox(agent, Path(folder), context=context, clock=clock)
            sandbox.fresh()
            works = Works()
            app.state.sandbox, app.state.works = sandbox, works
            try:
                yield
            finally:
                await works.ended()
                await sandbox.aclose()

    api = [Route(f"/{name}", answer, methods=["GET"]) for name, answer in _GET.items()]
    api += [Route(f"/{name}", answer, methods=["POST"]) for name, answer in _POST.items()]
    return Starlette(
        routes=[
            Route("/", _to_the_page),
            Route("/playground", _to_the_page),
            Mount("/playground/api", routes=api),
            Route("/playground/{path:path}", serve_file),
        ],
        middleware=[Middleware(Problems, running=_always)],
        exception_handlers={ProblemError: _refused, HTTPException: _refused},
        lifespan=lifespan,
    )


async def _to_the_page(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}/playground/")


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001  # a handler is given both
    return response(problem_of(error))


def _always() -> bool:
    return True
