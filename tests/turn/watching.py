"""A driver that looks into the turn while it runs: the same generator, performed by other hands.

What a host cannot see is seen here: who asks, and what is known, at the moment of the speaking call
(V-4, V-44). The result must be that of the agent's own driver (V-32).
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from falai import Agent
from falai.model.effects import Speak, UseTools
from falai.model.failures import classify
from falai.model.tasks import SpeakTask
from falai.model.tools import run_tools
from falai.turn.effects import Act, Effect
from falai.turn.given import read_given
from falai.turn.phases import turn_phases
from falai.turn.result import TurnResult
from falai.turn.state import Turn

__all__ = ["Watched", "watch"]


@dataclass
class Watched:
    """What was seen of one turn."""

    result: TurnResult | None = None
    speakers: list[tuple[list[str | None], str | None]] = field(default_factory=list)
    """For each speaking call of a talk step: where the runs stand that ask then, and the step that speaks."""
    speaks: list[tuple[dict[str, Any], SpeakTask]] = field(default_factory=list)
    """For each speaking call: the data then, and what the call is about."""
    acted: list[str] = field(default_factory=list)
    """The keys of the actions that ran."""


async def watch(agent: Agent[Any], session_id: str, given: Any, **around: Any) -> Watched:
    """Plays a turn, watching. Raises what the turn raises."""
    phases = turn_phases(agent.plan, read_given(session_id, given, **around), agent.clock)
    seen = Watched()
    try:
        effect = next(phases)
        while True:
            _look(seen, phases, effect)
            resume, answer = await _perform(agent, phases, effect)
            effect = resume(answer)
    except StopIteration as stop:
        seen.result = stop.value
    return seen


def _look(seen: Watched, phases: Generator[Effect, Any, TurnResult], effect: Effect) -> None:
    turn = _turn_of(phases)
    match effect:
        case Act():
            seen.acted.append(effect.context.key)
        case Speak(request) if isinstance(request.task, SpeakTask):
            seen.speaks.append((dict(turn.session.data), request.task))
            if request.task.flow is not None:
                asking = [run.step_id for run in turn.session.runs if run.status == "asking"]
                seen.speakers.append((asking, request.task.step_id))
        case _:
            pass


def _turn_of(phases: Generator[Effect, Any, TurnResult]) -> Turn:
    """The turn that a suspended generator, or one that it delegates to, works on."""
    inner: Any = phases
    while "turn" not in inner.gi_frame.f_locals:
        inner = inner.gi_yieldfrom
    found: Turn = inner.gi_frame.f_locals["turn"]
    return found


async def _perform(agent: Agent[Any], phases: Generator[Effect, Any, TurnResult], effect: Effect) -> tuple[Any, Any]:
    """How the turn goes on, and with what: an answer sent, or a failure thrown."""
    try:
        return phases.send, await _answer(agent, effect)
    except Exception as error:  # noqa: BLE001  the turn decides what a failure means
        return phases.throw, error if isinstance(effect, Act) else classify(error, agent.model.name)


async def _answer(agent: Agent[Any], effect: Effect) -> Any:
    match effect:
        case Act():
            raw = effect.action.run(effect.context, effect.parameters)
            return await raw if inspect.isawaitable(raw) else raw
        case UseTools():
            return await run_tools(effect)
        case _:
            return await agent.model.complete(effect.request)
