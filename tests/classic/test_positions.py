from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai import FlowConfigurationError

SCORES = {"flows": {"a": 90}}


def step(id: str, **options: Any) -> dict[str, Any]:
    return {"id": id, "prompt": f"Step {id}.", **options}


def redirecting(directive: Any, *flows: dict[str, Any], after: Any = None, **options: Any) -> Talk:
    """Flow A, whose second step is prepared with the directive, beside flow B; A's first step has spoken."""
    second = step("a2", prepare=lambda context, data: directive)
    a = flow("A", step("a1"), second, step("a3"), requiredFields=["size"], **(after or {}))
    talk = Talk(a, flow("B", step("b1"), step("b2"), requiredFields=["name"], when="never"), *flows, **options)
    talk.says(understand=SCORES, speak="First.")
    assert talk.at == "a.a1"
    return talk


def goes(talk: Talk, *, speak: str | None = "Second.") -> None:
    talk.says(understand=SCORES, speak=speak)


# --- goTo ---------------------------------------------------------------------------------------


def test_a_step_that_is_prepared_for_a_redirect_gives_the_word_to_the_other_flow() -> None:
    """DT-6: B's first step speaks in this turn; A is left, not completed."""
    talk = redirecting({"goTo": "B"})
    goes(talk)
    assert (talk.at, talk.executed, talk.ended) == ("b.b1", ["b1"], [("a", "flow")])
    assert talk.links == [("goTo:b", "hook:prepare:a2")]
    assert talk.session is not None
    assert not any(key == "a:s1:" for key in talk.session.claims)


def test_go_to_a_step_of_another_flow() -> None:
    """D-54: at the step that is named; with data merged in, over the flow's own `initialData`."""
    target = {"flow": "b", "step": "b2", "data": {"size": 5}}
    talk = redirecting({"goTo": target})
    goes(talk)
    assert (talk.at, talk.data, talk.executed) == (None, {"size": 5}, ["b2"])


@pytest.mark.parametrize(
    ("carry", "kept"),
    [("reset", {"size": 1}), ("preserve", {"size": 1, "name": "Ana"}), (None, {"size": 1, "name": "Ana"})],
)
def test_carry_clears_the_fields_of_the_flow_that_is_entered(carry: Any, kept: Any) -> None:
    """D-54: `reset` the owned fields, others are kept; `preserve` is the default."""
    talk = redirecting({"goTo": {"flow": "b", **({"carry": carry} if carry else {})}})
    assert talk.session is not None
    talk.session.data.update({"name": "Ana", "size": 1})
    goes(talk)
    assert talk.data == kept


def test_a_goto_with_a_step_alone_stays_in_the_flow() -> None:
    """D-51: it means goToStep."""
    talk = redirecting({"goTo": {"step": "a3"}})
    goes(talk)
    assert (talk.executed, talk.links) == (["a3"], [("goToStep:a3", "hook:prepare:a2")])


def test_a_flow_that_was_suspended_is_entered_anew() -> None:
    """D-54: at its first step, though it was in the middle; its old run gives way."""
    a = flow("A", step("a1"), step("a2", prepare=lambda context, data: {"goTo": "b"}))
    talk = Talk(a, flow("B", step("b1"), step("b2"), step("b3")))
    talk.says(understand={"flows": {"b": 90}}, speak="B one.")
    talk.says(understand={"flows": {"b": 90}}, speak="B two.")
    talk.says(understand={"flows": {"b": 10, "a": 90}}, speak="A one.")
    assert (talk.at, talk.suspended) == ("a.a1", ["b"])
    goes(talk, speak="B one.")
    assert (talk.at, talk.suspended, talk.executed) == ("b.b1", [], ["b1"])


def test_a_redirect_with_nobody_on_the_floor_starts_the_flow() -> None:
    """D-92: trigger kind `start`, under the input's trigger key."""
    talk = Talk(
        flow("A", step("a1"), when="x"), signals=[{"id": "s", "phase": "pre", "handler": lambda ctx: {"goTo": "A"}}]
    )
    talk.says(speak="A one.")
    assert talk.session is not None
    assert (talk.executed, talk.ended) == (["a1"], [("a", "end")])
    assert talk.result.ended[0].run.trigger.kind == "start"
    assert talk.result.ended[0].run.id == "a#m1"


# --- goToStep -----------------------------------------------------------------------------------


def test_go_to_step_judges_neither_if_nor_skip() -> None:
    """D-54: of the target; the step after it is judged as ever."""
    goal = step("goal", skip=lambda ctx: True, **{"if": lambda ctx: False})
    first = step("a1", prepare=lambda context, data: {"goToStep": "goal"})
    talk = Talk(flow("A", first, goal, step("x", skip=lambda ctx: True), step("end_")))
    talk.says(speak="There.")
    assert talk.at == "a.goal"
    talk.says(speak="Bye.")
    assert talk.executed == ["end_"]


def test_go_to_step_judges_requires() -> None:
    """D-54: what the target requires is asked for first."""
    first = step("a1", prepare=lambda context, data: {"goToStep": {"step": "goal", "data": {"size": 2}}})
    talk = Talk(flow("A", first, step("goal", requires=["name"])))
    talk.says(understand={"fields": {}}, speak="Who are you?")
    assert (talk.at, talk.data) == ("a.goal!", {"size": 2})


def test_go_to_step_with_a_flow_enters_it_there() -> None:
    """D-54, D-92: another flow is entered as by goTo; the current one is only moved."""
    talk = redirecting({"goToStep": {"step": "b2", "flow": "B"}})
    goes(talk)
    assert (talk.executed, talk.ended[0]) == (["b2"], ("a", "flow"))
    talk = redirecting({"goToStep": {"step": "a3", "flow": "A"}})
    goes(talk)
    assert (talk.executed, talk.ended) == (["a3"], [("a", "end")])


# --- complete, abort, reset ---------------------------------------------------------------------


def test_complete_ends_the_flow_whatever_is_unknown() -> None:
    """D-13, D-54: the claim is held, and somebody else answers the message."""
    talk = redirecting({"complete": True})
    goes(talk, speak="What else?")
    assert (talk.said, talk.at, talk.ended) == (["What else?"], None, [("a", "end")])
    assert talk.session is not None
    assert "a:s1:" in talk.session.claims
    assert talk.state.completed
    assert "completed" in talk.state.marks


def test_what_follows_a_completion_is_one_directive() -> None:
    """DT-9: `onComplete` goes to C, `complete.next` to B with a reply: B, and the reply."""
    directive = {"complete": {"next": {"goTo": "B", "reply": "Over to B."}}}
    talk = redirecting(directive, flow("C", step("c1"), when="never"), after={"onComplete": "C"})
    goes(talk, speak=None)
    assert (talk.said, talk.at) == (["Over to B."], "b.b1")
    assert talk.links == [("complete", "hook:prepare:a2"), ("goTo:b", "complete.next")]


def test_on_complete_leads_to_the_next_flow_when_the_last_step_is_done() -> None:
    """D-10: after the last words of A, B waits, and its first step speaks with the next message (D-94)."""
    talk = Talk(flow("A", step("a1"), onComplete="B"), flow("B", step("b1"), step("b2"), when="never"))
    talk.says(understand=SCORES, speak="A one.")
    assert (talk.said, talk.at, talk.ended) == (["A one."], "b.b1", [("a", "end")])
    talk.says(speak="B one.")
    assert (talk.executed, talk.at) == (["b1"], "b.b1")


def test_abort_ends_everything_without_a_word() -> None:
    """D-54, D-92: every live run ends, with the reason in its line."""
    talk = redirecting({"abort": "enough"}, flow("C", step("c1"), step("c2"), when="c"))
    talk.says(understand={"flows": {"c": 90}}, speak="C one.")
    talk.says(understand={"flows": {"a": 99, "c": 1}})
    assert talk.said == []
    assert sorted(talk.ended) == [("a", "skipped"), ("c", "skipped")]
    line = talk.result.outcomes[-1]
    assert (line.code, line.detail, line.message) == ("aborted", "enough", "A directive ended this conversation.")
    assert "aborted" in talk.state.marks


def test_abort_with_a_cleared_session_leaves_id_version_inputs_and_the_hosts_metadata() -> None:
    """D-54: data, history, claims and the layer's own state are emptied."""
    talk = redirecting({"abort": {"reason": "enough", "clearSession": True}})
    assert talk.session is not None
    talk.session.data["name"] = "Ana"
    talk.session.metadata.update({"host": 1, "falai3": {"signals": {"triggers": {}}}})
    goes(talk, speak=None)
    assert (talk.data, talk.session.metadata, talk.session.claims) == ({}, {"host": 1}, {})
    assert talk.session.inputs == ["m1", "m2"]


@pytest.mark.parametrize(
    ("form", "at", "data"),
    [
        (True, "a1", {"size": 1, "name": "Ana"}),
        ({"step": "a3"}, "a3", {"size": 1, "name": "Ana"}),
        ({"clearData": True}, "a1", {"name": "Ana"}),
    ],
    ids=["plain", "at a step", "with cleared data"],
)
def test_reset_starts_the_flow_anew(form: Any, at: str, data: Any) -> None:
    """D-54: at its first step or at `step`; not a completion; owned fields are cleared when asked for."""
    talk = redirecting({"reset": form})
    assert talk.session is not None
    talk.session.data.update({"name": "Ana", "size": 1})
    goes(talk)
    assert (talk.executed, talk.data) == ([at], data)
    assert talk.ended[0] == ("a", "reset")
    assert "completed" not in talk.state.marks


def test_a_conversation_may_be_reset_any_number_of_times_over_its_life() -> None:
    """D-93: the hop limit of the core does not count here."""
    talk = Talk(flow("A", step("a1"), step("a2", prepare=lambda context, data: {"reset": True})))
    talk.says(speak="One.")
    for _ in range(8):
        talk.says(speak="One.")
        assert talk.at == "a.a1"


# --- targets and chains -------------------------------------------------------------------------


def test_an_unknown_flow_raises_when_the_directive_is_applied() -> None:
    """D-57: naming it and the flows."""
    talk = redirecting({"goTo": "nowhere"})
    with pytest.raises(FlowConfigurationError) as raised:
        goes(talk, speak=None)
    assert raised.value.code == "unknown-flow"
    for word in ("nowhere", '"a"', '"b"'):
        assert word in str(raised.value)


def test_an_unknown_step_raises_with_its_flow() -> None:
    """D-57."""
    talk = redirecting({"goToStep": "nowhere"})
    with pytest.raises(FlowConfigurationError) as raised:
        goes(talk, speak=None)
    assert raised.value.code == "unknown-step"
    assert "nowhere" in str(raised.value)
    assert '"a"' in str(raised.value)


def signal(directive: Any) -> dict[str, Any]:
    return {"id": "s", "phase": "pre", "handler": lambda ctx: directive}


def test_without_a_current_flow_go_to_step_raises_and_complete_and_reset_do_nothing() -> None:
    """D-57."""
    talk = Talk(signals=[signal({"goToStep": "x"})])
    with pytest.raises(FlowConfigurationError) as raised:
        talk.says()
    assert raised.value.code == "unknown-step"
    for directive in ({"complete": True}, {"reset": True}):
        talk = Talk(signals=[signal(directive)])
        talk.says(speak="Idle.")
        assert (talk.said, talk.links) == (["Idle."], [])


def chain(length: int, last: Any, **options: Any) -> Talk:
    """Flows f0, f1, … each of which redirects to the next; the last one does something else."""
    flows = [flow(f"F{n}", {"id": "go", "auto": True, "prepare": _to(n + 1)}, when="x") for n in range(length)]
    flows.append(
        flow(f"F{length}", {"id": "go", "auto": True, "prepare": lambda context, data: last}, step("say"), when="x")
    )
    return Talk(*flows, **{"maxAutoStepsPerTurn": 50, **options})


def _to(n: int) -> Any:
    return lambda context, data: {"goTo": f"f{n}"}


def test_a_chain_of_exactly_the_limit_is_fine() -> None:
    """DT-4."""
    talk = chain(4, None, maxDirectiveChain=4)
    talk.says(understand={"flows": {"f0": 90}}, speak="Said.")
    assert talk.said == ["Said."]
    assert len(talk.links) == 4


def test_a_longer_chain_is_a_cycle() -> None:
    """DT-4, D-67: the message has the count, the limit, and each link in order with its emitter."""
    talk = chain(5, None, maxDirectiveChain=4)
    with pytest.raises(FlowConfigurationError) as raised:
        talk.says(understand={"flows": {"f0": 90}})
    assert raised.value.code == "directive-chain"
    text = str(raised.value)
    for word in ("cycle", "maxDirectiveChain", "5", "4", "goTo:f1 (auto:go), goTo:f2 (auto:go)"):
        assert word in text


def test_an_abort_ends_a_chain_at_any_length() -> None:
    """DT-4."""
    talk = chain(4, {"abort": "enough"}, maxDirectiveChain=4)
    talk.says(understand={"flows": {"f0": 90}})
    assert talk.said == []


# --- completion and what it means for routing ---------------------------------------------------


def test_a_completed_flow_is_not_chosen_again() -> None:
    """DT-10, D-14: the user asks for it again, and it is no candidate."""
    talk = Talk(flow("A", step("a1"), when="a"))
    talk.says(speak="A one.")
    assert talk.ended == [("a", "end")]
    talk.says(speak="Idle.")
    assert talk.said == ["Idle."]
    assert talk.executed == []


def test_a_reentrant_flow_is_chosen_again_with_its_fields_cleared() -> None:
    """DT-10: the owned fields are empty, others kept."""
    talk = Talk(flow("A", step("a1"), when="a", reentrant=True, requiredFields=["size"], initialData={"plan": "pro"}))
    talk.says(understand={"fields": {"size": 3}}, speak="A one.")
    assert talk.data == {"size": 3, "plan": "pro"}
    talk.says(speak="A one.")
    assert talk.executed == ["a1"]
    assert talk.data == {"plan": "pro"}


def test_a_directive_may_enter_a_completed_flow() -> None:
    """D-14."""
    talk = Talk(
        flow("A", step("a1"), step("a2"), when="a"),
        signals=[
            {
                "id": "s",
                "phase": "pre",
                "if": lambda ctx: ctx.context.get("again"),
                "handler": lambda ctx: {"goTo": "A"},
            }
        ],
    )
    talk.says(speak="A one.")
    talk.says(speak="A two.")
    talk.context["again"] = True
    talk.says(speak="A one.")
    assert talk.at == "a.a1"


def test_allowed_flows_are_the_only_candidates() -> None:
    """DT-17, D-29: without the current flow among them, the allowed one answers and the current one is suspended."""
    talk = Talk(flow("A", step("a1"), step("a2")), flow("B", step("b1"), step("b2"), when="b"))
    talk.says(understand=SCORES, speak="A one.")
    talk.says(allowed=["b"], speak="B one.")
    assert (talk.at, talk.suspended) == ("b.b1", ["a"])
    talk.says(allowed=["b"], speak="B two.")
    assert talk.ended == [("b", "end")]
    assert talk.at == "a.a1"


def test_the_best_flow_starts_whatever_its_score_and_the_margin_keeps_the_current_one() -> None:
    """D-87: no minimum score; another flow takes over with `flowSwitchMargin` or more above."""
    talk = Talk(flow("A", step("a1"), step("a2")), flow("B", step("b1"), step("b2")), flowSwitchMargin=30)
    talk.says(understand={"flows": {"a": 1, "b": 0}}, speak="A one.")
    assert talk.at == "a.a1"
    talk.says(understand={"flows": {"a": 50, "b": 79}}, speak="A two.")
    assert talk.executed == ["a2"]


def test_a_flow_that_routing_leaves_is_suspended_and_comes_back() -> None:
    """Beside D-87: it comes back when the other is done."""
    talk = Talk(flow("A", step("a1"), step("a2")), flow("B", step("b1"), when="b"))
    talk.says(understand=SCORES, speak="A one.")
    talk.says(understand={"flows": {"a": 1, "b": 90}}, speak="B one.")
    assert (talk.executed, talk.at) == (["b1"], "a.a1")
    talk.says(speak="A two.")
    assert talk.executed == ["a2"]


def test_the_if_of_a_flow_is_judged_by_code_before_the_model_is_asked() -> None:
    """D-10."""

    async def no(ctx: Any) -> bool:
        return False

    talk = Talk(flow("A", step("a1"), **{"if": [lambda ctx: True, no]}), flow("B", step("b1")))
    talk.says(speak="B one.")
    assert talk.executed == ["b1"]


def test_initial_data_is_laid_over_when_the_flow_is_entered() -> None:
    """D-10: over what is there."""
    talk = Talk(flow("A", step("a1"), requiredFields=["size"], initialData={"size": 1}))
    talk.says(understand={"fields": {"size": 3}}, speak="A one.")
    assert talk.data == {"size": 1}


def test_a_target_that_waits_for_the_next_message_is_not_judged_then() -> None:
    """D-54, D-94: `skip` of a step to which `finalize` went stays unjudged."""
    first = step("a1", finalize=lambda context, data: {"goToStep": "goal"})
    talk = Talk(flow("A", first, step("x"), step("goal", skip=lambda ctx: True), step("y")))
    talk.says(speak="One.")
    assert talk.at == "a.goal"
    talk.says(speak="There.")
    assert talk.executed == ["goal"]


def test_the_branches_of_a_step_that_waits_unspoken_are_not_judged() -> None:
    """D-90, 3, D-94: it speaks first; the model is not asked about them before."""
    first = step("a1", finalize=lambda context, data: {"goToStep": "goal"})
    goal = step("goal", branches=[{"when": "gives up", "then": "y"}, {"then": "x"}])
    talk = Talk(flow("A", first, goal, step("x"), step("y")))
    talk.says(speak="One.")
    talk.says(speak="There.")
    assert (talk.executed, talk.at) == (["goal"], "a.goal")
    talk.says(understand={"branches": {"q1": True}}, speak="Bye.")
    assert talk.executed == ["y"]


def test_a_suspended_flow_may_be_entered_by_its_message_again() -> None:
    """T-9.6 and D-90: it goes on where it was; what the step still asks it asks again."""
    talk = Talk(flow("A", step("a1", collect=["size"]), step("a2")), flow("B", step("b1"), step("b2"), step("b3")))
    talk.says(understand={"flows": {"a": 90}}, speak="Size?")
    talk.says(understand={"flows": {"a": 1, "b": 90}}, speak="B one.")
    assert (talk.at, talk.suspended) == ("b.b1", ["a"])
    talk.says(understand={"flows": {"a": 90, "b": 1}}, speak="Size?")
    assert (talk.at, talk.executed, talk.suspended) == ("a.a1", ["a1"], ["b"])
