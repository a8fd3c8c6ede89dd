"""How much a client may send, and how long it may take. It is counted as it comes, whatever the head promised.

What is refused in the middle of a body is answered here, whatever the application makes of the cut.
"""

from __future__ import annotations

import asyncio
from typing import Final

from falai.flow.durations import parse_duration
from falai.web.access.heads import App, Head, Message, Receive, Send, value_of, values_of
from falai.web.access.refusing import problem, refuse
from falai.web.problems import ProblemError

__all__ = ["Bodies", "CutError"]

_TOO_BIG: Final = 1009  # of a WebSocket's close codes


class Bodies:
    """ASGI: refuses a body of more than `most` bytes (413), or that takes longer than `time` (408).

    A WebSocket is closed by a message that is larger.
    """

    def __init__(self, app: App, most: int, time: str) -> None:
        self._app = app
        self._most = most
        self._seconds = parse_duration(time) / 1000

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "websocket":
            await self._app(head, _Frames(receive, send, self._most).receive, send)
        elif head["type"] == "http":
            await self._request(head, receive, send)
        else:
            await self._app(head, receive, send)

    async def _request(self, head: Head, receive: Receive, send: Send) -> None:
        said = value_of(head, b"content-length") or "0"
        if said != "0" and values_of(head, b"transfer-encoding"):  # a proxy in front may have gone by the other one
            await refuse(head, receive, send, problem("bad-request", "The body has two lengths.", Connection="close"))
            return
        if len(said) > 18 or (said.isdigit() and int(said) > self._most):
            await refuse(head, receive, send, _too_large(self._most))
            return
        body = _Body(receive, send, self._most, self._seconds)
        try:
            await self._app(head, body.receive, body.send)
        except Exception:
            if body.refused is None:
                raise
        if body.refused is not None and not body.answered:
            await refuse(head, receive, send, body.refused)


class CutError(Exception):
    """Ends the reading of a body that is refused."""


class _Body:
    def __init__(self, receive: Receive, send: Send, most: int, seconds: float) -> None:
        self.refused: ProblemError | None = None
        self.answered = False
        self._receive = receive
        self._send = send
        self._most = most
        self._left = most
        self._until = asyncio.get_running_loop().time() + seconds
        self._ended = False

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise self._cut(problem("too-slow", "The body did not come in time.", Connection="close")) from None
        self._ended = not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise self._cut(_too_large(self._most))
        return message

    async def send(self, message: Message) -> None:
        if self.refused is None or self.answered:
            self.answered = True
            await self._send(message)

    def _cut(self, why: ProblemError) -> CutError:
        self.refused = why
        return CutError()


class _Frames:
    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive = receive
        self._send = send
        self._most = most

    async def receive(self) -> Message:
        message = await self._receive()
        text, data = message.get("text"), message.get("bytes")
        if message["type"] == "websocket.receive" and self._most < len(data or (text or "").encode()):
            await self._send({"type": "websocket.close", "code": _TOO_BIG, "reason": "the message is too large"})
            return {"type": "websocket.disconnect", "code": _TOO_BIG}
        return message


def _too_large(most: int) -> ProblemError:
    return problem("too-large", f"A request may have {most} bytes.", Connection="close")
