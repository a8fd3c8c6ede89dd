"""T-11: what each kind of step does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from falai import (
    Collect,
    Do,
    Flow,
    If,
    OnEvent,
    Prompt,
    Say,
    To,
    ToFlow,
    Wait,
    WaitEvent,
    defer,
    failed,
    ok,
    skipped,
)  # fmt: skip
from falai.flow.plan import AgentPlan
from turn.chat import Chat, at, ended, lines, said, scheduled

# --- talk ---------------------------------------------------------------------------------------


def test_a_talk_step_asks():
    """T-11.4, T-15.6: the run asks; the line has key and `llmCalls`, no `next` and no code."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name"], then="c")]))
    [line] = chat.start("lead", speak="Name?").outcomes
    assert (line.kind, line.status, line.code, line.key, line.llm_calls, line.next) == (
        "collect",
        "ok",
        None,
        "lead#k1:c:1",
        1,
        None,
    )
    assert chat.statuses == {"lead": "asking"}


def test_pending_fields():
    """T-11.1, F-2.5: in order, each once, without known ones and those asked too often."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name", "size", "name", "plan"], max_asks=2)]))
    chat.start("lead", speak={"message": "?", "size": 0})
    assert chat.run("lead").asked == {"name": 1, "plan": 1}
    chat.message(understand={"fields": {"plan": "pro"}}, speak="?")
    assert chat.run("lead").asked == {"name": 2, "plan": 1}


def test_nothing_pending_on_arrival():
    """T-11.2: `already-known` with `next`, no call; `max-asks` lines come first."""
    chat = Chat(
        Flow(
            "lead",
            steps=[
                Collect("c", ["name"], max_asks=1),
                Collect("d", ["name", "size"], max_asks=1, then="x"),
                Say("x", "x"),
            ],
        )
    )
    chat.start("lead", speak="Name?")
    result = chat.message(understand={"fields": {"size": 3}})
    assert lines(result) == [
        "collect/skipped/max-asks", "collect/ok", "collect/skipped/max-asks", "collect/skipped/already-known", "say/ok",
    ]  # fmt: skip
    given_up, passed = result.outcomes[2:4]
    assert (given_up.detail, given_up.key, given_up.next) == ("name", "lead#k1:d:1", None)
    assert (passed.detail, passed.key, passed.next) == (None, "lead#k1:d:1", "x")
    assert (result.outcomes[1].key, result.outcomes[1].next, result.outcomes[1].llm_calls) == (
        "lead#k1:c:1",
        None,
        None,
    )


def test_a_field_that_is_known_is_not_given_up():
    """T-11.2: a `max-asks` line is for a field that is unknown and at its limit."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name", "size"], max_asks=1), Say("x", "x")]))
    chat.start("lead", speak="?")
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert [line.detail for line in result.outcomes if line.code == "max-asks"] == ["size"]


def test_giving_up():
    """T-11.1, trace B: with the default of three, the fourth message moves on."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["note"]), Say("x", "x")]))
    chat.start("lead", speak="1")
    chat.message(speak="2")
    chat.message(speak="3")
    assert lines(chat.message()) == ["collect/skipped/max-asks", "collect/ok", "say/ok"]


def test_the_asker_before_it_is_suspended():
    """T-11.4: every other asking run, with `suspendedAt` now."""
    chat = Chat(Flow("one", steps=[Collect("c", ["note"])]), Flow("two", steps=[Collect("c", ["note"])]))
    chat.start("one", speak="?")
    chat.clock.advance("1m")
    chat.start("two", "k2", speak="?")
    assert chat.statuses == {"one": "suspended", "two": "asking"}
    assert chat.run("one").suspended_at == "2026-09-20T10:01:00.000Z"


def test_a_talk_step_after_the_reply_waits_in_silence():
    """T-11.4: after Speak it asks at the next message."""
    chat = Chat(Flow("lead", steps=[Prompt("p", "Greet."), Collect("c", ["note"])]))
    result = chat.start("lead", speak="Hi")
    assert lines(result) == ["prompt/ok"]
    assert (chat.run("lead").step_id, chat.run("lead").status, chat.run("lead").asked) == ("c", "asking", {})


# --- say ----------------------------------------------------------------------------------------


def test_a_say():
    """T-11.8: rendered, verbatim, its media, the step key, run and step; line with `next`."""
    say = Say("x", "Hi {{data.name}} {{context.who}} {{input.deal}}", media={"slug": "map"}, then="end")
    chat = Chat(
        Flow("lead", steps=[Do("d", "note"), say]), actions={"note": lambda ctx: ctx.set({"name": "Ana"}) or ok()}
    )
    result = chat.start("lead", input={"deal": 7}, context={"who": "Bo"})
    [message] = result.to_wire()["messages"]
    assert message == {
        "text": "Hi Ana Bo 7", "kind": "verbatim", "afterMs": 0, "key": "lead#k1:x:1", "runId": "lead#k1", "stepId": "x",
        "media": {"slug": "map"},
    }  # fmt: skip
    assert (result.outcomes[1].key, result.outcomes[1].next) == ("lead#k1:x:1", "end")
    assert result.session.last_assistant_at == "2026-09-20T10:00:00.000Z"


def test_an_empty_say_goes_out():
    """T-11.8: an empty text is sent as well."""
    result = Chat(Flow("lead", steps=[Say("x", "")])).start("lead")
    assert said(result) == [""]
    assert "media" not in result.to_wire()["messages"][0]


def test_a_say_that_goes_out_once():
    """T-11.7, B-10.7: claimed per session when it goes out; a second visit is skipped with `next`."""
    flow = Flow("lead", steps=[Say("x", "x", once=True, then="y"), Say("y", "y")])
    chat = Chat(flow)
    first = chat.start("lead")
    assert first.to_wire()["session"]["claims"]["lead:x:s1"] == {"at": "2026-09-20T10:00:00.000Z"}
    chat.clock.advance("1m")
    second = chat.start("lead", "k2")
    assert lines(second) == ["say/skipped/already-sent", "say/ok"]
    assert (second.outcomes[0].key, second.outcomes[0].next) == ("lead#k2:x:1", "y")
    assert second.session.claims["lead:x:s1"].at == "2026-09-20T10:00:00.000Z"
    assert said(second) == ["y"]


def test_a_say_that_another_session_sent():
    """B-10.7: `claims.held` works for it too; a `say` without `once` looks at no claim."""
    held = {"held": {"lead:x:s1": "2026-09-20", "lead:y:s1": "2026-09-20"}}
    chat = Chat(Flow("lead", steps=[Say("x", "x", once=True), Say("y", "y")]))
    assert said(chat.start("lead", claims=held)) == ["y"]
    assert "lead:y:s1" not in chat.session.claims  # type: ignore[union-attr]


# --- do -----------------------------------------------------------------------------------------


def _acting(result: Any, *more: Any, **step: Any) -> tuple[Chat, Any]:
    flow = Flow("lead", steps=[Do("d", "act", **step), Say("x", "then", then="end"), Say("f", "failed")])
    chat = Chat(flow, actions={"act": [result, *more]})
    return chat, chat.start("lead")


def test_what_an_action_gets():
    """T-11.9, T-11.10: rendered parameters, and all that its context promises."""
    do = Do("d", "act", {"text": "for {{data.name}} {{context.who}} {{input}}"})
    chat = Chat(Flow("lead", steps=[do]), actions={"act": {"ok": True}})
    chat.message(speak="Hi")
    chat.data["name"] = "Ana"
    chat.start("lead", input=7, context={"who": "Bo"}, silenced="held")
    [ctx] = chat.acted
    assert chat.parameters == [{"text": "for Ana Bo 7"}]
    assert (ctx.context, ctx.input, ctx.run.id, ctx.session_id) == ({"who": "Bo"}, 7, "lead#k1", "s1")
    assert (ctx.key, ctx.dedupe_key, ctx.silenced, ctx.now) == ("lead#k1:d:1", "lead:s1:k1", "held", chat.clock())
    assert ctx.data["name"] == "Ana"
    chat.start("lead", "k2")
    assert (chat.acted[1].silenced, chat.parameters[1]) == (None, {"text": "for Ana {{context.who}} {{input}}"})


def test_an_action_may_be_asynchronous():
    """T-11.10: its result is awaited."""

    async def later(_ctx: Any) -> Any:
        return {"ok": True, "detail": "later"}

    assert _acting(later)[1].outcomes[0].detail == "later"


class SpeechlessError(Exception):
    """An exception that cannot be put into words."""

    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("result", "line", "detail", "text"),
    [
        ({"ok": True}, "do/ok", None, "then"),
        ({"ok": True, "detail": "done"}, "do/ok", "done", "then"),
        ({"ok": True, "detail": ""}, "do/ok", None, "then"),
        ({"ok": True, "detail": {"a": 1}}, "do/ok", '{"a":1}', "then"),
        ({"ok": True, "failed": "x"}, "do/ok", None, "then"),
        (ok("done"), "do/ok", "done", "then"),
        ({"skipped": "no need"}, "do/skipped/action-skipped", "no need", "then"),
        ({"skipped": ""}, "do/skipped/action-skipped", "", "then"),
        ({"skipped": 5, "failed": "x"}, "do/skipped/action-skipped", "5", "then"),
        (skipped("no need"), "do/skipped/action-skipped", "no need", "then"),
        ({"failed": "no"}, "do/failed/action-failed", "no", "failed"),
        ({"failed": ""}, "do/failed/action-failed", "", "failed"),
        ({"failed": ["a"]}, "do/failed/action-failed", '["a"]', "failed"),
        ({"failed": {1}}, "do/failed/action-failed", "{1}", "failed"),  # no JSON text: Python's
        ({"ok": None, "failed": "no", "defer": "1h"}, "do/failed/action-failed", "no", "failed"),
        (failed("no"), "do/failed/action-failed", "no", "failed"),
        (RuntimeError("it broke"), "do/failed/action-failed", "it broke", "failed"),
        (RuntimeError(), "do/failed/action-failed", "RuntimeError", "failed"),
        (SpeechlessError(), "do/failed/action-failed", "SpeechlessError", "failed"),
        (failed(cast(Any, SpeechlessError())), "do/failed/action-failed", "SpeechlessError", "failed"),
        (None, "do/failed/action-failed", 'action "act" returned no usable result', "failed"),
        ("ok", "do/failed/action-failed", 'action "act" returned no usable result', "failed"),
        ({}, "do/failed/action-failed", 'action "act" returned no usable result', "failed"),
        ({"ok": 1}, "do/failed/action-failed", 'action "act" returned no usable result', "failed"),
        ({"ok": False, "failed": "x"}, "do/failed/action-failed", 'action "act" returned no usable result', "failed"),
        (
            {"defer": "soon"},
            "do/failed/action-failed",
            'action "act" deferred by "soon", which is no duration',
            "failed",
        ),
        ({"defer": 5}, "do/failed/action-failed", 'action "act" deferred by "5", which is no duration', "failed"),
        ({"defer": ""}, "do/failed/action-failed", 'action "act" deferred by "", which is no duration', "failed"),
        (defer("soon"), "do/failed/action-failed", 'action "act" deferred by "soon", which is no duration', "failed"),
    ],
)
def test_what_comes_of_an_action(result: Any, line: str, detail: str | None, text: str):
    """T-11.13 to T-11.18, O-5.5: the line, its detail and where the run goes."""
    _, turn = _acting(result, on_fail="f")
    assert (lines(turn)[0], turn.outcomes[0].detail, said(turn)) == (line, detail, [text])
    assert (turn.outcomes[0].key, turn.outcomes[0].next) == ("lead#k1:d:1", "f" if text == "failed" else None)


def test_a_failure_without_on_fail_follows_then():
    """T-11.14: `next` is that of the target that is followed."""
    _, turn = _acting({"failed": "no"}, then=To("f"))
    assert (turn.outcomes[0].next, said(turn)) == ("f", ["failed"])
    _, bare = _acting({"failed": "no"})
    assert (bare.outcomes[0].next, said(bare)) == (None, ["then"])


@pytest.mark.parametrize("result", [{"ok": True}, {"skipped": "x"}])
def test_success_and_skipping_follow_then(result: Any):
    """T-11.14, T-11.16: whatever `onFail` says."""
    _, turn = _acting(result, then="f", on_fail="x")
    assert (turn.outcomes[0].next, said(turn)) == ("f", ["failed"])


def test_a_deferred_action():
    """T-11.14, T-11.19: parks without `next` and runs the same visit again; business hours move nothing."""
    flow = Flow("lead", steps=[Do("d", "act", then="x"), Say("x", "x")])
    chat = Chat(flow, actions={"act": [{"defer": "1h", "detail": "busy"}, {"ok": True}]},
                business_hours=lambda moment, _context: moment + timedelta(hours=5))  # fmt: skip
    result = chat.start("lead")
    [line] = result.outcomes
    assert lines(result) == ["do/deferred/action-deferred"]
    assert (line.detail, line.until, line.key, line.next) == ("busy", "2026-09-20T11:00:00.000Z", "lead#k1:d:1", None)
    assert scheduled(result) == [(f"lead#k1:d:{at(3600)}", "+3600s")]
    waiting = chat.run("lead").waiting
    assert waiting is not None
    assert (waiting.kind, waiting.set_at, waiting.event) == ("timer", "2026-09-20T10:00:00.000Z", None)
    assert lines(chat.wake(f"lead#k1:d:{at(3600)}")) == ["do/ok", "say/ok"]


@pytest.mark.parametrize(("detail", "shown"), [(None, None), ("", ""), ({"a": 1}, '{"a":1}')])
def test_the_words_of_a_deferral(detail: Any, shown: str | None):
    """O-5.5, T-11.18: as given; absent if it gave none; other values as JSON text."""
    assert _acting({"defer": "1h", "detail": detail})[1].outcomes[0].detail == shown


def test_an_action_that_spoke():
    """T-11.15: the assistant has spoken, by this run; only `true` counts."""
    spoke = _acting({"ok": True, "spoke": True})[1]
    assert spoke.session.last_assistant_at is not None
    flow = Flow("lead", steps=[Do("d", "act")])
    for given, expected in ((True, True), (False, False), (None, False), (1, False), ("yes", False)):
        result = Chat(flow, actions={"act": {"ok": True, "spoke": given}}).start("lead")
        assert (result.session.last_assistant_at is not None) is expected


def test_what_an_action_sets_stays():
    """T-11.20: at once, unchecked, key by key, null stored; whatever it returns."""

    def note(ctx: Any) -> Any:
        ctx.set({"name": None, "ghost": [1], "size": "big"})
        return {"failed": f"size {ctx.data['size']}"}

    chat = Chat(Flow("lead", steps=[Do("d", "act"), If("i", {"known": ["name"]})]), actions={"act": note})
    result = chat.start("lead")
    assert result.session.data == {"name": None, "ghost": [1], "size": "big"}
    assert result.outcomes[0].detail == "size big"
    assert result.outcomes[1].next == "end"
    assert [(change.field, change.source) for change in result.changes] == [("ghost", "action"), ("size", "action")]


def test_a_value_that_is_no_json_is_the_actions_failure():
    """T-11.13: `set` raises inside the action."""
    chat = Chat(Flow("lead", steps=[Do("d", "act")]), actions={"act": lambda ctx: ctx.set({"a": object()})})
    [line] = chat.start("lead").outcomes
    assert line.code == "action-failed"
    assert "set.a" in (line.detail or "")


def test_an_action_that_the_agent_lost():
    """T-11.12: a failure that names it; the build refuses such a flow, so it came another way."""
    steps = [Do("d", 'the "act"', on_fail="f"), Say("x", "then", then="end"), Say("f", "failed")]
    chat = Chat(Flow("lead", steps=steps), actions={'the "act"': ok()})
    plan = chat.agent.plan
    chat.agent.plan = AgentPlan(name="Ana", flows=plan.flows)
    result = chat.start("lead")
    assert result.outcomes[0].detail == 'no action is registered as "the \\"act\\""'
    assert (lines(result)[0], said(result)) == ("do/failed/action-failed", ["failed"])


def test_actions_run_under_a_closed_gate():
    """T-11.11: and see the reason."""
    chat = Chat(Flow("lead", steps=[Do("d", "act")]), actions={"act": ok()})
    assert lines(chat.start("lead", silenced="")) == ["do/ok"]
    assert chat.acted[0].silenced == ""


# --- wait ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "then", "rides"),
    [
        ("10s", None, True),
        ("10.001s", None, False),
        ("0s", None, True),
        ("3s", "x", True),
        ("3s", To("x"), True),
        ("3s", "p", True),
        ("3s", "d", False),
        ("3s", To("d"), False),
        ("3s", "end", False),
        ("3s", ToFlow("lead"), False),
    ],
)
def test_which_waits_ride_on_the_next_message(wait: str, then: Any, rides: bool):
    """T-11.21: up to ten seconds, and only straight before a `say` or a talk step."""
    steps = [Wait("w", wait, then=then), Say("x", "x", then="end"), Do("d", "act", then="end"), Prompt("p", "Talk.")]
    chat = Chat(Flow("lead", steps=steps), actions={"act": ok()})
    result = chat.start("lead", speak="Hi" if then == "p" else None)
    assert lines(result)[0] == ("wait/ok/inline-delay" if rides else "wait/waiting")


def test_the_last_wait_of_a_flow_parks():
    """T-11.21: nothing comes behind it."""
    assert lines(Chat(Flow("lead", steps=[Wait("w", "3s")])).start("lead")) == ["wait/waiting"]


def test_a_short_wait():
    """T-11.21: the line has detail, key and `next`; the milliseconds ride on the next message only."""
    flow = Flow(
        "lead", steps=[Wait("v", "1s", then="x"), Say("x", "x"), Wait("w", "2.5s"), Say("y", "y"), Say("z", "z")]
    )
    result = Chat(flow, business_hours=lambda moment, _context: moment + timedelta(hours=1)).start("lead")
    assert [message.after_ms for message in result.messages] == [1000, 2500, 0]
    first = result.outcomes[0]
    assert (first.detail, first.key, first.next) == ("1000ms", "lead#k1:v:1", "x")
    assert (result.outcomes[2].detail, result.outcomes[2].next, result.outcomes[2].until) == ("2500ms", None, None)


def test_delays_add_up_and_ride_on_whichever_message_comes():
    """T-3.2, T-11.21: the delay belongs to the turn, not to a run."""
    one = Flow(
        "one", on=[OnEvent("plain")], steps=[Wait("w", "3s"), Say("x", "x", once=True), Say("end", "end", once=True)]
    )
    assert one.id == "one"
    skip = Flow("one", on=[OnEvent("plain")], steps=[Wait("v", "3s"), Say("x", "x", once=True)])
    two = Flow("two", on=[OnEvent("plain")], steps=[Wait("w", "2s"), Say("y", "y")])
    chat = Chat(skip, two)
    claims = {"held": {"one:x:s1": "2026-09-20"}}
    assert [message.after_ms for message in chat.event("plain", claims=claims).messages] == [5000]


def test_a_delay_rides_on_the_models_reply_too():
    """T-15.3: `afterMs` of the phrased message."""
    chat = Chat(Flow("lead", steps=[Wait("w", "3s"), Prompt("p", "Talk.")]))
    assert [message.after_ms for message in chat.start("lead", speak="Hi").messages] == [3000]


def test_a_long_wait():
    """T-11.22: it parks; the line has `until`, the key and no `next`."""
    chat = Chat(Flow("lead", steps=[Wait("w", "1.5d", then="x"), Say("x", "x")]))
    result = chat.start("lead")
    [line] = result.outcomes
    assert (line.code, line.until, line.key, line.next) == (None, "2026-09-21T22:00:00.000Z", "lead#k1:w:1", None)
    assert scheduled(result) == [(f"lead#k1:w:{at(129_600)}", "+129600s")]
    waiting = chat.run("lead").waiting
    assert waiting is not None
    assert (waiting.kind, waiting.key) == ("timer", f"lead#k1:w:{at(129_600)}")
    assert (waiting.until, waiting.set_at) == ("2026-09-21T22:00:00.000Z", "2026-09-20T10:00:00.000Z")


@pytest.mark.parametrize(
    ("asked", "hours", "due"), [(True, 2, 93_600), (False, 2, 86_400), (None, 2, 86_400), (True, -2, 86_400)]
)
def test_a_wait_in_business_hours(asked: Any, hours: int, due: int):
    """T-11.22, T-11.25: moved when the step says so, never back."""
    chat = Chat(
        Flow("lead", steps=[Wait("w", "1d", business_hours=asked), Say("x", "x")]),
        business_hours=lambda moment, _context: moment + timedelta(hours=hours),
    )
    assert scheduled(chat.start("lead")) == [(f"lead#k1:w:{at(due)}", f"+{due}s")]


def test_a_short_wait_ignores_business_hours_and_else():
    """T-11.21: they have no part in it."""
    chat = Chat(
        Flow("lead", steps=[Wait("w", "3s", business_hours=True, else_="end"), Say("x", "x")]),
        business_hours=lambda moment, _context: moment + timedelta(hours=2),
    )
    assert said(chat.start("lead")) == ["x"]


def test_a_delay_without_a_message_is_lost():
    """T-11.21: it does not reach the next turn."""
    flow = Flow("lead", steps=[Wait("w", "3s"), Say("x", "x", once=True), Wait("v", "1d"), Say("y", "y")])
    chat = Chat(flow)
    [(key, _)] = scheduled(chat.start("lead", claims={"held": {"lead:x:s1": "2026-09-20"}}))
    assert chat.wake(key).messages[0].after_ms == 0


@pytest.mark.parametrize(("up_to", "due"), [(None, 30 * 86_400), ("2h", 7_200)])
def test_an_event_wait(up_to: Any, due: int):
    """T-11.23, T-11.24: the deadline, thirty days without one, never in business hours."""
    chat = Chat(
        Flow("lead", steps=[WaitEvent("w", "plain", up_to=up_to, then="x"), Say("x", "x")]),
        business_hours=lambda moment, _context: moment + timedelta(hours=2),
    )
    result = chat.start("lead")
    [line] = result.outcomes
    assert lines(result) == ["wait/waiting/awaiting-event"]
    assert (line.detail, line.key, line.next) == ("plain", "lead#k1:w:1", None)
    assert scheduled(result) == [(f"lead#k1:w:{at(due)}", f"+{due}s")]
    waiting = chat.run("lead").waiting
    assert waiting is not None
    assert (waiting.kind, waiting.event, waiting.until) == ("event", "plain", line.until)


# --- if -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "else_", "next_", "text"),
    [(True, "y", "x", ["x"]), (False, "y", "y", ["y"]), (False, None, "end", []), (False, To("y"), "y", ["y"])],
)
def test_a_fork(flag: bool, else_: Any, next_: str, text: list[str]):
    """T-11.26: `then` if it holds, else `else`, without one the end; a line with key and `next`."""
    steps = [If("i", {"flag": "on"}, then="x", else_=else_), Say("y", "y", then="end"), Say("x", "x")]
    result = Chat(Flow("lead", steps=steps)).start("lead", context={"on": flag})
    line = result.outcomes[0]
    assert (lines(result)[0], line.next, line.key) == ("if/ok", next_, "lead#k1:i:1")
    assert said(result) == text


def test_a_fork_without_then_goes_on():
    """T-11.26: the next step; the line has no `next`."""
    result = Chat(Flow("lead", steps=[If("i", {}), Say("x", "x")])).start("lead")
    assert (result.outcomes[0].next, said(result)) == (None, ["x"])


# --- parking under the key that was just used ---------------------------------------------------


def test_the_wake_that_was_just_used_cannot_fire_again():
    """T-11.27: a wait of no length that comes back to itself gets a later key by one millisecond."""
    chat = Chat(Flow("lead", steps=[Wait("w", "0s", then=To("w"))]))
    [(first, _)] = scheduled(chat.start("lead"))
    assert first == f"lead#k1:w:{at(0)}"
    second = chat.wake(first)
    assert [wake.key for wake in second.schedule] == [f"lead#k1:w:{at(0) + 1}"]
    assert second.outcomes[-1].until == "2026-09-20T10:00:00.001Z"
    assert lines(chat.wake(first)) == ["wait/skipped/stale-wake"]
    third = chat.wake(f"lead#k1:w:{at(0) + 1}")
    assert [wake.key for wake in third.schedule] == [f"lead#k1:w:{at(0)}"]


def test_a_deferral_and_an_event_wait_get_a_new_key_too():
    """T-11.27: whatever parks the run."""
    deferring = Chat(Flow("lead", steps=[Do("d", "act")]), actions={"act": {"defer": "0s"}})
    [(key, _)] = scheduled(deferring.start("lead"))
    assert deferring.wake(key).schedule[0].key == f"lead#k1:d:{at(0) + 1}"
    waiting = Chat(Flow("lead", steps=[WaitEvent("w", "plain", up_to="0s", else_="w")]))
    [(key, _)] = scheduled(waiting.start("lead"))
    assert waiting.wake(key).schedule[0].key == f"lead#k1:w:{at(0) + 1}"


def test_another_run_may_park_under_any_key():
    """T-11.27: only the key on which this very run was parked is avoided."""
    chat = Chat(Flow("lead", steps=[Wait("w", "1h", then=To("v")), Wait("v", "1h")]))
    chat.start("lead")
    result = chat.wake(f"lead#k1:w:{at(3600)}")
    assert scheduled(result) == [(f"lead#k1:v:{at(3600)}", "+3600s")]


def test_parking_anywhere_but_for_a_retry_ends_the_staying():
    """T-11.27: `staying` is removed."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Prompt("p", "Talk.", then="end"), Wait("w", "1d")]), idle="silent")
    chat.start("lead", speak="Hi")
    assert chat.run("lead").staying is True
    edited = chat.without(Flow("lead", on_end="stay", steps=[Wait("p", "1d"), Prompt("q", "Talk.")]), idle="silent")
    edited.message()
    assert (edited.run("lead").status, edited.run("lead").staying) == ("waiting", None)
    assert ended(edited.event("in")) == []


def test_a_step_that_is_left_tells_where_it_leads():
    """O-5.3: `next` of the `ok` line of an asking run is its `then`, which is followed."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name"], then="y"), Say("x", "x", then="end"), Say("y", "y")]))
    chat.start("lead", speak="Name?")
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert (lines(result)[0], result.outcomes[0].next, said(result)) == ("collect/ok", "y", ["y"])
