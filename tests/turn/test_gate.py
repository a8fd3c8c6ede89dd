"""T-17: a turn under a closed gate."""

from __future__ import annotations

from typing import Any

import pytest

from falai import Branch, Collect, Do, Flow, OnAnyMessage, OnMention, OnMessage, Prompt, Say, Wait, ok
from turn.chat import Chat, ended, lines, said

NOTE = Collect("c", ["note"])
SKIP = {"reason": "held", "skip": True}


@pytest.mark.parametrize(
    ("step", "kind"), [(NOTE, "collect"), (Prompt("c", "Talk."), "prompt"), (Say("c", "x"), "say")], ids=str
)
@pytest.mark.parametrize(("reason", "detail"), [("held", "held"), ("", None)])
def test_words_end_the_run(step: Any, kind: str, reason: str, detail: str | None):
    """T-17.3, T-17.4, T-12.12: `skipped`, one line without a key; an empty reason leaves no detail."""
    result = Chat(Flow("lead", steps=[step, Do("d", "act")]), actions={"act": ok()}).start("lead", silenced=reason)
    [line] = result.outcomes
    assert (lines(result), line.detail, line.key, line.next) == ([f"{kind}/skipped/silenced"], detail, None, None)
    assert (ended(result), said(result), result.llm_calls) == (["lead:skipped"], [], 0)


@pytest.mark.parametrize("step", [NOTE, Prompt("c", "Talk."), Say("c", "x", once=True)], ids=str)
@pytest.mark.parametrize("reason", ["held", ""])
def test_words_are_passed_over(step: Any, reason: str):
    """T-17.3, T-17.5: with `skip`: the line has key, `next` and the reason, also an empty one."""
    chat = Chat(Flow("lead", steps=[step, Do("d", "act")]), actions={"act": ok()})
    result = chat.start("lead", silenced={"reason": reason, "skip": True})
    first = result.outcomes[0]
    assert (lines(result)[0].partition("/")[2], first.detail, first.key) == ("skipped/silenced", reason, "lead#k1:c:1")
    assert (lines(result)[1:], ended(result)) == (["do/ok"], ["lead:end"])
    assert (list(result.session.claims), result.session.last_assistant_at) == (["lead:s1:k1"], None)
    assert result.ended[0].run.asked == {}


def test_the_next_of_what_is_passed_over():
    """O-5.3, O-5.4: `next` names the target that is followed."""
    flow = Flow("lead", steps=[Say("a", "a", then="c"), Do("d", "act"), Prompt("c", "Talk.", then="d")])
    chat = Chat(flow, actions={"act": {"defer": "1h"}})
    assert [line.next for line in chat.start("lead", silenced=SKIP).outcomes] == ["c", "d", None]


@pytest.mark.parametrize("gate", ["held", SKIP])
def test_a_run_that_was_asking_goes_on_asking(gate: Any):
    """T-17.3, T-17.6: *resuming* → back to `asking`, no line; it speaks at the next open message."""
    chat = Chat(Flow("lead", steps=[NOTE]))
    chat.start("lead", speak="Note?")
    result = chat.message(silenced=gate)
    assert (result.outcomes, chat.statuses, chat.run("lead").asked) == ((), {"lead": "asking"}, {"note": 1})
    assert lines(chat.message(speak="Note?")) == ["collect/ok"]


def test_a_step_with_nothing_left_passes_under_silence():
    """T-11.2: before the gate is looked at."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name"]), Do("d", "act")]), actions={"act": ok()})
    chat.start("lead", speak="Name?")
    chat.data["name"] = "Ana"
    assert lines(chat.message(silenced="held")) == ["collect/ok", "do/ok"]


def test_a_run_that_moved_on_from_its_step_is_not_resuming():
    """T-10.8, T-17.3: the second talk step of the move ends it."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["name"]), Prompt("p", "Talk.")]))
    chat.start("lead", speak="Name?")
    chat.data["name"] = "Ana"
    assert lines(chat.message(silenced="held")) == ["collect/ok", "prompt/skipped/silenced"]


def test_nobody_speaks_under_silence():
    """T-14.1, T-17.1: neither a talk step nor the idle speaker; no call at all."""
    assert not Chat().message(silenced="").messages


def test_routing_and_mentions_work_as_ever():
    """T-17.2: without a judgement every score is 0; mentions without phrases and the catch-all start."""
    lead = Flow("lead", on=[OnMessage("wants")], steps=[Wait("w", "1d")])
    other = Flow("other", on=[OnMessage("wants")], steps=[Wait("w", "1d")])
    chat = Chat(
        lead,
        other,
        Flow("any", on=[OnAnyMessage()], steps=[Wait("w", "1d")]),
        Flow("dog", on=[OnMention()], steps=[Wait("w", "1d")]),
    )
    result = chat.message(silenced="held")
    assert [run.flow_id for run in result.started] == ["dog", "any"]


def test_a_lone_flow_starts_under_silence():
    """T-8.4, T-9.3: no score is needed, gate or no gate."""
    chat = Chat(Flow("lead", on=[OnMessage("wants")], steps=[Wait("w", "1d")]), idle="silent")
    assert [run.flow_id for run in chat.message(silenced="held").started] == ["lead"]


def test_branches_of_code_fire_under_silence():
    """T-17.2: entries with a `when` cannot, without a judgement."""
    branches = [Branch("x", then="c"), Branch(if_={"silenced": True}, then="d")]
    flow = Flow("lead", steps=[Collect("c", ["note"], branches=branches), Do("d", "act")])
    chat = Chat(flow, actions={"act": ok()})
    chat.start("lead", speak="Note?")
    assert lines(chat.message(silenced="held")) == ["collect/ok/branch", "do/ok"]


def test_a_judged_turn_under_silence():
    """T-17.1: `understand: true` writes values and fires branches; nobody speaks."""
    ask = Collect("c", ["note"], branches=[Branch("wants out", then="d")])
    chat = Chat(Flow("lead", collect=["name"], steps=[ask, Do("d", "act")]), actions={"act": ok()})
    chat.start("lead", speak="Note?")
    judged = {"fields": {"name": "Ana"}, "branches": {"q1": True}}
    result = chat.message(silenced={"reason": "held", "understand": True}, understand=judged)
    assert (lines(result), result.session.data) == (["collect/ok/branch", "do/ok"], {"name": "Ana"})


def test_a_closed_gate_gives_no_claim_back():
    """T-17.7: the catch-all is used up by a silenced message."""
    chat = Chat(Flow("any", on=[OnAnyMessage()], steps=[Prompt("p", "Hi.")]), idle="silent")
    assert lines(chat.message(silenced="held")) == ["prompt/skipped/silenced"]
    assert not chat.message().started


def test_waits_park_under_silence():
    """T-17.1: and short waits are lost."""
    chat = Chat(Flow("lead", steps=[Wait("v", "3s"), Say("x", "x"), Wait("w", "1d")]))
    assert lines(chat.start("lead", silenced=SKIP)) == ["wait/ok/inline-delay", "say/skipped/silenced", "wait/waiting"]


def test_a_question_is_not_sent_under_silence():
    """T-17.3: a step with a due question ends the run like any other."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["note"], question="Note?")]))
    assert lines(chat.start("lead", silenced="held")) == ["collect/skipped/silenced"]
