"""The spans of a turn: what is there, what is on them, and what never is."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.test.globals_test import reset_trace_globals
from opentelemetry.trace import SpanKind, StatusCode

from agent.seen import Seen, desk, play, reply, script
from falai import Action, Agent, Delta, Instruction, Message, ProviderError, Tool, ToolResult, ok
from falai.model import ToolCall
from falai.observability.works import model_of

TURN = "invoke_workflow Ana"
TREE = [
    f"- > {TURN}",
    f"{TURN} > chat gpt-5-mini",
    f"{TURN} > execute_action note",
    f"{TURN} > chat gpt-5-mini",
    f"{TURN} > execute_tool slots",
    f"{TURN} > chat gpt-5-mini",
]
WHO = {"who": {"type": "string"}}
DAY = {"type": "object", "properties": {"day": {"type": "string"}}}
both = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


# --- what is there ----------------------------------------------------------------------------


@both
async def test_a_turn_is_a_tree(seen: Seen, streamed: bool) -> None:
    """One span for the turn, one below it for each call to the model, action and tool."""
    await play(desk(script()), streamed=streamed)
    assert seen.tree == TREE


@both
async def test_the_turn_is_told(seen: Seen, streamed: bool) -> None:
    """By the conventions, and what they have no name for."""
    await play(desk(script()), streamed=streamed)
    assert seen.attributes(TURN) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.agent.name": "Ana",
        "gen_ai.workflow.name": "Ana",
        "gen_ai.conversation.id": "s1",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.usage.input_tokens": 600,
        "gen_ai.usage.output_tokens": 60,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "falai.cost": pytest.approx(0.6),
        "falai.input": "message",
        "falai.llm_calls": 3,
        "falai.changed": True,
        "falai.messages": 1,
        "falai.flows.started": ("book",),
        "falai.flows.ended": (),
        "falai.outcomes": (),
    }
    assert seen.one(TURN).kind is SpanKind.INTERNAL
    assert seen.one(TURN).status.status_code is StatusCode.UNSET


async def test_a_call_to_the_model_is_told(seen: Seen) -> None:
    """Which call, to whom, what answered, and what it cost."""
    await play(desk(script()))
    understand, *speak = seen.calls()
    assert understand == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.response.model": "gpt-5-mini-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.conversation.id": "s1",
        "gen_ai.output.type": "json",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 50,
        "falai.call": "understand",
        "falai.cost": 0.1,
    }
    assert [call["falai.call"] for call in speak] == ["speak", "speak"]
    assert seen.all[1].kind is SpanKind.CLIENT


async def test_a_streamed_call_says_when_it_began_to_speak(seen: Seen) -> None:
    """Only the speaking call streams (M-1.4)."""
    await play(desk(script()), streamed=True)
    understand, first, second = seen.calls()
    assert "gen_ai.request.stream" not in understand
    assert [call["gen_ai.request.stream"] for call in (first, second)] == [True, True]
    assert second["gen_ai.response.time_to_first_chunk"] >= 0


async def test_a_summary_is_a_call_too(seen: Seen) -> None:
    """Compaction's call is told like the others, and its limit of tokens (M-15.5)."""
    model = script(summary=[reply({"message": "sesame-summary"}, tokens=50)])
    agent = desk(model, compaction={"maxTokens": 20, "preserveRecentCount": 2})
    past = [{"role": "user", "content": f"sesame-past-{n} " * 20} for n in range(4)]
    await agent.turn("s1", Message("book", id="m1"), history=past)
    summary = seen.calls()[0]
    assert (summary["falai.call"], summary["gen_ai.output.type"], summary["gen_ai.request.max_tokens"]) == (
        "summary", "text", 1024,
    )  # fmt: skip


async def test_an_action_and_a_tool_are_told(seen: Seen) -> None:
    """What ran, for which flow and step, and what came of it."""
    await play(desk(script()))
    assert seen.attributes("execute_action note") == {
        "gen_ai.operation.name": "execute_action",
        "gen_ai.conversation.id": "s1",
        "falai.action.name": "note",
        "falai.action.status": "ok",
        "falai.flow": "book",
        "falai.step": "tell",
    }
    assert seen.attributes("execute_tool slots") == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "s1",
        "gen_ai.tool.name": "slots",
        "gen_ai.tool.type": "function",
    }


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai:gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai-chat:gpt-5-mini", "openai", "gpt-5-mini"),
        ("google:gemini-3", "gcp.gemini", "gemini-3"),
        ("openrouter:a/b:free", "openrouter", "a/b:free"),
        ("lexical", "lexical", "lexical"),
        ("fallback(openai:a->lexical)", "fallback", "fallback(openai:a->lexical)"),
    ],
)
def test_a_model_and_its_provider(name: str, provider: str, model: str) -> None:
    """A prefix is the provider, by the name that the conventions have for it."""
    assert model_of(name) == (provider, model)


# --- what never is ----------------------------------------------------------------------------


def _raises(ctx: Any, **given: Any) -> Any:
    raise ValueError("sesame-exception")


def _raising() -> Agent[Any]:
    return desk(
        script(), actions=[Action("note", _raises, parameters=WHO)], tools=[Tool("slots", _raises, parameters=DAY)]
    )


@both
@pytest.mark.parametrize("agent", [lambda: desk(script()), _raising], ids=["all well", "code that raises"])
async def test_nothing_that_is_said_is_on_a_span(seen: Seen, streamed: bool, agent: Any) -> None:
    """No message, value, prompt, argument, result or exception's text, however the turn goes."""
    result = await play(agent(), streamed=streamed)
    assert "sesame" in result.messages[0].text
    assert len(seen.all) == len(TREE)
    assert "sesame" not in seen.text


async def test_what_a_provider_says_is_not_on_a_span(seen: Seen) -> None:
    """Its words may quote the prompt, or a key."""
    model = script(understand=[ProviderError("sesame-words", kind="rate", body="sesame-body")])
    with pytest.raises(ProviderError):
        await play(desk(model))
    assert "sesame" not in seen.text


async def test_a_tool_that_does_not_exist_is_not_named(seen: Seen) -> None:
    """A name that the model made up is its text."""
    model = script(speak=[reply(None, ToolCall("sesame", {}), tokens=1), reply({"message": "Hi"}, tokens=1)])
    await play(desk(model))
    assert "sesame" not in seen.text
    assert seen.attributes("execute_tool")["error.type"] == "unknown"


async def test_what_is_said_is_there_when_it_is_asked_for(seen: Seen) -> None:
    """`trace_content`: messages, prompts, replies, arguments and results, in the conventions' form."""
    await play(desk(script(), trace_content=True))
    turn, [understand, first, second] = seen.attributes(TURN), seen.calls()
    assert "sesame-message" in turn["gen_ai.input.messages"]
    assert turn["gen_ai.output.messages"] == (
        '[{"role":"assistant","parts":[{"type":"text","content":"sesame-reply"}],"finish_reason":"stop"}]'
    )
    assert "Ana" in understand["gen_ai.system_instructions"]
    assert "sesame-message" in understand["gen_ai.input.messages"]
    assert '"name":"slots","arguments":{"day":"sesame-day"}' in first["gen_ai.output.messages"]
    assert '"type":"tool_call_response"' in second["gen_ai.input.messages"]
    assert seen.attributes("execute_action note")["falai.action.parameters"] == '{"who":"sesame-name"}'
    assert seen.attributes("execute_action note")["falai.action.result"] == "noted sesame-name"
    assert seen.attributes("execute_tool slots")["gen_ai.tool.call.arguments"] == '{"day":"sesame-day"}'
    assert seen.attributes("execute_tool slots")["gen_ai.tool.call.result"] == "sesame-slots on sesame-day"


# --- failures ---------------------------------------------------------------------------------


@both
async def test_a_turn_that_fails_tells_what_is_known(seen: Seen, streamed: bool) -> None:
    """The kind of the failure, and how many calls there were; no result, so nothing of one."""
    with pytest.raises(ProviderError):
        await play(desk(script(understand=[ProviderError("slow down", kind="rate")])), streamed=streamed)
    assert seen.tree == TREE[:2]
    for span in seen.all:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.status.description, (span.attributes or {})["error.type"]) == ("rate", "rate")
        assert not span.events
    assert seen.attributes(TURN)["falai.llm_calls"] == 1
    assert "falai.changed" not in seen.attributes(TURN)


@both
async def test_a_reply_that_fails_is_no_failed_turn(seen: Seen, streamed: bool) -> None:
    """The turn has a result; its outcomes say what happened, and the tokens of the rounds before count."""
    rounds = [reply(None, ToolCall("slots", {"day": "x"}), tokens=200), ConnectionResetError("gone")]
    result = await play(desk(script(speak=rounds)), streamed=streamed)
    assert [call.get("error.type") for call in seen.calls()] == [None, None, "network"]
    turn = seen.attributes(TURN)
    assert turn["falai.outcomes"] == ("provider-unavailable",)
    assert (turn["falai.llm_calls"], turn["gen_ai.usage.input_tokens"]) == (result.llm_calls, 300) == (3, 300)
    assert seen.one(TURN).status.status_code is StatusCode.UNSET


async def test_code_that_raises_is_told_by_its_class(seen: Seen) -> None:
    """An action's and a tool's exception: the turn goes on (T-11.13, M-9.7)."""
    await play(_raising())
    for name in ("execute_action note", "execute_tool slots"):
        assert seen.attributes(name)["error.type"] == "ValueError"
        assert seen.one(name).status.status_code is StatusCode.ERROR
    assert seen.attributes(TURN)["falai.outcomes"] == ("action-failed",)


async def test_a_stream_that_nobody_reads_to_its_end_is_cancelled(seen: Seen) -> None:
    """Whoever goes away ends the call and the turn (T-20.6)."""
    async with aclosing(desk(script()).turn_stream("s1", Message("book", id="m1"))) as items:
        async for item in items:
            if isinstance(item, Delta):
                break
    assert seen.attributes(TURN)["error.type"] == "cancelled"
    assert seen.calls()[-1]["error.type"] == "cancelled"


async def test_a_turn_that_is_cancelled_says_so(seen: Seen) -> None:
    """Its spans end."""
    begun = asyncio.Event()

    class Slow:
        name = "slow"

        async def complete(self, request: Any) -> Any:
            begun.set()
            await asyncio.sleep(60)

        stream = complete

    task = asyncio.create_task(desk(Slow()).turn("s1", Message("book", id="m1")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(span.name, (span.attributes or {})["error.type"]) for span in seen.all] == [
        (TURN, "cancelled"), ("chat slow", "cancelled"),
    ]  # fmt: skip


# --- what is current --------------------------------------------------------------------------


def _current() -> str:
    span = trace.get_current_span()
    return getattr(span, "name", "nothing")


@both
async def test_spans_of_others_are_below_what_they_are_part_of(seen: Seen, streamed: bool) -> None:
    """Code of a host, of a model and of a predicate runs inside the span of what it does."""
    current: dict[str, str] = {}

    def look(where: str, value: Any) -> Any:
        def looking(*given: Any, **more: Any) -> Any:
            current[where] = _current()
            return value

        return looking

    envelope = reply({"message": "Hi", "day": None}, tokens=1)
    agent = desk(
        script(speak=[look("model", reply(None, ToolCall("slots", {}), tokens=1)), envelope]),
        actions=[Action("note", look("action", ok()), parameters=WHO)],
        tools=[Tool("slots", look("tool", ToolResult(1)), parameters=DAY)],
        instructions=[Instruction("Be kind.", if_=look("predicate", True))],
    )
    with trace.get_tracer("host").start_as_current_span("request"):
        await play(agent, streamed=streamed)
        assert _current() == "request"
    assert current == {
        "model": "chat gpt-5-mini", "action": "execute_action note", "tool": "execute_tool slots", "predicate": TURN,
    }  # fmt: skip
    assert seen.tree[:2] == ["- > request", f"request > {TURN}"]


async def test_what_the_consumer_of_a_stream_does_is_its_own(seen: Seen) -> None:
    """Between two words nothing of the turn is current, also when another task goes on reading."""
    items = desk(script()).turn_stream("s1", Message("book", id="m1"))
    current: list[str] = []
    while (item := await asyncio.create_task(anext(items, None))) is not None:
        current.append(_current())
        del item
    assert set(current) == {"nothing"}
    assert len(current) >= 2
    assert seen.tree == TREE


async def test_turns_side_by_side_do_not_mix(seen: Seen) -> None:
    """Each call, action and tool is below the turn of its own session."""
    await asyncio.gather(*(play(desk(script()), streamed=n % 2 == 0, session=f"s{n}") for n in range(6)))
    turns = {span.context.span_id: span for span in seen.all if span.parent is None and span.context}
    assert len(turns) == 6
    for span in seen.all:
        above = turns[span.parent.span_id] if span.parent else span
        assert (span.attributes or {})["gen_ai.conversation.id"] == (above.attributes or {})["gen_ai.conversation.id"]
    assert len(seen.all) == 6 * len(TREE)


# --- without anybody looking ------------------------------------------------------------------


async def test_a_sampler_may_drop_turns() -> None:
    """Nothing is kept, and the turn is the same."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampling.ALWAYS_OFF)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    reset_trace_globals()
    trace.set_tracer_provider(provider)
    watched = await play(desk(script(), trace_content=True))
    reset_trace_globals()
    unwatched = await play(desk(script()))
    assert exporter.get_finished_spans() == ()
    assert watched.to_wire().keys() == unwatched.to_wire().keys()
    assert [m.text for m in watched.messages] == [m.text for m in unwatched.messages]


async def test_a_provider_may_come_later(seen: Seen) -> None:
    """An agent that was made before the program set up its telemetry is seen all the same."""
    agent = desk(script())
    provider = trace.get_tracer_provider()
    reset_trace_globals()
    await play(desk(script()))
    assert seen.all == []
    trace.set_tracer_provider(provider)
    await play(agent)
    assert seen.tree == TREE


_UNUSED = """
import sys
from falai import Agent, Message
result = Agent(name="Ana", model="lexical").turn_sync("s1", Message("hello", id="m1"))
assert result.messages
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_a_program_without_traces_imports_nothing_of_them() -> None:
    """Whether OpenTelemetry is installed or not, a turn does not look for it."""
    done = subprocess.run([sys.executable, "-c", _UNUSED], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
