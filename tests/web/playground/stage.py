"""What the tests of the playground share: a playground over ASGI, and what the page asks of it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2

from falai import Agent
from falai.examples.clinic import agent as clinic
from falai.examples.clinic import chat_context
from falai.testing import Clock
from falai.web.playground import create_playground

__all__ = ["BOOKING", "NOW", "Page", "playground"]

NOW = "2026-12-01T10:00:00.000Z"
BOOKING = ["I'd like to book a cleaning", "on 2099-03-02 at 3pm", "Ana Silva", "912 345 678", "yes", "yes"]
"""From the first word to the booked visit, with the example agent."""
JSON = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclass
class Page:
    """What the page does, over HTTP."""

    client: httpx2.AsyncClient

    async def get(self, path: str, **params: str) -> Any:
        """The JSON of an answer that went well."""
        answer = await self.client.get(f"/playground/api/{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, path: str, body: Any) -> httpx2.Response:
        """The answer to a body."""
        return await self.client.post(f"/playground/api/{path}", content=json.dumps(body), headers=JSON)

    async def post(self, path: str, body: Any, status: int = 200) -> Any:
        """The JSON of an answer of this status."""
        answer = await self.send(path, body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def say(self, *texts: str, branch: str = "b1") -> Any:
        """The customer writes these, one after the other; the state behind the last."""
        state = None
        for text in texts:
            state = await self.post("message", {"branch": branch, "text": text})
        return state

    async def stream(self, text: str, branch: str = "b1", id: str | None = None) -> list[tuple[str, Any]]:
        """The events of a message's answer."""
        body = {"branch": branch, "text": text} | ({"id": id} if id else {})
        answer = await self.client.post(
            "/playground/api/message", content=json.dumps(body), headers={**JSON, "Accept": "text/event-stream"}
        )
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [event for block in answer.text.split("\n\n") if (event := _event(block))]

    async def skip(self, branch: str = "b1", ms: int | None = None) -> Any:
        """Moves the clock, to the next timer or by so much."""
        return await self.post("clock", {"branch": branch, **({"next": True} if ms is None else {"ms": ms})})

    async def said(self, branch: str = "b1") -> list[str]:
        """All that was said to the customer."""
        state = await self.get("state", branch=branch)
        return [message["text"] for turn in state["turns"] for message in turn["messages"]]


def _event(block: str) -> tuple[str, Any] | None:
    lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
    return (lines["event"], json.loads(lines["data"])) if lines else None


@asynccontextmanager
async def playground(
    agent: Agent[Any] = clinic,
    *,
    context: Callable[[Path], Any] | None = chat_context,
    clock: Callable[[], datetime] | None = None,
) -> AsyncGenerator[Page, None]:
    """A playground that runs meanwhile, on a clock that stands still."""
    app = create_playground(agent, context=context, clock=clock or Clock(NOW))
    transport = httpx2.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        yield Page(client)
