"""T-20, T-21.5: a streamed turn, consumers that stop, turns that are cancelled."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from falai import Agent, Collect, Do, Flow, Message, OnMessage, Say, Start, Tool, TurnResult
from falai.agent import Delta, Done
from falai.errors import ProviderError
from falai.model.port import ModelChunk, ModelReply, ModelRequest, ToolCall
from falai.session.model import Session
from falai.testing.scripted import Pieces
from turn.chat import Chat, lines, said
from turn.conversation import play

ASK = Flow("ask", steps=[Say("hi", "Welcome."), Collect("c", ["name"], prompt="Ask.")])
ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object"}


async def _streamed(
    agent: Agent[Any], given: Any, session_id: str = "s1", **around: Any
) -> tuple[list[str], TurnResult]:
    """The words, and the result, which is the last item and the only one of its kind."""
    items = [item async for item in agent.turn_stream(session_id, given, **around)]
    *deltas, done = items
    assert isinstance(done, Done)
    return [delta.text for delta in deltas if isinstance(delta, Delta)], done.result


class Wire:
    """A model whose stream the test can watch: it gives pieces, then breaks, blocks or ends."""

    name = "wire"

    def __init__(self, pieces: list[str], *, then: Any = None) -> None:
        self.pieces, self.then = pieces, then
        self.begun, self.closed = asyncio.Event(), False

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.begun.set()
        await self._end()
        return ModelReply(message="".join(self.pieces))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        so_far = ""
        try:
            for piece in self.pieces:
                so_far += piece
                yield ModelChunk(piece, so_far)
            self.begun.set()
            await self._end()
            yield ModelChunk("", so_far, ModelReply(message=so_far))
        finally:
            self.closed = True

    async def _end(self) -> None:
        if isinstance(self.then, Exception):
            raise self.then
        if self.then == "block":
            await asyncio.Event().wait()


async def _cancelled(running: Any, begun: asyncio.Event) -> None:
    task = asyncio.ensure_future(running)
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- the same turn ------------------------------------------------------------------------------


async def test_the_result_is_that_of_the_turn():
    """T-20.1, T-20.2: equal to what `turn` returns; only the reply's words are streamed, no `say`."""
    plain, streamed = Chat(ASK), Chat(ASK)
    plain.model.feed("speak", {"message": "Your name?"})
    streamed.model.feed("speak", Pieces(['{"mes', 'sage":"Your', ' name?"}']))
    whole = await plain.agent.turn("s1", Start("ask", "k1"))
    words, result = await _streamed(streamed.agent, Start("ask", "k1"))
    assert result == whole
    assert result.to_wire() == whole.to_wire()
    assert words == ["Your", " name?"]
    assert said(result) == ["Welcome.", "Your name?"]


@pytest.mark.property
async def test_every_turn_of_a_random_conversation_streams_its_result(full: bool):
    """T-20.1, T-20.4, T-20.7: the same result, or the same exception; with one round the words are the reply."""
    for seed in range(1_000 if full else 60):
        async for played in play(seed):
            given = played.given
            played.world.begin(given)
            around = {"session": given.session, "history": given.history, **given.around}
            running = _streamed(played.agent, given.input, given.session_id, **around)
            if played.error is not None:
                with pytest.raises(type(played.error)):
                    await running
                continue
            words, result = await running
            assert result == played.result, seed
            replies = [message.text for message in result.messages if message.kind == "ai"]
            if sum(request.schema_name == "speak" for request in played.requests) == 1 and replies:
                assert "".join(words) == replies[0], seed


async def test_without_a_speaker_there_is_only_the_result():
    """T-20.3: also for an ignored input, and for a fixed question (T-20.2)."""
    fixed = Flow("fixed", steps=[Collect("c", ["name"], question="And you are?")])
    chat = Chat(fixed, idle="silent")
    assert (await _streamed(chat.agent, Message("hi", "m1")))[0] == []
    words, result = await _streamed(chat.agent, Start("fixed", "k1"))
    assert (words, said(result)) == ([], ["And you are?"])
    session = Session.fresh("s1")
    session.inputs = ["m1"]
    words, result = await _streamed(chat.agent, Message("hi", "m1"), session=session)
    assert (words, lines(result)) == ([], ["wait/skipped/duplicate-input"])


async def test_words_beside_a_tool_call_are_streamed_only():
    """T-20.4: they reach the stream, and are no part of the message."""
    look = Tool("look", lambda _context, **_arguments: {"value": 1}, parameters=ANY_ARGUMENTS)
    chat = Chat(ASK, tools=[look])
    chat.model.feed("speak", ModelReply(message="One moment. ", tool_calls=(ToolCall("look", {}),)))
    chat.model.feed("speak", {"message": "Your name?"})
    words, result = await _streamed(chat.agent, Start("ask", "k1"))
    assert words == ["One moment. ", "Your name?"]
    assert said(result) == ["Welcome.", "Your name?"]
    assert (result.llm_calls, [call.name for call in result.calls]) == (2, ["speak", "speak"])


@pytest.mark.parametrize("then", [OSError("cut off"), None], ids=["breaks", "ends-early"])
async def test_a_stream_that_breaks_is_a_failed_call(then: Any):
    """T-20.5: some deltas, then a result with a deferred line as `turn` has it, and no message."""

    class Cut(Wire):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            async for chunk in super().stream(request):
                yield ModelChunk(chunk.delta, chunk.accumulated)

    words, result = await _streamed(Chat(model=Cut(['{"message":"Good mor'], then=then)).agent, Message("hi", "m1"))
    assert words == ["Good mor"]
    assert lines(result) == ["idle/deferred/provider-unavailable"]
    assert (said(result), result.llm_calls) == ([], 1)


async def test_what_raises_in_a_turn_raises_out_of_the_iteration():
    """T-20.7: bad input, and a failed understanding call, before the first word."""
    chat = Chat(Flow("a", on=[OnMessage("wants")], steps=[Say("s", "x")]))
    with pytest.raises(ValueError, match="message, wake, event and start"):
        await _streamed(chat.agent, {})
    chat.model.feed("understand", ProviderError("down", kind="overload"))
    with pytest.raises(ProviderError, match="down"):
        await _streamed(chat.agent, Message("hi", "m1"))


# --- consumers that stop ------------------------------------------------------------------------


async def test_a_consumer_that_stops_stops_the_provider():
    """T-20.6: no result, nothing settled, and the model's stream is closed when the iteration is."""
    wire = Wire(['{"message":"Good', ' morning"}'])
    session = Session.fresh("s1")
    words = Chat(model=wire).agent.turn_stream("s1", Message("hi", "m1"), session=session)
    assert await anext(words) == Delta("Good")
    await words.aclose()  # type: ignore[attr-defined]  # an async generator under a wider name
    assert wire.closed
    assert session == Session.fresh("s1")


async def test_the_actions_of_a_stopped_turn_have_run():
    """T-20.6, T-21.6: phase 5 was before the first word; a replay runs them under the same key."""
    book = Flow("book", steps=[Do("d", "book"), Collect("c", ["name"], prompt="Ask.")])
    chat = Chat(book, actions={"book": {"ok": True}})
    for _ in range(2):
        chat.model.feed("speak", {"message": "Your name?"})
        words = chat.agent.turn_stream("s1", Start("book", "k1"))
        await anext(words)
        await words.aclose()  # type: ignore[attr-defined]  # an async generator under a wider name
    assert [acted.key for acted in chat.acted] == ["book#k1:d:1", "book#k1:d:1"]


# --- cancellation -------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelling_a_model_call_goes_out(streamed: bool):
    """T-21.5, O-6: a cancellation is no failure of the provider; the given session is as it was."""
    wire, session = Wire([], then="block"), Session.fresh("s1")
    chat = Chat(model=wire)
    given = Message("hi", "m1")
    running = (
        _streamed(chat.agent, given, session=session) if streamed else chat.agent.turn("s1", given, session=session)
    )
    await _cancelled(running, wire.begun)
    assert session == Session.fresh("s1")


async def test_cancelling_an_action_goes_out():
    """T-11.13: it is not the action's failure."""
    begun = asyncio.Event()

    async def slow(_context: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    chat = Chat(Flow("a", steps=[Do("d", "slow")]), actions={"slow": slow})
    await _cancelled(chat.agent.turn("s1", Start("a", "k1")), begun)


@pytest.mark.parametrize("calls", [1, 2])
async def test_cancelling_tools_goes_out(calls: int):
    """M-10.4: also when several run side by side."""
    begun = asyncio.Event()

    async def slow(_context: Any, **_arguments: Any) -> None:
        begun.set()
        await asyncio.Event().wait()

    chat = Chat(ASK, tools=[Tool("slow", slow, parameters=ANY_ARGUMENTS, read_only=True)])
    chat.model.feed("speak", ModelReply(tool_calls=(ToolCall("slow", {}),) * calls))
    await _cancelled(chat.agent.turn("s1", Start("ask", "k1")), begun)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_what_is_no_exception_goes_out_of_an_action(error: BaseException):
    """T-11.13: an interrupt is not the action's failure."""
    chat = Chat(Flow("a", steps=[Do("d", "x")]), actions={"x": [error]})
    with pytest.raises(type(error)):
        chat.start("a")


async def test_the_synchronous_turn_refuses_a_running_loop():
    """`turn_sync` is for scripts: it raises `RuntimeError` there, and leaves nothing unawaited."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="event loop"):
            Chat().agent.turn_sync("s1", Message("hi"))
        gc.collect()
