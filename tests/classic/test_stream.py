"""An answer in chunks: the words as they arrive, the rest on the last chunk, errors too (D-36 to D-39)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, talk
from falai import FlowConfigurationError, ProviderError, SessionConflictError
from falai.classic import Chunk, ClassicAgent, DataValidationError, Directive
from falai.classic.response import Answer
from falai.model import ModelChunk, ModelReply, ModelRequest
from falai.store import MemoryStore
from falai.testing import Pieces

pytestmark = pytest.mark.anyio


async def streamed(agent: ClassicAgent, message: str = "Hi", **given: Any) -> list[Chunk]:
    return [chunk async for chunk in agent.respond_stream(message, **given)]


async def test_stream_is_the_short_form() -> None:
    """`respond_stream` on the default session (D-35)."""
    one = agent(model("a", "b"))
    first = await one.chat("1")
    last = [chunk async for chunk in one.stream("2")][-1]
    assert (last.message, last.session and last.session.id) == ("b", first.session.id)


def in_pieces(*pieces: str) -> Pieces:
    return Pieces(['{"message":"', *pieces, '"}'])


async def test_the_words_come_as_they_arrive() -> None:
    """The deltas add up to the text; `done` is true once, and the last chunk has what a response has."""
    one = agent(model(in_pieces("Good ", "day", "!"), "Bye"), flows=[flow(talk("one"), talk("two"))])
    chunks = await streamed(one)
    assert [chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert "".join(chunk.delta for chunk in chunks) == chunks[-1].accumulated == "Good day!"
    assert all(later.accumulated.startswith(chunk.accumulated) for chunk, later in pairwise(chunks))
    last = chunks[-1]
    assert (last.message, last.stopped_reason, last.error) == ("Good day!", "needs_input", None)
    assert last.session is not None
    assert last.session.history == [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Good day!"}]
    assert (await one.chat("Go on")).session.current_flow is None  # the turn was kept


async def test_streaming_and_answering_at_once_agree() -> None:
    """The last chunk has the members of the response, but its ended flows."""
    options: dict[str, Any] = {"flows": [flow()], "instructions": [{"prompt": "Be kind."}], "session_id": "x"}
    response = await agent(model("Hello"), **options).respond("Hi", message_id="m1")
    last = (await streamed(agent(model("Hello"), **options), message_id="m1"))[-1]
    shared = [field.name for field in fields(Answer)]
    assert {name: getattr(last, name) for name in shared} == {name: getattr(response, name) for name in shared}
    assert not hasattr(last, "ended_flows")


@pytest.mark.parametrize(("directive", "deltas"), [(Directive(reply="Here."), ["Here."]), (Directive(halt=True), [""])])
async def test_without_a_speaking_call_there_is_one_chunk(directive: Directive, deltas: list[str]) -> None:
    """It has the whole text, as its delta too (D-38)."""
    step = talk("one", prepare=lambda *_: directive)
    chunks = await streamed(agent(model(), flows=[flow(step)]))
    assert [(chunk.delta, chunk.accumulated) for chunk in chunks] == [(delta, delta) for delta in deltas]


async def test_the_last_chunk_replaces_what_a_later_reply_replaced() -> None:
    """Its delta is empty then."""
    step = talk("one", finalize=lambda *_: Directive(reply="Rather this."))
    chunks = await streamed(agent(model("Not this"), flows=[flow(step)]))
    assert [chunk.accumulated for chunk in chunks] == ["Not this", "Rather this."]
    assert chunks[-1].delta == ""


def raises(*_: Any) -> None:
    raise RuntimeError("boom")


LOOP = [{"id": "a", "auto": True, "branches": [{"then": "b"}]}, {"id": "b", "auto": True, "branches": [{"then": "a"}]}]
DOWN = ProviderError("down", kind="overload")


@pytest.mark.parametrize(
    ("options", "speak", "cause", "reason"),
    [
        ({"flows": [flow(talk("one", prepare=raises))]}, [], RuntimeError, "prepare_error"),
        ({"flows": [flow(talk("one", hooks={"onEnter": raises}))]}, [], RuntimeError, "prepare_error"),
        ({}, [DOWN], ProviderError, "llm_error"),
        (
            {"schema": SCHEMA, "flows": [flow(talk("one", prepare=lambda *_: Directive(data_update={"age": "x"})))]},
            [], DataValidationError, "validation_error",
        ),
        ({"flows": [flow(*LOOP)]}, [], FlowConfigurationError, "max_auto_steps"),
        ({"hooks": {"beforeRespond": raises}, "context": {}}, [], RuntimeError, None),
    ],
)  # fmt: skip
async def test_an_error_is_the_last_chunk(options: Any, speak: Any, cause: type[Exception], reason: str | None) -> None:
    """As a ResponseGenerationError with the original behind it; nothing is raised, nothing is kept (D-37)."""
    one = agent(model(*speak), session_id="x", **options)
    chunks = await streamed(one)
    last = chunks[-1]
    assert (last.delta, last.accumulated, last.done, last.stopped_reason) == ("", "", True, reason)
    assert last.error is not None
    assert isinstance(last.error.cause, cause)
    assert last.error.details["originalError"] is last.error.cause
    assert await one.store.load("x") is None


async def test_wrong_arguments_and_a_late_save_are_chunks_too() -> None:
    """The generator raises nothing at all."""
    store = MemoryStore()
    one = agent(model("a", "b", "c"), persistence={"adapter": store})
    old = (await one.respond("1", session_id="x")).session
    await one.respond("2", session_id="x")
    for given, cause in (({"session": old}, SessionConflictError), ({"message_id": 5}, ValueError)):
        error = (await streamed(one, **given))[-1].error
        assert isinstance(error and error.cause, cause)


class Slow:
    """A model that never comes to an end, and knows whether somebody stopped it."""

    name = "slow"
    stopped = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise AssertionError(request.schema_name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        try:
            yield ModelChunk('{"message":"Well', f'{{"message":"Well{request.prompt[:0]}')
            await asyncio.Event().wait()
        finally:
            self.stopped = True


async def test_closing_the_stream_ends_the_turn_without_effect() -> None:
    """The provider's call is cancelled, and the session is free for the next turn (D-39)."""
    slow = Slow()
    one = agent(slow, session_id="x")  # type: ignore[arg-type]  # a port of one's own
    chunks = one.respond_stream("Hi")
    assert (await anext(chunks)).delta == "Well"
    await chunks.aclose()
    assert (slow.stopped, await one.store.load("x")) == (True, None)
    async with one.lock("x"):
        pass


async def test_whoever_stops_at_the_last_chunk_blocks_nobody() -> None:
    """The session is free by then, whether the generator is closed or not."""
    one = agent(model("a", "b"), session_id="x")
    chunks = one.respond_stream("1")
    while not (await anext(chunks)).done:
        pass
    assert (await asyncio.wait_for(one.chat("2"), 30)).message == "b"


async def test_cancelling_the_task_ends_the_turn_without_effect() -> None:
    """Likewise."""
    slow = Slow()
    one = agent(slow, session_id="x")  # type: ignore[arg-type]  # a port of one's own
    first = asyncio.Event()

    async def consume() -> None:
        async for _ in one.respond_stream("Hi"):
            first.set()

    task = asyncio.create_task(consume())
    await first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (slow.stopped, await one.store.load("x")) == (True, None)


async def test_two_streams_of_two_sessions_do_not_meet() -> None:
    """What one of them prepares is never seen by the other, however they take turns."""
    provider = model(in_pieces("a", "b"), in_pieces("c", "d"), in_pieces("e", "f"), in_pieces("g", "h"))
    one = agent(provider, persona=lambda scene: f"Persona of {scene.session.id}.")
    streams = {id: one.respond_stream("Hi", session_id=id) for id in ("x", "y")}
    while streams:
        for id in list(streams):
            if (await anext(streams[id])).done:
                del streams[id]
    told = [call.prompt.count(f"Persona of {id}.") for call, id in zip(provider.calls, "xy", strict=True)]
    assert told == [1, 1]
