"""T-4 and T-5: loading, and taking in what happened."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
    Flow,
    If,
    OnAnyMessage,
    OnEvent,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    To,
    ToFlow,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.session.model import Session, StepOutcome
from turn.chat import NOW, Chat, at, ended, lines, said, scheduled, skipped

PAUSE = Flow(
    "offer", steps=[Wait("w", "1d", else_="back"), Say("late", "Still there?", then="end"), Say("back", "Yes?")]
)


def _nudge(**trigger: Any) -> Flow:
    return Flow("nudge", on=[OnSilence("24h", **trigger)], steps=[Say("again", "Still there?")])


# --- load ---------------------------------------------------------------------------------------


def test_a_wake_without_a_session_is_ignored():
    """T-4.3, T-5.15: one line with the wake's key, nothing changed, a fresh session all the same."""
    for key in ("offer#k1:w:5", "silence:nudge:s1:5"):
        result = Chat(PAUSE, _nudge()).wake(key)
        [line] = result.outcomes
        assert line == StepOutcome(
            kind="wait", status="skipped", code="no-session", message=line.message, key=key, at=NOW
        )
        assert not result.changed
        assert result.session == Session.fresh("s1")


def test_the_clock_is_read_once_and_cut_to_milliseconds():
    """B-2.6: a naive reading is UTC; what is finer than a millisecond is cut off."""
    readings = [datetime(2026, 9, 20, 10, 0, 0, 1999)]
    result = Chat(PAUSE, clock=readings.pop).start("offer")
    assert result.session.runs[0].started_at == "2026-09-20T10:00:00.001Z"


def test_the_given_history_wins_over_the_sessions():
    """T-1.1, B-3: the input's history counts, else the session's; a turn writes neither."""
    chat = Chat(idle=None)
    chat.session = Session.fresh("s1")
    chat.session.history = [{"role": "user", "content": "stored"}]
    chat.message(speak="Hi")
    assert chat.model.calls[-1].request.history == [{"role": "user", "content": "stored"}]
    given = [{"role": "user", "content": "given"}]
    result = chat.message(speak="Hi", history=given)
    assert chat.model.calls[-1].request.history == given
    chat.message(speak="Hi", history=[])
    assert list(chat.model.calls[-1].request.history) == []
    assert result.session.history == [{"role": "user", "content": "stored"}]


# --- a message ----------------------------------------------------------------------------------


def test_a_message_id_is_taken_once():
    """T-5.1, T-5.15: a repeated id changes nothing; the line has the id as its key."""
    chat = Chat(PAUSE, idle="silent")
    first = chat.message(id="m1")
    again = chat.message(id="m1")
    assert first.changed
    assert first.session.inputs == ["m1"]
    assert lines(again) == ["wait/skipped/duplicate-input"]
    assert again.outcomes[0].key == "m1"
    assert not again.changed
    assert again.session == first.session


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_message_without_an_id_is_never_a_duplicate(blank: str | None):
    """B-11.2, B-9.3: a blank id counts as none; it is neither checked nor recorded."""
    chat = Chat(idle=None)
    for _ in range(2):
        result = chat.message(id=blank, speak="Hi")
        assert result.session.inputs == []
        assert result.messages[0].key == f"idle:{NOW}"


def test_the_last_fifty_ids_are_kept():
    """B-11.1: at the limit the oldest goes, and may come again."""
    chat = Chat(idle="silent")
    for number in range(51):
        chat.message(id=f"n{number}")
    assert chat.session is not None
    assert chat.session.inputs == [f"n{number}" for number in range(1, 51)]
    assert lines(chat.message(id="n1")) == ["wait/skipped/duplicate-input"]
    assert not lines(chat.message(id="n0"))


@pytest.mark.parametrize(
    ("given", "stored"),
    [(None, NOW), ("2026-09-19", "2026-09-19T00:00:00.000Z"), ("yesterday", "yesterday")],
)
def test_when_the_customer_wrote(given: str | None, stored: str):
    """T-5.2: a readable date is stored in the written form, an unreadable one as given, none as now."""
    assert Chat(idle="silent").message(at=given).session.last_user_at == stored


def test_the_trigger_key_of_a_message():
    """B-9.2: its id; without one its `at` as given; without that, now."""
    keys = [{"id": "m1", "at": "2026-09-19"}, {"id": None, "at": "2026-09-19"}, {"id": None, "at": "odd"}, {"id": None}]
    sent = [Chat(idle=None).message(speak="Hi", **key).messages[0].key for key in keys]
    assert sent == ["idle:m1", "idle:2026-09-19", "idle:odd", f"idle:{NOW}"]


# --- reply waits --------------------------------------------------------------------------------


def test_a_reply_ends_a_timer_that_has_an_else():
    """T-5.3: the line has `next` and no key; the run takes the floor; no routing follows."""
    other = Flow("other", on=[OnAnyMessage()], steps=[Say("x", "other")])
    chat = Chat(PAUSE, other)
    chat.start("offer")
    result = chat.message()
    assert lines(result) == ["wait/ok/replied", "say/ok"]
    assert (result.outcomes[0].next, result.outcomes[0].key) == ("back", None)
    assert said(result) == ["Yes?"]
    assert not result.started


@pytest.mark.parametrize(
    "steps",
    [
        [Wait("w", "1d"), Say("x", "x")],
        [WaitEvent("w", "plain", else_="x"), Say("x", "x")],
        [Do("w", "later"), Say("x", "x")],
    ],
    ids=["no else", "event", "deferred"],
)
def test_a_reply_ends_no_other_wait(steps: list[Any]):
    """T-5.4: a wait without `else`, an event wait and a deferred action stay parked."""
    chat = Chat(Flow("offer", steps=steps), actions={"later": {"defer": "1d"}}, idle="silent")
    chat.start("offer")
    before = chat.run("offer")
    assert not lines(chat.message())
    assert chat.run("offer") == before


def test_a_reply_does_not_end_a_delayed_start_or_a_retry():
    """T-5.4: nor a start that is delayed, nor a reply that is tried again."""
    late = Flow("late", on=[OnEvent("plain", after="1h")], steps=[Wait("w", "1d", else_="w")])
    talk = Flow("talk", steps=[Prompt("p", "Greet.")])
    chat = Chat(late, talk, idle="silent")
    chat.event("plain")
    chat.start("talk", speak=TimeoutError("slow"))
    assert chat.statuses == {"late": "waiting", "talk": "waiting"}
    assert not lines(chat.message())
    assert chat.statuses == {"late": "waiting", "talk": "waiting"}


def test_the_first_branch_of_code_that_holds_beats_the_else():
    """T-5.3 no. 2: entries with a `when` are passed over, also when their `if` holds."""
    branches = [
        Branch("says no", then="n"),
        Branch("says yes", if_={}, then="n"),
        Branch(if_={"flag": "off"}, then="n"),
        Branch(if_={"flag": "on"}, then="y"),
        Branch(if_={}, then="n"),
    ]
    steps = [Wait("w", "1d", else_="n", branches=branches), Say("n", "else", then="end"), Say("y", "branch")]
    chat = Chat(Flow("offer", steps=steps), idle="silent")
    chat.start("offer")
    result = chat.message(context={"on": True})
    assert said(result) == ["branch"]
    assert result.outcomes[0].next == "y"


def test_without_a_branch_that_holds_the_else_counts():
    """T-5.3 no. 2: branches are tried first, the `else` is what is left."""
    branches = [Branch(if_={"flag": "on"}, then="y")]
    steps = [Wait("w", "1d", else_="n", branches=branches), Say("n", "else", then="end"), Say("y", "branch")]
    chat = Chat(Flow("offer", steps=steps), idle="silent")
    chat.start("offer")
    assert said(chat.message(context={})) == ["else"]


def test_the_first_released_run_keeps_the_floor():
    """T-5.3 nos. 4 and 6: of two released runs the first has the floor, and its branches are asked."""
    ask = Collect("ask", ["note"], branches=[Branch("wants out", then="end")])
    one = Flow("one", steps=[Wait("w", "1d", else_="ask"), ask])
    two = Flow("two", steps=[Wait("w", "1d", else_="ask"), ask])
    chat = Chat(one, two)
    chat.start("one")
    chat.start("two", "k2")
    chat.message(understand={"branches": {"q1": False}}, speak="Hm?")
    task: Any = chat.model.calls[0].request.task
    assert [branch.id for branch in task.branches] == ["one#k1/ask/0"]
    assert task.floor.id == "one"


def test_a_run_that_ends_at_once_leaves_the_floor_to_the_next():
    """T-5.3 no. 6: only a run that is still live takes the floor; routing goes on without one."""
    one = Flow("one", steps=[Wait("w", "1d", else_="end"), Say("x", "x")])
    lead = Flow("lead", on=[OnAnyMessage()], steps=[Say("hi", "Hi!")])
    chat = Chat(one, lead)
    chat.start("one")
    result = chat.message()
    assert ended(result) == ["one:end", "lead:end"]
    assert said(result) == ["Hi!"]


def test_a_child_takes_the_floor_of_a_run_that_chains_in_ingest():
    """T-12.7: in Ingest the child takes the floor for good, so the message is not routed."""
    one = Flow("one", steps=[Wait("w", "1d", else_=ToFlow("two")), Say("x", "x")])
    two = Flow("two", steps=[Say("x", "two")])
    lead = Flow("lead", on=[OnAnyMessage()], steps=[Say("hi", "Hi!")])
    chat = Chat(one, two, lead)
    chat.start("one")
    result = chat.message()
    assert said(result) == ["two"]
    assert [run.flow_id for run in result.started] == ["two"]


def test_runs_that_start_on_the_way_are_not_released():
    """T-5.3: only the runs that were in the list before the message are looked at."""
    one = Flow("one", steps=[Wait("w", "1d", else_=ToFlow("two")), Say("x", "x")])
    two = Flow("two", steps=[Wait("w", "1d", else_="x"), Say("x", "two")])
    chat = Chat(one, two, idle="silent")
    chat.start("one")
    result = chat.message()
    assert lines(result) == ["wait/ok/replied", "wait/waiting"]
    assert chat.statuses == {"two": "waiting"}


# --- a wake -------------------------------------------------------------------------------------


def test_a_wake_moves_the_run_that_waits_on_its_key():
    """T-5.5: a timer's wake gives `no-reply` and follows `then`; branches are not looked at."""
    wait = Wait("w", "1d", then="t", else_="e", branches=[Branch(if_={}, then="e")])
    chat = Chat(Flow("offer", steps=[wait, Say("e", "else", then="end"), Say("t", "then")]))
    chat.start("offer")
    key = f"offer#k1:w:{at(86_400)}"
    result = chat.wake(key)
    assert lines(result) == ["wait/ok/no-reply", "say/ok"]
    assert (result.outcomes[0].next, result.outcomes[0].key) == ("t", None)
    assert said(result) == ["then"]
    stale = chat.wake(key)
    assert lines(stale) == ["wait/skipped/stale-wake"]
    assert stale.outcomes[0].key == key
    assert not stale.changed


@pytest.mark.parametrize(("later", "line", "text"), [(1, "replied", "else"), (0, "no-reply", "then")])
def test_a_wake_after_the_customer_wrote_follows_the_else(later: int, line: str, text: str):
    """T-5.5, T-5.9: later than the moment it was set, and strictly."""
    chat = Chat(Flow("offer", steps=[Wait("w", "1d", else_="e"), Say("t", "then", then="end"), Say("e", "else")]))
    chat.start("offer")
    assert chat.session is not None
    chat.session.last_user_at = f"2026-09-20T10:00:00.00{later}Z"
    result = chat.wake(f"offer#k1:w:{at(86_400)}")
    assert lines(result)[0] == f"wait/ok/{line}"
    assert said(result) == [text]


def test_a_wake_without_an_else_follows_then_whoever_wrote():
    """T-5.5: without `else` a timer's end is `no-reply`, also after the customer wrote."""
    chat = Chat(Flow("offer", steps=[Wait("w", "1d"), Say("t", "then")]), idle="silent")
    chat.start("offer")
    chat.clock.advance("1h")
    chat.message()
    assert lines(chat.wake(f"offer#k1:w:{at(86_400)}")) == ["wait/ok/no-reply", "say/ok"]


def test_the_customer_wrote_at_the_flows_anchor():
    """T-5.9: `lastInboundAt` counts for flows with that anchor, and for no others."""
    steps = [Wait("w", "1d", else_="e"), Say("t", "then", then="end"), Say("e", "else")]
    anchors = {"deal": {"key": "d1", "lastInboundAt": "2026-09-20T10:00:01.000Z"}}
    for anchor, text in (("deal", "else"), ("session", "then"), (None, "then"), ("other", "then")):
        chat = Chat(Flow("offer", anchor=anchor, steps=steps))
        chat.start("offer", anchors=anchors)
        assert said(chat.wake(f"offer#k1:w:{at(86_400)}", anchors=anchors)) == [text]


def test_an_anchor_called_session_is_none():
    """T-5.9, B-12.1: the name `session` always means the session itself."""
    steps = [Wait("w", "1d", else_="e"), Say("t", "then", then="end"), Say("e", "else")]
    anchors = {"session": {"key": "d1", "lastInboundAt": "2026-09-20T10:00:01.000Z"}}
    for anchor in ("session", None):
        chat = Chat(Flow("offer", anchor=anchor, steps=steps))
        assert chat.start("offer", anchors=anchors).started[0].anchor == "s1"
        assert said(chat.wake(f"offer#k1:w:{at(86_400)}", anchors=anchors)) == ["then"]


@pytest.mark.parametrize(("else_", "next_", "text"), [("e", "e", ["else"]), (None, "end", []), ("end", "end", [])])
def test_an_event_waits_deadline(else_: Any, next_: str, text: list[str]):
    """T-5.5: the deadline's wake is `no-event`; it follows `else`, or ends."""
    steps = [WaitEvent("w", "plain", up_to="2h", else_=else_), Say("t", "then", then="end"), Say("e", "else")]
    chat = Chat(Flow("offer", steps=steps))
    chat.start("offer")
    result = chat.wake(f"offer#k1:w:{at(7_200)}")
    assert lines(result)[0] == "wait/ok/no-event"
    assert (result.outcomes[0].next, result.outcomes[0].key) == (next_, None)
    assert said(result) == text


def test_the_key_alone_decides():
    """T-5.6: a wake is honoured before and after its due time alike."""
    for later in ("0s", "1h", "9d"):
        chat = Chat(Flow("offer", steps=[Wait("w", "1d"), Say("t", "then")]))
        chat.start("offer")
        chat.clock.advance(later)
        assert said(chat.wake(f"offer#k1:w:{at(86_400)}")) == ["then"]


def test_a_deferred_action_and_a_retry_run_the_same_visit_again():
    """T-5.5: any other step is executed again in phase 5, under the same key."""
    flow = Flow("offer", steps=[Do("d", "later"), Prompt("p", "Greet.")])
    chat = Chat(flow, actions={"later": [{"defer": "1h"}, {"ok": True}]})
    [first] = scheduled(chat.start("offer"))
    failed = chat.wake(first[0], speak=TimeoutError("slow"))
    assert [ctx.key for ctx in chat.acted] == ["offer#k1:d:1", "offer#k1:d:1"]
    assert lines(failed) == ["do/ok", "prompt/deferred/provider-unavailable"]
    again = chat.wake(failed.schedule[0].key, speak="Hello")
    assert again.messages[0].key == "offer#k1:p:1"


def test_the_wake_of_a_run_whose_flow_or_step_is_gone():
    """T-5.5: the run is released and phase 5 ends it."""
    key = f"offer#k1:w:{at(86_400)}"
    chat = Chat(PAUSE)
    chat.start("offer")
    gone = chat.without(_nudge()).wake(key)
    assert (lines(gone), gone.ended[0].run.status) == (["if/skipped/flow-gone"], "running")
    assert lines(chat.without(Flow("offer", steps=[Say("x", "x")])).wake(key)) == ["if/skipped/step-gone"]


def test_a_wait_that_lacks_its_date():
    """T-5.5: without a readable `setAt` the customer never wrote since (B-2.8)."""
    chat = Chat(Flow("offer", steps=[Wait("w", "1d", else_="e"), Say("t", "then", then="end"), Say("e", "else")]))
    chat.start("offer")
    [run] = chat.runs
    assert run.waiting is not None
    run.waiting.set_at, run.started_at = "", "2026-09-20T08:00:00.000Z"
    assert chat.session is not None
    chat.session.last_user_at = "2026-09-20T09:00:00.000Z"
    assert said(chat.wake(f"offer#k1:w:{at(86_400)}")) == ["else"]


# --- a silence wake -----------------------------------------------------------------------------


def _silent(chat: Chat) -> str:
    """The assistant spoke at the default now; gives the silence's key."""
    chat.message(speak="Hi")
    chat.clock.advance("24h")
    return f"silence:nudge:s1:{at(0)}"


def test_a_silence_starts_its_flow():
    """T-5.8 no. 4: kind, trigger key, hop; the run says its word and the silence begins anew."""
    chat = Chat(Flow("nudge", on=[OnSilence("24h")], steps=[Wait("w", "1d")]))
    result = chat.wake(_silent(chat))
    [run] = result.session.runs
    assert (run.id, run.trigger.kind, run.trigger.key, run.hop) == (f"nudge#{at(0)}", "silence", str(at(0)), 0)
    assert run.input is None


@pytest.mark.parametrize(
    ("spoke", "wrote"),
    [(None, None), ("2026-09-20T10:00:00.001Z", None), (NOW, "2026-09-20T10:00:00.001Z"), ("odd", None)],
    ids=["never spoke", "spoke again", "customer wrote", "unreadable"],
)
def test_a_broken_silence(spoke: str | None, wrote: str | None):
    """T-5.8 no. 2: no last word, another one, an unreadable one, or the customer wrote since."""
    chat = Chat(_nudge())
    chat.session = Session.fresh("s1")
    chat.session.last_assistant_at, chat.session.last_user_at = spoke, wrote
    result = chat.wake(f"silence:nudge:s1:{at(0)}")
    assert lines(result) == ["wait/skipped/silence-broken"]
    assert result.outcomes[0].key == f"silence:nudge:s1:{at(0)}"
    assert not result.changed


def test_an_answer_at_the_same_instant_breaks_no_silence():
    """T-5.9: "later" is strict."""
    chat = Chat(_nudge())
    chat.session = Session.fresh("s1")
    chat.session.last_assistant_at = chat.session.last_user_at = NOW
    assert said(chat.wake(f"silence:nudge:s1:{at(0)}")) == ["Still there?"]


def test_the_silence_of_a_flow_that_is_gone():
    """T-5.8 no. 1: a `skipped` entry with the session id and the milliseconds; the turn is not ignored."""
    chat = Chat(_nudge())
    key = _silent(chat)
    result = chat.without(PAUSE).wake(key)
    [start] = result.skipped
    assert (start.flow_id, start.code, start.anchor, start.trigger_key) == ("nudge", "flow-gone", "s1", str(at(0)))
    assert result.changed
    assert not result.outcomes


def test_the_silence_of_a_flow_that_lost_its_trigger():
    """T-5.8 no. 3: ignored as stale, but only after the silence itself was found whole."""
    chat = Chat(_nudge())
    key = _silent(chat)
    bare = chat.without(Flow("nudge", on=[OnAnyMessage()], steps=[Say("x", "x")]))
    assert lines(bare.wake(key)) == ["wait/skipped/stale-wake"]
    assert chat.session is not None
    chat.session.last_assistant_at = None
    assert lines(bare.wake(key, session=chat.session)) == ["wait/skipped/silence-broken"]


def test_a_silence_whose_condition_is_false_leaves_nothing():
    """T-5.8: the trigger's `if` is false in no. 4: no line, no entry, nothing changed."""
    chat = Chat(_nudge(if_={"flag": "on"}))
    key = _silent(chat)
    result = chat.wake(key)
    assert (result.outcomes, result.skipped, result.changed) == ((), (), False)


def test_a_silence_key_is_cut_at_the_session_id():
    """T-5.7, B-9.5: ids may hold colons; the last `:{session id}:` parts them."""
    flow = Flow("a:s1:b", on=[OnSilence("24h")], steps=[Say("again", "Still there?")])
    chat = Chat(flow)
    chat.session = Session.fresh("s1")
    chat.session.last_assistant_at = NOW
    assert said(chat.wake(f"silence:a:s1:b:s1:{at(0)}")) == ["Still there?"]
    assert skipped(chat.wake(f"silence:x:y:{at(0)}")) == ["x:flow-gone"]
    assert skipped(chat.wake("silence:x")) == ["x:flow-gone"]


def test_the_same_silence_wake_twice():
    """T-21.4: a second wake meets the claim, or a silence that is over."""
    chat = Chat(Flow("nudge", on=[OnSilence("24h")], steps=[Wait("w", "0s"), If("i", {})]))
    key = _silent(chat)
    chat.wake(key)
    assert skipped(chat.wake(key)) == ["nudge:already-claimed"]


# --- an event -----------------------------------------------------------------------------------


def test_the_direction_of_an_event():
    """T-5.10: inbound counts as the customer writing, outbound as the assistant speaking."""
    for name, expected in (("in", (NOW, None)), ("out", (None, NOW)), ("plain", (None, None)), ("odd", (None, None))):
        result = Chat(PAUSE).event(name)
        assert (result.session.last_user_at, result.session.last_assistant_at) == expected
        assert not result.outcomes


def test_an_inbound_event_releases_reply_waits():
    """T-5.10: as a message would; an outbound one releases none."""
    chat = Chat(PAUSE)
    chat.start("offer")
    assert not lines(chat.event("out"))
    assert lines(chat.event("in", "e2")) == ["wait/ok/replied", "say/ok"]


def test_an_event_releases_who_waits_for_it():
    """T-5.12: the line has `next` for `then` and no key; the payload is not the run's."""
    flow = Flow(
        "offer", steps=[WaitEvent("w", "plain", then="t", else_="e"), Say("e", "e", then="end"), Wait("t", "1d")]
    )
    chat = Chat(flow)
    chat.start("offer", input="own")
    assert not lines(chat.event("in", "e0"))
    result = chat.event("plain", payload="theirs")
    assert lines(result) == ["wait/ok/event-arrived", "wait/waiting"]
    assert (result.outcomes[0].next, result.outcomes[0].key) == ("t", None)
    assert result.session.runs[0].input == "own"


def test_an_event_resumes_a_run_whose_flow_or_step_is_gone():
    """T-5.12: phase 5 ends it; nothing is followed."""
    flow = Flow("offer", steps=[WaitEvent("w", "plain"), Say("x", "x")])
    chat = Chat(flow)
    chat.start("offer")
    assert lines(chat.without(Flow("offer", steps=[Say("x", "x")])).event("plain")) == ["if/skipped/step-gone"]
    assert lines(chat.without(_nudge()).event("plain")) == ["if/skipped/flow-gone"]


def test_an_event_starts_each_flow_by_its_first_trigger_that_works():
    """T-5.13: flows in agent order; a refused trigger leads to the next, a run ends the look."""
    one = Flow(
        "one",
        on=[OnEvent("in"), OnEvent("plain", if_={"flag": "on"}), OnEvent("plain"), OnEvent("plain")],
        steps=[Wait("w", "1d")],
    )
    two = Flow("two", on=[OnEvent("plain")], steps=[Wait("w", "1d")])
    result = Chat(one, two).event("plain", "e7", payload={"a": 1}, hop=4)
    assert [run.run_id for run in result.started] == ["one#e7", "two#e7"]
    assert not result.skipped
    [run, _] = result.session.runs
    assert (run.trigger.kind, run.trigger.payload, run.input, run.hop) == ("event", {"a": 1}, {"a": 1}, 4)


def test_a_refused_event_trigger_leaves_its_entry():
    """T-5.13: `skipped` tells of the refused one, and the next trigger may start the flow."""
    triggers = [OnEvent("plain", repeat="once"), OnEvent("plain", repeat="always")]
    chat = Chat(Flow("one", on=triggers, steps=[Say("x", "x")]))
    chat.event("plain", "e1")
    result = chat.event("plain", "e2")
    assert skipped(result) == ["one:already-claimed"]
    assert [run.run_id for run in result.started] == ["one#e2"]


def test_an_event_never_routes_and_never_wakes_the_idle_speaker():
    """T-5.11: no understand call, no catch-all, no idle reply."""
    lead = Flow("lead", on=[OnMessage("wants"), OnAnyMessage()], steps=[Say("x", "x")])
    result = Chat(lead).event("in")
    assert (result.started, result.messages, result.llm_calls) == ((), (), 0)


# --- a start ------------------------------------------------------------------------------------


def test_a_start():
    """T-5.14: any flow, with or without triggers; kind `start`, the input as payload."""
    lead = Flow("lead", steps=[Wait("w", "1d")])
    result = Chat(lead).start("lead", "c1", input={"deal": 7}, hop=2)
    [run] = result.session.runs
    assert (run.id, run.trigger.kind, run.trigger.key, run.input, run.hop) == ("lead#c1", "start", "c1", {"deal": 7}, 2)
    assert (run.trigger.payload, result.started[0].dedupe_key) == ({"deal": 7}, "lead:s1:c1")


def test_a_start_without_input_has_none():
    """B-4.1: a null input leaves `input` and `payload` absent."""
    result = Chat(Flow("lead", steps=[Wait("w", "1d")])).start("lead", input=None)
    run = result.to_wire()["session"]["runs"][0]
    assert "input" not in run
    assert "payload" not in run["trigger"]


def test_a_start_of_an_unknown_flow():
    """T-5.14: a `skipped` entry with the session id as anchor and the start's key."""
    result = Chat(PAUSE).start("gone", "c1")
    [start] = result.skipped
    assert (start.flow_id, start.code, start.anchor, start.trigger_key) == ("gone", "flow-gone", "s1", "c1")
    assert start.message == "The agent knows no flow with this id."


def test_a_message_passes_by_what_only_looks_like_a_reply_wait():
    """T-5.3: a run that waits at a step which is no timer any more stays parked."""
    chat = Chat(PAUSE)
    chat.start("offer")
    edited = chat.without(Flow("offer", steps=[WaitEvent("w", "plain", else_=To("w")), Say("x", "x")]), idle="silent")
    assert not lines(edited.message())
    assert edited.statuses == {"offer": "waiting"}


def test_a_branch_of_a_wait_sees_the_run():
    """T-5.3 no. 2, T-7.1: its `if` is judged on the run, with the run's own input."""
    branches = [Branch(if_={"input": 8}, then="n"), Branch(if_={"input": 7}, then="y")]
    steps = [Wait("w", "1d", else_="n", branches=branches), Say("n", "else", then="end"), Say("y", "branch")]
    chat = Chat(Flow("offer", steps=steps), idle="silent")
    chat.start("offer", input=7)
    assert said(chat.message()) == ["branch"]


def test_a_released_run_has_the_floor_before_it_moves():
    """T-5.3 no. 4: so its staying takes the floor from an asker (T-12.11), and it answers."""
    ask = Flow("ask", steps=[Collect("c", ["note"])])
    stay = Flow("stay", on_end="stay", steps=[Wait("w", "1d", else_="end"), Prompt("p", "Talk.")])
    chat = Chat(ask, stay)
    chat.start("ask", speak="Note?")
    chat.start("stay", "k2")
    result = chat.message(speak="Talking.")
    assert chat.statuses == {"ask": "suspended", "stay": "asking"}
    assert result.messages[0].run_id == "stay#k2"


def test_a_run_that_waits_for_an_event_at_what_is_a_timer_now_stays_parked():
    """T-5.3: `waiting.kind` must be `timer`, whatever the step is now."""
    chat = Chat(Flow("offer", steps=[WaitEvent("w", "plain"), Say("x", "x")]))
    chat.start("offer")
    edited = chat.without(Flow("offer", steps=[Wait("w", "1d", else_="x"), Say("x", "x")]), idle="silent")
    assert not lines(edited.message())
    assert edited.statuses == {"offer": "waiting"}


def test_an_unreadable_date_is_never_earlier():
    """B-2.8: "the customer wrote since" an unreadable `setAt` is false; so it is for an unreadable `lastUserAt`."""
    for set_at, wrote in (("odd", "2026-09-20T11:00:00.000Z"), (NOW, "odd")):
        chat = Chat(Flow("offer", steps=[Wait("w", "1d", else_="e"), Say("t", "then", then="end"), Say("e", "else")]))
        chat.start("offer")
        waiting = chat.run("offer").waiting
        assert waiting is not None
        assert chat.session is not None
        waiting.set_at, chat.session.last_user_at = set_at, wrote
        assert said(chat.wake(f"offer#k1:w:{at(86_400)}")) == ["then"]


def test_an_event_looks_at_every_run():
    """T-5.12: in list order, past those that wait for nothing or for something else."""
    flows = [
        Flow("asks", steps=[Collect("c", ["note"])]),
        Flow("timed", steps=[Wait("w", "1d")]),
        Flow("other", steps=[WaitEvent("w", "out")]),
        Flow("waits", steps=[WaitEvent("w", "plain"), Say("x", "x")]),
    ]
    chat = Chat(*flows)
    for number, flow in enumerate(flows):
        chat.start(flow.id, f"k{number}", speak="Note?" if flow.id == "asks" else None)
    timed = chat.run("timed").waiting
    assert timed is not None
    timed.event = "plain"  # a timer that carries the name of an event, as only a blob from elsewhere can
    result = chat.event("plain")
    assert (lines(result), said(result)) == (["wait/ok/event-arrived", "say/ok"], ["x"])
