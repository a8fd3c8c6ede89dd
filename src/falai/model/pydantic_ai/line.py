"""One model of the library, in one event loop: sends a request and reads the answer, in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import Any

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model as Upstream
from pydantic_ai.models import StreamedResponse

from falai.errors import ProviderError
from falai.model.port import ModelChunk, ModelReply, ModelRequest
from falai.model.pydantic_ai.abilities import Way, abilities, settings, thinking_room
from falai.model.pydantic_ai.asking import answer_tool, messages, parameters
from falai.model.pydantic_ai.model import Options
from falai.model.pydantic_ai.reading import Pieces, read
from falai.model.pydantic_ai.schemas import Enforcement
from falai.model.pydantic_ai.upstream import upstream, without_tags
from falai.session.jsontext import json_text

__all__ = ["Line"]


class Line:
    """A model of the library with what never changes from call to call: what it can do, and its settings."""

    def __init__(self, model: Upstream, name: str, options: Options, *, own: bool) -> None:
        self._model = model
        self._name = name
        self._options = options
        self._own = own
        self._abilities = abilities(model)
        self._settings = settings(model, options, own=own)
        self._room = thinking_room(model, options)
        able = self._abilities
        self._enforcement = Enforcement(name, able.dialect, lists=able.lists_of_types)

    @classmethod
    def to(cls, model: str | Upstream, options: Options) -> Line:
        """The line to a model by name, which is made here, or to a model object."""
        if isinstance(model, str):
            return cls(upstream(model, options), model, options, own=True)
        return cls(without_tags(model), model.model_id, options, own=False)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply. Raises `ProviderError`, and whatever the library raises."""
        asked = self._asked(request)
        response = await model_request(self._model, messages(request, self._abilities), **asked)
        return self._read(response, request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """The reply in pieces, the last one with the reply. Raises like `complete`, perhaps after some pieces."""
        pieces = Pieces(answer_tool(request))
        seconds = self._options.timeout  # how long it may be quiet; the whole of it may last (M-20.2)
        try:
            async with AsyncExitStack() as open_streams:
                async with asyncio.timeout(seconds):
                    events = await open_streams.enter_async_context(self._events(request))
                while True:
                    async with asyncio.timeout(seconds):
                        event = await anext(aiter(events), None)
                    if event is None:
                        break
                    if piece := pieces.read(event):
                        yield ModelChunk(piece, pieces.accumulated)
                reply = self._read(events.get(), request, streamed=True)
        except TimeoutError as error:
            message = f"the stream was quiet for {seconds:g} s"
            raise ProviderError(message, provider=self._name, kind="timeout") from error
        yield ModelChunk("", pieces.accumulated, reply)

    async def close(self) -> None:
        """Closes the connections of a model that was made here; those of a host's object are the host's."""
        if self._own:
            await self._model.__aenter__()  # leaving is the library's only way to close
            await self._model.__aexit__(None, None, None)

    def _way(self, request: ModelRequest) -> Way:
        way = self._abilities.way(request, self._options)
        if way == "native" and self._abilities.always_enforces and self._enforcement.form(request.schema).why:
            return "instructed"
        return way

    def _read(self, response: ModelResponse, request: ModelRequest, *, streamed: bool = False) -> ModelReply:
        reply = read(response, request, self._name, streamed=streamed)
        if reply.structured is None or self._way(request) not in ("native", "tool"):
            return reply
        form = self._enforcement.form(request.schema)
        if form.mark is None:
            return reply
        own = form.own(reply.structured)
        return replace(reply, structured=own, message=json_text(own))

    def _asked(self, request: ModelRequest) -> dict[str, Any]:
        way = self._way(request)
        found = parameters(request, way, self._abilities, self._enforcement)
        limit = request.max_output_tokens or self._options.max_output_tokens
        given: dict[str, Any] = {**self._settings, "max_tokens": limit + self._room}
        if found.function_tools and not request.tools:
            given["tool_choice"] = "none"
        return {"model_settings": given, "model_request_parameters": found}

    def _events(self, request: ModelRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        asked = self._asked(request)
        if self._model.system == "mistral":  # its servers refuse the option that others need for usage
            given = asked["model_settings"]
            given["extra_body"] = {**given.get("extra_body", {}), "stream_options": {}}
        return model_request_stream(self._model, messages(request, self._abilities), **asked)
