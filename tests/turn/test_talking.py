"""T-14, T-15, T-16: who speaks and with what, what is done with the reply, the fixed question."""

from __future__ import annotations

from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
    Flow,
    Instruction,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    ProviderError,
    Say,
    ToolResult,
    Wait,
    defer,
    failed,
    ok,
    skipped,
)  # fmt: skip
from falai.flow.definition import Idle
from falai.flow.functions import Tool
from falai.model.port import ModelReply, ToolCall, Usage
from falai.session.model import Session
from turn.chat import Chat, at, ended, lines, said, scheduled

NOTE = Collect("c", ["note"])
UNANSWERED = [{"role": "user", "content": "Hello?"}]


def _task(chat: Chat) -> Any:
    return chat.model.calls[-1].request.task


# --- who speaks ---------------------------------------------------------------------------------


def test_the_idle_speaker():
    """T-14.4, T-15.16: a message that nobody else answers; key, no run, no step; line with `llmCalls`."""
    result = Chat().message(speak="Hi there")
    [message] = result.to_wire()["messages"]
    assert message == {"text": "Hi there", "kind": "ai", "afterMs": 0, "key": "idle:m1"}
    [line] = result.outcomes
    assert (lines(result), line.key, line.llm_calls, line.run_id) == (["idle/ok"], "idle:m1", 1, None)
    assert result.session.last_assistant_at == "2026-09-20T10:00:00.000Z"


def test_a_delay_rides_on_the_idle_speakers_reply():
    """T-15.16: `afterMs` = `delay`."""
    flow = Flow("dog", on=[OnMention()], steps=[Wait("w", "3s"), Say("x", "x", once=True)])
    result = Chat(flow).message(claims={"held": {"dog:x:s1": "2026-09-20"}}, speak="Hi")
    assert [message.after_ms for message in result.messages] == [3000]


@pytest.mark.parametrize("given", ["event", "start", "wake"])
def test_the_idle_speaker_is_for_messages(given: str):
    """T-14.4: if the turn is a message."""
    chat = Chat(Flow("lead", steps=[Wait("w", "1d")]))
    [(key, _)] = scheduled(chat.start("lead"))
    assert not {
        "event": lambda: chat.event("in"),
        "start": lambda: chat.start("gone", "k2"),
        "wake": lambda: chat.wake(key),
    }[given]().messages


def test_the_idle_speaker_is_quiet_when_somebody_asks_or_spoke():
    """T-14.4: a run is `asking`, `spokeBy` is not empty, or `idle` is silent."""
    staying = Flow("stay", on=[OnMention()], on_end="stay", steps=[Say("x", "x", then="end"), Prompt("p", "Talk.")])
    assert said(Chat(staying).message()) == ["x"]
    acting = Flow("act", on=[OnMention()], steps=[Do("d", "tell")])
    assert said(Chat(acting, actions={"tell": ok(spoke=True)}).message()) == []
    assert said(Chat(acting, actions={"tell": ok()}).message(speak="Hi")) == ["Hi"]
    assert said(Chat(idle="silent").message()) == []


def test_what_the_idle_speaker_is_told():
    """T-14: its prompt, the agent's and its own instructions, its tools, no run."""
    tools = [Tool(name, lambda _ctx: None) for name in ("a", "b")]
    idle = Idle(
        "Be {{context.mood}}.", tools=["b"], instructions=[Instruction("Two."), Instruction("No.", if_={"flag": "x"})]
    )
    chat = Chat(idle=idle, tools=tools, instructions=[Instruction("One.")])
    chat.message(speak="Hi", context={"mood": "kind"})
    task = _task(chat)
    assert (task.flow, task.step_id, task.guideline, task.kind, task.text) == (
        None,
        None,
        "Be kind.",
        "message",
        "hello",
    )
    assert [rule.prompt for rule in task.instructions] == ["One.", "Two."]
    assert [tool.id for tool in chat.model.calls[-1].request.tools] == ["b"]


def test_what_a_talk_step_is_told():
    """T-14: speaker, pending fields, text, said, instructions of agent, flow and step, in this order."""
    step = Collect("c", ["name", "note"], prompt="Go on, {{data.size}}.", instructions=[Instruction("Three.")])
    flow = Flow("lead", on=[OnAnyMessage()], instructions=[Instruction("Two.")], steps=[Say("x", "First."), step])
    chat = Chat(flow, instructions=[Instruction("One."), Instruction("No.", if_=lambda view: view.run.hop == 9)])
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 3}
    chat.message(understand={"fields": {"name": "Ana"}}, speak="Note?")
    task = _task(chat)
    assert (task.flow, task.step_id, task.guideline) == ("lead", "c", "Go on, 3.")
    assert [field.slug for field in task.fields] == ["note"]
    assert [sent.text for sent in task.said] == ["First."]
    assert [rule.prompt for rule in task.instructions] == ["One.", "Two.", "Three."]
    assert (task.kind, task.text, task.retry, task.fixed_after) == ("message", "hello", False, None)


@pytest.mark.parametrize(
    ("flow_tools", "step_tools", "offered"),
    [
        (None, None, ["a", "b", "c"]),
        (["c", "a"], None, ["a", "c"]),
        (["a"], ["c", "b"], ["b", "c"]),
        (["a"], [], []),
        ([], None, []),
    ],
)
def test_which_tools_are_offered(flow_tools: Any, step_tools: Any, offered: list[str]):
    """T-14, F-14.5: the step's list, else the flow's, else all, in agent order; an empty list means none."""
    tools = [Tool(name, lambda _ctx: None) for name in ("a", "b", "c")]
    flow = Flow("lead", tools=flow_tools, steps=[Prompt("p", "Talk.", tools=step_tools)])
    chat = Chat(flow, tools=tools)
    chat.start("lead", speak="Hi")
    assert [tool.id for tool in chat.model.calls[-1].request.tools] == offered


@pytest.mark.parametrize("media", [None, {"slug": "map"}])
def test_what_was_already_sent(media: Any):
    """T-14 (`said`): the turn's messages so far, with the slug of their media."""
    chat = Chat(Flow("lead", steps=[Say("x", "First.", media=media), Prompt("p", "Talk.")]))
    chat.start("lead", speak="Hi")
    assert [(sent.text, sent.media) for sent in _task(chat).said] == [("First.", "map" if media else None)]


def test_what_the_actions_did():
    """M-24.4: each action of this turn, in order, with its words."""
    results = {"a": ok("one"), "b": skipped("two"), "c": failed("three"), "d": ok()}
    flow = Flow("lead", steps=[*(Do(name, name) for name in results), Prompt("p", "Talk.")])
    chat = Chat(flow, actions=results)
    chat.start("lead", speak="Hi")
    assert [(act.name, act.status, act.words) for act in _task(chat).acted] == [
        ("a", "ok", "one"), ("b", "skipped", "two"), ("c", "failed", "three"), ("d", "ok", None),
    ]  # fmt: skip


def test_a_deferred_action_is_told_too():
    """M-24.4: of whichever run of this turn."""
    side = Flow("side", on=[OnEvent("plain")], steps=[Do("d", "later")])
    lead = Flow("lead", on=[OnEvent("plain")], steps=[Prompt("p", "Talk.")])
    chat = Chat(side, lead, actions={"later": defer("1h", "busy")})
    chat.event("plain", speak="Hi")
    assert [(act.status, act.words) for act in _task(chat).acted] == [("deferred", "busy")]


def test_another_reply():
    """T-14.3, O-5.3: in a message turn another run answered: a line with the key; the run stays asking."""
    side = Flow("side", on=[OnMention(repeat="always")], steps=[Say("x", "Side.")])
    chat = Chat(side, Flow("lead", steps=[NOTE]))
    chat.start("lead", speak="Note?")
    result = chat.message()
    assert (lines(result), said(result)) == (["say/ok", "collect/skipped/another-reply"], ["Side."])
    last = result.outcomes[-1]
    assert (last.key, last.run_id, last.next) == ("lead#k1:c:1", "lead#k1", None)
    assert (chat.statuses, chat.run("lead").asked) == ({"lead": "asking"}, {"note": 1})


def test_an_action_that_spoke_is_another_reply_too():
    """T-14.3, F-8.16: `spokeBy` has another run, live or ended."""
    side = Flow("side", on=[OnMention(repeat="always")], steps=[Do("d", "tell"), Wait("w", "1d")])
    chat = Chat(side, Flow("lead", steps=[NOTE]), actions={"tell": ok(spoke=True)})
    chat.start("lead", speak="Note?")
    assert lines(chat.message())[-1] == "collect/skipped/another-reply"


def test_a_runs_own_say_does_not_silence_its_talk_step():
    """T-14.3: only another run's."""
    chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[Say("x", "First."), Prompt("p", "Talk.")]))
    assert said(chat.message(speak="Second.")) == ["First.", "Second."]


def test_outside_a_message_both_may_speak():
    """T-14.3: in other turns a `say` and a reply of another run go out."""
    side = Flow("side", on=[OnEvent("plain")], steps=[Say("x", "Side.")])
    lead = Flow("lead", on=[OnEvent("plain")], steps=[Prompt("p", "Talk.")])
    assert said(Chat(side, lead).event("plain", speak="Reply.")) == ["Side.", "Reply."]


# --- the reply is applied -----------------------------------------------------------------------


def test_a_reply():
    """T-15.3: text as it is, `ai`, step key, run and step."""
    result = Chat(Flow("lead", steps=[Prompt("p", "Talk.")])).start("lead", speak=" Hi ")
    [message] = result.to_wire()["messages"]
    assert message == {
        "text": " Hi ", "kind": "ai", "afterMs": 0, "key": "lead#k1:p:1", "runId": "lead#k1", "stepId": "p",
    }  # fmt: skip


def test_spoken_values_are_written_whatever_the_mode():
    """T-15.4: by T-9.8, and over an older value too; their lines come before the step's own."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["note", "sure", "size"])]))
    result = chat.start("lead", speak={"message": "?", "note": "x", "sure": "sim", "size": "many", "name": "no"})
    assert result.session.data == {"note": "x", "sure": True}
    assert lines(result) == ["collect/skipped/bad-value", "collect/ok"]
    assert [(change.field, change.source) for change in result.changes] == [("note", "speak"), ("sure", "speak")]


def test_the_tools_data_comes_after_the_replys_values():
    """T-15.5: merged unchecked, after them."""

    def look(_ctx: Any) -> ToolResult:
        return ToolResult("found", {"name": "Tool", "ghost": 1})

    chat = Chat(Flow("lead", steps=[Collect("c", ["name"]), Say("x", "x")]), tools=[Tool("look", look)])
    call = ModelReply(message="", structured={"message": ""}, tool_calls=(ToolCall("look", {}),))
    result = chat.start("lead", speak=[call, {"message": "Hm", "name": "Model"}])
    assert result.session.data == {"name": "Tool", "ghost": 1}
    assert [(change.field, change.source) for change in result.changes] == [
        ("name", "speak"),
        ("name", "tool"),
        ("ghost", "tool"),
    ]
    assert (result.llm_calls, result.outcomes[0].llm_calls) == (2, 2)
    assert said(result) == ["Hm", "x"]


def test_the_idle_speakers_tools_data_is_merged():
    """T-15.16."""
    chat = Chat(tools=[Tool("look", lambda _ctx: ToolResult(data={"name": "Tool"}))])
    call = ModelReply(structured={"message": ""}, tool_calls=(ToolCall("look", {}),))
    result = chat.message(speak=[call, "Hi"])
    assert (result.session.data, result.outcomes[0].llm_calls) == ({"name": "Tool"}, 2)


def test_counting_asks():
    """T-15.7: what is still pending after the reply's own values, with the counts as they were."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["note", "name"], max_asks=1)]))
    chat.start("lead", speak={"message": "?", "name": "Ana"})
    assert (chat.run("lead").asked, chat.statuses) == ({"note": 1}, {"lead": "asking"})
    assert chat.run("lead").visits == {"c": 1}


def test_a_step_with_nothing_left_moves_on():
    """T-15.10: its line first, then what follows: `say` goes out after the reply, actions run."""
    steps = [Collect("c", ["name"], then="d"), Say("y", "no"), Do("d", "act"), Say("x", "After.")]
    chat = Chat(Flow("lead", steps=steps), actions={"act": ok()})
    result = chat.start("lead", speak={"message": "Thanks", "name": "Ana"})
    assert lines(result) == ["collect/ok", "do/ok", "say/ok"]
    assert (said(result), ended(result)) == (["Thanks", "After."], ["lead:end"])
    assert result.outcomes[0].next is None


def test_what_was_given_up_is_told_when_the_step_moves_on():
    """T-15.10: `max-asks` lines after the step's own."""
    chat = Chat(
        Flow(
            "lead",
            steps=[Collect("c", ["name"], max_asks=1), Collect("d", ["name", "note"], max_asks=1), Say("x", "x")],
        )
    )
    chat.start("lead", speak="Name?")
    result = chat.message(understand={"fields": {}}, speak={"message": "Thanks", "note": "n"})
    assert lines(result) == [
        "collect/skipped/max-asks", "collect/ok", "collect/ok", "collect/skipped/max-asks", "say/ok",
    ]  # fmt: skip
    assert [line.step_id for line in result.outcomes] == ["c", "c", "d", "d", "x"]
    assert (result.outcomes[3].detail, result.outcomes[3].key) == ("name", "lead#k1:d:1")


def test_a_run_that_parks_after_its_reply_is_not_moved_again():
    """T-15.10: queued only if it is live and running."""
    result = Chat(Flow("lead", steps=[Prompt("p", "Talk."), Wait("w", "1d")])).start("lead", speak="Hi")
    assert lines(result) == ["prompt/ok", "wait/waiting"]


def test_a_staying_step_gives_a_field_up_once():
    """T-15.8: a `max-asks` line when the count reaches the limit; it answers on, with new visits."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Collect("c", ["note", "name"], max_asks=2, then="end")]))
    chat.start("lead", speak="1")
    chat.message(understand={"fields": {}}, speak={"message": "2", "name": "Ana", "note": "n"})
    assert chat.run("lead").staying is True
    chat.data.clear()
    chat.data["name"] = "Ana"
    run = chat.run("lead")
    run.asked = {"note": 1}
    result = chat.message(speak="3")
    assert lines(result) == ["collect/ok", "collect/skipped/max-asks"]
    assert (result.outcomes[1].detail, result.outcomes[1].key) == ("note", "lead#k1:c:2")
    assert (chat.run("lead").visits, chat.run("lead").staying, chat.statuses) == ({"c": 3}, True, {"lead": "asking"})
    assert lines(chat.message(speak="4")) == ["collect/ok"]


def test_a_staying_step_below_the_limit():
    """T-15.8: no line while the count is below; another limit than the default counts."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Say("x", "x", then="end"), Collect("c", ["note"])]))
    chat.start("lead")
    assert [lines(chat.message(speak="?"))[1:] for _ in range(4)] == [[], [], ["collect/skipped/max-asks"], []]


# --- a reply that failed ------------------------------------------------------------------------


def test_the_ladder_of_retries():
    """T-15.14, trace F: one, five, fifteen minutes, an hour, six hours; then the run ends `failed`."""
    chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[NOTE]))
    down = ProviderError("down", kind="overload")
    result = chat.message(speak=down)
    for seconds in (60, 300, 900, 3600, 21_600):
        [line] = result.outcomes
        assert lines(result) == ["collect/deferred/provider-unavailable"]
        assert (line.key, line.next, line.llm_calls, result.llm_calls) == ("lead#m1:c:1", None, None, 1)
        due = chat.clock.advance(seconds * 1000)
        [wake] = result.schedule
        assert (wake.at, wake.key) == (due, f"lead#m1:c:1:retry:{int(due.timestamp() * 1000)}")
        assert line.until == wake.at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        result = chat.wake(wake.key, speak=down)
    assert (lines(result), ended(result)) == (["collect/failed/provider-unavailable"], ["lead:failed"])
    assert (result.outcomes[0].key, result.outcomes[0].until) == ("lead#m1:c:1", None)
    assert result.session.runs == []


def test_a_failure_that_waiting_cannot_fix():
    """T-15.14: the run ends `failed` at once, with one line; what phase 5 did stays."""
    chat = Chat(Flow("lead", steps=[Say("x", "x"), Prompt("p", "Talk.")]))
    result = chat.start("lead", speak=ProviderError("no key", kind="auth"))
    assert (lines(result), ended(result)) == (["say/ok", "prompt/failed/provider-auth"], ["lead:failed"])
    assert said(result) == ["x"]


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (ProviderError("x", kind="rate", retry_after_ms=90_000), 90),
        (ProviderError("x", kind="rate", retry_after_ms=30_000), 60),
        (ProviderError("x", kind="quota", reset_at_ms=at(7_200)), 7_200),
        (ProviderError("x", kind="rate", reset_at_ms=at(30)), 60),
    ],
)
def test_the_time_that_the_provider_stated(failure: ProviderError, seconds: int):
    """T-15.14: the later of the ladder's and the provider's."""
    result = Chat(Flow("lead", steps=[NOTE])).start("lead", speak=failure)
    assert scheduled(result) == [(f"lead#k1:c:1:retry:{at(seconds)}", f"+{seconds}s")]


def test_attempts_count_without_a_gap():
    """T-15.14: the run's newest lines that are `deferred` at this step; a reply in between starts anew."""
    chat = Chat(Flow("lead", steps=[NOTE]))
    down = ProviderError("down", kind="overload")
    first = chat.start("lead", speak=down)
    second = chat.wake(first.schedule[0].key, speak=down)
    assert scheduled(second)[0][1] == "+300s"
    chat.wake(second.schedule[0].key, speak="Note?")
    assert scheduled(chat.message(speak=down))[0][1] == "+60s"


def test_a_deferral_elsewhere_is_no_attempt():
    """T-15.14: a deferred action, or a retry of another step, does not count."""
    chat = Chat(Flow("lead", steps=[Do("d", "act"), NOTE]), actions={"act": [{"defer": "1h"}, {"skipped": "x"}]})
    [(key, _)] = scheduled(chat.start("lead"))
    assert scheduled(chat.wake(key, speak=ProviderError("x", kind="rate")))[0][1] == "+60s"


def test_a_retry_is_told_so():
    """T-14 (`input`), M-8.7: not in a message turn, and only if the newest line is `deferred` at this step."""
    chat = Chat(Flow("lead", steps=[NOTE]))
    first = chat.start("lead", speak=ProviderError("x", kind="rate"), history=UNANSWERED)
    assert _task(chat).retry is False
    chat.wake(first.schedule[0].key, speak="Note?", history=UNANSWERED)
    assert (_task(chat).retry, _task(chat).kind, _task(chat).text) == (True, "wake", None)
    chat.message(speak="Note?", history=UNANSWERED)
    assert (_task(chat).retry, _task(chat).text) == (False, "hello")


def test_a_message_does_not_release_a_retry():
    """T-15.14: while the run is parked it is routed as if nobody asked."""
    chat = Chat(
        Flow("lead", on=[OnMessage("x")], steps=[NOTE]), Flow("other", on=[OnMessage("y")], steps=[Say("x", "other")])
    )
    chat.start("lead", speak=ProviderError("x", kind="rate"))
    assert said(chat.message(understand={"flows": {"other": 40}})) == ["other"]
    assert chat.statuses == {"lead": "waiting"}


def test_a_retry_keeps_the_staying():
    """T-11.27, B-7: a staying run that waits for a retry stays."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Prompt("p", "Talk.")]), idle="silent")
    chat.start("lead", speak="Hi")
    failed_turn = chat.message(speak=ProviderError("x", kind="rate"))
    assert (chat.statuses, chat.run("lead").staying) == ({"lead": "waiting"}, True)
    assert lines(chat.wake(failed_turn.schedule[0].key, speak="Well.")) == ["prompt/ok"]
    assert chat.run("lead").staying is True


def test_a_retry_under_the_key_that_was_just_used():
    """T-11.27: a provider that opens at the very instant of the wake gets a later key."""
    chat = Chat(Flow("lead", steps=[NOTE]))
    first = chat.start("lead", speak=ProviderError("x", kind="quota", reset_at_ms=at(9_000)))
    second = chat.wake(first.schedule[0].key, speak=ProviderError("x", kind="quota", reset_at_ms=at(9_000)))
    assert second.schedule[0].key == f"lead#k1:c:1:retry:{at(9_000) + 1}"


def test_the_idle_speakers_failure():
    """T-15.15: a line with the code and `llmCalls`, without key and run; no retry."""
    result = Chat().message(speak=ProviderError("x", kind="auth"))
    [line] = result.outcomes
    assert (lines(result), line.key, line.llm_calls) == (["idle/deferred/provider-auth"], None, 1)
    assert (result.schedule, result.messages) == ((), ())


def test_a_blank_message_is_a_failure():
    """O-6: no error, but the final message is blank."""
    assert lines(Chat().message(speak="  ")) == ["idle/deferred/provider-unavailable"]


def test_after_a_failure_a_suspended_run_comes_back():
    """T-15.11: resume, whoever spoke; without trying its branches."""
    chat = Chat(Flow("one", steps=[NOTE]), Flow("two", steps=[NOTE]))
    chat.start("one", speak="?")
    chat.start("two", "k2", speak=ProviderError("x", kind="rate"))
    assert chat.statuses == {"one": "asking", "two": "waiting"}


def test_an_action_of_the_run_itself_does_not_silence_its_talk_step():
    """T-14.3: `spokeBy` has this run only, so it may answer."""
    flow = Flow("lead", on=[OnAnyMessage()], steps=[Do("d", "tell"), Prompt("p", "Talk.")])
    assert said(Chat(flow, actions={"tell": ok(spoke=True)}).message(speak="Hi")) == ["Hi"]


def test_a_retry_at_a_step_that_was_never_entered():
    """B-9.1: the visit is 0 then, as in a blob that was made elsewhere."""
    chat = Chat(Flow("lead", steps=[NOTE]))
    chat.start("lead", speak="Note?")
    chat.run("lead").visits.clear()
    result = chat.message(speak=ProviderError("x", kind="rate"))
    assert (result.schedule[0].key, result.outcomes[0].key) == (f"lead#k1:c:0:retry:{at(60)}", "lead#k1:c:0")


# --- usage --------------------------------------------------------------------------------------


def test_usage_is_the_sum_of_what_was_counted():
    """T-2.5: two counts are added; a missing one plus a count is the count; none at all is absent."""
    lead, other = (Flow(name, on=[OnMessage("wants")], steps=[Say("x", "x")]) for name in ("lead", "other"))
    chat = Chat(lead, other)
    judged = ModelReply(structured={"flows": {}}, usage=Usage(10, 2, 1))
    spoken = ModelReply(message="Hi", usage=Usage(20, 3, 4))
    assert chat.message(understand=judged, speak=[spoken]).usage == Usage(30, 5, 5)
    assert chat.message(understand=judged, speak="Hi").usage == Usage(10, 2, 1)
    silent = chat.message(understand={"flows": {}}, speak="Hi")
    assert silent.usage is None
    assert "usage" not in silent.to_wire()


# --- the fixed question -------------------------------------------------------------------------

ASK = Collect("c", ["name", "size"], question="Your name, {{context.who}}?")


def _asking(**rest: Any) -> Chat:
    """An agent whose first step has a question; two flows, so that every message is judged."""
    lead = Flow("lead", on=[OnMessage("wants")], steps=[ASK, Say("x", "Thanks.")], **rest)
    return Chat(lead, Flow("other", on=[OnMessage("wants")], steps=[Say("x", "x")]), idle="silent")


def _judged(asks: Any, **fields: Any) -> dict[str, Any]:
    return {"flows": {"lead": 90}, "asks": asks, "fields": fields}


def test_the_question_alone():
    """T-16.3, T-16.4: the message asks nothing, so the question goes out at once and nobody speaks."""
    chat = _asking()
    result = chat.message(understand=_judged(asks=False), context={"who": "Bo"})
    [message] = result.to_wire()["messages"]
    assert message == {
        "text": "Your name, Bo?", "kind": "verbatim", "afterMs": 0, "key": "lead#m1:c:1", "runId": "lead#m1", "stepId": "c",
    }  # fmt: skip
    [line] = result.outcomes
    assert (lines(result), line.key, line.next, line.llm_calls) == (
        ["collect/ok/asked-fixed"],
        "lead#m1:c:1",
        None,
        None,
    )
    assert (chat.run("lead").asked, chat.statuses) == ({"name": 1, "size": 1}, {"lead": "asking"})
    assert result.session.last_assistant_at == "2026-09-20T10:00:00.000Z"


@pytest.mark.parametrize("asks", [True, None, "perhaps"])
def test_the_question_behind_a_reply(asks: Any):
    """T-16.3, T-16.5: the message asks, or was not judged: the reply only answers, then the question."""
    chat = _asking()
    result = chat.message(understand=_judged(asks), speak={"message": "Ten euros.", "name": "no"})
    assert said(result) == ["Ten euros.", "Your name, {{context.who}}?"]
    assert [message.key for message in result.messages] == ["lead#m1:c:1"] * 2
    assert lines(result) == ["collect/ok", "collect/ok/asked-fixed"]
    assert (_task(chat).fixed_after, _task(chat).fields) == ("Your name, {{context.who}}?", ())
    assert (chat.run("lead").asked, result.session.data) == ({"name": 1, "size": 1}, {})


def test_a_tool_may_make_the_question_needless():
    """T-16.5: looked at again after the reply: not due any more, so nothing is counted and sent."""
    look = Tool("look", lambda _ctx: ToolResult(data={"name": "Ana"}))
    chat = Chat(Flow("lead", on=[OnMention(), OnEvent("plain")], steps=[ASK, Say("x", "Thanks.")]), tools=[look])
    call = ModelReply(structured={"message": ""}, tool_calls=(ToolCall("look", {}),))
    result = chat.message(speak=[call, "Ten euros."])
    assert (said(result), lines(result)) == (["Ten euros."], ["collect/ok"])
    assert (chat.run("lead").asked, chat.statuses) == ({}, {"lead": "asking"})


def test_a_tool_may_finish_the_step():
    """T-16.5: with nothing pending the run moves on (T-15.10)."""
    look = Tool("look", lambda _ctx: ToolResult(data={"name": "Ana", "size": 3}))
    chat = Chat(Flow("lead", on=[OnMention()], steps=[ASK, Say("x", "Thanks.")]), tools=[look])
    call = ModelReply(structured={"message": ""}, tool_calls=(ToolCall("look", {}),))
    result = chat.message(speak=[call, "Ten euros."])
    assert (said(result), ended(result)) == (["Ten euros.", "Thanks."], ["lead:end"])


def test_outside_a_message_the_question_goes_out_alone():
    """T-16.3: a wake, an event or a start asks at once, without a call."""
    chat = _asking()
    assert lines(chat.start("lead")) == ["collect/ok/asked-fixed"]


def test_a_retry_answers_before_the_question():
    """T-16.3: the failed reply was an answer; its retry is one too."""
    chat = _asking()
    first = chat.message(understand=_judged(asks=True), speak=ProviderError("x", kind="rate"))
    assert lines(first) == ["collect/deferred/provider-unavailable"]
    result = chat.wake(first.schedule[0].key, speak="Ten euros.", history=UNANSWERED)
    assert said(result) == ["Ten euros.", "Your name, {{context.who}}?"]
    assert _task(chat).retry is True


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        (Collect("c", ["name", "size"]), {}),
        (Collect("c", ["name", "size"], question="Name?"), {"name": "Ana"}),
        (Collect("c", ["name", "size"], question=""), {}),
    ],
    ids=["no question", "a field is known", "an empty question"],
)
def test_a_question_that_is_not_due(step: Any, fields: Any):
    """T-16.2: the step has one, and every field of it is pending."""
    chat = Chat(
        Flow("lead", on=[OnMessage("x")], steps=[step]), Flow("other", on=[OnMessage("y")], steps=[ASK]), idle="silent"
    )
    result = chat.message(understand=_judged(asks=False, **fields), speak="Name?")
    assert said(result) == ["Name?"]


def test_later_asks_are_the_models():
    """T-16.1, T-16.2: none of the fields has been asked by this run."""
    chat = _asking()
    chat.message(understand=_judged(asks=False))
    result = chat.message(understand={"asks": False, "fields": {}}, speak="Your name?")
    assert (said(result), lines(result)) == (["Your name?"], ["collect/ok"])


def test_a_count_of_nothing_leaves_the_question_due():
    """T-16.2, F-8.15: a count of 0 is as good as none."""
    chat = _asking()
    chat.message(understand=_judged(asks=False))
    chat.run("lead").asked = {"name": 0, "size": 0}
    assert lines(chat.message(understand={"asks": False})) == ["collect/ok/asked-fixed"]


def test_a_staying_run_does_not_use_the_question():
    """T-16.2, B-7.2."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Say("x", "x", then="end"), ASK]))
    chat.start("lead")
    assert said(chat.message(understand={"asks": False, "fields": {}}, speak="Well.")) == ["Well."]


def test_a_question_after_the_reply():
    """T-16.6: a step that is reached in phase 7 sends it at once, whatever the message asked."""
    chat = Chat(Flow("lead", on=[OnMention()], steps=[Prompt("p", "Greet."), Collect("c", ["note"], question="Note?")]))
    result = chat.message(speak="Hi")
    assert (said(result), lines(result)) == (["Hi", "Note?"], ["prompt/ok", "collect/ok/asked-fixed"])
    assert chat.run("lead").asked == {"note": 1}


def test_another_runs_answer_holds_the_question_back():
    """T-16.7, T-14.3."""
    side = Flow("side", on=[OnMention()], steps=[Say("x", "Side.")])
    chat = Chat(side, Flow("lead", on=[OnMessage("x")], steps=[ASK]), idle="silent")
    result = chat.message(understand=_judged(asks=False))
    assert (said(result), lines(result)[-1]) == (["Side."], "collect/skipped/another-reply")
    assert chat.run("lead").asked == {}


def test_clearing_makes_the_question_due_again():
    """T-16.8: the counts of the cleared fields are gone."""
    again = Branch("start over", then={"step": "c", "clear": ["name", "size"]})
    ask = Collect("c", ["name", "size"], question="Name?", branches=[again])
    chat = Chat(
        Flow("lead", on=[OnMessage("x")], steps=[ask]), Flow("other", on=[OnMessage("y")], steps=[ASK]), idle="silent"
    )
    chat.message(understand=_judged(asks=False))
    result = chat.message(understand={"branches": {"q1": True}, "asks": False})
    assert lines(result) == ["collect/ok/branch", "collect/ok/asked-fixed"]
    assert result.messages[0].key == "lead#m1:c:2"


def test_a_delay_rides_on_the_question():
    """T-16.4: `afterMs` = `delay`."""
    result = Chat(Flow("lead", steps=[Wait("w", "3s"), ASK])).start("lead")
    assert [message.after_ms for message in result.messages] == [3000]


def test_the_question_counts_as_this_runs_answer():
    """T-16.4: the run joins `spokeBy`, so nothing is handed down and no silence is missed."""
    chat = Chat(Flow("lead", steps=[ASK]), Flow("nudge", on=[OnSilence("1h")], steps=[Say("x", "x")]))
    assert scheduled(chat.start("lead")) == [(f"silence:nudge:s1:{at(0)}", "+3600s")]
