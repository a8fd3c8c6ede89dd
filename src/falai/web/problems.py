"""Every error of the web, as a problem document (RFC 9457).

`CODES` is the one table of what can go wrong; a route says which of them can come (`api/contract.py`),
and docs/reference/http.md lists them. A body says what was found and what to do. It never holds a
trace, a path of the machine, or the words of an exception that nobody foresaw: those are logged,
under the id that the body names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4  # noqa: TID251 - an edge: the id that a log line and an answer share

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from falai.errors import InvalidSessionError
from falai.host.errors import HostError, OverloadedError, SetAsideError
from falai.log import line

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = [
    "CODES",
    "MEDIA_TYPE",
    "Code",
    "Found",
    "ProblemError",
    "Problems",
    "document",
    "install",
    "is_away",
    "problem_of",
    "response",
    "set_aside",
]

MEDIA_TYPE: Final = "application/problem+json"
_LOG: Final = logging.getLogger("falai.web")


class Code(NamedTuple):
    """A kind of problem: its status, its title, and what whoever gets it can do."""

    status: int
    title: str
    meaning: str


CODES: Final[Mapping[str, Code]] = {
    "bad-json": Code(400, "The body is no JSON", "Send a JSON object, with `Content-Type: application/json`."),
    "bad-payload": Code(400, "The body is none of the vendor's", "It was signed well; another delivery is no help."),
    "bad-request": Code(
        400, "The request cannot be read", "Send JSON in UTF-8, with not too many brackets in brackets."
    ),
    "unauthenticated": Code(
        401, "A token is needed", "Send `Authorization: Bearer falai_…`; the token may be revoked."
    ),
    "bad-signature": Code(401, "The signature is not the vendor's", "Check the secrets of the channel."),
    "forbidden": Code(
        403, "The token may not do this", "Use a token with the scope, or of the session, that is named."
    ),
    "bad-origin": Code(
        403, "The page is none of the named ones", "Name the page's origin in the settings, if it is yours."
    ),
    "not-found": Code(404, "There is nothing here", "Check the address."),
    "no-session": Code(404, "There is no such session", "It begins with the first message."),
    "no-flow": Code(404, "There is no such flow", "`GET /v1/flows` lists them."),
    "no-event": Code(404, "There is no such event", "The agent declares those that the hint lists."),
    "no-channel": Code(404, "There is no such channel", "The host was not given one of this name."),
    "no-dead-letter": Code(404, "There is no such dead letter", "It was retried or dropped already."),
    "method-not-allowed": Code(405, "This address has other methods", "The header `Allow` lists them."),
    "too-slow": Code(408, "The body took too long", "Send it again, without pauses."),
    "too-large": Code(413, "The request is too large", "Send less at a time."),
    "bad-host": Code(421, "This server has another name", "Name the host in the settings, if it is yours."),
    "invalid": Code(422, "The request has mistakes", "Mend each of `errors`."),
    "overloaded": Code(429, "Too much waits in this session", "Nothing was taken in: come again after `Retry-After`."),
    "too-many-requests": Code(429, "Too many requests", "Come again after `Retry-After`."),
    "internal": Code(500, "The server failed", "The log has more, under the id in the detail."),
    "damaged-session": Code(500, "The stored session is damaged", "An operator repairs the row or erases it."),
    "set-aside": Code(502, "The input failed for good", "It is among the dead letters; an operator may retry it."),
    "host-full": Code(503, "Too much waits in the host", "Nothing was taken in: come again after `Retry-After`."),
    "not-running": Code(503, "The host does not run", "It starts or ends: come again after `Retry-After`."),
    "store-away": Code(503, "The store cannot be reached", "Come again after `Retry-After`."),
}
_BY_STATUS: Final = {
    400: "bad-request", 401: "unauthenticated", 403: "forbidden", 404: "not-found", 405: "method-not-allowed",
    408: "too-slow", 413: "too-large", 421: "bad-host", 422: "invalid", 429: "too-many-requests",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """One mistake in a request: where (`steps[0].wait`, `query.limit`), a code, what was found, what to do."""

    path: str
    code: str
    message: str
    hint: str = ""


class ProblemError(Exception):
    """Raised by a route, it becomes a problem document. `code` is one of `CODES`, whose title stands for none given."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        title: str | None = None,
        errors: Sequence[Found] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.detail = detail
        self.status = status
        self.title = CODES[code].title if title is None else title
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        super().__init__(detail)


def document(problem: ProblemError) -> dict[str, Any]:
    """The problem as JSON data."""
    found: dict[str, Any] = {
        "type": f"urn:falai:problem:{problem.code}",
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    if problem.errors:
        found["errors"] = [
            {"path": one.path, "code": one.code, "message": one.message, "hint": one.hint} for one in problem.errors
        ]
    return found


def response(problem: ProblemError) -> Response:
    """The problem as an answer, for a route, a handler or a middleware (it is an ASGI application)."""
    body = json.dumps(document(problem)).encode()  # escaped: a lone surrogate of the request is no UTF-8
    return Response(body, problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


def set_aside() -> ProblemError:
    """An input failed for good; why is the operator's to know."""
    return ProblemError(502, "set-aside", "The input failed again and again and was set aside; the session goes on.")


def problem_of(error: Exception, *, running: bool = True) -> ProblemError:
    """What went wrong, in words that may leave the house; what nobody foresaw is logged here.

    `running` says whether the host does: whatever is asked of one that does not, fails for that reason.
    """
    match error:
        case ProblemError():
            return error
        case OverloadedError():
            return _full(error)
        case SetAsideError():
            return set_aside()
        case InvalidSessionError():
            return ProblemError(500, "damaged-session", "What is stored of this session cannot be read.")
        case HTTPException():
            return _of_status(error)
        case ClientDisconnect():  # anybody may, and fills no log with it
            return ProblemError(400, "bad-request", "The body was cut off.")
        case _ if not running:
            return ProblemError(503, "not-running", "The host is starting or ending.", headers={"Retry-After": "1"})
        case _ if is_away(error):
            return _logged(error, "store-away", "The store failed", {"Retry-After": "5"})
        case _:
            return _logged(error, "internal", "Something failed that should not", {})


class Problems:
    """ASGI: what a route did not handle becomes a problem document; the outermost, so that it sees all.

    An answer that has begun cannot be taken back: the connection ends, and the server logs why.
    """

    def __init__(self, app: ASGIApp, running: Callable[[], bool]) -> None:
        self._app = app
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            from falai.web.access.refusing import refuse  # that room refuses with the problems of this one

            if begun:
                raise
            await refuse(scope, receive, send, problem_of(error, running=self._running()))


def install(app: FastAPI) -> None:
    """What the framework refuses becomes a problem document; all else is the matter of `Problems`."""
    from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError

    from falai.web.access.refusing import refuse  # these rooms refuse with the problems of this one
    from falai.web.mistakes import problem_of_mistakes

    async def refused(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem.status == 405 and (methods := _methods(app, request)):
            problem.headers["Allow"] = ", ".join(sorted(methods))
        return response(problem)

    async def mistaken(request: Request, error: Exception) -> Response:  # noqa: ARG001  # a handler is given both
        assert isinstance(error, RequestValidationError)
        return response(problem_of_mistakes(error))

    async def mistaken_socket(socket: WebSocket, error: Exception) -> None:
        assert isinstance(error, WebSocketRequestValidationError)
        await refuse(socket.scope, socket.receive, socket.send, problem_of_mistakes(error))

    async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket too is told so: the framework denies it with 403."""
        await refuse(scope, receive, send, ProblemError(404, "not-found", CODES["not-found"].meaning))

    app.router.default = nowhere
    app.add_exception_handler(ProblemError, refused)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, mistaken)
    app.add_exception_handler(WebSocketRequestValidationError, mistaken_socket)


def _methods(app: FastAPI, request: Request) -> set[str]:
    """The methods of an address: the framework names those of one route only."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    fitting = [
        operations for template, operations in app.openapi()["paths"].items() if compile_path(template)[0].match(path)
    ]
    return {method.upper() for operations in fitting for method in operations}


def is_away(error: BaseException | None) -> bool:
    """Whether it is the store's failure and no mistake: what each driver of a database calls `OperationalError` (PEP 249),
    by itself or as the reason of another error. No driver is imported for that.
    """
    if error is None or isinstance(error, HostError | OSError):
        return error is not None
    names = {kind.__name__ for kind in type(error).__mro__}
    return "OperationalError" in names or is_away(error.__cause__)


def _full(error: OverloadedError) -> ProblemError:
    seconds = ceil(error.retry_after_ms / 1000)
    whose = "this session" if error.scope == "session" else "the host"
    detail = f"Too many inputs of {whose} wait; nothing was taken in. Send it again in {seconds} s."
    code = "overloaded" if error.scope == "session" else "host-full"
    return ProblemError(CODES[code].status, code, detail, headers={"Retry-After": str(seconds)})


def _of_status(error: HTTPException) -> ProblemError:
    code = _BY_STATUS.get(error.status_code, "bad-request" if error.status_code < 500 else "internal")
    return ProblemError(error.status_code, code, CODES[code].meaning, headers=error.headers)


def _logged(error: Exception, code: str, words: str, headers: Mapping[str, str]) -> ProblemError:
    id = uuid4().hex[:12]
    extra = line("web.failed", error=type(error).__name__)
    _LOG.error("a request failed (%s): %s", id, type(error).__name__, exc_info=error, extra=extra)
    return ProblemError(CODES[code].status, code, f"{words}. The log has it under {id}.", headers=headers)
