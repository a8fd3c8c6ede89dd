"""The words of a reply over a real server: they come while the model still writes, and a page that goes loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import uvicorn

from falai import Agent, Flow, OnAnyMessage, Prompt
from falai.model import ModelChunk, ModelReply, ModelRequest
from falai.testing import Clock
from falai.web.playground import create_playground
from web.playground.stage import JSON, NOW


class Slow:
    """A model that writes one word, and the rest when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.broken = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(message="Good morning!", model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk("Good", "Good")
        await self.go_on.wait()
        if self.broken:
            raise ConnectionError("the line broke")
        reply = await self.complete(request)
        yield ModelChunk(" morning!", "Good morning!", reply)


@asynccontextmanager
async def _served(model: Slow) -> AsyncGenerator[httpx2.AsyncClient, None]:
    flows = [Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("a", "Greet.")])]
    app = create_playground(Agent[Any](name="Ana", model=model, flows=flows), clock=Clock(NOW))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", access_log=False))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}/playground/api", headers=JSON) as client:
            yield client
    finally:
        model.go_on.set()
        server.should_exit = True
        await task


@asynccontextmanager
async def _asked(client: httpx2.AsyncClient) -> AsyncGenerator[AsyncIterator[str], None]:
    """The lines of the answer to a message."""
    headers = {"Accept": "text/event-stream"}
    body = {"branch": "b1", "text": "hello", "id": "m1"}
    async with client.stream("POST", "/message", json=body, headers=headers) as answer:
        yield answer.aiter_lines()


async def _until(lines: AsyncIterator[str], event: str) -> str:
    """The data of the next event of this name."""
    async for line in lines:
        if line == f"event: {event}":
            return (await anext(lines)).removeprefix("data: ")
    raise AssertionError(f"the stream ended without {event}")


async def test_words_come_before_the_reply_is_whole() -> None:
    """The first one is there while the model is still held up; the state comes when it is through."""
    model = Slow()
    async with _served(model) as client, _asked(client) as lines:
        assert await _until(lines, "delta") == '{"text":"Good"}'
        model.go_on.set()
        assert await _until(lines, "delta") == '{"text":" morning!"}'
        assert '"text":"Good morning!"' in await _until(lines, "state")


async def test_words_that_do_not_count_are_withdrawn() -> None:
    """The reply broke off: what was shown is taken back before the state says what came of it."""
    model = Slow()
    model.broken = True
    async with _served(model) as client, _asked(client) as lines:
        await _until(lines, "delta")
        model.go_on.set()
        assert await _until(lines, "withdrawn") == "{}"
        assert "Good" not in await _until(lines, "state")


async def test_a_page_that_goes_away_loses_nothing() -> None:
    """The turn goes on; whoever looks again, or sends the message again, finds it once."""
    model = Slow()
    async with _served(model) as client:
        async with _asked(client) as lines:
            await _until(lines, "delta")
        model.go_on.set()
        async with _asked(client) as lines:
            state = await _until(lines, "state")
        assert state.count('"text":"Good morning!"') == 1
        assert len((await client.get("/state")).json()["turns"]) == 1


async def test_who_looks_meanwhile_is_told_what_is_being_played() -> None:
    """The customer's words, as long as the reply to them is not whole; so a page that was loaded anew can wait for it."""
    model = Slow()
    async with _served(model) as client, _asked(client) as lines:
        await _until(lines, "delta")
        state = (await client.get("/state")).json()
        assert (state["playing"], state["turns"]) == ("hello", [])
        model.go_on.set()
        assert '"playing":null' in await _until(lines, "state")
        assert (await client.get("/state")).json()["playing"] is None


def _let_go(model: Slow) -> Callable[[object], None]:
    return lambda word: model.go_on.set()  # the first of them


async def test_the_end_waits_for_what_was_begun() -> None:
    """A playground that is closed while a turn is played finishes it, and leaves no folder."""
    model = Slow()
    flows = [Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("a", "Greet.")])]
    app = create_playground(Agent[Any](name="Ana", model=model, flows=flows), clock=Clock(NOW))
    async with app.router.lifespan_context(app):
        branch = app.state.sandbox.branches["b1"]
        work = app.state.works.begin(branch.message("hello", None, _let_go(model)))
    assert work.done()
    assert branch.happened[0].result.messages[0].text == "Good morning!"
    assert not branch.folder.exists()
