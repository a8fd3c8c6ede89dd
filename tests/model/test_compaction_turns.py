"""Compaction as a part of turns (T-4.1): once, before the first call, and only where there is one."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from falai import Agent, Collect, Event, Field, Flow, Message, OnEvent, OnMessage, Prompt, Start, Wait
from falai.agent import Done
from falai.errors import ProviderError
from falai.model.port import ModelReply, Usage
from falai.testing import Clock, ScriptedModel

LONG = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} " * 200} for n in range(6)]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "t", "arguments": {}}]}
LONG_RESULT = [CALL, {"role": "tool", "tool_call_id": "c", "name": "t", "content": "x" * 9000}, *LONG[:2]]
SMALL = {"maxTokens": 300, "preserveRecentCount": 2}
TALK = Flow("talk", on=[OnEvent("paid"), OnMessage("wants to talk")], steps=[Prompt("help", "Help.")])
LATER = Flow("later", steps=[Wait("pause", "1h"), Prompt("again", "Pick it up.")])
SUMMED = ModelReply(message="In short.", usage=Usage(100, 10, 1))
SAID = ModelReply(structured={"message": "Hi"}, usage=Usage(20, 2, 0))


def _agent(*summaries: Any, compaction: Any = SMALL, **options: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel({"summary": summaries, "understand": [{"flows": {"talk": 90}}], "speak": [SAID, SAID]})
    given: dict[str, Any] = {"flows": [TALK, LATER], "events": {"paid": {}}, **options}
    return Agent(name="Ana", model=model, compaction=compaction, clock=Clock(), **given), model


def _names(model: ScriptedModel) -> list[str]:
    return [call.schema_name for call in model.calls]


@pytest.mark.parametrize("what", [Event("paid", "e1"), Start("talk", "k1"), Message("hello", id="m1")])
async def test_every_kind_of_input_that_speaks(what: Any) -> None:
    """One summary, before the first call; its tokens and its call are counted."""
    agent, model = _agent(SUMMED)
    history = copy.deepcopy(LONG)
    result = await agent.turn("s1", what, history=history)
    understood = ["understand"] if isinstance(what, Message) else []
    assert _names(model) == ["summary", *understood, "speak"]
    assert result.llm_calls == len(result.calls) == 2 + len(understood)
    assert result.usage == Usage(120, 12, 1)
    heading, *window = model.calls[-1].request.history
    assert heading["content"].endswith("In short.")
    assert window == LONG[-2:]
    assert history == LONG, "what the host gave is never changed"
    assert result.session.history is None


async def test_a_wake_that_speaks() -> None:
    """The session's own history is read, too, and stays as it is."""
    agent, model = _agent(SUMMED)
    session = (await agent.turn("s1", Start("later", "k1"))).session
    session.history = copy.deepcopy(LONG)
    assert isinstance(agent.clock, Clock)
    agent.clock.advance("1h")
    (wake,) = agent.pending_wakes(session)
    result = await agent.turn("s1", {"wake": wake.key}, session=session)
    assert _names(model) == ["summary", "speak"]
    assert result.session.history == LONG


async def test_a_stream_comes_to_the_same() -> None:
    """The summary is not streamed (M-12.2)."""
    whole, _ = _agent(SUMMED)
    streamed, _ = _agent(SUMMED)
    expected = await whole.turn("s1", Message("hello", id="m1"), history=LONG)
    items = [item async for item in streamed.turn_stream("s1", Message("hello", id="m1"), history=LONG)]
    assert isinstance(items[-1], Done)
    assert items[-1].result == expected
    assert "short" not in str(items[:-1])


async def test_what_costs_no_call_counts_none() -> None:
    """A tool's result that is cut: both calls see it cut (M-15.3, layer 2)."""
    agent, model = _agent(compaction={"maxTokens": 2000, "preserveRecentCount": 2, "maxToolResultChars": 100})
    result = await agent.turn("s1", Message("hello", id="m1"), history=LONG_RESULT)
    assert _names(model) == ["understand", "speak"]
    assert result.llm_calls == 2
    for call in model.calls:
        shown = call.request.history[1]["content"]
        assert shown.startswith("x" * 100 + "\n\n[")
        assert len(shown) < 200
    assert model.calls[0].request.history is model.calls[1].request.history


async def test_a_fixed_question_alone_is_no_reason() -> None:
    """A turn that speaks without a model does not compact (T-4.1)."""
    ask = Flow("ask", steps=[Collect("who", ["name"], question="What is your name?")])
    agent, model = _agent(flows=[ask], fields={"name": Field(str)})
    result = await agent.turn("s1", Start("ask", "k1"), history=LONG)
    assert [message.text for message in result.messages] == ["What is your name?"]
    assert _names(model) == []
    assert result.llm_calls == 0


async def test_switched_off() -> None:
    """`enabled: false` leaves the history as it is (F-16.4)."""
    agent, model = _agent(compaction={**SMALL, "enabled": False})
    await agent.turn("s1", Start("talk", "k1"), history=LONG)
    assert list(model.calls[0].request.history) == LONG


async def test_a_summary_that_fails_costs_its_call_only() -> None:
    """The newest items that fit are kept, and the turn goes on; no second summary (M-15.6)."""
    agent, model = _agent(ProviderError("down", kind="overload"), compaction={**SMALL, "maxTokens": 1000})
    result = await agent.turn("s1", Message("hello", id="m1"), history=[*LONG, *LONG])
    assert _names(model) == ["summary", "understand", "speak"]
    assert result.llm_calls == 3
    kept = list(model.calls[-1].request.history)
    assert kept == [*LONG, *LONG][-len(kept) :]
    assert len(kept) > 2
    assert [message.text for message in result.messages] == ["Hi"]


async def test_a_turn_that_is_cancelled_meanwhile_is_cancelled() -> None:
    """Cancellation is no failed summary."""
    agent, _ = _agent(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await agent.turn("s1", Message("hello", id="m1"), history=LONG)


async def test_the_idle_speaker_reads_it_too() -> None:
    """No flow is at work."""
    agent, model = _agent(SUMMED, flows=[])
    result = await agent.turn("s1", Message("hello", id="m1"), history=LONG)
    assert _names(model) == ["summary", "speak"]
    assert result.llm_calls == 2
