"""A WebSocket for chat widgets: the frames of a session's stream, and messages the other way.

A page cannot set headers there, so the token may stand among the sub-protocols: `falai.v1`, `falai.token.<token>`.
A frame that cannot be read is answered with a problem, and the connection stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final, Literal

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from falai.host import Host
from falai.host.ledger.port import Place
from falai.session.jsontext import json_text
from falai.web.access import Caller, caller_of_socket
from falai.web.api.contract import SessionId, place_of
from falai.web.api.following import problem, safely, session
from falai.web.api.messages import MessageIn, receive
from falai.web.api.said import Frame
from falai.web.api.sse import beating
from falai.web.api.streaming import Cursor, begin
from falai.web.mistakes import problem_of_mistakes
from falai.web.problems import ProblemError, problem_of

__all__ = ["PROTOCOL", "FrameIn", "router"]

router = APIRouter(prefix="/v1")

PROTOCOL: Final = "falai.v1"


class FrameIn(MessageIn):
    """A frame of a client: a message."""

    type: Literal["message"]


@router.websocket("/sessions/{session_id}/socket")
async def chat(websocket: WebSocket, session_id: SessionId, after: Cursor = "") -> None:
    """Frames of a session (`ready`, `message`, `delta`, `withdrawn`, `done`, `problem`), and messages to it (`accepted`)."""
    caller = await caller_of_socket(websocket)
    if caller is None:
        return
    host: Host[Any] = websocket.app.state.host
    place = place_of(host, caller, session_id)
    async with host.watch(place.session, tenant=place.tenant) as seen:
        cursor = await begin(host, place, after)
        offered = websocket.scope.get("subprotocols", ())
        await websocket.accept(PROTOCOL if PROTOCOL in offered else None)
        await _Chat(websocket, host, place, caller).talk(safely(session(host, place, cursor, seen)))


class _Chat:
    """One connection; frames of both directions go out one after the other."""

    def __init__(self, websocket: WebSocket, host: Host[Any], place: Place, caller: Caller) -> None:
        self._websocket = websocket
        self._host = host
        self._place = place
        self._caller = caller
        self._sending = asyncio.Lock()

    async def talk(self, frames: AsyncGenerator[Frame, None]) -> None:
        """Until one side ends it."""
        telling = asyncio.create_task(self._tell(frames))
        hearing = asyncio.create_task(self._hear())
        try:
            await asyncio.wait({telling, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            telling.cancel()
            hearing.cancel()
            await asyncio.gather(telling, hearing, return_exceptions=True)

    async def _tell(self, frames: AsyncGenerator[Frame, None]) -> None:
        heartbeat_s: float = self._websocket.app.state.heartbeat_s
        async for frame in beating(frames, heartbeat_s):
            await self._send(frame or Frame("alive"))
        await self._websocket.close(1001)

    async def _hear(self) -> None:
        while True:
            try:
                text = await self._websocket.receive_text()
            except WebSocketDisconnect:
                return
            except KeyError:  # a frame of bytes
                await self._send(problem(ProblemError(400, "bad-json", "Frames are text: JSON objects.")))
                continue
            await self._send(await self._taken(text))

    async def _taken(self, text: str) -> Frame:
        """What becomes of a frame: `accepted`, or the problem."""
        try:
            frame = FrameIn.model_validate_json(text)
            received = await receive(self._host, self._place, frame, self._caller)
        except ValidationError as error:
            return problem(problem_of_mistakes(RequestValidationError(error.errors())))
        except Exception as error:  # noqa: BLE001  # one frame that fails is told of, and ends no conversation
            return problem(problem_of(error))
        return Frame("accepted", {"id": frame.id, "key": received.key, "new": received.new})

    async def _send(self, frame: Frame) -> None:
        content = {**frame.data, "type": frame.event, **({"cursor": frame.id} if frame.id else {})}
        async with self._sending:
            await self._websocket.send_text(json_text(content).encode("utf-8", "backslashreplace").decode())
