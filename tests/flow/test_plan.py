"""What a turn looks up in a checked flow (T-8.2, T-8.3, F-7.8, F-7.13, F-2.6), and what handlers are given."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from falai.flow.definition import (
    Collect,
    Flow,
    Instruction,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    Trigger,
)  # fmt: skip
from falai.flow.handlers import ActionResult, View, defer, failed, ok, skipped
from falai.flow.phrases import Phrases, split_phrases
from falai.flow.plan import AgentPlan, FlowPlan

ON: list[Trigger] = [
    OnAnyMessage(repeat="always"), OnMessage("a", "!b"), OnMessage(" c ", "", "!"), OnMention(), OnMention("d", "! e"),
    OnMention("f", extract={"n": {"type": "integer"}}), OnSilence("1d"), OnEvent("x"), OnEvent("y"), OnSilence("2d"),
]  # fmt: skip
FLOW = Flow(
    "f",
    on=ON,
    collect=["size", "name"],
    steps=[
        Collect("a", ["name", "day", "day"]),
        Say("b", "x"),
        Prompt("c", "p"),
        Collect("d", ["day", "end"], question="Q?"),
    ],
)
PLAN = FlowPlan(FLOW)


def test_the_first_trigger_of_a_kind_counts_and_the_phrases_of_all() -> None:
    """F-7.8, F-7.13: a message trigger without phrases is the catch-all."""
    assert (PLAN.message, PLAN.catch_all, PLAN.mention, PLAN.silence) == (ON[1], ON[0], ON[3], ON[6])
    assert PLAN.events == (ON[7], ON[8])
    assert PLAN.wants == Phrases(("a", "c"), ("b",))
    assert PLAN.touches == Phrases(("d", "f"), ("e",))
    assert PLAN.extract == {"n": {"type": "integer"}}
    empty = FlowPlan(Flow("g"))
    assert (empty.message, empty.catch_all, empty.mention, empty.silence, empty.events, empty.extract) == (
        None,
        None,
        None,
        None,
        (),
        {},
    )


def test_steps_are_found_by_id_and_by_order() -> None:
    """The step behind one is the next in the list."""
    assert PLAN.step("b") is FLOW.steps[1]
    assert PLAN.step("z") is PLAN.step(None) is None
    assert (PLAN.after("a"), PLAN.after("d")) == (FLOW.steps[1], None)
    assert PLAN.positions["c"] == 2
    assert [step.id for step in PLAN.talk_steps] == ["a", "c", "d"]


def test_a_flows_fields_are_its_own_then_its_steps_each_once() -> None:
    """F-2.6."""
    assert PLAN.fields == ("size", "name", "day", "end")


def test_asks_are_judged_only_where_a_fixed_question_may_go_out() -> None:
    """M-3.6."""
    assert AgentPlan(name="A", flows={"f": PLAN}).asks_matter
    assert not AgentPlan(name="A", flows={"g": FlowPlan(Flow("g", steps=[Collect("a", ["x"])]))}).asks_matter


def test_phrases_are_trimmed_and_told_apart() -> None:
    """F-7.4, F-7.5."""
    assert split_phrases(["  asks a price ", "!  only says thanks ", "", "! ", "urgent!"]) == Phrases(
        ("asks a price", "urgent!"), ("only says thanks",)
    )


def test_results_of_an_action_are_one_class() -> None:
    """F-12.5."""
    assert ok("told", spoke=True) == ActionResult(ok=True, detail="told", spoke=True)
    assert skipped("why") == ActionResult(skipped="why")
    assert failed("why") == ActionResult(failed="why")
    assert defer("1d", "later") == ActionResult(defer="1d", detail="later")


def test_the_idle_speaker_has_no_run() -> None:
    """F-9.2: asking for it says so."""
    view: View[None] = View(None, {}, None, None, None, datetime(2026, 9, 20, tzinfo=UTC))
    with pytest.raises(LookupError, match="idle"):
        _ = view.run


def test_a_flow_without_a_name_is_called_by_its_id() -> None:
    """F-6.1, S-3."""
    assert Flow("f").name == FlowPlan(Flow("f")).name == "f"
    assert Flow("f", name="F").name == "F"
    assert Instruction("x") == Instruction("x", kind=None)
