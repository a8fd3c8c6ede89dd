"""A real server on loopback that plays a vendor: it checks what it is asked for, keeps it, and fails when told to.

    with serving(WhatsAppServer()) as vendor:
        channel = WhatsAppChannel(vendor.number, vendor.token, base_url=vendor.url)

`vendor.faults` are for the next requests, one each, `None` for one that goes well; `vendor.seen` holds what came in.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NamedTuple, TypeVar

__all__ = ["Answer", "Fault", "Seen", "Vendor", "json_answer", "serving"]


class Answer(NamedTuple):
    """What a server sends; status 0 closes the connection instead."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Seen(NamedTuple):
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Fault:
    """Goes wrong once: the request is carried out first if `after`; then `pause` seconds pass, then `answer`."""

    answer: Answer
    after: bool = False
    pause: float = 0.0


@dataclass
class Vendor:
    """What all have: an address, what came in, and what is to go wrong."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    faults: list[Fault | None] = field(default_factory=list)

    def answer(self, request: Seen) -> Answer:
        raise AssertionError("each vendor has its own")

    def handle(self, request: Seen) -> tuple[Answer, float]:
        self.seen.append(request)
        fault = self.faults.pop(0) if self.faults else None
        if fault is None:
            return self.answer(request), 0.0
        if fault.after:
            self.answer(request)
        return fault.answer, fault.pause


V = TypeVar("V", bound=Vendor)


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(value).encode(), headers or {})


@contextmanager
def serving(vendor: V) -> Iterator[V]:
    """The vendor at its address, for as long as the context lasts."""
    handler = type("Handler", (_Handler,), {"vendor": vendor})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    vendor.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield vendor
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Says nothing: the client gave up on an answer, as some tests want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet, or each request waits for a delayed acknowledgement
    vendor: ClassVar[Vendor]

    def do_GET(self) -> None:
        self._handle(b"")

    def do_POST(self) -> None:
        self._handle(self.rfile.read(int(self.headers["content-length"])))

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def _handle(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer, pause = self.vendor.handle(Seen(self.command, self.path, headers, body))
        time.sleep(pause)
        if answer.status == 0:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        for name, value in {"content-length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
