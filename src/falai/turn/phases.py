"""One turn from its input to its result: the eight phases in order (T-3).

    Load        the clock, a copy of the session               state.Turn
    Ingest      the input is recorded; parked runs go on       ingest
    Understand  the customer's message is judged               understand
    Decide      the judgement is applied                       decide
    Run         every run that can move is moved               run, steps, action, follow, advance
    Speak       one speaker phrases the reply                  speak
    Settle      the reply is applied; silences are armed       settle, silence
    Return      the result                                     here

The order is the same for every kind of input; an ignored one goes from Ingest to Return.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from datetime import datetime
from typing import Any

from falai.flow.plan import AgentPlan
from falai.session.codec import session_to_wire
from falai.session.inputs import Message
from falai.session.jsontext import json_equal
from falai.turn.decide import decide, decide_heard
from falai.turn.effects import Effect, Reached
from falai.turn.given import Given
from falai.turn.ingest import ingest
from falai.turn.result import ModelCall, TurnResult
from falai.turn.run import run_phase
from falai.turn.settle import settle
from falai.turn.speak import speak_phase
from falai.turn.state import Turn
from falai.turn.understand import understand

__all__ = ["turn_phases"]


def turn_phases(
    plan: AgentPlan, given: Given, clock: Callable[[], datetime], calls: Sequence[ModelCall] = ()
) -> Generator[Effect, Any, TurnResult]:
    """One turn as a generator: yields what it needs, returns the result.

    `calls` is what the driver notes of the model calls that it makes; the result passes it on.

    Equal input, session, clock and answers give an equal result (T-21.1). The session that was
    given is never changed (B-3.3).
    """
    turn = Turn(plan, given, clock)
    ingest(turn)
    if not turn.ignored:
        if isinstance(turn.input, Message):
            if plan.listener is None:
                decide(turn, (yield from understand(turn, turn.input)))
            else:
                yield from _judge_heard(turn, turn.input)
        if not turn.halted:
            yield from run_phase(turn)
        reply = yield from speak_phase(turn)
        yield from settle(turn, reply)
    return _result(turn, tuple(calls))


def _judge_heard(turn: Turn, message: Message) -> Generator[Effect, Any, None]:
    yield Reached("loaded", turn)
    offers = yield from understand(turn, message)
    yield from decide_heard(turn, offers)


def _result(turn: Turn, calls: tuple[ModelCall, ...]) -> TurnResult:
    return TurnResult(
        session=turn.session,
        changed=not turn.ignored and _changed(turn),
        messages=tuple(turn.messages),
        schedule=tuple(turn.schedule),
        outcomes=tuple(turn.outcomes),
        started=tuple(turn.started),
        ended=tuple(turn.ended),
        skipped=tuple(turn.skipped),
        llm_calls=turn.llm_calls,
        usage=turn.usage,
        calls=calls,
        changes=tuple(turn.changes),
    )


def _changed(turn: Turn) -> bool:
    """Whether there is anything to save, send or enqueue (T-18.2)."""
    before = turn.given.session
    if before is None or turn.messages or turn.schedule or turn.outcomes or turn.skipped:
        return True
    return not json_equal(session_to_wire(before), session_to_wire(turn.session))
