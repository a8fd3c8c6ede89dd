"""A route that reads a plain request itself: the framework's reading costs as much as all else that HTTP adds to it.

A request with anything else about it (parameters, another type, a mistake) is read by the framework, which has
the words for what is wrong. So nothing is refused here but what lacks the right to call.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from falai.web.access import Scope, allowed
from falai.web.api.contract import SessionId
from falai.web.mistakes import Body

__all__ = ["direct"]

_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)


def direct(kind: type[Body], scope: Scope) -> type[APIRoute]:
    """The class of a route of a session whose endpoint takes `request`, `session_id`, `body` and `caller`, and whatever
    else it takes by default.
    """

    class Direct(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            careful, endpoint, caller_of = super().get_route_handler(), self.endpoint, allowed(scope)

            async def handle(request: Request) -> Response:
                caller = await caller_of(request)
                body = await _plain(kind, request)
                if body is None:
                    return await careful(request)
                session_id = request.path_params["session_id"]
                response: Response = await endpoint(request=request, session_id=session_id, body=body, caller=caller)
                return response

            return handle

    return Direct


async def _plain(kind: type[Body], request: Request) -> Body | None:
    """Its body; `None` when the framework has to read it."""
    if request.scope["query_string"] or request.headers.get("content-type") != "application/json":
        return None
    try:
        _SESSION.validate_python(request.path_params["session_id"])
        return kind.model_validate_json(await request.body())
    except ValidationError:
        return None
