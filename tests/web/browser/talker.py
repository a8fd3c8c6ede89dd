"""An agent whose model speaks in two pieces, and waits between them for a file: so that a page shows the first alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from falai import Agent, Flow, OnAnyMessage, Prompt, ProviderError, Say, Wait
from falai.model.port import ModelChunk, ModelReply, ModelRequest

__all__ = ["FAILS", "FIRST", "GO", "REST", "agent"]

FIRST, REST = "Good morning, ", "and welcome to the clinic."
GO = "go"
"""The file, in the folder of the process. The model takes it away, and goes on."""
FAILS = "fail, please"
"""A customer who writes this gets no second piece."""


class Talker:
    name = "talker"

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(message="{}", structured={})

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk(FIRST, FIRST)
        while not Path(GO).exists():
            await asyncio.sleep(0.01)
        Path(GO).unlink()
        if FAILS in request.prompt:
            raise ProviderError("the line is cut", kind="unavailable")
        whole = FIRST + REST
        yield ModelChunk(REST, whole, ModelReply(message=whole))


greet = Flow(
    "greet",
    on=[OnAnyMessage(repeat="always")],
    steps=[Prompt("hello", "Greet them."), Wait("pause", "2s"), Say("more", "What can we do for you?")],
)
agent = Agent(name="Sofia", model=Talker(), flows=[greet])
