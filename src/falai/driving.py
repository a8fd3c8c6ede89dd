"""Drives one turn: performs what `turn/` asks for, and sends the answers back.

All drivers of the house are this one. Who does more at an effect, as a host that keeps what the
model said before an action runs, makes a subclass and overrides `perform`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from datetime import datetime
from time import perf_counter
from typing import Any, NoReturn

from falai.errors import ProviderError
from falai.flow.plan import AgentPlan
from falai.model.decoder import StreamingMessageDecoder
from falai.model.effects import ToolAnswer, ToolUse
from falai.model.failures import classify
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.model.tools import run_tools, use_tool
from falai.observability import CallWork, TurnWork, Unwatched
from falai.turn.effects import Act, Effect, Reached, Speak, Summarise, Understand, UseTools
from falai.turn.given import Given
from falai.turn.phases import turn_phases
from falai.turn.result import ModelCall, TurnResult

__all__ = ["Drive", "model_call"]

Call = CallWork | Unwatched


class Drive:
    """One running turn: performs what the generator yields, and keeps what the model calls were."""

    def __init__(
        self, plan: AgentPlan, model: Model, clock: Callable[[], datetime], given: Given, turn: TurnWork
    ) -> None:
        self._model = model
        self._listener = plan.listener
        self._missing_tool = plan.missing_tool
        self._calls = turn.calls
        self._turn = turn
        self._phases: Generator[Effect, Any, TurnResult] = turn_phases(plan, given, clock, turn.calls)
        self.effect: Effect | None = None
        self.result: TurnResult
        self._advance(lambda: next(self._phases))

    async def perform(self) -> None:
        """Performs the effect at hand, and goes on to the next."""
        try:
            answer = await self._answer()
        except Exception as error:  # noqa: BLE001  the turn decides what a failure means
            failure = error
            self._advance(lambda: self._phases.throw(failure))
        else:
            self._advance(lambda: self._phases.send(answer))

    async def _answer(self) -> Any:
        match self.effect:
            case Act() as act:
                return await self._act(act)
            case UseTools() as use:
                return await run_tools(use, self._use_tool)
            case Reached() as reached if self._listener is not None:
                return await self._listener(reached)
            case Summarise(request) | Understand(request) | Speak(request):
                return await self._call(request)
            case _:
                return None

    async def stream(self, effect: Speak) -> AsyncGenerator[str, None]:
        """Performs a round of the reply, passing on its words."""
        request, begun, reply = effect.request, perf_counter(), None
        decoder = StreamingMessageDecoder()
        try:
            with self._turn.stream(request).lasting() as call:
                try:
                    async with _closing(self._model.stream(request)) as chunks:
                        async for chunk in call.within(chunks):
                            call.arrived()
                            reply = chunk.reply
                            if piece := decoder.feed(chunk.accumulated):
                                yield piece
                    answer = _whole(reply)
                except Exception as error:  # noqa: BLE001  it is raised again, in words of ours
                    self._fail(call, request, begun, error)
                self._note(call, request, begun, answer)
        except ProviderError as error:
            failure = error
            with self._turn.current():
                self._advance(lambda: self._phases.throw(failure))
        else:
            with self._turn.current():
                self._advance(lambda: self._phases.send(answer))

    async def _call(self, request: ModelRequest) -> ModelReply:
        begun = perf_counter()
        with self._turn.call(request) as call:
            try:
                reply = await self._model.complete(request)
            except Exception as error:  # noqa: BLE001  it is raised again, in words of ours
                self._fail(call, request, begun, error)
            self._note(call, request, begun, reply)
        return reply

    def _note(
        self, call: Call, request: ModelRequest, begun: float, reply: ModelReply, error: str | None = None
    ) -> None:
        record = model_call(request, begun, reply, error)
        self._calls.append(record)
        call.noted(record, reply)

    def _fail(self, call: Call, request: ModelRequest, begun: float, error: Exception) -> NoReturn:
        failure = classify(error, self._model.name)
        answer = failure.answer if isinstance(failure.answer, ModelReply) else ModelReply()
        self._note(call, request, begun, answer, str(failure))
        raise failure from error.__cause__ if failure is error else error

    async def _act(self, act: Act) -> Any:
        with self._turn.action(act) as work:
            raw = await _settled(act.action.run(act.context, act.parameters))
            work.answered(raw)
        return raw

    async def _use_tool(self, use: ToolUse) -> ToolAnswer:
        with self._turn.tool(use) as work:
            if use.tool is None and self._missing_tool is not None:
                answer: ToolAnswer = self._missing_tool(use)
            else:
                answer = await use_tool(use)
            work.answered(answer)
        return answer

    def _advance(self, step: Callable[[], Effect]) -> None:
        try:
            self.effect = step()
        except StopIteration as stop:
            self.effect = None
            self.result = stop.value
            self._turn.finished(stop.value)


def model_call(request: ModelRequest, begun: float, reply: ModelReply, error: str | None = None) -> ModelCall:
    """What is told of a call that began then (`perf_counter`) and is over now, with `error` when it failed."""
    return ModelCall(
        name=request.schema_name,
        prompt=request.prompt if request.system is None else f"{request.system}\n\n{request.prompt}",
        reply=reply.message if error is None else None,
        usage=reply.usage,
        duration_ms=(perf_counter() - begun) * 1000,
        cost=reply.cost,
        model=reply.model,
        error=error,
    )


@asynccontextmanager
async def _closing(chunks: AsyncIterator[ModelChunk]) -> AsyncGenerator[AsyncIterator[ModelChunk], None]:
    """Ends the model's stream with its use: a consumer that stops early stops the provider (T-20.6)."""
    try:
        yield chunks
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()


def _whole(reply: ModelReply | None) -> ModelReply:
    """The reply of a stream. One that ended without it was cut."""
    if reply is None:
        raise ProviderError("the stream ended before its reply was whole", kind="overload")
    return reply


async def _settled(value: Any) -> Any:
    """The value, awaited if it is an awaitable one: handlers may be synchronous (T-11.10)."""
    return await value if inspect.isawaitable(value) else value
