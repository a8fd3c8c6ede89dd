"""How often a call is tried, how long it waits in between, and which model is asked next (M-20)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from falai.errors import ProviderError
from falai.model.pydantic_ai import Pace, PydanticAIModel
from model.formats import FORMATS, REQUEST, connected, streamed
from model.loopback import Answer, broken, cuts, fails, refuses, says

pytest.importorskip("pydantic_ai.models.openai")
pytestmark = pytest.mark.servers

CHAT = FORMATS[0]
HI = says('{"message": "Hi"}')
DOWN = fails(503, "down")
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)


class Waits(list[float]):
    """The waits that were slept, in seconds; no time passes. Chance gives the same number each time."""

    def __init__(self, chance: float = 0.5) -> None:
        self.pace = Pace(sleep=self._sleep, random=lambda: chance, clock=lambda: NOW)

    async def _sleep(self, seconds: float) -> None:
        self.append(seconds)


async def _asked(answers: Sequence[Answer], *, stream: bool = False, **options: Any) -> tuple[Any, list[str], Waits]:
    """What came of it, the models that were asked, and the waits."""
    waits = Waits()
    async with connected(CHAT, *answers, **{"retries": 3, "pace": waits.pace, **options}) as (model, server):
        try:
            found: Any = (await streamed(model))[1] if stream else await model.complete(REQUEST)
        except ProviderError as error:
            found = error
    assert server.left == [], "an answer was not asked for"
    return found, [body["model"] for body in server.requests], waits


both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both
async def test_three_attempts_follow_the_first(stream: bool) -> None:
    """By default; the pauses grow, at random up to 1, 2, 4 seconds (M-20.1, M-20.5)."""
    found, models, waits = await _asked([DOWN, cuts(), fails(429, "slow"), HI], stream=stream)
    assert found.structured == {"message": "Hi"}
    assert waits == [0.5, 1.0, 2.0]
    assert len(models) == 4


@both
async def test_the_last_failure_is_raised(stream: bool) -> None:
    """When the attempts are spent."""
    found, _, waits = await _asked([DOWN, DOWN, DOWN, fails(500, "the last")], stream=stream)
    assert (found.kind, found.status) == ("overload", 500)
    assert len(waits) == 3


async def test_pauses_end_at_half_a_minute() -> None:
    """However often it is tried."""
    _, _, waits = await _asked([*[DOWN] * 8, HI], retries=8)
    assert waits == [0.5, 1, 2, 4, 8, 15, 15, 15]


@both
@pytest.mark.parametrize(
    "answer",
    [fails(401, "bad key"), fails(400, "no"), fails(404, "model x not found"), refuses(), fails(402, "pay")],
    ids=lambda _: "",
)
async def test_what_another_try_cannot_help_is_raised_at_once(answer: Answer, stream: bool) -> None:
    """Only what is transient by kind is tried again (M-19.2, M-20.3)."""
    _, models, waits = await _asked([answer], stream=stream)
    assert (len(models), waits) == (1, [])


async def test_no_retries_is_honoured() -> None:
    """`retries=0` is one attempt (M-20.1)."""
    _, models, _ = await _asked([DOWN], retries=0)
    assert len(models) == 1


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "30"}, 30),
        ({"retry-after": "2", "x-ratelimit-reset-requests": "12"}, 2),
        ({"x-ratelimit-reset-requests": "12"}, 12),
        ({"x-ratelimit-reset": str(int(NOW.timestamp()) + 9)}, 9),
    ],
)
async def test_the_provider_s_own_word_on_the_wait_counts(headers: dict[str, str], wait: float) -> None:
    """Instead of chance (M-20.5)."""
    _, _, waits = await _asked([fails(429, "slow down", headers), HI])
    assert waits == [wait]


async def test_a_long_wait_ends_the_retries() -> None:
    """More than half a minute is for a fallback, or for the turn's own wake (M-20.5)."""
    found, models, waits = await _asked([fails(429, "slow down", {"retry-after": "31"})])
    assert (found.retry_after_ms, found.reset_at_ms) == (31_000, int(NOW.timestamp()) * 1000 + 31_000)
    assert (len(models), waits) == (1, [])


async def test_should_retry_decides_over_the_kind() -> None:
    """Both ways (M-19.7)."""
    _, models, _ = await _asked([fails(503, "down", {"x-should-retry": "false"})])
    assert len(models) == 1
    _, models, _ = await _asked([fails(400, "odd", {"x-should-retry": "true"}), HI])
    assert len(models) == 2


# --- streams ----------------------------------------------------------------------------------


async def test_after_a_piece_there_is_no_other_attempt() -> None:
    """What was passed on cannot be taken back: the failure is raised (M-20.3)."""
    found, models, waits = await _asked([broken(says("", pieces=['{"message": "He', "llo"]), 2)], stream=True)
    assert found.kind == "network"
    assert (len(models), waits) == (1, [])


async def test_a_stream_without_content_is_tried_again() -> None:
    """Nothing was passed on: an empty one, one that broke before its first piece, one that is no stream (M-20.4)."""
    empty = says("")
    answers = [empty, broken(HI, 0), Answer(body=b"not a stream"), HI]
    found, models, _ = await _asked(answers, stream=True)
    assert found.structured == {"message": "Hi"}
    assert len(models) == 4


async def test_an_empty_reply_is_tried_again() -> None:
    """Nothing of it has reached anybody."""
    found, models, _ = await _asked([says(""), says('{"message": "half', finish="length"), HI])
    assert found.structured == {"message": "Hi"}
    assert len(models) == 3


# --- backup models ----------------------------------------------------------------------------


@both
async def test_backups_are_asked_in_order_each_with_its_own_attempts(stream: bool) -> None:
    """After the primary's are spent, when it is overloaded, throttled or unknown there (M-20.6)."""
    answers = [DOWN, DOWN, fails(404, "model b not found"), fails(429, "slow"), HI]
    found, models, waits = await _asked(answers, stream=stream, model="openai:a", backup_models=["b", "c"], retries=1)
    assert found.structured == {"message": "Hi"}
    assert models == ["a", "a", "b", "c", "c"]
    assert waits == [0.5, 0.5], "each model begins with the shortest pause"


@pytest.mark.parametrize("answer", [cuts(), fails(401, "bad key"), fails(400, "prompt is too long")], ids=lambda _: "")
async def test_what_another_model_cannot_help_is_raised(answer: Answer) -> None:
    """A key, a network and a prompt are the same for all of them."""
    _, models, _ = await _asked([answer], model="openai:a", backup_models=["b"], retries=0)
    assert models == ["a"]


async def test_a_long_wait_goes_on_to_the_backup_at_once() -> None:
    """Retries end so that somebody else can take over (M-20.5)."""
    answers = [fails(429, "slow", {"retry-after": "3600"}), HI]
    _, models, waits = await _asked(answers, model="openai:a", backup_models=["b"])
    assert (models, waits) == (["a", "b"], [])


# --- ends -------------------------------------------------------------------------------------


async def test_cancellation_ends_a_wait_at_once() -> None:
    """The turn's task is cancelled; no other attempt is made (M-20.7)."""
    asleep = asyncio.Event()

    async def forever(_seconds: float) -> None:
        asleep.set()
        await asyncio.Event().wait()

    async with connected(CHAT, DOWN, HI, retries=3, pace=Pace(sleep=forever)) as (model, server):
        task = asyncio.create_task(model.complete(REQUEST))
        await asleep.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(server.requests) == 1


async def test_a_consumer_that_stops_early_ends_the_stream() -> None:
    """The provider's stream is closed with the consumer's; the model serves the next call (T-20.6)."""
    pieces = list('{"message": "Hello there"}')
    async with connected(CHAT, says("", pieces=pieces), HI) as (model, _):
        async with aclosing(model.stream(REQUEST)) as chunks:
            async for chunk in chunks:
                if chunk.accumulated.endswith("Hell"):
                    break
        assert (await model.complete(REQUEST)).structured == {"message": "Hi"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"api_key": " "}, "api_key is blank: pass the provider's key"),
        ({"timeout": -1}, "timeout is -1: pass the seconds"),
        ({"retries": -1}, "retries is -1: pass how many"),
        ({"max_output_tokens": 0}, "max_output_tokens is 0: pass at least 1"),
        ({"effort": "huge"}, "effort is 'huge': pass one of none, low, medium, high, max"),
        ({"json_with_tools": "no"}, 'json_with_tools is \'no\': pass "response_format" or "prompt"'),
    ],
)
def test_an_option_that_cannot_be_is_named(options: dict[str, Any], said: str) -> None:
    """A plain `ValueError` that says what to pass (M-19.8)."""
    with pytest.raises(ValueError, match=r"^\[PydanticAIModel\] ") as caught:
        PydanticAIModel("openai:gpt-5-mini", **options)
    assert said in str(caught.value)


@pytest.mark.parametrize("nothing", [0, None])
async def test_no_timeout_means_the_default(nothing: float | None) -> None:
    """A minute (M-20.1)."""
    async with connected(CHAT, HI, timeout=nothing) as (model, server):
        await model.complete(REQUEST)
    assert server.heads[0]["x-stainless-read-timeout"] == "60.0"
