"""Random conversations with random agents of the 3.x form: what always holds, whatever is said and done."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.random_agents import DeliberateError, random_agent
from falai import FlowConfigurationError, ProviderError, Session
from falai.classic import AgentResponse, ClassicAgent, DataValidationError, ResponseGenerationError
from strategies import Dice
from turn.random_model import RandomModel as CoreModel

ALLOWED_CODES = {"directive-chain", "auto-step-limit", "unknown-flow", "unknown-step"}


class RandomModel(CoreModel):
    """It knows of fields with types that the core does not have."""

    def _value(self, field: Any) -> Any:
        return [self.dice.pick(["x", 5])] if field.type == "array" else super()._value(field)


async def _turn(agent: ClassicAgent, text: str, dice: Dice) -> AgentResponse | Any:
    """One message, answered in one of the two ways; a stream's error is raised."""
    given: dict[str, Any] = {"session_id": "x", "allowed_flows": dice.pick([None, None, ["a"], ["A"]])}
    given["context_override"] = dice.pick([None, {"tier": 9}])
    if not dice.chance(0.3):
        return await agent.respond(text, **given)
    chunks = [chunk async for chunk in agent.respond_stream(text, **given)]
    last = chunks[-1]
    assert [chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    if last.error is not None:
        raise last.error.cause
    whole = "".join(chunk.delta for chunk in chunks)
    assert whole == last.accumulated or last.delta == ""
    return last


def _check_answer(response: Any) -> None:
    """What every response keeps to."""
    assert len(response.messages) <= 1, "each message leads to at most one utterance of a compiled flow (D-90)"
    assert response.message == "\n\n".join(message.text for message in response.messages)
    if response.stopped_reason in ("halt", "aborted"):
        assert response.message == ""
    assert all(not step.id.endswith(("!", ">", "?")) for step in response.executed_steps)


def _check_session(agent: ClassicAgent, session: Session) -> None:
    """What every session keeps to."""
    assert Session.from_json(session.to_json()) == session
    assert [run.status for run in session.runs].count("asking") <= 1
    assert all(run.status in ("asking", "suspended") for run in session.runs)
    for run in session.runs:
        plan = agent.core.plan.flows[run.flow_id]
        assert run.step_id is not None
        assert plan.step(run.step_id) is not None
    assert not any(line.code in ("step-loop", "premise-changed") for run in session.runs for line in run.outcomes)


async def _talk(seed: int) -> None:
    dice, model = Dice(seed), RandomModel()
    model.begin(dice)
    agent = random_agent(dice, model, session_id="x")
    for place in range(dice.number(2, 6)):
        if dice.chance(0.1):
            await agent.dispatch(dice.pick(["a", {"reset": True}, {"goToStep": "s0"}, {"reply": "Now."}]))
        before = await agent.store.load("x")
        try:
            response = await _turn(agent, f"message {place}", dice)
        except ProviderError:
            pass
        except FlowConfigurationError as error:
            assert error.code in ALLOWED_CODES  # noqa: PT017  other errors of this class are mistakes of the face
        except DataValidationError as error:
            assert {problem.field for problem in error.errors} <= {"age"}  # noqa: PT017
        except ResponseGenerationError as error:
            assert isinstance(error.cause, DeliberateError)  # noqa: PT017
        except DeliberateError:
            pass
        else:
            _check_answer(response)
            _check_session(agent, response.session)
            assert await agent.store.load("x") == response.session
            continue
        assert await agent.store.load("x") == before, "a turn that fails has no effect (D-30)"


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_no_conversation_breaks_a_promise(seed: int) -> None:
    """No unforeseen error, at most one utterance a message, sessions that are JSON, no effect of a failed turn."""
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(_talk(seed))
    finally:
        logging.disable(logging.NOTSET)


async def _talk_overheard(seed: int) -> None:
    dice, model, heard = Dice(seed), RandomModel(), list[tuple[str, str]]()
    model.begin(dice)
    agent, entered = random_agent(dice, model, heard, session_id="x"), set[str]()
    for place in range(7):
        heard.clear()
        try:
            session = (await agent.respond(f"message {place}")).session
        except (ProviderError, FlowConfigurationError, DataValidationError, ResponseGenerationError):
            continue  # without effect, whatever was heard of it
        for kind, name in heard:
            assert (name in entered) == (kind == "onExit"), f"{kind} of {name} at message {place}"
            entered ^= {name}
        standing = {f"{run.flow_id}.{(run.step_id or '').rstrip('!')}" for run in session.runs}
        assert entered <= standing | {run.flow_id for run in session.runs}


@pytest.mark.property
@given(st.integers(0, 2**32))
def test_what_is_left_was_entered_and_is_entered_once(seed: int) -> None:
    """`onEnter` and `onExit` come in pairs over all messages, and what is open is where a run stands (D-80, D-95)."""
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(_talk_overheard(seed))
    finally:
        logging.disable(logging.NOTSET)
