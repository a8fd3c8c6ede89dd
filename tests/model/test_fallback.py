"""Several models behind one: order, what falls over, cool-downs, probes (M-21)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from falai import Agent, Flow, FlowConfigurationError, Message, OnAnyMessage, OnMessage, Prompt
from falai.agent import Delta, Done
from falai.errors import ProviderError
from falai.model import (
    FallbackModel,
    LexicalModel,
    ModelChunk,
    ModelReply,
    ModelRequest,
    PydanticAIModel,
    resolve_model,
)
from falai.model.fallback import CooledDown
from falai.model.tasks import SummaryTask
from falai.session.dates import from_ms, to_ms
from falai.testing import Clock, Pieces, ScriptedModel
from model import loopback

REQUEST = ModelRequest(
    schema_name="summary", prompt="", system=None, history=(), context=None, schema={}, task=SummaryTask(items=())
)
FLOWS = [Flow("talk", on=[OnAnyMessage()], steps=[Prompt("help", "Ask what they need.")])]
FALLS = {
    "rate": 60_000, "timeout": 30_000, "network": 30_000, "overload": 30_000,
    "quota": 3_600_000, "auth": 3_600_000, "entitlement": 3_600_000, "model": 3_600_000,
}  # fmt: skip
STAYS = ["context", "content", "invalid", "unknown", "aborted"]


def _model(name: str, *replies: Any) -> ScriptedModel:
    model = ScriptedModel({"summary": replies, "speak": replies})
    model.name = name
    return model


def _down(kind: Any = "overload", **stated: Any) -> ProviderError:
    return ProviderError("down", kind=kind, **stated)


def _asked(*models: ScriptedModel) -> list[int]:
    return [len(model.calls) for model in models]


async def _text(model: FallbackModel) -> str:
    return (await model.complete(REQUEST)).message


async def _pieces(model: FallbackModel) -> list[str]:
    return [chunk.delta async for chunk in model.stream(REQUEST)]


async def test_the_first_that_works_answers() -> None:
    """Models are tried in order; while the first works no other is asked (M-21.2)."""
    a, b = _model("a", "one", "two"), _model("b")
    model = FallbackModel([a, b])
    assert [await _text(model), await _text(model)] == ["one", "two"]
    assert _asked(a, b) == [2, 0]


@pytest.mark.parametrize("kind", FALLS)
async def test_what_falls_over(kind: str) -> None:
    """These kinds cool the model down for their time, and the next is asked, in later calls too (M-21.3)."""
    clock = Clock()
    a, b = _model("a", _down(kind), "back"), _model("b", "b1", "b2")
    model = FallbackModel([a, b], clock=clock)
    assert await _text(model) == "b1"
    assert await _text(model) == "b2"
    assert [status.kind for status in model.status()] == [kind, None]
    clock.advance(FALLS[kind] - 1)
    b.feed("summary", "b3")
    assert await _text(model) == "b3"
    clock.advance(1)
    assert await _text(model) == "back"
    assert [status.kind for status in model.status()] == [None, None]


@pytest.mark.parametrize("kind", STAYS)
async def test_what_is_raised_at_once(kind: Any) -> None:
    """No other model can help with these, and none is asked (M-21.3)."""
    error = _down(kind)
    a, b = _model("a", error, "again"), _model("b")
    model = FallbackModel([a, b])
    with pytest.raises(ProviderError) as raised:
        await _text(model)
    assert raised.value is error
    assert await _text(model) == "again", "it is not cooled down either"
    assert _asked(b) == [0]


async def test_what_a_model_raises_is_classified() -> None:
    """An exception of any kind is looked at by the one table (M-19.4)."""
    assert await _text(FallbackModel([_model("a", ConnectionResetError("reset")), _model("b", "b")])) == "b"
    with pytest.raises(ProviderError) as raised:
        await _text(FallbackModel([_model("a", ZeroDivisionError("what")), _model("b", "b")]))
    assert (raised.value.kind, raised.value.provider) == ("unknown", "a")


async def test_cancellation_never_falls_over() -> None:
    """The caller went away: no other model is asked, and the one that was is not cooled down (M-21.3)."""
    a, b = _model("a", asyncio.CancelledError()), _model("b")
    model = FallbackModel([a, b])
    with pytest.raises(asyncio.CancelledError):
        await _text(model)
    assert model.status()[0].next_attempt is None
    assert _asked(b) == [0]


async def test_cooldowns_can_be_overridden_by_kind() -> None:
    """A number switches fallback on for a kind, `None` off (M-21.3)."""
    clock = Clock()
    a, b = _model("a", _down("invalid"), "a"), _model("b", "b")
    model = FallbackModel([a, b], cooldowns={"invalid": 5_000}, clock=clock)
    assert await _text(model) == "b"
    clock.advance(5_000)
    assert await _text(model) == "a"
    with pytest.raises(ProviderError):
        await _text(FallbackModel([_model("a", _down("rate")), b], cooldowns={"rate": None}))


@pytest.mark.parametrize(
    "cooldowns",
    [{"rate": -1}, {"rate": float("inf")}, {"rate": float("nan")}, {"rate": True}, {"rate": "1m"}, {"speed": 1},
     {"aborted": 1}, {"aborted": None}],
)  # fmt: skip
def test_a_cooldown_that_is_none_is_refused(cooldowns: Any) -> None:
    """The message names the kind (M-21.3)."""
    with pytest.raises(ValueError, match=r"^\[FallbackModel\] cooldowns .*" + next(iter(cooldowns))):
        FallbackModel(["lexical"], cooldowns=cooldowns)


@pytest.mark.parametrize("models", [[], ["lexical", "lexical"], [a := LexicalModel(), a]])
def test_no_models_and_one_twice_are_refused(models: Any) -> None:
    """M-21.1."""
    with pytest.raises(ValueError, match=r"^\[FallbackModel\] models"):
        FallbackModel(models)


@pytest.mark.parametrize("models", ["lexical", None, LexicalModel(), {"lexical"}])
def test_models_are_a_list(models: Any) -> None:
    """A lone name is no list of letters."""
    with pytest.raises(TypeError, match=r"^\[FallbackModel\] models"):
        FallbackModel(models)


def test_its_name_says_the_order() -> None:
    """M-21.1."""
    assert FallbackModel([_model("a"), _model("b")]).name == "fallback(a->b)"


@pytest.mark.parametrize(
    ("stated", "wait"),
    [
        ({"retry_after_ms": 7_000}, 7_000),
        ({"retry_after_ms": 90_000}, 90_000),
        ({"reset_after": 8_000}, 8_000),
        ({"retry_after_ms": 7_000, "reset_after": 9_000}, 9_000),
        ({"retry_after_ms": 9_000, "reset_after": 7_000}, 9_000),
        ({"retry_after_ms": 10**18}, None),
    ],
)
async def test_a_stated_time_decides(stated: dict[str, int], wait: int | None) -> None:
    """The later of the two that the provider states, longer or shorter than the cool-down (M-21.4)."""
    clock = Clock()
    if (after := stated.pop("reset_after", None)) is not None:
        stated["reset_at_ms"] = to_ms(clock()) + after
    model = FallbackModel([_model("a", _down("rate", **stated)), _model("b", "b")], clock=clock)
    await _text(model)
    until = model.status()[0].next_attempt
    assert until is not None
    assert until == (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) if wait is None else clock.advance(wait))


class _Gate:
    """A model whose calls wait until a test lets each of them go."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: list[asyncio.Future[ModelReply]] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        here = asyncio.get_running_loop().create_future()
        self.waiting.append(here)
        return await here

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)

    async def arrived(self, number: int) -> None:
        while len(self.waiting) < number:
            await asyncio.sleep(0)


async def _cooled(clock: Clock, *later: Any) -> tuple[FallbackModel, _Gate, ScriptedModel]:
    """A model that was down and may be asked again now."""
    a, b = _Gate("a"), _model("b", "b0", *later)
    model = FallbackModel([a, b], clock=clock)
    first = asyncio.create_task(_text(model))
    await a.arrived(1)
    a.waiting.pop().set_exception(_down())
    assert await first == "b0"
    clock.advance(30_000)
    return model, a, b


async def test_one_call_probes_and_the_others_pass_by() -> None:
    """After the cool-down the first call asks the model; until it knows, all others skip it (M-21.5)."""
    model, a, b = await _cooled(Clock(), "b1", "b2")
    probe = asyncio.create_task(_text(model))
    await a.arrived(1)
    assert [await _text(model), await _text(model)] == ["b1", "b2"]
    a.waiting.pop().set_result(ModelReply(message="works"))
    assert await probe == "works"
    assert model.status()[0].next_attempt is None
    both = [asyncio.create_task(_text(model)) for _ in range(2)]
    await a.arrived(2)
    for call in a.waiting:
        call.set_result(ModelReply(message="a"))
    assert await asyncio.gather(*both) == ["a", "a"]
    assert _asked(b) == [3]


async def test_a_probe_that_fails_cools_down_again() -> None:
    """From the moment of its failure."""
    clock = Clock()
    model, a, _ = await _cooled(clock, "b1", "b2")
    probe = asyncio.create_task(_text(model))
    await a.arrived(1)
    clock.advance(1_000)
    a.waiting.pop().set_exception(_down())
    assert await probe == "b1"
    assert await _text(model) == "b2"
    assert model.status()[0].next_attempt == clock.advance(30_000)


async def test_a_probe_that_is_cancelled_makes_room_for_the_next() -> None:
    """Nothing was learnt: the next call probes."""
    model, a, _ = await _cooled(Clock())
    probe = asyncio.create_task(_text(model))
    await a.arrived(1)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    a.waiting.clear()
    again = asyncio.create_task(_text(model))
    await a.arrived(1)
    a.waiting.pop().set_result(ModelReply(message="works"))
    assert await again == "works"


async def test_a_call_that_began_before_the_failure_clears_nothing() -> None:
    """Only the probe may: an older call's success is old news (M-21.5)."""
    a, b = _Gate("a"), _model("b", "b1")
    model = FallbackModel([a, b], clock=Clock())
    older, newer = asyncio.create_task(_text(model)), asyncio.create_task(_text(model))
    await a.arrived(2)
    a.waiting[1].set_exception(_down())
    assert await newer == "b1"
    a.waiting[0].set_result(ModelReply(message="late"))
    assert await older == "late"
    assert model.status()[0].kind == "overload"


async def test_a_later_failure_never_shortens_a_cooldown() -> None:
    """M-21.4."""
    clock = Clock()
    a, b = _Gate("a"), _model("b", "b1", "b2")
    model = FallbackModel([a, b], clock=clock)
    calls = [asyncio.create_task(_text(model)) for _ in range(2)]
    await a.arrived(2)
    a.waiting[0].set_exception(_down("quota"))
    a.waiting[1].set_exception(_down("network"))
    await asyncio.gather(*calls)
    assert model.status()[0].next_attempt == clock.advance("1h")


async def test_all_failed_raises_the_last() -> None:
    """M-21.7."""
    last = _down("quota")
    with pytest.raises(ProviderError) as raised:
        await _text(FallbackModel([_model("a", _down()), _model("b", last)]))
    assert raised.value is last


async def test_all_waiting_says_until_when() -> None:
    """An error of kind `rate` from `fallback`, with the earliest next attempt (M-21.7)."""
    clock = Clock()
    a, b = _model("a", _down("quota")), _model("b", _down("rate"))
    model = FallbackModel([a, b], clock=clock)
    with pytest.raises(ProviderError):
        await _text(model)
    clock.advance(10_000)
    with pytest.raises(ProviderError) as raised:
        await _text(model)
    error = raised.value
    assert (error.provider, error.kind, error.retry_after_ms) == ("fallback", "rate", 50_000)
    assert error.reset_at_ms == to_ms(clock.advance(50_000))
    assert _asked(a, b) == [1, 1]


async def test_all_waiting_for_a_probe_may_come_back_at_once() -> None:
    """The next attempt is never in the past."""
    clock = Clock()
    a = _Gate("a")
    model = FallbackModel([a], clock=clock)
    first = asyncio.create_task(_text(model))
    await a.arrived(1)
    a.waiting.pop().set_exception(_down())
    with pytest.raises(ProviderError):
        await first
    clock.advance(31_000)
    probe = asyncio.create_task(_text(model))
    await a.arrived(1)
    with pytest.raises(ProviderError) as raised:
        await _text(model)
    assert (raised.value.retry_after_ms, raised.value.reset_at_ms) == (0, to_ms(clock()))
    probe.cancel()


async def test_the_model_that_answered_signs_the_reply() -> None:
    """With what the provider calls it, else with its name."""
    mute = ModelReply(message="hi")
    assert (await FallbackModel([_model("a", mute)]).complete(REQUEST)).model == "a"
    named = ModelReply(message="hi", model="a-2026")
    assert (await FallbackModel([_model("a", named)]).complete(REQUEST)).model == "a-2026"
    chunks = [chunk async for chunk in FallbackModel([_model("a", mute)]).stream(REQUEST)]
    assert chunks[-1].reply is not None
    assert chunks[-1].reply.model == "a"


async def test_status_and_reset() -> None:
    """What is known of a model can be looked at and forgotten (M-21.8)."""
    clock = Clock()
    a, b = _model("a", _down(), "a1", _down(), "a2"), _model("b", "b1", "b2")
    model = FallbackModel([a, b], clock=clock)
    await _text(model)
    first, second = model.status()
    assert (first.model, first.kind, first.next_attempt) == (a, "overload", from_ms(to_ms(clock()) + 30_000))
    assert (second.model, second.kind, second.next_attempt) == (b, None, None)
    model.reset("b")
    assert model.status()[0].kind == "overload"
    model.reset("a")
    assert await _text(model) == "a1"
    await _text(model)
    model.reset(a)
    assert await _text(model) == "a2"
    model.reset()
    with pytest.raises(ValueError, match="reset"):
        model.reset("c")


async def test_a_listener_is_told_and_a_warning_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Model, error with kind and window, and the next attempt (M-21.8); a listener that breaks costs nothing."""
    told: list[CooledDown] = []

    def listen(cooled: CooledDown) -> None:
        told.append(cooled)
        raise RuntimeError("broken")

    clock = Clock()
    error = _down("quota", window="weekly", reset_at_ms=to_ms(clock()) + 1_000)
    a = _model("a", error)
    with caplog.at_level(logging.WARNING, logger="falai"):
        assert await _text(FallbackModel([a, _model("b", "b")], on_cooldown=listen, clock=clock)) == "b"
    assert told == [CooledDown(a, error, clock.advance(1_000))]
    assert [vars(record)["action"] for record in caplog.records] == ["model.cooled_down", "model.listener_raised"]


# --- streams ------------------------------------------------------------------------------------


async def test_a_stream_that_fails_before_its_first_piece_falls_over() -> None:
    """Nobody has seen anything of it."""
    model = FallbackModel([_model("a", _down()), _model("b", Pieces(["He", "llo"]))])
    assert await _pieces(model) == ["He", "llo"]
    assert model.status()[0].kind == "overload"


class _Breaks(ScriptedModel):
    """A stream that gives a piece and then fails, or ends without its reply."""

    name = "breaks"
    failure: ProviderError | None = None
    first: tuple[str, ...] = ("He",)
    closed = False

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        try:
            for piece in self.first:
                yield ModelChunk(piece, piece)
            if self.failure is not None:
                raise self.failure
        finally:
            self.closed = True


@pytest.mark.parametrize("failure", [_down("network"), None])
async def test_a_stream_that_breaks_later_is_raised(failure: ProviderError | None) -> None:
    """The answer is not begun again elsewhere; the model is cooled down (M-21.6). A stream without its
    reply was cut."""
    a, b = _Breaks(), _model("b", "b1")
    a.failure = failure
    model = FallbackModel([a, b])
    stream = model.stream(REQUEST)
    assert (await anext(stream)).delta == "He"
    with pytest.raises(ProviderError) as raised:
        await anext(stream)
    assert raised.value.kind == ("network" if failure else "overload")
    assert _asked(b) == [0]
    assert await _pieces(model) == ["b1"]


async def test_an_empty_stream_falls_over() -> None:
    """It was cut before anything came."""
    a = _Breaks()
    a.first = ()
    assert await _pieces(FallbackModel([a, _model("b", "b1")])) == ["b1"]


async def test_a_consumer_that_stops_early_stops_the_model() -> None:
    """T-20.6; nothing was learnt of the model."""
    a = _Breaks()
    model = FallbackModel([a])
    async with aclosing(model.stream(REQUEST)) as stream:
        assert (await anext(stream)).delta == "He"
    assert a.closed
    assert model.status()[0].kind is None


async def test_a_probe_by_a_stream_clears_with_its_reply() -> None:
    """Also when the consumer stops there."""
    clock = Clock()
    a, b = _model("a", _down(), "a1"), _model("b", "b1")
    model = FallbackModel([a, b], clock=clock)
    await _pieces(model)
    clock.advance(30_000)
    async for chunk in model.stream(REQUEST):
        if chunk.reply is not None:
            break
    assert model.status()[0].kind is None


# --- in an agent --------------------------------------------------------------------------------


async def test_a_list_of_models_is_a_fallback() -> None:
    """`Agent(model=[...])`; the result says which model answered each call."""
    a, b = _model("a", _down()), _model("b", ModelReply(message='{"message": "Hi"}'))
    agent = Agent(name="Ana", model=[a, b], flows=FLOWS)
    result = await agent.turn("s1", Message("hello", id="m1"))
    assert [message.text for message in result.messages] == ["Hi"]
    assert [(call.name, call.model) for call in result.calls] == [("speak", "b")]
    with pytest.raises(FlowConfigurationError, match="twice"):
        Agent(name="Ana", model=[a, a])
    with pytest.raises(ValueError, match="base URL"):
        resolve_model([a, b], base_url="http://127.0.0.1:1/v1")


async def test_a_garbled_body_falls_over_and_the_result_says_who_answered() -> None:
    """What one server garbles, and what it does not answer at all, another answers; each call names its model."""
    with (
        loopback.chat_server([loopback.raw(b"<html>busy</html>"), loopback.cuts()]) as broken,
        loopback.chat_server([loopback.says('{"flows": {"talk": 90}}'), loopback.says('{"message": "Hi"}')]) as works,
    ):
        first, second = (
            PydanticAIModel("openai:any", base_url=server.base_url, retries=0) for server in (broken, works)
        )
        model = FallbackModel([first, second], cooldowns={"overload": 0, "network": 0})
        flows = [Flow("talk", on=[OnMessage("wants to talk")], steps=[Prompt("help", "Ask what they need.")])]
        agent = Agent(name="Ana", model=model, flows=flows)
        result = await agent.turn("s1", Message("hello", id="m1"))
        await model.aclose()
    assert [message.text for message in result.messages] == ["Hi"]
    assert [(call.name, call.model) for call in result.calls] == [("understand", "loopback-1"), ("speak", "loopback-1")]
    assert [status.kind for status in model.status()] == ["network", None]
    assert [len(broken.requests), len(works.requests)] == [2, 2]


async def test_the_lexical_model_stands_in_when_every_provider_is_down() -> None:
    """The last in the list needs no network; the conversation goes on in words of its own."""
    agent = Agent(name="Ana", model=[_model("a", _down("network")), "lexical"], flows=FLOWS)
    items = [item async for item in agent.turn_stream("s1", Message("hello", id="m1"))]
    *words, done = items
    assert isinstance(done, Done)
    assert "".join(word.text for word in words if isinstance(word, Delta)) == done.result.messages[0].text
    assert done.result.calls[-1].model == "lexical"


async def test_a_turn_that_finds_all_waiting_comes_back_then() -> None:
    """The deferred step wakes when the first model may be asked again (M-10.6)."""
    clock = Clock()
    model = FallbackModel([_model("a", _down("quota"))], clock=clock)
    agent = Agent(name="Ana", model=model, flows=FLOWS, clock=clock)
    first = await agent.turn("s1", Message("hello", id="m1"))
    assert first.outcomes[-1].code == "provider-quota"
    second = await agent.turn("s2", Message("hello", id="m1"))
    assert second.outcomes[-1].code == "provider-unavailable"
    assert [wake.at for wake in second.schedule] == [clock.advance("1h")]


async def test_closing_closes_what_can_be_closed() -> None:
    """Models without connections are passed over."""
    closed: list[str] = []

    class Closable(ScriptedModel):
        async def aclose(self) -> None:
            closed.append("one")

    await FallbackModel([LexicalModel(), Closable()]).aclose()
    assert closed == ["one"]
