"""T-9: the judgement is applied: route, mentions, values, branches."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
    Field,
    Flow,
    If,
    OnAnyMessage,
    OnMention,
    OnMessage,
    Prompt,
    Say,
    To,
    ToFlow,
    Wait,
)  # fmt: skip
from falai.session.model import Session
from turn.chat import FIELDS, NOW, Chat, ended, lines, said, skipped

NOTE = Collect("c", ["note"])


def _wants(flow_id: str, steps: Any = None, **rest: Any) -> Flow:
    trigger = {key: rest.pop(key) for key in ("if_", "repeat") if key in rest}
    return Flow(flow_id, on=[OnMessage("wants", **trigger)], steps=steps or [Say("x", flow_id)], **rest)


def _scores(**flows: Any) -> dict[str, Any]:
    return {"flows": flows}


# --- where the message goes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "goes"),
    [
        ({"one": 39, "two": 39}, None),
        ({"one": 40}, "one"),
        ({"one": 60, "two": 61}, "two"),
        ({"one": 61, "two": 61}, "one"),
        ({"two": 40}, "two"),
        ({}, None),
    ],
)
def test_without_an_asker_the_best_flow_from_forty_on_starts(scores: dict[str, int], goes: str | None):
    """T-9.3: the highest score, from 40; among equals the first in agent order; no score is 0."""
    result = Chat(_wants("one"), _wants("two"), idle="silent").message(understand=_scores(**scores))
    assert [run.flow_id for run in result.started] == ([goes] if goes else [])


def test_below_forty_the_catch_all_starts():
    """T-9.3: without a catch-all, nobody; it starts by its own trigger."""
    any_flow = Flow("any", on=[OnMessage("x", repeat="always"), OnAnyMessage()], steps=[Say("x", "any")])
    chat = Chat(_wants("one"), any_flow, idle="silent")
    result = chat.message(understand=_scores(one=39, any=39))
    assert [run.dedupe_key for run in result.started] == ["any:s1:"]
    assert not chat.message(understand=_scores(one=39, any=39)).started


def test_a_routed_flow_starts_by_the_trigger_that_made_it_eligible():
    """T-9.6 (decision), F-7.9: not by its first message trigger."""
    flow = Flow("one", on=[OnAnyMessage(if_={"flag": "off"}), OnMessage("x", repeat="always")], steps=[Say("x", "x")])
    result = Chat(flow, _wants("two"), idle="silent").message(context={}, understand=_scores(one=80))
    assert [run.dedupe_key for run in result.started] == ["one:s1:m1"]


def test_a_lone_flow_starts_whatever_its_score():
    """T-9.3, T-8.4: nobody on the floor, silent idle, no catch-all."""
    result = Chat(_wants("one", collect=["name"]), idle="silent").message(understand={"fields": {}})
    assert [run.flow_id for run in result.started] == ["one"]


@pytest.mark.parametrize(
    ("scores", "switches"),
    [
        ({"lead": 25, "two": 40}, True),
        ({"lead": 26, "two": 40}, False),
        ({"lead": 0, "two": 39}, False),
        ({"lead": 60, "two": 75}, True),
        ({"lead": 60, "two": 74}, False),
        ({"two": 40}, True),
        ({"lead": 90, "one": 50, "two": 60}, False),
        ({}, False),
    ],
)
def test_an_asker_keeps_the_message_unless_another_leads_clearly(scores: dict[str, int], switches: bool):
    """T-9.3: from 40, and 15 above the asker's flow."""
    lead = Flow("lead", on=[OnMessage("wants", repeat="always")], steps=[NOTE])
    chat = Chat(lead, _wants("one", steps=[NOTE]), _wants("two", steps=[NOTE]))
    chat.start("lead", speak="Note?")
    result = chat.message(understand=_scores(**scores), speak="Hm?")
    assert [run.flow_id for run in result.started] == (["two"] if switches else [])


def _with_scores(chat: Chat, start: float, margin: float) -> Chat:
    chat.agent.plan = replace(chat.agent.plan, start_score=start, switch_margin=margin)
    return chat


@pytest.mark.parametrize(("scores", "goes"), [({}, "one"), ({"two": 5}, "two"), ({"one": 90, "two": 5}, "one")])
def test_without_a_least_score_the_best_flow_starts(scores: dict[str, int], goes: str):
    """D-87: with a start score of 0 there is always a route, also with an idle speaker."""
    chat = _with_scores(Chat(_wants("one"), _wants("two")), 0, 15)
    assert [run.flow_id for run in chat.message(understand=_scores(**scores)).started] == [goes]


def test_without_a_least_score_a_lone_flow_is_not_scored():
    """D-87: no score could send the message elsewhere (T-8.4)."""
    result = _with_scores(Chat(_wants("one")), 0, 15).message()
    assert (result.llm_calls, said(result)) == (0, ["one"])


@pytest.mark.parametrize(
    ("margin", "scores", "switches"),
    [(0, {"lead": 50, "two": 50}, False), (0, {"lead": 50, "two": 51}, True), (30, {"lead": 5, "two": 34}, False)],
)
def test_the_margin_by_which_another_leads(margin: float, scores: dict[str, int], switches: bool):
    """D-87: above the asker's flow, and at least the margin above it."""
    lead = Flow("lead", on=[OnMessage("wants", repeat="always")], steps=[NOTE])
    chat = _with_scores(Chat(lead, _wants("two", steps=[NOTE])), 0, margin)
    chat.start("lead", speak="Note?")
    result = chat.message(understand=_scores(**scores), speak="Hm?")
    assert [run.flow_id for run in result.started] == (["two"] if switches else [])


def test_the_askers_own_flow_is_no_candidate():
    """T-9.3: the best of the *other* eligible flows; the asker's own score never switches."""
    lead = Flow("lead", on=[OnMessage("wants", repeat="always")], steps=[NOTE])
    chat = Chat(lead, _wants("two"), idle="silent")
    chat.start("lead", speak="Note?")
    result = chat.message(understand=_scores(lead=100, two=84), speak="Note?")
    assert (result.started, result.skipped) == ((), ())


def test_a_catch_all_never_takes_the_message_from_an_asker():
    """T-9.3: it is for a free floor."""
    chat = Chat(Flow("lead", steps=[NOTE]), Flow("any", on=[OnAnyMessage()], steps=[Say("x", "x")]))
    chat.start("lead", speak="Note?")
    assert not chat.message(speak="Note?").started


def test_the_asker_with_no_other_eligible_flow_keeps_the_message():
    """T-9.3: then there is no route."""
    chat = Chat(Flow("lead", on=[OnMessage("wants", repeat="always")], steps=[Collect("c", ["name"])]))
    chat.start("lead", speak="Name?")
    assert not chat.message(understand=_scores(lead=0), speak="Name?").started


def test_there_is_no_route_when_the_floor_was_taken():
    """T-9.3: a run that a reply released keeps the message."""
    chat = Chat(Flow("wait", steps=[Wait("w", "1d", else_="p"), Prompt("p", "Talk.")]), _wants("one"), _wants("two"))
    chat.start("wait")
    assert not chat.message(understand=_scores(one=90), speak="Well.").started


# --- a suspended run of the routed flow ---------------------------------------------------------


def test_a_suspended_run_of_the_routed_flow_comes_back():
    """T-9.6: no start checks, no new visit; it takes the floor and speaks."""
    chat = Chat(_wants("one", steps=[NOTE], repeat="always"), _wants("two", steps=[NOTE], repeat="always"))
    chat.message(understand=_scores(one=90), speak="One?")
    chat.message(understand=_scores(two=90), speak="Two?")
    assert chat.statuses == {"one": "suspended", "two": "asking"}
    result = chat.message(understand=_scores(one=90), speak="One again?")
    assert (result.started, result.skipped) == ((), ())
    assert chat.statuses == {"one": "asking", "two": "suspended"}
    assert chat.run("one").visits == {"c": 1}
    assert chat.run("one").suspended_at is None


def test_a_run_that_came_back_by_routing_is_not_resuming():
    """T-10.10: so a step with nothing left says `already-known`, and a closed gate ends the run."""
    chat = Chat(
        _wants("one", steps=[Collect("c", ["name"]), Say("x", "x")], repeat="always"), _wants("two", steps=[NOTE])
    )
    chat.message(understand=_scores(one=90), speak="Name?")
    chat.message(understand=_scores(two=90), speak="Note?")
    gate = {"reason": "held", "understand": True}
    held = chat.message(understand=_scores(one=90), silenced=gate)
    assert lines(held) == ["collect/skipped/silenced"]


def test_the_first_suspended_run_of_the_flow_comes_back():
    """T-9.6: the first such in the list."""
    chat = Chat(_wants("one", steps=[NOTE], repeat="always", anchor="deal"), _wants("two", steps=[NOTE]))
    for key in ("d1", "d2"):
        chat.start("one", key, anchors={"deal": {"key": key}}, speak="Note?")
    chat.message(understand=_scores(two=90), speak="Two?")
    chat.message(understand=_scores(one=90), speak="One?")
    assert [(run.anchor, run.status) for run in chat.runs][:2] == [("d1", "asking"), ("d2", "suspended")]


# --- mentions -----------------------------------------------------------------------------------


def test_a_mention_starts_beside_the_conversation():
    """T-9.4, T-9.5: in agent order, with the extracted values; it does not touch the floor."""
    dog = Flow("dog", on=[OnMention("a dog", extract={"what": {"type": "string"}})], steps=[Wait("w", "1d")])
    cat = Flow("cat", on=[OnMention("a cat")], steps=[Wait("w", "1d")])
    chat = Chat(Flow("lead", steps=[NOTE]), dog, cat)
    chat.start("lead", speak="Note?")
    judged = {"mentions": {"cat": True, "dog": True}, "extract": {"dog": {"what": "Rex"}, "cat": {"what": "x"}}}
    result = chat.message(understand=judged, speak="Note?")
    assert [run.run_id for run in result.started] == ["dog#m1", "cat#m1"]
    assert (chat.run("dog").input, chat.run("cat").input) == ({"what": "Rex"}, None)
    assert chat.statuses == {"lead": "asking", "dog": "waiting", "cat": "waiting"}


@pytest.mark.parametrize("judged", [{"mentions": {"dog": False}}, {"mentions": {"dog": None}}, {"mentions": {}}, "?"])
def test_a_mention_that_is_not_true_starts_nothing(judged: Any):
    """T-9.4: only if the judgement says true."""
    chat = Chat(Flow("dog", on=[OnMention("a dog")], steps=[Say("x", "x")]), idle="silent")
    result = chat.message(understand=judged)
    assert (result.started, result.skipped) == ((), ())


def test_a_mention_without_phrases_goes_through_the_start_checks_on_every_message():
    """T-9.4: a blocked one leaves its entry each time; it has no payload."""
    chat = Chat(Flow("dog", on=[OnMention()], steps=[Say("x", "x")]), idle="silent")
    assert chat.message().ended[0].run.input is None
    for _ in range(2):
        assert skipped(chat.message()) == ["dog:already-claimed"]


def test_a_mention_that_was_not_offered_counts_all_the_same():
    """T-9.4 (decision): it is refused by its claim and leaves its entry."""
    dog = Flow("dog", on=[OnMention("a dog")], steps=[Say("x", "x")])
    chat = Chat(dog, _wants("one"), _wants("two"), idle="silent")
    chat.message(understand={"mentions": {"dog": True}})
    assert skipped(chat.message(understand={"mentions": {"dog": True}})) == ["dog:already-claimed"]


def test_mentions_start_under_a_closed_gate_and_when_the_floor_was_taken():
    """T-9.4: in both."""
    chat = Chat(
        Flow("wait", steps=[Wait("w", "1d", else_="p"), Prompt("p", "Talk.")]),
        Flow("dog", on=[OnMention(repeat="always")], steps=[Do("d", "note")]),
        actions={"note": {"ok": True}},
    )
    chat.start("wait")
    assert [run.run_id for run in chat.message(silenced="held").started] == ["dog#m1"]
    assert [run.run_id for run in chat.message(speak="Well.").started] == ["dog#m2"]


def test_mentions_start_before_the_route():
    """M-6.4: so a mention's run is older than the routed one."""
    chat = Chat(_wants("one"), Flow("dog", on=[OnMention("a dog")], steps=[Say("x", "dog")]), idle="silent")
    result = chat.message(understand={"flows": {"one": 90}, "mentions": {"dog": True}})
    assert [run.flow_id for run in result.started] == ["dog", "one"]


def test_the_route_is_chosen_before_anything_starts():
    """T-9.3: what a mention starts or claims does not change it."""
    both = Flow("both", on=[OnMention("a dog"), OnMessage("wants")], steps=[Wait("w", "1d")])
    chat = Chat(both, _wants("two"), idle="silent")
    result = chat.message(understand={"flows": {"both": 90, "two": 60}, "mentions": {"both": True}})
    assert [run.run_id for run in result.started] == ["both#m1"]
    assert skipped(result) == ["both:already-claimed"]


# --- the floor ----------------------------------------------------------------------------------


def test_the_asker_has_the_floor_when_nothing_is_routed():
    """T-9.7: its staying answers this message though another run asks (T-12.11)."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Prompt("p", "Talk."), Collect("c", ["name"])]))
    chat.start("lead", speak="Hi")
    result = chat.message(understand={"fields": {"name": "Ana"}}, speak="Well.")
    assert said(result) == ["Well."]
    assert chat.run("lead").staying is True


# --- values -------------------------------------------------------------------------------------


def test_judged_values_are_written_with_a_line_for_each_that_is_not():
    """T-9.8: in the order of the answer; the lines belong to no run."""
    chat = Chat(_wants("one", collect=["name", "size", "plan"]), _wants("two"), idle="silent")
    values = {"ghost": 1, "size": "many", "plan": "gold", "name": "Ana", "note": "x", "sure": True}
    result = chat.message(understand={"flows": {}, "fields": values})
    assert [(line.code, line.detail) for line in result.outcomes] == [
        ("unknown-field", "ghost"), ("bad-value", "size"), ("not-in-enum", "plan"),
    ]  # fmt: skip
    assert lines(result) == ["collect/skipped/" + code for code in ("unknown-field", "bad-value", "not-in-enum")]
    assert all(line.run_id is None and line.key is None for line in result.outcomes)
    assert result.session.data == {"name": "Ana"}


def test_null_unknown_modes_and_known_fields_are_passed_over():
    """T-9.8: null, mode `asked` and known ones leave no line, offered or not."""
    chat = Chat(_wants("one", collect=["name", "size"]), _wants("two"), idle="silent")
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 3}
    result = chat.message(understand={"fields": {"ghost": None, "name": None, "note": "x", "size": 4}})
    assert (result.outcomes, result.session.data) == ((), {"size": 3})


def test_values_land_coerced():
    """F-3: what is stored is the field's type."""
    chat = Chat(_wants("one", collect=["size"]), _wants("two"), idle="silent")
    assert chat.message(understand={"fields": {"size": "7.9"}}).session.data == {"size": 7}


def test_a_field_written_twice_counts_once():
    """T-9.8: known *at this moment*: an empty text may be filled."""
    chat = Chat(_wants("one", collect=["name"]), _wants("two"), idle="silent")
    chat.session = Session.fresh("s1")
    chat.session.data = {"name": ""}
    assert chat.message(understand={"fields": {"name": "Ana"}}).session.data == {"name": "Ana"}


def test_values_land_before_branches_are_tried():
    """M-6.4: a branch of code sees what the message told."""
    ask = Collect("c", ["note", "name"], branches=[Branch(if_={"known": ["name"]}, then="x")])
    chat = Chat(Flow("lead", steps=[ask, Say("y", "no"), Say("x", "yes")]), idle="silent")
    chat.start("lead", speak="Note?")
    assert said(chat.message(understand={"fields": {"name": "Ana"}})) == ["yes"]


# --- corrections --------------------------------------------------------------------------------

CORRECT: Any = {
    **FIELDS,
    "size": Field("integer", correct=True),
    "plan": Field("string", enum=["a", "b"], correct=True),
}


def _corrected(value: Any, **known: Any) -> Any:
    chat = Chat(Flow("lead", collect=["size", "plan"], steps=[NOTE]), fields=CORRECT)
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 5, "plan": "a", **known}
    chat.start("lead", speak="Note?")
    return chat.message(understand={"fields": value}, speak="Note?")


def test_a_correction_replaces_a_known_value():
    """F-19.1, O-5.9: with the line `corrected`, of no run, and a change that tells both values."""
    result = _corrected({"size": 6})
    assert lines(result) == ["collect/ok/corrected", "collect/ok"]
    assert (result.outcomes[0].detail, result.outcomes[0].run_id, result.session.data["size"]) == ("size", None, 6)
    [change] = result.changes
    assert (change.field, change.old, change.new, change.source) == ("size", 5, 6, "understand")


@pytest.mark.parametrize(("value", "codes"), [({"size": 5}, []), ({"size": "5"}, []), ({"plan": "z"}, ["not-in-enum"])])
def test_an_equal_or_a_refused_value_leaves_the_known_one(value: Any, codes: list[str]):
    """F-19.1: the same value again says nothing; one that is refused says so."""
    result = _corrected(value)
    assert [line.code for line in result.outcomes[:-1]] == codes
    assert (result.session.data["size"], result.session.data["plan"], result.changes) == (5, "a", ())


def test_a_field_is_corrected_only_where_it_was_offered():
    """F-19.1: not from another flow's message."""
    chat = Chat(_wants("one", collect=["size"]), _wants("two"), fields=CORRECT, idle="silent")
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 5}
    assert chat.message(understand={"fields": {"size": 6}}).session.data == {"size": 5}


def test_a_value_that_its_richer_type_refuses_is_told_to_the_speaker():
    """F-19.3, M-24.3: dropped as `bad-value`; the reason goes to this turn's speaking call only."""
    fields = {"day": Field(date), "note": FIELDS["note"]}
    chat = Chat(Flow("lead", collect=["day"], steps=[NOTE]), fields=fields)
    chat.start("lead", speak="Note?")
    result = chat.message(understand={"fields": {"day": "2026-02-31"}}, speak="Note?")
    assert (lines(result)[0], result.session.data) == ("collect/skipped/bad-value", {})
    task: Any = chat.model.calls[-1].request.task
    [refused] = task.refused
    assert refused.slug == "day"
    assert refused.reason


# --- branches -----------------------------------------------------------------------------------


def _branchy(*branches: Branch, **flow: Any) -> Chat:
    steps = [Collect("c", ["note"], branches=branches), Say("x", "next", then="end"), Say("y", "branch")]
    return Chat(Flow("lead", steps=steps, **flow), idle="silent")


def test_a_branch_fires():
    """T-9.11: a line with the step key and `next`; the step does not speak again."""
    chat = _branchy(Branch("wants out", then=To("y", clear=["note"])))
    chat.start("lead", speak="Note?")
    result = chat.message(understand={"branches": {"q1": True}})
    assert lines(result) == ["collect/ok/branch", "say/ok"]
    assert (result.outcomes[0].key, result.outcomes[0].next) == ("lead#k1:c:1", "y")
    assert said(result) == ["branch"]


def test_a_branch_of_a_prompt_has_its_kind():
    """T-9.11: line `prompt` for a step without fields; that step waits for a retry, then asks."""
    prompt = Prompt("p", "Talk.", branches=[Branch(if_={}, then="end")])
    chat = Chat(Flow("lead", on_end="stay", steps=[prompt]), idle="silent")
    chat.start("lead", speak="Hi")
    assert chat.run("lead").staying
    assert lines(chat.message(speak="Hm")) == ["prompt/ok"]


@pytest.mark.parametrize(
    ("branches", "judged", "fires"),
    [
        ([Branch("a", then="y"), Branch("b", then="end")], {"q1": False, "q2": True}, "end"),
        ([Branch("a", then="y"), Branch("b", then="end")], {"q1": True, "q2": True}, "y"),
        ([Branch(if_={"flag": "off"}, then="y"), Branch("b", then="end")], {"q1": True}, "end"),
        ([Branch("a", if_={"flag": "off"}, then="y"), Branch(if_={}, then="end")], {}, "end"),
        ([Branch("a", if_={}, then="y")], {"q1": True}, "y"),
        ([Branch("a", if_={}, then="y")], {"q1": False}, None),
        ([Branch("a", then="y")], {"q1": None}, None),
        ([Branch("a", then="y")], {}, None),
    ],
)
def test_the_first_branch_whose_every_test_comes_out_true(branches: Any, judged: Any, fires: str | None):
    """T-9.11: in order; `if` first, then `when`; what was not judged never hits."""
    chat = _branchy(*branches)
    chat.start("lead", speak="Note?")
    asked = any(branch.when and branch.if_ != {"flag": "off"} for branch in branches)
    answer = {"understand": {"branches": judged}} if asked else {}
    result = chat.message(context={}, speak=None if fires else "Note?", **answer)
    fired = [line.next for line in result.outcomes if line.code == "branch"]
    assert fired == ([fires] if fires else [])


def test_only_the_noted_asker_tries_its_branches():
    """T-9.10, T-9.2: the asker is noted before anything starts, and must still ask."""
    chat = _branchy(Branch(if_={}, then="y"))
    other = chat.without(
        Flow("wait", steps=[Wait("w", "1d", else_="p"), Prompt("p", "Talk.", branches=[Branch(if_={}, then="end")])]),
    )
    other.start("wait")
    assert lines(other.message(speak="Well.")) == ["wait/ok/replied", "prompt/ok"]


def test_a_branch_may_chain():
    """T-9.11, T-12.6: a `{flow}` target ends the run; its child is moved in phase 5."""
    chat = Chat(
        Flow("lead", steps=[Collect("c", ["note"], branches=[Branch(if_={}, then=ToFlow("next"))])]),
        Flow("next", steps=[Say("x", "next")]),
        idle="silent",
    )
    chat.start("lead", speak="Note?")
    result = chat.message()
    assert ended(result) == ["lead:flow", "next:end"]
    assert (result.outcomes[0].next, result.ended[0].run.status) == ("flow:next", "running")


# --- branches of a staying run ------------------------------------------------------------------


def _staying(*branches: Branch) -> Chat:
    """A run that stays on `c`, which it entered twice, after `a`."""
    steps = [Say("a", "a"), Prompt("c", "Talk.", branches=branches), Say("new", "new"), Wait("w", "1d")]
    chat = Chat(
        Flow("lead", steps=[*steps[:2], If("i", {"flag": "on"}, then="new", else_="end"), *steps[2:]], on_end="stay"),
        Flow("next", steps=[Say("x", "next")]),
        idle="silent",
    )
    chat.start("lead", speak="Hi", context={})
    assert chat.run("lead").staying
    return chat


@pytest.mark.parametrize("target", ["end", "a", "c", To("a"), To("c", clear=["name"])])
def test_a_staying_run_is_not_led_back_by_code_alone(target: Any):
    """T-9.11, B-7.2: to the end or to a step that it has entered before."""
    assert lines(_staying(Branch(if_={}, then=target)).message(context={}, speak="Hm")) == ["prompt/ok"]


@pytest.mark.parametrize(("target", "text"), [("new", "new"), (To("new"), "new"), (ToFlow("next"), "next")])
def test_a_staying_run_is_led_on_by_code(target: Any, text: str):
    """T-9.11: to where it has not been; a `{flow}` target never counts as leading back."""
    assert said(_staying(Branch(if_={}, then=target)).message(context={})) == [text]


def test_a_staying_run_may_be_led_back_by_the_customers_word():
    """T-9.11: an entry with a `when` may lead anywhere."""
    chat = _staying(Branch("again", if_={}, then="a"))
    result = chat.message(context={}, understand={"branches": {"q1": True}}, speak="Hm")
    assert lines(result)[:2] == ["prompt/ok/branch", "say/ok"]


def test_a_run_that_does_not_stay_may_be_led_back_by_code():
    """T-9.11: the restriction is for staying runs only."""
    steps = [Say("a", "a"), Collect("c", ["note"], branches=[Branch(if_={}, then="a")])]
    chat = Chat(Flow("lead", steps=steps))
    chat.start("lead", speak="Note?")
    assert said(chat.message(speak="Note?")) == ["a", "Note?"]


def test_the_time_of_the_claim_of_a_route():
    """B-10.1: a routed start claims like any other."""
    result = Chat(_wants("one", repeat={"cooldown": "1h"}), _wants("two"), idle="silent").message(
        understand=_scores(one=90)
    )
    assert result.to_wire()["session"]["claims"] == {"one:s1:": {"at": NOW}}


def test_a_branch_sees_the_run():
    """T-9.11, T-7.1: its `if` is judged on the run, with the run's own input."""
    chat = _branchy(Branch(if_={"input": 8}, then="end"), Branch(if_={"input": 7}, then="y"))
    chat.start("lead", speak="Note?", input=7)
    assert said(chat.message()) == ["branch"]


def test_a_run_that_came_to_stay_in_ingest_is_an_asker():
    """T-12.11 no. 3, T-9.10: so the branches of the step where it stays are tried."""
    prompt = Prompt("p", "Talk.", branches=[Branch("wants out", then="y")])
    steps = [Wait("w", "1d", else_="end"), prompt, Say("x", "x", then="end"), Say("y", "branch")]
    chat = Chat(Flow("lead", on_end="stay", steps=steps))
    chat.start("lead")
    assert said(chat.message(understand={"branches": {"q1": True}})) == ["branch"]


def test_a_run_that_came_back_by_routing_has_the_floor():
    """T-9.6, T-12.11: so its staying takes the floor from the asker, and it answers the message."""
    one = _wants("one", steps=[Collect("c", ["name"])], repeat="always", on_end="stay")
    chat = Chat(one, _wants("two", steps=[NOTE]))
    chat.message(understand=_scores(one=90), speak="Name?")
    chat.message(understand=_scores(two=90), speak="Note?")
    result = chat.message(understand={"flows": {"one": 90}, "fields": {"name": "Ana"}}, speak="Well.")
    assert chat.statuses == {"one": "asking", "two": "suspended"}
    assert result.messages[0].run_id == "one#m1"


def test_a_run_that_came_back_by_routing_is_running():
    """T-9.6: also when its premise ends it before it moves."""
    one = _wants("one", steps=[Collect("c", ["name"])], repeat="always", while_={"flag": "on"})
    chat = Chat(one, _wants("two", steps=[NOTE]))
    chat.message(understand=_scores(one=90), context={"on": True}, speak="Name?")
    chat.message(understand=_scores(two=90), context={"on": True}, speak="Note?")
    result = chat.message(understand=_scores(one=90), context={}, speak="Note?")
    assert [(end.run.id, end.run.status, end.reason) for end in result.ended] == [("one#m1", "running", "skipped")]


def test_a_correction_is_told_to_the_speaker():
    """M-24.1: the speaking call of this turn hears what was replaced, and by what."""
    chat = Chat(Flow("lead", collect=["size"], steps=[NOTE]), fields=CORRECT)
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 5}
    chat.start("lead", speak="Note?")
    chat.message(understand={"fields": {"size": 6}}, speak="Note?")
    task: Any = chat.model.calls[-1].request.task
    assert [(entry.slug, entry.old, entry.new) for entry in task.corrected] == [("size", 5, 6)]
