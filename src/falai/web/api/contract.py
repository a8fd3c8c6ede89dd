"""What the routes share: who asks, what an answer looks like, and which problems are documented.

A route gives a finished answer (`answered`): what a session holds may be any JSON, and is written as the
core writes it. Its models document it; the tests hold both against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Query
from pydantic import Field
from starlette.requests import HTTPConnection
from starlette.responses import Response

from falai.host import Host
from falai.host.ledger.port import Place
from falai.session.jsontext import json_text
from falai.web.access import Caller, allowed
from falai.web.mistakes import Wire
from falai.web.problems import CODES, MEDIA_TYPE, Found, ProblemError

__all__ = [
    "NO_NUL", "OPEN", "READING", "TAKING", "ChatCaller", "FlowsCaller", "HostOf", "InputId", "Limit", "OperateCaller", "PeopleCaller", "ReadCaller",
    "SessionId", "Taken", "answered", "place_of", "problems", "refused",
]  # fmt: skip

ID: Final = r"^[^\x00]*[^\x00\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\x00]*$"
r"""An id has a character that is no space, as Python counts them (`\S` means something else in each language), and
none that is NUL, which not every database can keep."""
NO_NUL: Final = r"^[^\x00]*$"
"""Not every database can keep NUL."""
LONGEST: Final = 120
"""Characters of an id: of four bytes each they fit a row's index, with what the host puts before them."""

_ALWAYS: Final = (
    "unauthenticated", "forbidden", "bad-host", "bad-origin", "invalid", "too-many-requests", "not-running", "store-away",
    "internal",
)  # fmt: skip
READING: Final = ("bad-json", "bad-request", "too-slow", "too-large", "invalid")
"""What can come of a body."""
TAKING: Final = (*READING, "overloaded", "host-full")
"""What can come of an input."""
OPEN: Final = ("bad-host", "bad-origin", "too-many-requests", "internal")
"""What can come of an address that needs no token."""


async def host_of(connection: HTTPConnection) -> Host[Any]:
    """The host that this application serves. Asynchronous, because FastAPI takes the other kind to a thread."""
    host: Host[Any] = connection.app.state.host
    return host


HostOf = Annotated[Host[Any], Depends(host_of)]
ChatCaller = Annotated[Caller, Depends(allowed("chat"))]
ReadCaller = Annotated[Caller, Depends(allowed("read"))]
PeopleCaller = Annotated[Caller, Depends(allowed("people"))]
OperateCaller = Annotated[Caller, Depends(allowed("operate"))]
FlowsCaller = Annotated[Caller, Depends(allowed("flows"))]

SessionId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=LONGEST,
        pattern=ID,
        description="The session, as the host names it; one of a channel is `channel:address`.",
        examples=["whatsapp:5511998765432"],
    ),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="So many at most.", examples=[100])]


InputId = Annotated[
    str,
    Field(
        min_length=1, max_length=LONGEST, pattern=ID, description="What names it within the session.", examples=["m1"]
    ),
]
"""Of a body: one that comes again is dropped for good."""


class Taken(Wire):
    """An input was taken in; it is durable, and played once in effect."""

    key: str
    new: bool


def place_of(host: Host[Any], caller: Caller, session: str) -> Place:
    """Where the session's rows are: the tenant is the token's, whatever the request says."""
    return Place(caller.tenant, host.agent.plan.name, session)


def answered(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON, whatever it holds: a lone surrogate becomes the escape that it is in JSON."""
    body = json_text(content).encode("utf-8", "backslashreplace")
    return Response(body, status, headers=headers, media_type="application/json")


def refused(error: ValueError, path: str = "") -> ProblemError:
    """The problem of what the host says is no input."""
    return ProblemError(422, "invalid", "The request has one mistake.", errors=[Found(path, "refused", str(error))])


def problems(*codes: str, always: tuple[str, ...] = _ALWAYS) -> dict[int | str, dict[str, Any]]:
    """The documented refusals of a route: what always can come, and these; by status, each code with an example."""
    found: dict[int | str, dict[str, Any]] = {}
    for code in sorted({*always, *codes}, key=lambda code: (CODES[code].status, code)):
        kind = CODES[code]
        entry = found.setdefault(kind.status, _problem_response(kind.title))
        if kind.title not in entry["description"]:
            entry["description"] += f"; or: {kind.title}"
        example = {
            "type": f"urn:falai:problem:{code}", "title": kind.title, "status": kind.status, "detail": kind.meaning,
            "code": code,
        }  # fmt: skip
        entry["content"][MEDIA_TYPE]["examples"][code] = {"summary": kind.title, "value": example}
    return found


def _problem_response(title: str) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}}}
    return {"description": title, "content": content}
