"""What every address of the API needs of its request: the sandbox, a branch, and the state as the answer."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from falai.session.jsontext import json_text
from falai.web.playground.branch import Branch
from falai.web.playground.sandbox import Sandbox
from falai.web.playground.state import state_of
from falai.web.playground.working import Works
from falai.web.problems import ProblemError

__all__ = ["branch_of", "json_response", "played", "refusing", "sandbox_of", "state_response", "works_of"]


def sandbox_of(request: Request) -> Sandbox:
    """The sandbox of the playground."""
    sandbox: Sandbox = request.app.state.sandbox
    return sandbox


def works_of(request: Request) -> Works:
    """What is under way."""
    works: Works = request.app.state.works
    return works


def branch_of(sandbox: Sandbox, id: str | None) -> Branch:
    """The branch of this id; without one, the newest. Raises `ProblemError` for one that is not there."""
    if id is None:
        return next(reversed(sandbox.branches.values()))
    if id not in sandbox.branches:
        raise ProblemError(
            404, "not-found", "There is no such conversation; the playground may have been started anew."
        )
    return sandbox.branches[id]


async def played(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """Plays to the end, whoever waits; gives what the work gives. Raises `ProblemError` for what cannot be done."""
    return await works_of(request).done(refusing(work))


async def refusing(work: Coroutine[Any, Any, Any]) -> Any:
    """What the work gives; a wrong value is a mistake of the request."""
    try:
        return await work
    except ValueError as error:
        raise ProblemError(422, "invalid", str(error)) from error


def json_response(content: Any) -> Response:
    """The content as JSON."""
    body = json_text(content).encode("utf-8", "backslashreplace")
    return Response(body, media_type="application/json", headers={"Cache-Control": "no-store"})


def state_response(sandbox: Sandbox, branch: Branch) -> Response:
    """How the branch stands now."""
    return json_response(state_of(sandbox, branch))
