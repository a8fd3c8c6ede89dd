"""The agent: its options, checked once, and the ways to play a turn: whole, streamed, synchronous.

`turn/` decides, and `driving` performs what it asks for. An agent never changes and holds nothing
between turns, so one object serves all sessions at once (F-16.1, T-21.2).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from falai.driving import Drive
from falai.errors import Problem
from falai.flow.build import AgentOptions, EventDefinition, Idle, build_plan
from falai.flow.definition import ActionFunction, Condition, Field, Flow, Instruction
from falai.flow.functions import Action, Tool
from falai.flow.handlers import View
from falai.log import line
from falai.model.names import resolve_model
from falai.model.port import Model
from falai.observability import TurnWork
from falai.session.dates import system_now
from falai.session.inputs import Anchor, Claims, Input, Silenced
from falai.session.model import Session
from falai.turn.effects import Speak
from falai.turn.given import Given, read_given
from falai.turn.result import ScheduledWake, TurnResult
from falai.turn.silence import pending_wakes
from falai.turn.state import Turn

__all__ = ["Agent", "Delta", "Done"]

C = TypeVar("C")
AnyInput = Input | Mapping[str, Any]
AnyAnchors = Mapping[str, Anchor | Mapping[str, Any]]
AnyClaims = Claims | Mapping[str, Any]
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
            drive = Drive(self.plan, self.model, self.clock, given, turn)
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
                drive = Drive(self.plan, self.model, self.clock, given, turn)
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


def _port(model: Any) -> tuple[Any, tuple[Problem, ...]]:
    """The model's port, or what is wrong with the option."""
    try:
        return resolve_model(model), ()
    except (ValueError, TypeError, ImportError) as error:
        return None, (Problem("bad-model", "agent", str(error), "See falai.model for what `model` takes", "model"),)
