"""How a request is refused before it reaches a route: a problem document, for a WebSocket too where the server can."""

from __future__ import annotations

from falai.web.access.heads import Head, Receive, Send
from falai.web.problems import CODES, ProblemError, response

__all__ = ["problem", "refuse"]

_POLICY = 1008  # of a WebSocket's close codes


def problem(code: str, detail: str, **headers: str) -> ProblemError:
    """A problem of the table, with the status that it has there; underscores in names of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ProblemError(CODES[code].status, code, detail, headers=named)


async def refuse(head: Head, receive: Receive, send: Send, why: ProblemError) -> None:
    """Answers the request with the problem. A WebSocket that was not accepted yet is denied with it, or closed."""
    if head["type"] == "websocket" and "websocket.http.response" not in head.get("extensions", {}):
        await send({"type": "websocket.close", "code": _POLICY, "reason": why.title})
        return
    await response(why)(head, receive, send)
