"""What the tests of the API share: a host on a fresh file, its application, and clients with tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from falai import Agent, Collect, Field, Flow, OnAnyMessage, OnEvent, OnMessage, Prompt, Say, Wait
from falai.host import Host
from falai.host.ledger.tokens import add_token
from falai.web import WebSettings, create_app
from falai.web.access import SCOPES
from falai.web.access.tokens import new_token
from host.stage import echo

__all__ = ["Site", "calling", "desk", "serving", "site"]


def desk(**more: Any) -> Agent[Any]:
    """An agent with something of everything: it answers, asks, waits, and follows an event."""
    flows = [
        Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")]),
        Flow(
            "paid", on=[OnEvent("order.paid")], steps=[Say("thanks", "Thank you, it is paid.")], description="Thanks."
        ),
        Flow("remind", steps=[Say("first", "A reminder."), Wait("pause", "2d"), Say("last", "The last one.")]),
        Flow("book", on=[OnMessage("books a table")], steps=[Collect("ask", ["size"], prompt="Ask for the size.")]),
    ]
    fields = {"size": Field(int, ask="Ask how many.", description="How many people.")}
    return echo(flows=flows, fields=fields, events={"order.paid": {}}, **more)


@dataclass
class Site:
    """A host and its application."""

    host: Host[Any]
    app: FastAPI
    client: httpx2.AsyncClient
    """Has a token for everything of the default tenant."""

    async def allow(self, *scopes: str, tenant: str = "default", session: str | None = None) -> dict[str, str]:
        """The headers of a new token."""
        text, row = new_token(name="test", tenant=tenant, scopes=scopes or SCOPES, now_ms=0, session=session)
        await self.host.ledger.run(add_token(row))
        return {"Authorization": f"Bearer {text}"}

    async def say(self, text: str, session: str = "s1", *, id: str | None = None, **more: Any) -> httpx2.Response:
        """Sends a message and waits for the answer."""
        body = {"text": text, "id": id or text}
        return await self.client.post(f"/v1/sessions/{session}/messages", json=body, **more)


def calling(app: FastAPI) -> httpx2.AsyncClient:
    """A client of an application, without a server between."""
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost")


@asynccontextmanager
async def site(
    folder: Path, agent: Agent[Any] | None = None, *, web: WebSettings | None = None, **options: Any
) -> AsyncIterator[Site]:
    """A host that runs, and a client that calls its application without a server between."""
    async with Host(agent or desk(), folder / "web.db", **options) as host:
        app = create_app(host, settings=web)
        async with calling(app) as client:
            found = Site(host, app, client)
            client.headers.update(await found.allow())
            yield found


@asynccontextmanager
async def serving(found: Site) -> AsyncIterator[str]:
    """The application behind a real server; gives its address."""
    server = uvicorn.Server(uvicorn.Config(found.app, port=0, log_level="error", access_log=False, lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task
