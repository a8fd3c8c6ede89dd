"""The speak call: its prompt, its rounds, its outcome (M-7 to M-10, M-24)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import ProviderError
from falai.flow.definition import Collect, Instruction
from falai.flow.plan import AgentPlan, ToolPlan
from falai.model.effects import Speak, UseTools
from falai.model.inputs import Deferred, SpeakInput, Spoken
from falai.model.port import ModelReply, ModelRequest, ToolCall, Usage
from falai.model.speak import speak
from falai.model.tasks import Acted, Corrected, Refused, Said, SpeakTask
from falai.model.tools import run_tools
from model.agents import idle_input, plan, run, speak_input

PLAN = plan()
PROVIDER_GONE = ProviderError("gone", kind="overload")


def _play(agent: AgentPlan, given_: SpeakInput, answers: Sequence[Any]) -> tuple[Spoken | Deferred, list[ModelRequest]]:
    """Drives the generator: a reply, a dict as its envelope, or an exception for each round; tools really run."""
    call, queue, requests = speak(agent, given_), list(answers), []
    try:
        effect = next(call)
        while True:
            if isinstance(effect, UseTools):
                effect = call.send(asyncio.run(run_tools(effect)))
                continue
            requests.append(effect.request)
            answer = queue.pop(0)
            effect = call.throw(answer) if isinstance(answer, BaseException) else call.send(_reply(answer))
    except StopIteration as stop:
        assert not queue, "a reply was left over"
        return stop.value, requests


def _reply(answer: Any) -> Any:
    if isinstance(answer, dict):
        return ModelReply(message=json.dumps(answer), structured=answer)
    return ModelReply(message=answer) if isinstance(answer, str) else answer


def _request(agent: AgentPlan = PLAN, **changes: Any) -> ModelRequest:
    effect = next(speak(agent, speak_input(agent, **changes)))
    assert isinstance(effect, Speak)
    return effect.request


def _idle(agent: AgentPlan = PLAN, **changes: Any) -> ModelRequest:
    effect = next(speak(agent, idle_input(agent, **changes)))
    assert isinstance(effect, Speak)
    return effect.request


def _sections(prompt: str) -> dict[str, str]:
    parts = [part.partition("\n") for part in f"\n{prompt}".split("\n## ")[1:]]
    return {title: body.strip() for title, _, body in parts}


def _tool(id: str = "slots", handler: Any = None, **more: Any) -> ToolPlan:
    return ToolPlan(id, f"Looks up {id}", {"type": "object"}, handler or (lambda args, ctx: {"value": "16:00"}), **more)


# --- the prompt -------------------------------------------------------------------------------


def test_sections_of_a_talk_step_stand_in_their_order() -> None:
    """M-8.1, with the additions of M-24."""
    request = _request(
        plan(timezone="Europe/Lisbon", persona="Warm to {{data.name}}."),
        data={"name": "Bia"}, pending=("size",), said=(Said("Hi"),), tools=(_tool(),),
        instructions=(Instruction("Be brief."),), refused=(Refused("start", "no date"),), acted=(Acted("book", "ok"),),
    )  # fmt: skip
    assert list(_sections(request.prompt)) == [
        "Identity", "Today", "Flow", "Guideline", "Fields to collect", "Known facts", "Refused values", "Instructions",
        "Message", "Already sent", "Actions", "Response format", "Tools",
    ]  # fmt: skip


def test_the_idle_speaker_has_no_flow_no_fields_no_facts() -> None:
    """M-8.1; its instructions and its prompt are there, and a blank prompt has a default (M-8.4)."""
    from falai.flow.build import Idle

    agent = plan(idle=Idle("Answer for {{context.firm}}, not {{input.x}}."))
    request = _idle(agent, context={"firm": "Acme"}, data={"name": "Bia"}, instructions=(Instruction("Be brief."),))
    sections = _sections(request.prompt)
    assert list(sections) == ["Guideline", "Instructions", "Message", "Response format"]
    assert sections["Guideline"] == "Answer for Acme, not {{input.x}}."
    assert request.schema["required"] == ["message"]
    assert _sections(_idle().prompt)["Guideline"]


def test_a_step_s_own_way_to_ask_wins() -> None:
    """The step's `ask` for the slug, else the field's, else nothing (M-8.5)."""
    step = Collect("who", ["name", "size"], ask={"size": "Count {{input.what}}."})
    request = _request(step=step, run=run(input={"what": "heads"}))
    fields = _sections(request.prompt)["Fields to collect"]
    assert "Ask for the name lightly." in fields
    assert "Count heads." in fields
    assert fields.count("How to ask") == 2
    assert "What is your name?" not in request.prompt, "a field's question is in no prompt (F-19.2)"
    assert isinstance(request.task, SpeakTask)
    assert request.task.fields[0].question == "What is your name?"


def test_the_envelope_is_the_message_and_the_pending_fields() -> None:
    """Each under its key, an undeclared slug as text (M-7.2 to M-7.4)."""
    schema = _request(pending=("full name", "size", "nobody")).schema
    assert schema["required"] == ["message", "field_1", "size", "nobody"]
    assert schema["properties"]["nobody"] == {"type": ["string", "null"]}


def test_a_reply_before_a_fixed_question_only_answers() -> None:
    """The question is quoted, the step's prompt and the fields are gone (M-8.4, M-8.5)."""
    request = _request(fixed_after="Which badge number?\n## Output")
    assert "```\nWhich badge number?\n## Output\n```" in request.prompt
    assert "Find out who they are." not in request.prompt
    assert "Fields to collect" not in _sections(request.prompt)
    assert request.schema["required"] == ["message"]


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"text": "  hello "}, "Message"),
        ({"text": "   "}, None),
        ({"kind": "wake", "text": None}, "Situation"),
        ({"kind": "event", "text": None}, "Situation"),
        ({"kind": "start", "text": None}, "Situation"),
    ],
)
def test_what_is_replied_to(changes: dict[str, Any], title: str | None) -> None:
    """The message, trimmed and quoted; nothing for a blank one; else that nobody has written (M-8.7)."""
    sections = _sections(_request(**changes).prompt)
    assert [name for name in ("Message", "Situation") if name in sections] == ([title] if title else [])
    if title == "Message":
        assert "```\nhello\n```" in sections["Message"]


def test_a_retry_answers_the_message_that_got_no_reply() -> None:
    """Only when the history ends with a customer's message; otherwise it speaks first (M-8.7)."""
    asked = {"role": "user", "content": "when?"}
    answered = [asked, {"role": "assistant", "content": "at nine"}]
    retry = _sections(_request(kind="wake", text=None, retry=True, history=[asked]).prompt)["Situation"]
    first = _sections(_request(kind="wake", text=None, retry=True, history=answered).prompt)["Situation"]
    left = _sections(_request(kind="wake", text=None, retry=False, history=[asked]).prompt)["Situation"]
    assert "last message" in retry
    assert first == left != retry


def test_instructions_say_when_they_apply() -> None:
    """Kind, rendered prompt, and both parts of its `when`, which is no template (M-11.5, F-15.5)."""
    rules = (
        Instruction(" Greet {{data.name}}. ", kind="must", when=["asks {{x}}", "!is angry"]),
        Instruction("Never joke.", when="!is glad"),
        Instruction("{{data.blank}}"),
    )
    lines = _sections(_request(instructions=rules, data={"name": "Bia", "blank": ""}).prompt)[
        "Instructions"
    ].splitlines()
    assert lines[1:] == [
        "- must: Greet Bia. [only when: asks {{x}}] [never when: is angry]",
        "- should: Never joke. [never when: is glad]",
    ]


def test_what_was_sent_stands_as_one_line_each() -> None:
    """Text as a JSON literal, media by its slug; a message with neither has no line (M-8.10)."""
    said = (Said(" one\ntwo "), Said("", "menu"), Said("three", "map"), Said("  "))
    lines = _sections(_request(said=said).prompt)["Already sent"].splitlines()
    assert lines[1:] == ['- "one\\ntwo"', '- [media "menu"]', '- "three" [media "map"]']
    assert "Already sent" not in _sections(_request().prompt)


def test_what_the_actions_did_is_told() -> None:
    """Name, status and words of each, so that the reply cannot claim more (M-24.4)."""
    acted = (Acted("book", "failed", 'no "slot"\nleft'), Acted("notify", "ok", None))
    lines = _sections(_request(acted=acted).prompt)["Actions"].splitlines()
    assert lines[1:] == ['- book: failed, "no \\"slot\\"\\nleft"', "- notify: ok"]


def test_corrected_values_are_told() -> None:
    """The old value and the new one, so that the reply can say what was changed."""
    lines = _sections(_request(corrected=(Corrected("size", "1-10", "11-50"),)).prompt)["Corrected values"].splitlines()
    assert lines[1:] == ['- size: "1-10" is now "11-50"']


def test_refused_values_are_told_to_every_speaker() -> None:
    """M-24.3, as a one-line JSON string."""
    for request in (
        _request(refused=(Refused("start", "not\na date"),)),
        _idle(refused=(Refused("start", "not\na date"),)),
    ):
        assert '- start: "not\\na date"' in _sections(request.prompt)["Refused values"]


# --- rounds -----------------------------------------------------------------------------------


def test_a_reply_is_its_message_and_its_known_values() -> None:
    """Raw values under their slugs; null and the empty text are none (M-10.1, M-9.4)."""
    done, requests = _play(PLAN, speak_input(PLAN, pending=("full name", "size")), [
        {"message": " Hi ", "field_1": "Ana Sá", "size": "", "more": 1},
    ])  # fmt: skip
    assert done == Spoken(message=" Hi ", values={"full name": "Ana Sá"}, data={}, llm_calls=1, usage=None)
    assert len(requests) == 1
    assert "Tools" not in _sections(requests[0].prompt)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Good day", "Good day"),
        ('Sure: {"message": "Hi"}', "Hi"),
        ('{"message": 7}', None),
        ('{"message": "cut', None),
        ("```json\nbroken", None),
        ("", None),
        ("  \n", None),
    ],
)
def test_free_text_is_a_message_and_a_broken_envelope_is_none(text: str, message: str | None) -> None:
    """M-10.1, M-10.3: what is blank in the end is deferred, and another try may help."""
    done, _ = _play(PLAN, speak_input(PLAN), [text])
    if message is None:
        assert done == Deferred(code="provider-unavailable", retryable=True, reset_at_ms=None, llm_calls=1, usage=None)
    else:
        assert isinstance(done, Spoken)
        assert done.message == message


def test_tools_are_offered_until_their_rounds_are_used_up() -> None:
    """`L` rounds with tools and one without, however often the model calls (M-9.1, M-9.10)."""
    agent = plan(max_tool_loops=2)
    calling = ModelReply(message="wait", tool_calls=(ToolCall("slots", {}),))
    done, requests = _play(agent, speak_input(agent, tools=(_tool(),)), [calling, calling, calling])
    assert isinstance(done, Spoken)
    assert (done.llm_calls, done.message) == (3, "wait")
    assert [[tool.id for tool in request.tools] for request in requests] == [["slots"], ["slots"], []]
    assert [list(_sections(request.prompt))[-1] for request in requests] == ["Tools", "Tools", "Wrap-up"]
    assert (
        len({request.prompt.partition("\n\n## Tools")[0].partition("\n\n## Wrap-up")[0] for request in requests}) == 1
    )


@pytest.mark.parametrize("rounds", [0, 5])
def test_without_tools_there_is_one_round(rounds: int) -> None:
    """No tools, or no rounds for them (M-9.1)."""
    agent = plan(max_tool_loops=rounds)
    tools = (_tool(),) if rounds == 0 else ()
    done, requests = _play(agent, speak_input(agent, tools=tools), [{"message": "Hi"}])
    assert done.llm_calls == 1
    assert requests[0].tools == ()


def test_a_round_s_calls_become_history() -> None:
    """A user turn where there is none, one assistant item, one item a result (M-9.8)."""
    calling = ModelReply(
        structured={"message": "Let me look."}, reasoning="hm", reasoning_details=[1],
        tool_calls=(ToolCall("slots", '{"day": "mon"}'), ToolCall("", {}), ToolCall("gone", "[1]")),
    )  # fmt: skip
    _, requests = _play(PLAN, speak_input(PLAN, text=" when? ", tools=(_tool(),)), [calling, {"message": "At four."}])
    assert requests[0].history == []
    assert requests[1].history == [
        {"role": "user", "content": " when? "},
        {
            "role": "assistant", "content": "Let me look.", "reasoning": "hm", "reasoningDetails": [1],
            "tool_calls": [
                {"id": "call-0-0", "name": "slots", "arguments": {"day": "mon"}},
                {"id": "call-0-1", "name": "gone", "arguments": {}},
            ],
        },
        {"role": "tool", "tool_call_id": "call-0-0", "name": "slots", "content": "16:00"},
        {"role": "tool", "tool_call_id": "call-0-1", "name": "gone", "content": requests[1].history[3]["content"]},
    ]  # fmt: skip
    assert '"gone"' in json.loads(requests[1].history[3]["content"])["error"]


def test_history_that_ends_with_the_customer_needs_no_opening() -> None:
    """And where nobody has written, the prompt stands for the user's turn (M-9.8)."""
    asked = [{"role": "user", "content": "oi"}]
    calling = ModelReply(tool_calls=(ToolCall("slots", {}),))
    twice = [calling, calling, {"message": "x"}]
    _, requests = _play(PLAN, speak_input(PLAN, history=asked, tools=(_tool(),)), twice)
    assert [item["role"] for item in requests[2].history] == ["user", "assistant", "tool", "assistant", "tool"]
    assert requests[1].history[1]["content"] is None
    assert [item["tool_call_id"] for item in requests[2].history if item["role"] == "tool"] == ["call-0-0", "call-1-0"]
    assert asked == [{"role": "user", "content": "oi"}], "the given history is never changed (M-14.2)"
    _, requests = _play(PLAN, speak_input(PLAN, kind="wake", text=None, tools=(_tool(),)), [calling, {"message": "x"}])
    assert requests[1].history[0]["content"].startswith("## Flow")


def test_tool_calls_may_come_in_the_object() -> None:
    """M-9.5: entries that are no calls are dropped."""
    listed = [{"toolName": "slots", "arguments": {"a": 1}}, {"toolName": 7}, "slots", {"arguments": {}}]
    done, requests = _play(
        PLAN, speak_input(PLAN, tools=(_tool(),)), [{"message": "", "toolCalls": listed}, {"message": "x"}]
    )
    assert done.llm_calls == 2
    assert [call["arguments"] for call in requests[1].history[1]["tool_calls"]] == [{"a": 1}]


def test_a_call_without_offered_tools_is_not_run() -> None:
    """In a round without tools nothing is called, whatever the model says (M-9.4)."""
    calling = ModelReply(message="Hi", tool_calls=(ToolCall("slots", {}),))
    done, _ = _play(PLAN, speak_input(PLAN), [calling])
    assert isinstance(done, Spoken)
    assert done.llm_calls == 1


def test_values_and_data_are_merged_over_the_rounds() -> None:
    """A known value replaces an earlier one; data in call order; the last message counts (M-9.4, M-9.9)."""
    seen: list[Any] = []

    def handler(args: Any, ctx: Any) -> Any:
        seen.append((dict(ctx.data), len(ctx.history)))
        return {"value": None, "data": {"n": args["n"], f"k{args['n']}": True}}

    first = ModelReply(structured={"message": "a", "name": "Ana", "size": "1-10"}, usage=Usage(1, 2, 0),
                       tool_calls=(ToolCall("slots", {"n": 1}), ToolCall("slots", {"n": 2})))  # fmt: skip
    second = ModelReply(
        structured={"message": "", "name": None, "size": "11-50"}, tool_calls=(ToolCall("slots", {"n": 3}),)
    )
    third = ModelReply(structured={"message": "b", "name": ""}, usage=Usage(10, 20, 5))
    data: dict[str, Any] = {"was": [1]}
    done, _ = _play(PLAN, speak_input(PLAN, data=data, tools=(_tool(handler=handler),)), [first, second, third])
    assert done == Spoken(
        message="b", values={"name": "Ana", "size": "11-50"}, data={"n": 3, "k1": True, "k2": True, "k3": True},
        llm_calls=3, usage=Usage(11, 22, 5),
    )  # fmt: skip
    assert seen == [({"was": [1]}, 0), ({"was": [1]}, 0), ({"was": [1], "n": 2, "k1": True, "k2": True}, 4)]
    assert data == {"was": [1]}


def test_a_tool_s_copy_of_the_data_is_its_own() -> None:
    """What a tool does to `ctx.data` changes nothing (F-14.2)."""
    data: dict[str, Any] = {"list": [1]}

    def handler(args: Any, ctx: Any) -> Any:
        ctx.data["list"].append(2)

    calling = ModelReply(tool_calls=(ToolCall("slots", {}),))
    _play(PLAN, speak_input(PLAN, data=data, tools=(_tool(handler=handler),)), [calling, {"message": "x"}])
    assert data == {"list": [1]}


def test_of_two_tools_with_one_id_the_first_runs() -> None:
    """F-14.7; the model sees it once."""
    tools = (_tool(handler=lambda a, c: {"value": "first"}), _tool(handler=lambda a, c: {"value": "second"}))
    _, requests = _play(
        PLAN, speak_input(PLAN, tools=tools), [ModelReply(tool_calls=(ToolCall("slots", {}),)), {"message": "x"}]
    )
    assert requests[1].history[-1]["content"] == "first"
    assert [tool.id for tool in requests[0].tools] == ["slots"]


# --- failures ---------------------------------------------------------------------------------


def test_a_failure_defers_and_keeps_what_it_cost() -> None:
    """In any round; the values and the data of the rounds before are dropped (M-10.4, M-10.8)."""
    calling = ModelReply(structured={"name": "Ana"}, usage=Usage(1, 2), tool_calls=(ToolCall("slots", {}),))
    done, _ = _play(PLAN, speak_input(PLAN, tools=(_tool(),)), [calling, PROVIDER_GONE])
    assert done == Deferred(
        code="provider-unavailable", retryable=True, reset_at_ms=None, llm_calls=2, usage=Usage(1, 2, 0)
    )


def test_the_latest_stated_time_is_passed_on() -> None:
    """The later of `reset_at_ms` and now + `retry_after_ms`, whatever the kind (M-10.6)."""
    now = speak_input(PLAN).now_ms
    for reset, wait, expected in [(now + 5, 9, now + 9), (now + 50, 9, now + 50), (None, 9, now + 9), (7, None, 7)]:
        error = ProviderError("full", kind="quota", reset_at_ms=reset, retry_after_ms=wait)
        done, _ = _play(PLAN, speak_input(PLAN), [error])
        assert isinstance(done, Deferred)
        assert (done.code, done.retryable, done.reset_at_ms) == ("provider-quota", True, expected)


def test_cancellation_goes_out() -> None:
    """It is no provider failure (M-10.4)."""
    call = speak(PLAN, speak_input(PLAN))
    next(call)
    with pytest.raises(asyncio.CancelledError):
        call.throw(asyncio.CancelledError())


def test_a_reply_that_is_none_is_a_failure() -> None:
    """A port that answers with something else ends like a provider that failed."""
    done, _ = _play(PLAN, speak_input(PLAN), [[1, 2]])
    assert isinstance(done, Deferred)
    assert done.retryable


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
ENVELOPES = st.dictionaries(st.sampled_from(["message", "name", "size", "toolCalls", "x"]), VALUES, max_size=4)
CALLS = st.builds(ToolCall, st.sampled_from(["slots", "boom", "gone", ""]), VALUES | st.just('{"a": 1}') | st.just({}))
REPLIES = st.builds(
    ModelReply,
    message=st.text(max_size=10) | ENVELOPES.map(json.dumps),
    structured=st.none() | ENVELOPES,
    tool_calls=st.lists(CALLS, max_size=3).map(tuple),
    usage=st.none() | st.just(Usage(1, 1, 1)),
)
FAILURES = st.sampled_from([PROVIDER_GONE, ProviderError("k", kind="auth"), ValueError("x"), TimeoutError()])


def _boom(args: Any, ctx: Any) -> Any:
    raise KeyError("boom")


@pytest.mark.property
@given(st.lists(REPLIES | FAILURES, min_size=4, max_size=4), st.integers(0, 3))
def test_whatever_the_rounds_bring_the_call_ends(answers: list[Any], loops: int) -> None:
    """Any replies, failures and tools: at most `L` + 1 rounds, and a message that is not blank or a deferral."""
    agent = plan(max_tool_loops=loops)
    call, used = speak(agent, speak_input(agent, tools=(_tool(), _tool("boom", _boom)))), 0
    done: Any = None
    try:
        effect = next(call)
        while True:
            if isinstance(effect, UseTools):
                effect = call.send(asyncio.run(run_tools(effect)))
                continue
            answer, used = answers[used], used + 1
            effect = call.throw(answer) if isinstance(answer, BaseException) else call.send(answer)
    except StopIteration as stop:
        done = stop.value
    assert done.llm_calls == used <= loops + 1
    if isinstance(done, Spoken):
        assert done.message.strip()
        assert set(done.values) <= {"name", "size"}
        assert all(value is not None and value != "" for value in done.values.values())
