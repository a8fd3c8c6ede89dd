from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow

HERE = {"id": "here", "prompt": "Ask."}
A, B, C = ({"id": name, "prompt": f"Step {name}."} for name in "abc")


def answered(**verdicts: bool) -> dict[str, Any]:
    """What the model says of the questions of the step, by their number."""
    return {"branches": dict(verdicts.items())}


def fork(*branches: dict[str, Any], **options: Any) -> Talk:
    return Talk(flow("Order", {**HERE, "branches": list(branches)}, A, B, C, **options))


@pytest.mark.parametrize(
    ("flag", "verdict", "target"),
    [(True, True, "a"), (False, True, "b"), (False, False, "c"), (False, None, "c")],
    ids=["if", "when", "fallback", "not judged"],
)
def test_the_first_entry_that_holds_wins(flag: bool, verdict: bool | None, target: str) -> None:
    """DT-12: `[if, when, fallback]` on a prompt step: one of the three targets, on the answer."""
    talk = fork({"if": lambda ctx: ctx.context["flag"], "then": "a"}, {"when": "wants b", "then": "b"}, {"then": "c"})
    talk.context["flag"] = flag
    talk.says(speak="Well?")
    assert talk.at == "order.here"
    talk.says(understand=answered(q1=verdict) if verdict is not None else answered(), speak="On it.")
    assert talk.at == (f"order.{target}" if target != "c" else None)
    assert talk.executed == [target]


def test_without_a_match_the_next_step_follows() -> None:
    """D-82: and no entry without a condition is needed for that."""
    talk = fork({"if": lambda ctx: False, "then": "c"})
    talk.says(speak="Well?")
    talk.says(speak="On it.")
    assert talk.at == "order.a"


def test_if_comes_before_when() -> None:
    """D-82, S-5: what code rules out is not asked of the model."""
    talk = fork({"when": "wants b", "if": lambda ctx: False, "then": "b"})
    talk.says(speak="Well?")
    talk.says(speak="On it.")
    assert talk.at == "order.a"


def test_alternatives_and_exclusions_are_one_question() -> None:
    """D-87: a list goes to the model as one question."""
    talk = fork({"when": ["wants b", "asks for b", "!is joking"], "then": "b"})
    talk.says(speak="Well?")
    talk.says(understand=answered(q1=True), speak="On it.")
    assert "wants b / asks for b; but none of these: is joking" in talk.model.calls[0].prompt
    assert talk.at == "order.b"


def test_a_when_on_an_auto_step_does_not_match() -> None:
    """DT-13: nobody has answered there; the next entry does."""
    talk = Talk(
        flow("Order", {"id": "go", "auto": True, "branches": [{"when": "x", "then": "b"}, {"then": "c"}]}, A, B, C)
    )
    talk.says(speak="C it is.")
    assert talk.executed == ["go", "c"]


def test_entries_are_judged_while_a_step_still_asks() -> None:
    """D-90, 3: on each message, before it asks again; the fallback waits until the fields are known."""
    ask = {"id": "ask", "collect": ["size"], "branches": [{"when": "gives up", "then": "c"}, {"then": "b"}]}
    talk = Talk(flow("Order", ask, A, B, C))
    talk.says(understand={"fields": {}}, speak="Which size?")
    talk.says(understand={"branches": {"q1": False}}, speak="Which size?")
    assert talk.at == "order.ask"
    talk.says(understand={"branches": {"q1": True}}, speak="Too bad.")
    assert talk.executed == ["c"]


def test_a_step_of_the_flow_comes_before_a_flow_of_that_name() -> None:
    """DT-14: a local id that is a flow's id as well."""
    talk = Talk(flow("Order", {**HERE, "branches": [{"then": "b"}]}, A, B, C), flow("b", A, when="never"))
    talk.says(understand={"flows": {"order": 90}}, speak="Well?")
    talk.says(understand={"flows": {"order": 90}}, speak="On it.")
    assert talk.at == "order.b"


def test_a_flow_by_its_title_is_a_target() -> None:
    """D-82: it is entered in this turn, and the flow that is left ends."""
    talk = Talk(
        flow("Order", {**HERE, "branches": [{"then": "Other thing"}]}, A), flow("Other thing", B, C, id="other")
    )
    talk.says(understand={"flows": {"order": 90}}, speak="Well?")
    talk.says(understand={"flows": {"order": 90}}, speak="On it.")
    assert (talk.at, talk.ended) == ("other.b", [("order", "flow")])
    assert talk.links == [("goTo:other", "branch:order.here[0]")]


def test_a_directive_is_a_target_and_its_writes_count() -> None:
    """D-65, D-82: applied by itself."""
    then = {"goTo": {"flow": "other", "data": {"size": 2}}, "dataUpdate": {"name": "Ana"}}
    talk = Talk(flow("Order", {**HERE, "branches": [{"then": then}]}, A), flow("Other", B, C))
    talk.says(understand={"flows": {"order": 90}}, speak="Well?")
    talk.says(understand={"flows": {"order": 90}}, speak="On it.")
    assert (talk.at, talk.data) == ("other.b", {"size": 2, "name": "Ana"})


def test_the_directive_of_a_branch_may_speak() -> None:
    """D-65: its `reply` is said in place of the next step's words, and counts as them (D-96)."""
    talk = fork({"then": {"reply": "Just so."}})
    talk.says(speak="Well?")
    talk.says()
    assert (talk.said, talk.at) == (["Just so."], "order.a")


def test_a_branch_counts_only_where_no_directive_has_moved_the_run() -> None:
    """D-65: `prepare` sends the run away, so the branches of the auto step are never looked at."""
    step = {"id": "go", "auto": True, "prepare": lambda context, data: {"goToStep": "c"}, "branches": [{"then": "b"}]}
    talk = Talk(flow("Order", step, A, B, C))
    talk.says(speak="C it is.")
    assert talk.executed == ["go", "c"]


def test_the_last_step_with_branches_waits_and_the_idle_speaker_answers() -> None:
    """D-90: the flow completes on a message that no entry matches, and that message is answered."""
    talk = Talk(flow("Order", {**HERE, "branches": [{"when": "again", "then": "here"}]}))
    talk.says(speak="Well?")
    assert talk.at == "order.here"
    talk.says(understand=answered(q1=True), speak="Once more: well?")
    assert talk.at == "order.here"
    talk.says(understand=answered(q1=False), speak="What else?")
    assert (talk.said, talk.ended) == (["What else?"], [("order", "end")])
