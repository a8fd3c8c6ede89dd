"""A small real server on loopback that speaks OpenAI's chat completions, for tests of a model over HTTP.

    with chat_server([says('{"message": "Hi"}'), fails(429, "slow down", {"retry-after": "7"})]) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url)

The scripted answers are given in order; `server.requests` holds the request bodies. A request that
nobody foresaw is answered with status 418.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

__all__ = ["Answer", "ChatServer", "calls", "chat_server", "cuts", "fails", "raw", "refuses", "says"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server sends. `pieces` are sent one by one when a stream was asked for; `cut` closes
    the connection behind them, without an end."""

    status: int = 200
    body: bytes = b""
    pieces: Sequence[dict[str, Any]] = ()
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class ChatServer:
    """A running server: its address, and the bodies that came in, read and as they were sent."""

    base_url: str
    requests: list[dict[str, Any]]
    bodies: list[bytes]
    left: list[Answer]


def says(text: str, *, finish: str = "stop", pieces: Sequence[str] | None = None, cut: bool = False) -> Answer:
    """A reply with this text; a stream gets it in `pieces`, or at once."""
    return _completion({"content": text}, finish, [{"content": piece} for piece in pieces or [text]], cut=cut)


def calls(name: str, arguments: dict[str, Any], *, text: str | None = None) -> Answer:
    """A reply that calls a tool."""
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"content": text, "tool_calls": [call]}
    return _completion(message, "tool_calls", [{"content": text, "tool_calls": [{"index": 0, **call}]}])


def refuses(text: str = "I cannot help with that") -> Answer:
    """The provider's own way of refusing."""
    return _completion({"content": None, "refusal": text}, "stop", [{"refusal": text}])


def fails(status: int, message: str, headers: dict[str, str] | None = None, **error: Any) -> Answer:
    """An HTTP error in OpenAI's form."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return Answer(status=status, body=body, headers=headers or {})


def cuts() -> Answer:
    """No answer: the connection is closed."""
    return Answer(status=0, cut=True)


def raw(body: bytes) -> Answer:
    """Status 200 with any body."""
    return Answer(body=body)


@contextmanager
def chat_server(answers: Sequence[Answer]) -> Iterator[ChatServer]:
    """A server that gives these answers, for as long as the context lasts."""
    seen: list[dict[str, Any]] = []
    bodies: list[bytes] = []
    left = list(answers)
    handler = type("Handler", (_Handler,), {"seen": seen, "bodies": bodies, "left": left})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield ChatServer(f"http://127.0.0.1:{server.server_port}/v1", seen, bodies, left)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _completion(message: dict[str, Any], finish: str, deltas: Sequence[dict[str, Any]], *, cut: bool = False) -> Answer:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "total_tokens": 109,
        "prompt_tokens_details": {"cached_tokens": 80},
    }
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    pieces = [_chunk({"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}) for delta in deltas]
    pieces.append(_chunk({"index": 0, "delta": {}, "finish_reason": finish}))
    pieces.append({**_chunk(None), "usage": usage})
    body = {**_head("chat.completion"), "choices": [choice], "usage": usage}
    return Answer(body=json.dumps(body).encode(), pieces=pieces[: len(deltas)] if cut else pieces, cut=cut)


def _head(kind: str) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 1, "model": "loopback-1"}


def _chunk(choice: dict[str, Any] | None) -> dict[str, Any]:
    return {**_head("chat.completion.chunk"), "choices": [] if choice is None else [choice]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet, or each request waits for a delayed acknowledgement
    seen: ClassVar[list[dict[str, Any]]]
    bodies: ClassVar[list[bytes]]
    left: ClassVar[list[Answer]]

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        body = json.loads(self.bodies[-1])
        self.seen.append(body)
        answer = self.left.pop(0) if self.left else Answer(status=418, body=b"nobody foresaw this request")
        if answer.status == 0:
            self._hang_up()
        elif body.get("stream") and answer.pieces:
            self._stream(answer)
        else:
            self._send(answer)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        headers = {"content-type": "application/json", "content-length": str(len(answer.body)), **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for piece in answer.pieces:
            self.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
            self.wfile.flush()
        if not answer.cut:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
