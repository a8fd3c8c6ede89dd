"""The bodies of the playground's requests: what may stand in them, and what is told when something else does."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from starlette.requests import Request

from falai.session.jsontext import parse_json
from falai.web.playground.models import ModelId, Reply
from falai.web.problems import Found, ProblemError

__all__ = [
    "ClockBody", "EventBody", "GateBody", "InBranch", "MessageBody", "ModelBody", "NewBody", "PersonBody", "SpecBody", "StartBody",
    "TakeBackBody", "read_body",
]  # fmt: skip

T = TypeVar("T", bound=msgspec.Struct)
_Ms = Annotated[int, msgspec.Meta(ge=0)]
_Turn = Annotated[int, msgspec.Meta(ge=0)]


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request."""


class InBranch(_Body, frozen=True):
    """Something in a conversation."""

    branch: str


class MessageBody(InBranch, frozen=True):
    """The customer writes."""

    text: str
    id: str | None = None


class EventBody(InBranch, frozen=True):
    """Something happened."""

    name: str
    payload: Any = None


class StartBody(InBranch, frozen=True):
    """A flow is started."""

    flow: str
    input: Any = None


class PersonBody(InBranch, frozen=True):
    """A person of the team writes."""

    text: str
    by: str | None = None


class GateBody(InBranch, frozen=True):
    """The assistant is silenced, or may speak again."""

    closed: bool
    reason: str | None = None


class ClockBody(InBranch, frozen=True):
    """The clock moves, by `ms` or to the next timer."""

    ms: _Ms | None = None
    next: Literal[True] | None = None

    def __post_init__(self) -> None:
        if (self.ms is None) == (self.next is None):
            raise ValueError('write either "ms", how far, or "next": true')


class ReplyBody(_Body, frozen=True):
    """A scripted reply: an envelope, or free text."""

    call: Literal["understand", "speak", "summary"]
    reply: dict[str, Any] | str

    def as_reply(self) -> Reply:
        return Reply(self.call, self.reply)


class ModelBody(_Body, frozen=True):
    """Another model."""

    id: ModelId
    replies: tuple[ReplyBody, ...] = ()
    name: str | None = None
    branch: str | None = None


class TakeBackBody(InBranch, frozen=True):
    """Back to behind a turn, in a new conversation; 0 is the beginning."""

    turn: _Turn


class NewBody(_Body, frozen=True):
    """A new conversation."""


class SpecBody(_Body, frozen=True):
    """The text of flows."""

    text: str
    branch: str | None = None


async def read_body(request: Request, kind: type[T]) -> T:
    """The body of a request. Raises `ProblemError` for what is no JSON, and for what is none of this kind."""
    raw = await request.body()
    try:
        content = parse_json(raw.decode() or "{}")
    except ValueError as error:
        raise ProblemError(400, "bad-json", f"The body is no JSON: {error}.") from error
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        found = Found(path.strip("`.") or "body", "invalid", said, "See what the page itself sends")
        raise ProblemError(422, "invalid", f"The request has a mistake: {said}.", errors=(found,)) from error
