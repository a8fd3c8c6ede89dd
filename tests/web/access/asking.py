"""Requests as they come over the wire, odd ones too, to an application that a guard stands before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, FastAPI, WebSocket
from fastapi.responses import JSONResponse
from starlette.requests import Request

from falai.host.ledger.port import Ledger
from falai.web.access import Caller, Keys, allowed, caller_of_socket, guarded
from falai.web.problems import install
from falai.web.settings import WebSettings

__all__ = ["AGENT", "Answer", "application", "ask", "echo"]

AGENT = "Ana"
Header = tuple[str, str]


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        found: str = json.loads(self.body)["code"]
        return found


def echo() -> FastAPI:
    """Says who called; counts what it was sent."""
    app = FastAPI()
    install(app)

    @app.get("/open")
    @app.post("/open")
    async def is_open(request: Request) -> int:
        return len(await request.body())

    @app.get("/chat")
    async def chat(caller: Annotated[Caller, Depends(allowed("chat"))]) -> str:
        return f"{caller.name} of {caller.tenant}"

    @app.post("/sessions/{session_id}/chat")
    async def session(session_id: str, caller: Annotated[Caller, Depends(allowed("chat"))]) -> str:
        return f"{caller.name} in {session_id}"

    @app.get("/operate")
    async def operate(caller: Annotated[Caller, Depends(allowed("operate"))]) -> JSONResponse:
        return JSONResponse(sorted(caller.scopes))

    @app.websocket("/sessions/{session_id}/socket")
    async def socket(websocket: WebSocket) -> None:
        caller = await caller_of_socket(websocket)
        if caller is not None:
            await websocket.accept("falai.v1")
            while True:
                await websocket.send_text(f"{caller.name}: {await websocket.receive_text()}")

    return app


def application(ledger: Ledger | None = None, **settings: Any) -> Any:
    """That, behind a guard. Without a ledger no token can be asked for."""

    def ledger_of() -> Ledger:
        assert ledger is not None
        return ledger

    return guarded(echo(), WebSettings(**settings), Keys(ledger_of, AGENT))


async def ask(
    app: Any,
    path: str = "/open",
    *,
    method: str = "GET",
    headers: Iterable[Header] = (("host", "127.0.0.1:8000"),),
    body: Sequence[bytes] = (b"",),
    server: Any = ("127.0.0.1", 8000),
    client: Any = ("127.0.0.1", 50_000),
    scheme: str = "http",
) -> Answer:
    """One request, with exactly these headers, and a body in these pieces."""
    pieces = [{"type": "http.request", "body": piece, "more_body": True} for piece in body]
    pieces[-1]["more_body"] = False
    said: list[Any] = []

    async def receive() -> Any:
        return pieces.pop(0) if pieces else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        said.append(message)

    head = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
        "scheme": scheme, "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": client, "server": server,
    }  # fmt: skip
    await app(head, receive, send)
    names = {name.decode(): value.decode("latin-1") for name, value in said[0]["headers"]}
    return Answer(said[0]["status"], names, b"".join(message.get("body", b"") for message in said[1:]))
