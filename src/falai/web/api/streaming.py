"""All that is said in a session, as it is said: a stream that goes on where it stopped."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from falai.host import Host
from falai.host.ledger.port import Place
from falai.host.ledger.said import said_last
from falai.web.api.contract import ChatCaller, HostOf, SessionId, place_of, problems
from falai.web.api.following import safely, session
from falai.web.api.sse import EventStream, described

__all__ = ["Cursor", "begin", "router"]

router = APIRouter(prefix="/v1", tags=["messages"])

_BEGINNING = "0-0-0"
"""The cursor before all that was ever said."""

_START = "start"
_FORM = r"^(|start|[0-9]{1,15}-[0-9]{1,15}-[0-9]{1,9})$"
_ABOUT = "The `id` of the last message that was seen: what came behind it is told first. `start`: all of it."
Cursor = Annotated[str, Query(pattern=_FORM, description=_ABOUT)]
_LastEvent = Annotated[str, Header(pattern=_FORM, description="The same, as a browser sends it.")]
_EVENTS = (
    'event: ready\nid: 1789862400000-1-0\ndata: {"cursor":"1789862400000-1-0"}\n\n'
    'event: delta\ndata: {"key":"message:m1","text":"For how "}\n\n'
    'event: message\nid: 1789862400000-2-0\ndata: {"id":"3f1c","text":"For how many people?","kind":"ai","afterMs":0}\n\n'
)
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Frames: `ready`, `message`, `delta`, `withdrawn`, `done`, `problem`.",
        "content": described(_EVENTS),
    },
    **problems(),
}


@router.get("/sessions/{session_id}/stream", response_class=Response, responses=_RESPONSES)
async def stream(
    *,
    request: Request,
    session_id: SessionId,
    caller: ChatCaller,
    host: HostOf,
    after: Cursor = "",
    last_event_id: _LastEvent = "",
) -> Response:
    """Follow a session: every message to the customer, when it is sent (`message`), and the words before.

    `delta` has words as the model writes them, `withdrawn` takes them back, `done` names the messages of a turn
    that counts. A browser that lost its connection comes back with `Last-Event-ID` and misses no message.
    """
    place = place_of(host, caller, session_id)
    async with AsyncExitStack() as stack:
        seen = await stack.enter_async_context(host.watch(place.session, tenant=place.tenant))
        frames = safely(session(host, place, await begin(host, place, last_event_id or after), seen))
        return EventStream(frames, held=stack.pop_all(), heartbeat_s=request.app.state.heartbeat_s)


async def begin(host: Host[Any], place: Place, cursor: str) -> str:
    """Where a stream begins: without a cursor, now."""
    if not cursor:
        return await host.ledger.run(said_last(place))
    return _BEGINNING if cursor == _START else cursor
