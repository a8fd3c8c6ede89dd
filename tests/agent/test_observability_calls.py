"""What the model calls of a turn have cost: each call says it, and they add up, whatever happens."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.seen import Seen, desk, play, reply, script
from falai import Agent, Flow, Message, OnAnyMessage, Prompt, ProviderError, TurnResult
from falai.model import FallbackModel, ModelReply, PydanticAIModel, ToolCall, Usage
from falai.testing import ScriptedModel
from model.loopback import chat_server, fails, raw, refuses, says

both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
TALK = Flow("talk", on=[OnAnyMessage()], steps=[Prompt("help", "Ask what they need.")])


def _paid(kind: Any = "content") -> ProviderError:
    """A failure that the provider counts all the same."""
    answer = ModelReply(usage=Usage(7, 1, 0), model="gpt-5-mini-2026", cost=0.25)
    return ProviderError("refused", kind=kind, answer=answer)


def _spent(result: TurnResult) -> Usage | None:
    usages = [call.usage for call in result.calls if call.error is None and call.usage is not None]
    return sum(usages, Usage()) if usages else None


# --- any turn ---------------------------------------------------------------------------------

tokens = st.integers(0, 500)
ROUNDS = st.one_of(
    tokens.map(lambda n: reply(None, ToolCall("slots", {"day": "x"}), tokens=n)),
    tokens.map(lambda n: reply({"message": "sesame", "day": None}, tokens=n)),
    st.just(ModelReply(message="no counts")),
    st.just(reply({"message": " "}, tokens=3)),
    st.just(_paid()),
    st.just(ConnectionResetError("gone")),
    st.just(ProviderError("later", kind="rate")),
)


@pytest.mark.property
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, *settings.default.suppress_health_check])
@given(rounds=st.lists(ROUNDS, min_size=1, max_size=8), streamed=st.booleans(), summary=st.booleans())
def test_calls_add_up_to_the_turn(seen: Seen, rounds: list[Any], streamed: bool, summary: bool) -> None:
    """`llm_calls` counts them, `usage` is the sum of those that returned (M-1.2, M-16.3), spans say the same."""
    seen.clear()
    model = script(speak=[*rounds, *[reply({"message": "the end"}, tokens=1)] * 6], summary=[reply({}, tokens=9)])
    past = [{"role": "user", "content": "x" * 400} for _ in range(4)]
    agent = desk(model, compaction={"maxTokens": 20, "preserveRecentCount": 2} if summary else None)
    begun = perf_counter()
    result = asyncio.run(_turn(agent, past, streamed=streamed))
    elapsed = (perf_counter() - begun) * 1000
    assert result.llm_calls == len(result.calls) == len(model.calls)
    assert [call.name for call in result.calls] == [call.schema_name for call in model.calls]
    assert result.usage == _spent(result)
    assert all(call.duration_ms >= 0 for call in result.calls)
    assert sum(call.duration_ms for call in result.calls) <= elapsed
    assert all((call.reply is None) == (call.error is not None) for call in result.calls)
    _spans_agree(seen, result)


async def _turn(agent: Agent[Any], past: list[dict[str, Any]], *, streamed: bool) -> TurnResult:
    if not streamed:
        return await agent.turn("s1", Message("book", id="m1"), history=past)
    items = [item async for item in agent.turn_stream("s1", Message("book", id="m1"), history=past)]
    return items[-1].result


def _spans_agree(seen: Seen, result: TurnResult) -> None:
    """Each call's span has what the call says, and the turn's has the sums, failed calls included."""
    turn = seen.attributes("invoke_workflow Ana")
    for span, call in zip(seen.calls(), result.calls, strict=True):
        assert span.get("gen_ai.usage.input_tokens") == (call.usage and call.usage.prompt_tokens)
        assert span.get("gen_ai.usage.output_tokens") == (call.usage and call.usage.completion_tokens)
        assert span.get("gen_ai.response.model") == call.model
        assert span.get("falai.cost") == call.cost
        assert ("error.type" in span) == (call.error is not None)
    billed = [call.usage.prompt_tokens for call in result.calls if call.usage]
    assert turn.get("gen_ai.usage.input_tokens") == (sum(billed) if billed else None)
    costs = [call.cost for call in result.calls if call.cost is not None]
    assert turn.get("falai.cost") == (pytest.approx(sum(costs)) if costs else None)
    assert turn["falai.llm_calls"] == len(result.calls)


@both
async def test_a_failed_call_says_what_it_cost(streamed: bool) -> None:
    """A provider may count a call that brought no reply: the call has it, the turn's usage does not (M-16.3)."""
    result = await play(desk(script(speak=[_paid()])), streamed=streamed)
    understand, failed = result.calls
    assert (failed.usage, failed.cost, failed.model) == (Usage(7, 1, 0), 0.25, "gpt-5-mini-2026")
    assert (failed.reply, failed.error) == (None, "refused")
    assert result.usage == understand.usage


async def test_what_an_understanding_call_cost_that_failed_is_on_the_span(seen: Seen) -> None:
    """A turn that raises has no result to say it."""
    with pytest.raises(ProviderError):
        await play(desk(script(understand=[_paid()])))
    turn = seen.attributes("invoke_workflow Ana")
    assert (turn["gen_ai.usage.input_tokens"], turn["falai.cost"], turn["falai.llm_calls"]) == (7, 0.25, 1)


async def test_the_cause_of_a_failure_is_kept() -> None:
    """A port's own `ProviderError` comes out as it is, with what it was raised from."""

    class Port:
        name = "port"

        async def complete(self, request: Any) -> Any:
            raise ProviderError("down", kind="overload") from OSError("the cable")

        stream = complete

    with pytest.raises(ProviderError) as caught:
        await desk(Port()).turn("s1", Message("book", id="m1"))
    assert isinstance(caught.value.__cause__, OSError)


# --- over the wire ----------------------------------------------------------------------------


@pytest.mark.servers
@both
async def test_a_refusal_over_http_is_counted(streamed: bool) -> None:
    """The provider's counts of a reply that it refused are on the call."""
    with chat_server([refuses()]) as server:
        model = PydanticAIModel("openai:gpt-5-mini", base_url=server.base_url, retries=0)
        result = await play(Agent(name="Ana", model=model, flows=[TALK]), streamed=streamed)
        await model.aclose()
    [call] = result.calls
    assert (call.reply, call.usage, result.usage) == (None, Usage(100, 9, 80), None)
    assert call.error is not None


@pytest.mark.servers
@both
async def test_which_model_answered_is_on_the_call(streamed: bool) -> None:
    """Behind a fallback too: the name that the provider gave, else the model's own."""
    with chat_server([fails(503, "busy"), says('{"message": "Hi"}')]) as server:
        models = [PydanticAIModel(f"openai:{name}", base_url=server.base_url, retries=0) for name in ("a", "b")]
        result = await play(Agent(name="Ana", model=FallbackModel(models), flows=[TALK]), streamed=streamed)
        for model in models:
            await model.aclose()
    [call] = result.calls
    assert (call.model, call.usage, call.error) == ("loopback-1", Usage(100, 9, 80), None)


@both
async def test_a_fallback_to_a_model_without_names(streamed: bool) -> None:
    """A reply that does not say who gave it has the model's own name."""
    first = ScriptedModel({"speak": [ProviderError("busy", kind="overload")]})
    second = ScriptedModel({"speak": [ModelReply(message="Hi")]})
    second.name = "second"
    result = await play(Agent(name="Ana", model=[first, second], flows=[TALK]), streamed=streamed)
    assert [(call.model, call.error) for call in result.calls] == [("second", None)]


@pytest.mark.servers
async def test_a_garbled_body_has_no_counts() -> None:
    """Nothing is made up."""
    with chat_server([raw(b"<html>")]) as server:
        model = PydanticAIModel("openai:gpt-5-mini", base_url=server.base_url, retries=0)
        result = await play(Agent(name="Ana", model=model, flows=[TALK]))
        await model.aclose()
    [call] = result.calls
    assert (call.reply, call.usage, call.cost, call.model, result.usage) == (None, None, None, None, None)
