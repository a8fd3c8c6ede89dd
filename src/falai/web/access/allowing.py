"""What a caller may do, as dependencies of FastAPI: `Annotated[Caller, Depends(allowed("chat"))]`.

A token that is for one session opens only routes with a `session_id` in their path, and only that one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Final

from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from falai.session.jsontext import quoted
from falai.web.access.callers import Caller, Scope
from falai.web.access.identifying import caller_in, token_in
from falai.web.access.refusing import problem, refuse
from falai.web.problems import ProblemError

__all__ = ["allowed", "caller_of_socket"]

_SCHEME: Final = HTTPBearer(
    bearerFormat="falai_<id>_<secret>",
    description="A token that `falai token create` made. Its scopes say what it opens, and its tenant whose sessions.",
)


class _Allowed(SecurityBase):
    """A dependency that stands in the OpenAPI document as a scheme; one, since each costs every request its time."""

    model = _SCHEME
    scheme_name = "token"

    def __init__(self, scope: Scope) -> None:
        self._scope: Scope = scope

    async def __call__(self, connection: HTTPConnection) -> Caller:
        return _checked(connection, self._scope)


@cache
def allowed(scope: Scope) -> Callable[..., Awaitable[Caller]]:
    """A dependency that gives the caller. Raises `ProblemError`: 401 without a token that is valid, 403 without the scope."""
    return _Allowed(scope)


async def caller_of_socket(websocket: WebSocket, scope: Scope = "chat") -> Caller | None:
    """Whose WebSocket this is, before it is accepted; `None` when it may not be, and then it is denied already."""
    try:
        return _checked(websocket, scope)
    except ProblemError as error:
        await refuse(websocket.scope, websocket.receive, websocket.send, error)
        return None


def _checked(connection: HTTPConnection[Any], scope: Scope) -> Caller:
    caller = caller_in(connection.scope)
    if caller is None:
        raise _unknown(missing=token_in(connection.scope) is None)
    if scope not in caller.scopes:
        raise problem("forbidden", f"The token {quoted(caller.name)} lacks the scope {scope}.")
    if caller.session is not None and connection.path_params.get("session_id") != caller.session:
        raise problem("forbidden", f"The token {quoted(caller.name)} is for one session, and this is not of it.")
    return caller


def _unknown(*, missing: bool) -> ProblemError:
    why = (
        "There is no token: send `Authorization: Bearer falai_…`."
        if missing
        else "The token is not valid: it is mistyped, has expired, was revoked, or is another agent's."
    )
    challenge = 'Bearer realm="falai"' if missing else 'Bearer realm="falai", error="invalid_token"'
    return problem("unauthenticated", why, WWW_Authenticate=challenge)
