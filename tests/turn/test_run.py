"""T-10 and T-13: moving the runs, the floor, handing a message down."""

from __future__ import annotations

from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
    Event,
    Flow,
    If,
    OnEvent,
    OnMention,
    OnMessage,
    Prompt,
    Say,
    To,
    ToFlow,
    Wait,
)  # fmt: skip
from falai.session.model import Run, Session, TriggerRef
from turn.chat import NOW, Chat, ended, lines, said

NOTE = Collect("c", ["note"])
ALWAYS: Any = {"repeat": "always"}


def _run(flow: str, status: Any, **rest: Any) -> Run:
    """A run in a blob that was made by hand."""
    suspended = {"suspended_at": NOW} if status == "suspended" else {}
    made: dict[str, Any] = {
        "id": f"{flow}#h", "flow_id": flow, "anchor": "s1", "dedupe_key": f"{flow}:s1:h", "step_id": "c", "status": status,
        "trigger": TriggerRef(kind="start", key="h"), "hop": 0, "started_at": "2026-09-20T09:00:00.000Z", "asked": {},
        "visits": {"c": 1}, "outcomes": [], **suspended,
    }  # fmt: skip
    return Run(**made | rest)


def _with(chat: Chat, *runs: Run) -> Chat:
    chat.session = Session.fresh("s1")
    chat.session.runs = list(runs)
    return chat


def _asks(flow_id: str, **rest: Any) -> Flow:
    return Flow(flow_id, steps=[Collect("c", ["note"], prompt=f"Ask for {flow_id}.")], **rest)


# --- moving a run -------------------------------------------------------------------------------


def test_waiting_and_suspended_runs_are_passed_over():
    """T-10.4 no. 1: also in a message turn."""
    chat = _with(Chat(_asks("one"), _asks("two")), _run("one", "suspended"), _run("two", "asking"))
    chat.message(speak="Note?")
    assert chat.statuses == {"one": "suspended", "two": "asking"}


@pytest.mark.parametrize(
    "given", [Event("in", "e1"), Event("out", "e1"), {"wake": "x"}, {"start": {"flow": "x", "key": "k"}}]
)
def test_an_asking_run_moves_on_a_message_only(given: Any):
    """T-10.5, T-13.2: a wake, an event and a start pass it by."""
    chat = _with(Chat(_asks("one")), _run("one", "asking"))
    result = chat.play(given)
    assert chat.run("one") == _run("one", "asking")
    assert not result.messages


def test_a_run_of_a_flow_that_is_gone_ends():
    """T-10.4 no. 3: `flow-gone`, of kind `if`, at the step where it stands."""
    chat = _with(Chat(_asks("two"), idle="silent"), _run("one", "asking"))
    result = chat.message()
    [line] = result.outcomes
    assert (lines(result), line.step_id, line.key) == (["if/skipped/flow-gone"], "c", None)
    assert ended(result) == ["one:skipped"]


def test_a_flow_that_is_gone_comes_before_its_premise():
    """T-10.4: in this order; a suspended run of a gone flow is not looked at until it moves."""
    chat = _with(Chat(_asks("two")), _run("one", "suspended"), _run("two", "asking"))
    assert lines(chat.message(speak="Note?")) == ["collect/ok"]


@pytest.mark.parametrize(("on_end", "end"), [("end", "one:end"), (None, "one:end"), ("reset", "one:reset")])
def test_a_staying_run_whose_flow_does_not_stay_any_more(on_end: Any, end: str):
    """T-10.6, B-7.4: the new `onEnd` is applied at once, without a word of the step."""
    chat = _with(Chat(_asks("one", on_end=on_end), idle="silent"), _run("one", "asking", staying=True))
    speak = {} if on_end != "reset" else {"speak": "Note?"}
    assert ended(chat.message(**speak)) == [end]


def test_a_staying_run_whose_premise_fails_ends():
    """T-10.4: the premise comes before T-10.6."""
    chat = _with(Chat(_asks("one", while_={"flag": "on"}), idle="silent"), _run("one", "asking", staying=True))
    assert lines(chat.message(context={})) == ["collect/skipped/premise-changed"]


def test_a_run_enters_the_first_step():
    """T-10.7: a visit of it; without steps the flow is over."""
    chat = Chat(Flow("one", steps=[Wait("w", "1d")]), Flow("bare", steps=[]))
    chat.start("one")
    assert (chat.run("one").step_id, chat.run("one").visits) == ("w", {"w": 1})
    result = chat.start("bare")
    assert (ended(result), result.outcomes) == (["bare:end"], ())


def test_a_step_that_is_gone():
    """T-10.8: the run ends `skipped`."""
    chat = _with(Chat(_asks("one"), idle="silent"), _run("one", "asking", step_id="old", visits={"old": 1}))
    result = chat.message()
    assert (lines(result), result.outcomes[0].step_id) == (["if/skipped/step-gone"], "old")
    assert ended(result) == ["one:skipped"]


def test_the_step_that_is_there_is_executed_whatever_it_is_now():
    """T-10.8: a run that asked at what is now a `say` says it."""
    chat = _with(Chat(Flow("one", steps=[Say("c", "now a text")]), idle="silent"), _run("one", "asking"))
    assert said(chat.message()) == ["now a text"]


# --- fifty steps --------------------------------------------------------------------------------


def _loop(steps: int) -> Flow:
    """A flow that executes so many steps and ends."""
    return Flow(
        "loop",
        steps=[If("i", lambda view: view.run.visits["i"] < steps - 1, then=To("i"), else_="x"), Say("x", "out")],
    )


def test_fifty_steps_may_be_executed_in_a_move():
    """T-10.9: the fiftieth is; the run ends only if there is another."""
    result = Chat(_loop(50)).start("loop")
    assert (said(result), ended(result)) == (["out"], ["loop:end"])


def test_the_fifty_first_step_is_not_executed():
    """T-10.9: the run ends `failed`, `step-loop`, of the kind of the step where it stands; without a key."""
    result = Chat(_loop(51)).start("loop")
    assert (said(result), ended(result)) == ([], ["loop:failed"])
    last = result.outcomes[-1]
    assert (lines(result)[-1], last.step_id, last.key) == ("say/failed/step-loop", "x", None)
    assert len(result.outcomes) == 51


def test_each_move_has_fifty_steps_of_its_own():
    """T-10.9: fifty in phase 5 and fifty in phase 7."""
    back = If("i", lambda view: view.run.visits["i"] % 40 != 0, then=To("i"), else_="go")
    go = If("go", lambda view: view.run.visits["i"] == 40, then="p", else_="end")
    chat = Chat(Flow("loop", steps=[back, go, Prompt("p", "Talk.", then="i")]))
    result = chat.start("loop", speak="Hi")
    assert ended(result) == ["loop:end"]
    assert result.ended[0].run.visits == {"i": 80, "go": 2, "p": 1}


def test_a_run_keeps_its_last_fifty_lines():
    """B-8.1: the oldest is dropped; the result has them all."""
    steps = [If("i", lambda view: view.run.visits["i"] < 49, then=To("i"), else_="w"), Wait("w", "1d", then="i")]
    chat = Chat(Flow("loop", steps=steps))
    first = chat.start("loop")
    assert len(chat.run("loop").outcomes) == len(first.outcomes) == 50
    again = chat.wake(first.schedule[0].key)
    assert chat.run("loop").outcomes[-3:] == list(again.outcomes)
    assert chat.run("loop").outcomes[0] == first.outcomes[3]


# --- resuming -----------------------------------------------------------------------------------


def test_resuming_is_true_for_the_first_execution_only():
    """T-10.8: the step it asked at ends `ok`, the next one `already-known`."""
    steps = [Collect("c", ["name"]), Collect("d", ["name"]), Say("x", "x")]
    chat = Chat(Flow("one", steps=steps))
    chat.start("one", speak="Name?")
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert lines(result) == ["collect/ok", "collect/skipped/already-known", "say/ok"]


def test_a_run_that_was_running_is_not_resuming():
    """T-10.7: *resuming* is "its status was `asking`"."""
    flow = Flow("one", steps=[Collect("c", ["name"]), Say("x", "x")])
    chat = _with(Chat(flow, idle="silent"), _run("one", "running"))
    chat.data["name"] = "Ana"
    assert lines(chat.message())[0] == "collect/skipped/already-known"


# --- the stack of suspended runs ----------------------------------------------------------------


def test_the_run_suspended_last_comes_back_first():
    """T-13.5: by the text of `suspendedAt`; among equals the one later in the list."""
    chat = _with(
        Chat(_asks("one"), _asks("two"), _asks("three")),
        _run("one", "suspended", suspended_at="2026-09-20T09:30:00.000Z"),
        _run("two", "suspended", suspended_at="2026-09-20T09:30:00.000Z"),
        _run("three", "suspended", suspended_at="2026-09-20T09:10:00.000Z"),
    )
    chat.event("in")
    assert chat.statuses == {"one": "suspended", "two": "asking", "three": "suspended"}
    assert chat.run("two").suspended_at is None


def test_a_suspended_run_without_its_date_counts_by_its_start():
    """T-13.5: `startedAt`, if it has none."""
    chat = _with(
        Chat(_asks("one"), _asks("two")),
        _run("one", "suspended", suspended_at=None, started_at="2026-09-20T09:40:00.000Z"),
        _run("two", "suspended", suspended_at="2026-09-20T09:30:00.000Z"),
    )
    chat.event("in")
    assert chat.statuses == {"one": "asking", "two": "suspended"}


def test_nobody_comes_back_while_somebody_asks():
    """T-13.5: only if no run is `asking`."""
    chat = _with(Chat(_asks("one"), _asks("two")), _run("one", "suspended"), _run("two", "asking"))
    chat.event("in")
    assert chat.statuses == {"one": "suspended", "two": "asking"}


def test_a_resumed_run_answers_the_message_in_the_same_turn():
    """T-10.1, T-10.3: the message goes to it when the asker has ended without a word."""
    chat = _with(
        Chat(_asks("one"), Flow("two", steps=[Collect("c", ["name"])])), _run("one", "suspended"), _run("two", "asking")
    )
    result = chat.message(understand={"fields": {"name": "Ana"}}, speak="Note?")
    assert lines(result) == ["collect/ok", "collect/ok"]
    assert (ended(result), said(result)) == (["two:end"], ["Note?"])
    assert result.messages[0].run_id == "one#h"


def test_a_message_is_handed_down_until_somebody_answers():
    """T-10.3: one after the other, the last suspended first."""
    gone = [_run("gone", "suspended", id=f"gone#{n}", anchor=f"d{n}", suspended_at=NOW) for n in range(3)]
    chat = _with(Chat(_asks("one")), _run("one", "suspended", suspended_at="2026-09-20T08:00:00.000Z"), *gone)
    result = chat.message(speak="Note?")
    assert lines(result) == ["if/skipped/flow-gone"] * 3 + ["collect/ok"]
    assert [line.run_id for line in result.outcomes][:3] == ["gone#2", "gone#1", "gone#0"]


@pytest.mark.parametrize("around", [{"silenced": "held"}, {}])
def test_a_message_is_handed_down_with_the_gate_open_only(around: dict[str, Any]):
    """T-10.3: under a closed gate the run comes back in phase 7, without being moved."""
    flow = Flow("two", steps=[Collect("c", ["name"])])
    chat = _with(Chat(_asks("one", while_={"flag": "on"}), flow), _run("one", "suspended"), _run("two", "asking"))
    chat.data["name"] = "Ana"
    if around:
        assert lines(chat.message(context={}, **around)) == ["collect/ok"]
        assert chat.statuses == {"one": "asking"}
    else:
        assert lines(chat.message(context={}, speak="Hi")) == [
            "collect/ok",
            "collect/skipped/premise-changed",
            "idle/ok",
        ]


def test_an_event_does_not_hand_down():
    """T-10.3: only in a message turn; the run comes back in phase 7."""
    two = Flow("two", steps=[Do("c", "later")])
    chat = Chat(_asks("one"), two, actions={"later": {"ok": True}})
    _with(chat, _run("one", "suspended"), _run("two", "running"))
    result = chat.event("in")
    assert (lines(result), ended(result)) == (["do/ok"], ["two:end"])
    assert chat.statuses == {"one": "asking"}


def test_a_say_is_an_answer():
    """T-10.3: nothing is handed down when `spokeBy` is not empty; the run comes back in silence."""
    chat = _with(
        Chat(_asks("one"), Flow("two", steps=[Collect("c", ["name"]), Say("x", "Bye.")])),
        _run("one", "suspended"),
        _run("two", "asking"),
    )
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert said(result) == ["Bye."]
    assert chat.statuses == {"one": "asking"}


def test_branches_of_code_of_a_run_that_came_back():
    """T-13.6: tried in a message turn with nothing judged; an entry with a `when` cannot hit."""
    branches = [Branch("wants out", then="end"), Branch(if_={}, then="x")]
    one = Flow("one", steps=[Collect("c", ["note"], branches=branches), Say("y", "y"), Say("x", "branch")])
    chat = _with(Chat(one, idle="silent"), _run("one", "suspended"))
    result = chat.message()
    assert (lines(result), said(result)) == (["collect/ok/branch", "say/ok"], ["branch"])


def test_branches_of_a_run_that_came_back_are_not_tried_outside_a_message():
    """T-13.6: in a message turn."""
    one = Flow("one", steps=[Collect("c", ["note"], branches=[Branch(if_={}, then="x")]), Say("x", "x")])
    chat = _with(Chat(one), _run("one", "suspended"))
    assert not lines(chat.event("in"))
    assert chat.statuses == {"one": "asking"}


def test_branches_are_tried_when_a_message_is_handed_down():
    """T-13.6: at the second place too; a child that it starts is moved."""
    one = Flow("one", steps=[Collect("c", ["note"], branches=[Branch(if_={}, then=ToFlow("next"))])])
    two = Flow("two", steps=[Collect("c", ["name"])])
    chat = _with(
        Chat(one, two, Flow("next", steps=[Say("x", "next")])), _run("one", "suspended"), _run("two", "asking")
    )
    chat.data["name"] = "Ana"
    result = chat.message()
    assert (said(result), ended(result)) == (["next"], ["two:end", "one:flow", "next:end"])


def test_branches_are_not_tried_when_a_run_comes_back_at_the_end():
    """T-13.5: phase 7 resumes without T-13.6."""
    one = Flow("one", steps=[Collect("c", ["note"], branches=[Branch(if_={}, then="x")]), Say("x", "x")])
    two = Flow("two", steps=[Collect("c", ["name"]), Say("x", "Bye.")])
    chat = _with(Chat(one, two), _run("one", "suspended"), _run("two", "asking"))
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert said(result) == ["Bye."]
    assert chat.statuses == {"one": "asking"}


# --- order --------------------------------------------------------------------------------------


def test_runs_are_moved_in_list_order_and_children_at_the_end():
    """T-10.1, T-10.2: all live runs; a run that a move starts is appended to the queue."""
    one = Flow("one", on=[OnEvent("plain")], steps=[Say("a", "1", then=ToFlow("child"))])
    two = Flow("two", on=[OnEvent("plain")], steps=[Say("a", "2")])
    child = Flow("child", steps=[Say("a", "3")])
    assert said(Chat(one, two, child).event("plain")) == ["1", "2", "3"]


def test_of_several_runs_that_reach_a_talk_step_the_last_speaks():
    """T-11.5: the others are suspended without having spoken, and without a line."""
    flows = [Flow(name, on=[OnEvent("plain")], steps=[Prompt("p", f"Talk of {name}.")]) for name in ("one", "two")]
    chat = Chat(*flows)
    result = chat.event("plain", speak="Two.")
    assert lines(result) == ["prompt/ok"]
    assert result.messages[0].run_id == "two#e1"
    assert chat.statuses == {"one": "asking"}


def test_a_mention_waits_for_the_conversation():
    """T-10, trace E: the older run is moved first; the mention's `say` answers."""
    lead = Flow("lead", on=[OnMessage("wants", repeat="always")], steps=[NOTE])
    human = Flow("human", on=[OnMention("a person")], steps=[Say("s", "I will get someone."), Do("a", "assign")])
    chat = Chat(lead, human, actions={"assign": {"ok": True}})
    chat.start("lead", speak="Note?")
    result = chat.message(understand={"mentions": {"human": True}})
    assert lines(result) == ["say/ok", "do/ok", "collect/skipped/another-reply"]
    assert chat.run("lead").asked == {"note": 1}
