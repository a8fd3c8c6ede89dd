"""A message of a customer: answered now, streamed, or taken in and answered later."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated, Any, Final, Literal, TypedDict

from fastapi import APIRouter, Query
from pydantic import BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import Response

from falai.channel.port import Attachment
from falai.host import Answered as Answer
from falai.host import Host, Received
from falai.host.ledger.port import Place
from falai.session.inputs import Message
from falai.session.jsontext import is_list
from falai.web.access import Caller
from falai.web.access.refusing import problem
from falai.web.api.contract import (
    NO_NUL,
    TAKING,
    ChatCaller,
    InputId,
    SessionId,
    Taken,
    answered,
    place_of,
    problems,
    refused,
)
from falai.web.api.direct import direct
from falai.web.api.following import reply, safely
from falai.web.api.said import Said, said
from falai.web.api.sse import EVENT_STREAM, EventStream, described
from falai.web.mistakes import Body
from falai.web.page import PAGE, is_page
from falai.web.problems import set_aside

__all__ = ["Answered", "AttachmentIn", "MessageIn", "Whom", "receive", "router"]

_MOST: Final = 100
"""Attachments of a message; a vendor's message has one."""
_EXAMPLE: JsonValue = {"text": "I would like to book a table.", "id": "m1"}
_SAID: JsonValue = {
    "id": "3f1c", "text": "For how many people?", "kind": "ai", "afterMs": 0, "at": "2026-09-20T10:00:00.000Z",
}  # fmt: skip
_EVENTS = (
    'event: accepted\ndata: {"key":"message:m1","new":true}\n\nevent: delta\ndata: {"text":"For how "}\n\n'
    'event: done\ndata: {"keys":["message:m1"],"messages":[…]}\n\n'
)


class AttachmentIn(Body):
    """What is no text: a file by its `url` or a vendor's `id`, or the `data` of what is none, such as a location."""

    kind: Literal["image", "audio", "voice", "video", "document", "sticker", "location", "contact", "reaction", "other"]
    url: str | None = None
    id: str | None = None
    mime: str | None = None
    caption: str | None = None
    filename: str | None = None
    data: Annotated[dict[str, Any], Field(default_factory=dict)]


def _few(value: object) -> object:
    """Looked at before each of them is: a hundred thousand would hold up everybody else's requests."""
    if is_list(value) and len(value) > _MOST:
        found = {"found": len(value), "most": _MOST}
        raise PydanticCustomError("too_long", "there are {found}, and at most {most} go with a message", found)
    return value


class Told(TypedDict):
    """What the host is told of a session."""

    customer: str | None
    channel: str | None
    address: str | None


class Whose(Told):
    """All that the host is told beside the message."""

    attachments: list[Attachment]
    tenant: str


class Whom(Body):
    """What an input tells of its session; what is left out stays as it is."""

    customer: Annotated[str | None, Field(max_length=120, pattern=NO_NUL, description="Whose session this is.")] = None
    channel: Annotated[
        str | None, Field(max_length=120, pattern=NO_NUL, description="The channel that answers go out by.")
    ] = None
    address: Annotated[str | None, Field(max_length=120, pattern=NO_NUL, description="Where they go.")] = None

    def whose(self, caller: Caller) -> Told:
        """For the host. Raises `ProblemError` for a token of one session, as a customer's browser has it: it may say
        neither who the customer is, which would open what that one's other sessions hold, nor where answers go.
        """
        told: Told = {"customer": self.customer, "channel": self.channel, "address": self.address}
        if caller.session is not None and any(value is not None for value in told.values()):
            raise problem("forbidden", "The token of one session may not say customer, channel or address.")
        return told


class MessageIn(Whom):
    """A message. Its `id` names it within the session: one that comes again has no second turn."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    text: Annotated[str, Field(description="What was written; empty where there are only attachments.")]
    id: InputId
    at: Annotated[str | None, Field(description="When it was written; without it, now.")] = None
    attachments: Annotated[list[AttachmentIn], Field(default_factory=list, max_length=_MOST), BeforeValidator(_few)]

    def message(self) -> Message:
        """For the host."""
        return Message(self.text, id=self.id, at=self.at)

    def attached(self) -> list[Attachment]:
        """For the host."""
        return [Attachment(**one.model_dump()) for one in self.attachments]


class Answered(Taken):
    """What the turn of a message said. It is empty where the assistant says nothing, or it is no longer kept."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"key": "message:m1", "new": True, "messages": [_SAID]}]})

    messages: list[Said]


_WAIT = "So many seconds this waits for the turn. It is played all the same, and `stream` tells of it."
Wait = Annotated[float, Query(ge=0, le=300, description=_WAIT)]
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The turn is over, or its frames: `accepted`, `delta`, `withdrawn`, `done`, `problem`.",
        "content": described(_EVENTS),
    },
    202: {"model": Taken, "description": "It is taken in; its turn is still to come."},
    **problems("set-aside", *TAKING),
}


router = APIRouter(prefix="/v1", tags=["messages"], route_class=direct(MessageIn, "chat"))


@router.post("/sessions/{session_id}/messages", response_model=Answered, responses=_RESPONSES)
async def send_message(
    *,
    request: Request,
    session_id: SessionId,
    body: MessageIn,
    caller: ChatCaller,
    wait: Wait = 30.0,
) -> Response:
    """Send a message, and get what is said to it.

    The answer comes when the turn is over (200), or says that the message is taken in (202) when `wait` seconds
    are over before. With `Accept: text/event-stream` it is a stream: the words as they are written (`delta`,
    provisional; `withdrawn` takes them back), then `done` with the messages that count. A stream that ends
    without `done` or `problem` was cut; the turn goes on. The same `id` again is safe: there is no second turn,
    and the same answer.
    """
    host: Host[Any] = request.app.state.host  # each dependency costs what a tenth of an empty route does
    place = place_of(host, caller, session_id)
    if EVENT_STREAM in request.headers.get("accept", ""):
        return await _streamed(host, place, body, caller, heartbeat_s=request.app.state.heartbeat_s, wait=wait)
    answer = await _answer(host, place, body, caller, wait)
    taken = {"key": answer.received.key, "new": answer.received.new}
    if answer.state == "new":
        return answered(taken, 202)
    if answer.state == "dead":
        raise set_aside()
    return answered({**taken, "messages": [said(one) for one in answer.said]})


async def _answer(host: Host[Any], place: Place, body: MessageIn, caller: Caller, wait: float) -> Answer:
    """Takes it in, and waits. Raises as `receive`."""
    try:
        return await host.answer(place.session, body.message(), timeout=wait, **_whose(host, place, body, caller))
    except ValueError as error:
        raise refused(error) from error


async def receive(host: Host[Any], place: Place, body: MessageIn, caller: Caller) -> Received:
    """Takes it in. Raises `ProblemError` for what the host or the token refuses, and what `Host.receive` raises."""
    try:
        return await host.receive(place.session, body.message(), **_whose(host, place, body, caller))
    except ValueError as error:
        raise refused(error) from error


def _whose(host: Host[Any], place: Place, body: MessageIn, caller: Caller) -> Whose:
    whose = body.whose(caller)
    if caller.session is not None and is_page(host):
        whose["channel"] = PAGE
    return {**whose, "attachments": body.attached(), "tenant": place.tenant}


async def _streamed(
    host: Host[Any], place: Place, body: MessageIn, caller: Caller, *, heartbeat_s: float, wait: float
) -> Response:
    """It is watched from before it is taken in, so that no word is missed."""
    async with AsyncExitStack() as stack:
        seen = await stack.enter_async_context(host.watch(place.session, tenant=place.tenant))
        received = await receive(host, place, body, caller)
        frames = safely(reply(host, place, body.id, received, seen))
        return EventStream(frames, held=stack.pop_all(), heartbeat_s=heartbeat_s, within_s=wait)
