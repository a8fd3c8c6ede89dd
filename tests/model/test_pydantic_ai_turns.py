"""Streamed turns over real HTTP, in every provider's language: clean words, the same result, nothing of a cut one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from falai import Agent, Collect, Delta, Done, Field, Flow, Start, TurnResult
from falai.flow.functions import Tool
from falai.model.port import Model
from falai.model.pydantic_ai import PydanticAIModel
from model.formats import FORMATS, Format, connected
from model.loopback import Answer, ChatServer, broken, chat_server, sliced

for package in ("openai", "anthropic", "google"):
    pytest.importorskip(f"pydantic_ai.models.{package}")
pytestmark = pytest.mark.servers

NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)
START = Start("book", key="k1")
EARLIER = [{"role": "user", "content": "oi"}, {"role": "assistant", "content": "Olá!"}]

each = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def _agent(model: Model) -> Agent[None]:
    return Agent(
        name="Ana",
        model=model,
        clock=lambda: NOW,
        fields={"size": Field(str, enum=["1-10", "11-50"]), "name": Field(str), "full name": Field(str)},
        tools=[Tool("slots", lambda ctx, **given: {"value": "16:00"}, parameters={"type": "object", "properties": {}})],
        flows=[Flow("book", steps=[Collect("who", ["size", "name", "full name"])])],
    )


async def _whole(model: Model) -> TurnResult:
    return await _agent(model).turn("s1", START, history=EARLIER)


async def _streamed(model: Model) -> tuple[list[str], TurnResult]:
    """The words as they arrived, and the result."""
    words: list[str] = []
    async for item in _agent(model).turn_stream("s1", START, history=EARLIER):
        if isinstance(item, Done):
            return words, item.result
        assert isinstance(item, Delta)
        words.append(item.text)
    raise AssertionError("a stream ends with its result")


# --- any valid envelope, cut anywhere ---------------------------------------------------------

TEXTS = st.text(max_size=30) | st.sampled_from([
    'say "hi" {"message": 1}', "a\nb\\u0041\t", "😀 ü 漢字", "```", "null", "a <think>b</think> c",
])  # fmt: skip
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "message": TEXTS,
    "size": st.sampled_from([None, "1-10", "11-50", "12"]),
    "name": st.none() | TEXTS,
    "field_1": st.none() | TEXTS,
}


@st.composite
def envelopes(draw: st.DrawFn) -> str:
    """A valid envelope as models write it: keys in any order, with white space, escaped or not, fenced or not."""
    keys = draw(st.permutations(list(VALUES)))
    body = {key: draw(VALUES[key]) for key in keys}
    text = json.dumps(body, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 2])))
    return f"```json\n{text}\n```" if draw(st.booleans()) else draw(st.sampled_from(["", " ", "\n"])) + text


@st.composite
def cut(draw: st.DrawFn) -> tuple[list[str], int]:
    """An envelope in pieces, and the size of the packets in which they travel."""
    text = draw(envelopes())
    places = sorted(draw(st.sets(st.integers(1, len(text) - 1), max_size=12)))
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    return pieces, draw(st.sampled_from([0, 0, 1, 7]))


@pytest.mark.property
@each
def test_any_chunking_of_any_envelope_gives_the_same_words_and_result(form: Format) -> None:
    """The words are clean at every split, add up to the message, and the result is the unstreamed turn's (M-12)."""
    with asyncio.Runner() as runner:
        connection = connected(form)
        model, server = runner.run(connection.__aenter__())

        @given(cut())
        def check(given: tuple[list[str], int]) -> None:
            pieces, packets = given
            answer = form.says("".join(pieces), pieces=pieces)
            server.left[:] = [answer, sliced(answer, packets)]
            whole = runner.run(_whole(model))
            words, result = runner.run(_streamed(model))
            assert result == whole
            assert result.to_wire() == whole.to_wire()
            said = json.loads("".join(pieces).strip().removeprefix("```json").removesuffix("```"))["message"]
            assert "".join(words) == said
            assert [message.text for message in result.messages] == ([said] if said.strip() else [])

        try:
            check()
        finally:
            runner.run(connection.__aexit__(None, None, None))


# --- what a customer sees ---------------------------------------------------------------------


async def _turn(form: Format, answers: Sequence[Answer]) -> tuple[str, TurnResult]:
    async with connected(form, *answers) as (model, server):
        words, result = await _streamed(model)
    assert server.left == []
    return "".join(words), result


@each
async def test_a_cut_stream_is_no_message(form: Format) -> None:
    """Words that were streamed before the failure are not in the messages; the step speaks again later (M-12.3)."""
    pieces = ['{"message": "He', "llo th", 'ere", "size": null']
    for answer in (form.says("", pieces=pieces, cut=True), broken(form.says("", pieces=pieces), 4)):
        words, result = await _turn(form, [answer])
        assert "Hello there".startswith(words)
        assert result.messages == ()
        assert [(line.status, line.code) for line in result.outcomes] == [("deferred", "provider-unavailable")]
        assert [wake.at for wake in result.schedule] == [datetime(2026, 9, 20, 10, 1, tzinfo=UTC)]
        assert result.session.data == {}


@each
async def test_a_round_of_tools_streams_too(form: Format) -> None:
    """The call is run, its result goes back, and the reply's words follow (M-12.4)."""
    words, result = await _turn(form, [form.calls("slots", {}), form.says('{"message": "At four."}')])
    assert words == "At four."
    assert [message.text for message in result.messages] == ["At four."]
    assert result.llm_calls == 2
    assert result.usage is not None
    assert (result.usage.prompt_tokens, result.usage.cached_input_tokens) == (200, 160)
    assert [call.model for call in result.calls] == ["loopback-1", "loopback-1"]


@each
async def test_reasoning_is_never_streamed(form: Format) -> None:
    """What a model thinks is no word to the customer."""
    words, result = await _turn(form, [form.thinks("they want a table", form.says('{"message": "Hello!"}'))])
    assert words == "Hello!"
    assert [message.text for message in result.messages] == ["Hello!"]


@each
async def test_thoughts_in_tags_are_never_streamed(form: Format) -> None:
    """Some servers leave them in front of the reply; they are no words wherever the pieces end."""
    text = '<think>not {"message": "no"} yet</think>\n{"message": "Hello <think>!"}'
    for size in (1, 3, 4, 7, len(text)):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        words, result = await _turn(form, [form.says(text, pieces=pieces)])
        assert words == "Hello <think>!"
        assert [message.text for message in result.messages] == ["Hello <think>!"]


@contextmanager
def _a_host_s(kind: str, runner: asyncio.Runner) -> Iterator[tuple[Model, ChatServer]]:
    """A model object that a host made, whose profile knows the library's tags: bare, or wrapped."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.models.wrapper import WrapperModel
    from pydantic_ai.providers.openai import OpenAIProvider

    with chat_server([]) as server:
        bare = OpenAIChatModel("other", provider=OpenAIProvider(base_url=server.base_url, api_key="k"))
        made = {"bare": bare, "wrapped": WrapperModel(bare)}[kind]
        runner.run(bare.__aenter__())
        yield PydanticAIModel(made, retries=0), server
        runner.run(bare.__aexit__(None, None, None))
        assert bare.profile.get("thinking_tags") == ("<think>", "</think>"), "the host's own object stays as it is"


@pytest.mark.property
@pytest.mark.parametrize("kind", ["bare", "wrapped"])
def test_thoughts_in_tags_of_a_host_s_model_object_in_any_pieces(kind: str) -> None:
    """They are no words, and cost no reply, wherever the pieces end; tags within the words are words."""
    text = ' <think>not {"message": "no"} yet</think>{"message": "Hello <think>so</think>!"}'
    with asyncio.Runner() as runner, _a_host_s(kind, runner) as (model, server):

        @given(st.sets(st.integers(1, len(text) - 1), max_size=12).map(sorted))
        @example([1, 8])
        @example([1, 8, 33, 41])
        def check(places: list[int]) -> None:
            pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
            server.left[:] = [FORMATS[0].says(text, pieces=pieces), FORMATS[0].says(text)]
            words, result = runner.run(_streamed(model))
            assert "".join(words) == "Hello <think>so</think>!"
            assert result == runner.run(_whole(model))

        check()


def test_a_thought_that_was_cut_off_is_not_spoken() -> None:
    """A host's model object too: a reply that is nothing but the beginning of a thought is none."""
    with asyncio.Runner() as runner, _a_host_s("bare", runner) as (model, server):
        server.left[:] = [FORMATS[0].says("<think>they want a tab", finish="length")]
        assert runner.run(_whole(model)).messages == ()


@each
async def test_plain_words_are_streamed(form: Format) -> None:
    """A provider that ignores the schema still speaks (M-17.6)."""
    words, result = await _turn(form, [form.says("", pieces=["Good ", "day"])])
    assert words == "Good day"
    assert [message.text for message in result.messages] == ["Good day"]


@each
async def test_a_refusal_is_no_message(form: Format) -> None:
    """The run ends with what went wrong (M-10.4)."""
    words, result = await _turn(form, [form.refuses()])
    assert words == ""
    assert [(line.status, line.code) for line in result.outcomes] == [("failed", "provider-invalid")]


@each
async def test_a_consumer_that_stops_early(form: Format) -> None:
    """The provider's stream ends with it, and the next turn is served (T-20.6)."""
    answer = form.says("", pieces=list('{"message": "Hello there"}'))
    async with connected(form, answer, form.says('{"message": "Hi"}')) as (model, _):
        stream = _agent(model).turn_stream("s1", START)
        async with aclosing(stream):  # type: ignore[type-var]
            async for _item in stream:
                break
        assert [message.text for message in (await _whole(model)).messages] == ["Hi"]
