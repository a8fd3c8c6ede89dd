"""The agent: its options, checked once, and the drivers that perform what a turn asks for.

`turn/` decides; a driver calls the model, the actions and the tools, and sends the answers back.
All drivers run the same generator. An agent never changes and holds nothing between turns, so one
object serves all sessions at once (F-16.1, T-21.2).
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from time import perf_counter
from typing import Any, Final, Generic, Literal, NoReturn, TypeVar

from falai.errors import Problem, ProviderError
from falai.flow.build import AgentOptions, EventDefinition, Idle, build_plan
from falai.flow.definition import ActionFunction, Condition, Field, Flow, Instruction
from falai.flow.functions import Action, Tool
from falai.flow.handlers import View
from falai.log import line
from falai.model.decoder import StreamingMessageDecoder
from falai.model.effects import ToolAnswer, ToolUse
from falai.model.failures import classify
from falai.model.names import resolve_model
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.model.tools import run_tools, use_tool
from falai.observability import CallWork, TurnWork, Unwatched
from falai.session.dates import system_now
from falai.session.inputs import Anchor, Claims, Input, Silenced
from falai.session.model import Session
from falai.turn.effects import Act, Effect, Speak, Summarise, Understand, UseTools
from falai.turn.given import Given, read_given
from falai.turn.phases import turn_phases
from falai.turn.result import ModelCall, ScheduledWake, TurnResult
from falai.turn.silence import pending_wakes
from falai.turn.state import Turn

__all__ = ["Agent", "Delta", "Done"]

C = TypeVar("C")
AnyInput = Input | Mapping[str, Any]
AnyAnchors = Mapping[str, Anchor | Mapping[str, Any]]
AnyClaims = Claims | Mapping[str, Any]
Call = CallWork | Unwatched
AnySilenced = str | Silenced | Mapping[str, Any]

_LOG: Final = logging.getLogger("falai.agent")


@dataclass(frozen=True, slots=True)
class Delta:
    """Words of the reply as they arrive (T-20.2)."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The last item of a streamed turn (T-20.1)."""

    result: TurnResult


class Agent(Generic[C]):
    """A checked, immutable agent. `C` is the type of the host's `context` of one turn.

    Raises `FlowConfigurationError` with every problem at once, each with its path (F-17, F-19.5),
    and `ValueError` for compaction options out of range (F-16.4). Warnings are logged, and kept in
    `warnings`.

    `model` is a model string (`"openai:gpt-5-mini"`, `"lexical"`), a port of your own
    (`falai.model.Model`), a model of pydantic-ai, or a list of these: the next one answers when one
    fails (`falai.model.FallbackModel`). `timezone` is an IANA name: the day that the
    prompts speak of is the day there (F-19.4). `language`, a name or a tag ("Portuguese", "pt-BR"),
    is what replies are written in; without it they follow the customer. `business_hours(at, context)`
    gives the earliest working moment that is not before `at` (F-11.5). `clock` gives "now", read once
    a turn. `debug` sets the logger `falai` to debug level; `trace_content` lets the spans of
    OpenTelemetry hold what is written and said, which they do not by themselves.
    """

    def __init__(
        self,
        *,
        name: str,
        model: str | Model | Any,
        persona: str | None = None,
        goal: str | None = None,
        timezone: str | None = None,
        language: str | None = None,
        fields: Mapping[str, Field | Mapping[str, Any]] | type[Any] | None = None,
        flows: Sequence[Flow | Mapping[str, Any]] = (),
        actions: Sequence[ActionFunction | Action] | Mapping[str, ActionFunction | Action] | None = None,
        events: Mapping[str, EventDefinition | Mapping[str, Any]] | None = None,
        conditions: Sequence[Condition] | Mapping[str, Callable[[View[Any], Any], bool]] | None = None,
        tools: Sequence[Callable[..., Any] | Tool] = (),
        instructions: Sequence[Instruction | Mapping[str, Any]] = (),
        knowledge_base: Mapping[str, Any] | None = None,
        idle: Literal["silent"] | Idle | Mapping[str, Any] | None = None,
        business_hours: Callable[[datetime, Any], datetime] | None = None,
        clock: Callable[[], datetime] | None = None,
        max_tool_loops: int = 5,
        compaction: Mapping[str, Any] | None = None,
        debug: bool = False,
        trace_content: bool = False,
    ) -> None:
        if debug:
            logging.getLogger("falai").setLevel(logging.DEBUG)
        port, problems = _port(model)
        self.plan, self.warnings = build_plan(
            AgentOptions(
                name=name, persona=persona, goal=goal, timezone=timezone, language=language, fields=fields, flows=flows,
                actions=actions, events=events, conditions=conditions, tools=tools, instructions=instructions,
                knowledge_base=knowledge_base, idle=idle, business_hours=business_hours, clock=clock,
                max_tool_loops=max_tool_loops, compaction=compaction, problems=problems,
            )
        )  # fmt: skip
        self.model: Model = port
        self.clock = clock or system_now
        self.trace_content = trace_content
        for warning in self.warnings:
            _LOG.warning("[Agent] %s", warning, extra=line("agent.warning"))

    async def turn(
        self,
        session_id: str,
        input: AnyInput,
        *,
        session: Session | None = None,
        context: C | None = None,
        history: Sequence[Mapping[str, Any]] | None = None,
        silenced: AnySilenced | None = None,
        anchors: AnyAnchors | None = None,
        claims: AnyClaims | None = None,
    ) -> TurnResult:
        """One turn (T-1 to T-18): what happened goes in, what to send, enqueue and save comes out.

        The session that was given is never changed. Raises `ValueError` for bad input (T-1.3),
        `ProviderError` when the understanding call fails, and what a predicate, the business hours
        or the clock raise; nothing is to be saved then, and the same input may be tried again.
        """
        given = read_given(session_id, input, session=session, context=context, history=history,
                           silenced=silenced, anchors=anchors, claims=claims)  # fmt: skip
        with self._watched(given) as turn:
            drive = _Drive(self, given, turn)
            while drive.effect is not None:
                await drive.perform()
        return drive.result

    async def turn_stream(
        self,
        session_id: str,
        input: AnyInput,
        *,
        session: Session | None = None,
        context: C | None = None,
        history: Sequence[Mapping[str, Any]] | None = None,
        silenced: AnySilenced | None = None,
        anchors: AnyAnchors | None = None,
        claims: AnyClaims | None = None,
    ) -> AsyncIterator[Delta | Done]:
        """The same turn with the words of the reply as they arrive; the last item is `Done` (T-20)."""
        given = read_given(session_id, input, session=session, context=context, history=history,
                           silenced=silenced, anchors=anchors, claims=claims)  # fmt: skip
        with self._watched(given).lasting() as turn:
            with turn.current():  # never across a yield: the consumer's turn is not this turn
                drive = _Drive(self, given, turn)
            while drive.effect is not None:
                if isinstance(drive.effect, Speak):
                    async with aclosing(drive.stream(drive.effect)) as words:
                        async for text in words:
                            yield Delta(text)
                else:
                    with turn.current():
                        await drive.perform()
        yield Done(drive.result)

    def turn_sync(self, session_id: str, input: AnyInput, **given: Any) -> TurnResult:
        """`turn` for scripts. Raises `RuntimeError` where an event loop runs: await `turn` there."""
        import asyncio  # a third of the whole import, and most hosts have it by then

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.turn(session_id, input, **given))
        raise RuntimeError("turn_sync cannot run inside an event loop; write `await agent.turn(...)` there")

    def pending_wakes(
        self,
        session: Session,
        *,
        context: C | None = None,
        silenced: AnySilenced | None = None,
        anchors: AnyAnchors | None = None,
        claims: AnyClaims | None = None,
    ) -> list[ScheduledWake]:
        """Every wake that a saved session is waiting for, also those that are overdue (B-18)."""
        given = read_given(session.id, {"wake": ""}, session=session, context=context, silenced=silenced,
                           anchors=anchors, claims=claims)  # fmt: skip
        return pending_wakes(Turn(self.plan, given, self.clock))

    def _watched(self, given: Given) -> TurnWork:
        return TurnWork(self.plan.name, self.model.name, given, content=self.trace_content)


class _Drive:
    """One running turn: performs what the generator yields, and keeps what the model calls were."""

    def __init__(self, agent: Agent[Any], given: Given, turn: TurnWork) -> None:
        self._model = agent.model
        self._calls = turn.calls
        self._turn = turn
        self._phases: Generator[Effect, Any, TurnResult] = turn_phases(agent.plan, given, agent.clock, turn.calls)
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
            case Summarise(request) | Understand(request) | Speak(request):
                return await self._call(request)
            case None:
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
        record = _record(request, begun, reply, error)
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


def _record(request: ModelRequest, begun: float, reply: ModelReply, error: str | None = None) -> ModelCall:
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


def _port(model: Any) -> tuple[Any, tuple[Problem, ...]]:
    """The model's port, or what is wrong with the option."""
    try:
        return resolve_model(model), ()
    except (ValueError, TypeError, ImportError) as error:
        return None, (Problem("bad-model", "agent", str(error), "See falai.model for what `model` takes", "model"),)
