"""A small real server on loopback that plays a provider, for tests of a model over HTTP.

    with chat_server([says('{"message": "Hi"}'), fails(429, "slow down", {"retry-after": "7"})]) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url)

The scripted answers are given in order, whole or as a stream, by what the request asks for;
`server.requests` holds the request bodies, `server.bodies` their bytes. A request that nobody foresaw
is answered with status 418.
This file speaks OpenAI's chat completions; `loopback_responses`, `loopback_anthropic` and
`loopback_google` speak the other formats, with the same names.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

__all__ = [
    "Answer", "ChatServer", "broken", "calls", "chat_server", "cuts", "fails", "raw", "refuses", "says", "server_of",
    "sliced", "slow", "thinks",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server sends: `body`, or when a stream was asked for `events`, one by one.

    Behind the last event the connection is closed. `pause` is a silence in seconds before each piece,
    `stall` the number of the event before which a long one begins; `slices` cuts what is sent into
    packets of so many bytes; `lost` promises more bytes than it sends.
    """

    status: int = 200
    body: bytes = b""
    events: Sequence[bytes] = ()
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    stall: int | None = None
    slices: int = 0
    lost: bool = False


@dataclass
class ChatServer:
    """A running server: its address, what came in, and the answers that nobody has asked for yet."""

    base_url: str
    requests: list[dict[str, Any]]
    bodies: list[bytes]
    heads: list[dict[str, str]]
    paths: list[str]
    left: list[Answer]


# --- answers of any format --------------------------------------------------------------------


def fails(status: int, message: str, headers: dict[str, str] | None = None, **error: Any) -> Answer:
    """An HTTP error in OpenAI's form, which the others' clients read too."""
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return Answer(status=status, body=body, headers=headers or {})


def cuts() -> Answer:
    """No answer: the connection is closed."""
    return Answer(status=0)


def raw(body: bytes) -> Answer:
    """Status 200 with any body."""
    return Answer(body=body)


def slow(answer: Answer, pause: float) -> Answer:
    """The answer with a silence before each of its pieces."""
    return replace(answer, pause=pause)


def sliced(answer: Answer, size: int) -> Answer:
    """The answer in packets of so many bytes."""
    return replace(answer, slices=size)


def broken(answer: Answer, events: int) -> Answer:
    """The answer as a stream that breaks off behind so many events; what was promised never comes."""
    return replace(answer, events=answer.events[:events], lost=True)


def event(data: Any, name: str | None = None) -> bytes:
    """One event of a stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


# --- OpenAI's chat completions ----------------------------------------------------------------


def says(text: str, *, finish: str | None = "stop", pieces: Sequence[str] | None = None, cut: bool = False) -> Answer:
    """A reply with this text; a stream gets it in `pieces`, or at once. `cut`: without an end."""
    return _completion({"content": text}, finish, [{"content": piece} for piece in pieces or [text]], cut=cut)


def thinks(thought: str, then: Answer) -> Answer:
    """The same reply behind some reasoning."""
    body = json.loads(then.body)
    body["choices"][0]["message"]["reasoning_content"] = thought
    delta = _chunk({"index": 0, "delta": {"reasoning_content": thought}, "finish_reason": None})
    return replace(then, body=json.dumps(body).encode(), events=[event(delta), *then.events])


def calls(
    name: str, arguments: Any, *, text: str | None = None, finish: str = "tool_calls", cut: bool = False
) -> Answer:
    """A reply that calls a tool; `arguments` may be text that is no JSON."""
    raw_arguments = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": raw_arguments}}
    message = {"content": text, "tool_calls": [call]}
    half = len(raw_arguments) // 2
    head = {"index": 0, **call, "function": {"name": name, "arguments": raw_arguments[:half]}}
    rest = {"index": 0, "function": {"arguments": raw_arguments[half:]}}
    deltas = [{"content": text, "tool_calls": [head]}, {"tool_calls": [rest]}]
    return _completion(message, finish, deltas, cut=cut)


def refuses(text: str = "I cannot help with that") -> Answer:
    """The provider's own way of refusing."""
    return _completion({"content": None, "refusal": text}, "stop", [{"refusal": text}])


def chat_server(answers: Sequence[Answer]):
    """A server that gives these answers, for as long as the context lasts."""
    return server_of(answers, "/v1")


def _completion(
    message: dict[str, Any], finish: str | None, deltas: Sequence[dict[str, Any]], *, cut: bool = False
) -> Answer:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 9,
        "total_tokens": 109,
        "prompt_tokens_details": {"cached_tokens": 80},
    }
    ended = {"finish_reason": finish, "native_finish_reason": finish}
    choice = {"index": 0, "message": {"role": "assistant", **message}, **ended}
    chunks = [_chunk({"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}) for delta in deltas]
    end = [event(_chunk({"index": 0, "delta": {}, **ended})), event({**_chunk(None), "usage": usage})]
    events = [*map(event, chunks), *([] if cut else [*end, event("[DONE]")])]
    body = {**_head("chat.completion"), "choices": [choice], "usage": usage}
    return Answer(body=json.dumps(body).encode(), events=events)


def _head(kind: str) -> dict[str, Any]:
    return {"id": "x", "object": kind, "created": 1, "model": "loopback-1", "provider": "as OpenRouter names it"}


def _chunk(choice: dict[str, Any] | None) -> dict[str, Any]:
    return {**_head("chat.completion.chunk"), "choices": [] if choice is None else [choice]}


# --- the server -------------------------------------------------------------------------------


@contextmanager
def server_of(answers: Sequence[Answer], path: str = "") -> Iterator[ChatServer]:
    """A server at this path that gives these answers, for as long as the context lasts."""
    seen = ChatServer("", [], [], [], [], list(answers))
    handler = type("Handler", (_Handler,), {"seen": seen})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    seen.base_url = f"http://127.0.0.1:{server.server_port}{path}"
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Says nothing: the client gave up on an answer, as some tests want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet, or each request waits for a delayed acknowledgement
    seen: ClassVar[ChatServer]

    def do_POST(self) -> None:
        self.seen.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        body = json.loads(self.seen.bodies[-1])
        self.seen.requests.append(body)
        self.seen.heads.append({name.lower(): value for name, value in self.headers.items()})
        self.seen.paths.append(self.path)
        left = self.seen.left
        answer = left.pop(0) if left else Answer(status=418, body=b"nobody foresaw this request")
        if answer.status == 0:
            self._hang_up()
        elif answer.events and (body.get("stream") or "stream" in self.path):
            self._stream(answer)
        else:
            self._send(answer)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _send(self, answer: Answer) -> None:
        time.sleep(answer.pause)
        self.send_response(answer.status)
        headers = {"content-type": "application/json", "content-length": str(len(answer.body)), **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(answer.body, answer.slices)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        if answer.lost:
            self.send_header("content-length", "1000000")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for number, piece in enumerate(answer.events):
            time.sleep(5 if number == answer.stall else answer.pause)
            self._write(piece, answer.slices)
        self.close_connection = True

    def _write(self, data: bytes, size: int) -> None:
        for start in range(0, len(data), size or len(data) or 1):
            self.wfile.write(data[start : start + (size or len(data))])
            self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
