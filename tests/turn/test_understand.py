"""T-8: what is asked about a message, and when the call is worth it."""

from __future__ import annotations

from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Field,
    Flow,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    Prompt,
    ProviderError,
    Say,
    Wait,
)  # fmt: skip
from falai.session.model import Session
from turn.chat import NOW, Chat, at, said, skipped

SAY = [Say("x", "x")]
NOTE = [Collect("c", ["note"])]  # a field that only the step's own reply reads
NAME = [Collect("c", ["name"])]


def _task(chat: Chat) -> Any:
    """What the understanding call of the last turn was about."""
    [call] = [call for call in chat.model.calls if call.schema_name == "understand"]
    return call.request.task


def _ids(tasks: Any) -> list[str]:
    return [task.id for task in tasks]


def _slugs(chat: Chat) -> list[str]:
    return [field.slug for field in _task(chat).fields]


def _wants(flow_id: str, steps: Any = SAY, **rest: Any) -> Flow:
    trigger = {key: rest.pop(key) for key in ("if_", "repeat") if key in rest}
    return Flow(flow_id, on=[OnMessage("wants this", **trigger)], steps=steps, **rest)


# --- no call ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flows", "idle", "calls"),
    [
        ([], None, 1),
        ([_wants("lead")], None, 2),
        ([_wants("lead")], "silent", 0),
        ([_wants("lead"), _wants("other")], "silent", 1),
        ([_wants("lead"), Flow("any", on=[OnAnyMessage()], steps=SAY)], "silent", 1),
        ([_wants("lead", collect=["name"])], "silent", 1),
        ([_wants("lead", collect=["note"])], "silent", 0),
        ([Flow("any", on=[OnAnyMessage()], steps=NAME)], None, 1),
        ([Flow("any", on=[OnAnyMessage()], steps=NAME, collect=["size"])], None, 2),
        ([Flow("any", on=[OnAnyMessage()], steps=[Collect("c", ["name"], question="Name?")])], None, 2),
        ([Flow("any", on=[OnAnyMessage()], steps=[Say("x", "x"), *NAME])], None, 2),
        ([Flow("any", on=[OnMention("a dog")], steps=SAY)], "silent", 1),
        ([Flow("any", on=[OnMention()], steps=SAY)], "silent", 0),
    ],
    ids=[
        "no flows", "one scored flow", "a lone flow", "two flows", "a flow and a catch-all", "a lone flow's open field",
        "a lone flow's asked field", "a catch-all's free field", "a catch-all's other field", "a fixed question's field",
        "a field of a later step", "a mention", "a mention without phrases",
    ],
)  # fmt: skip
def test_when_a_first_message_is_judged(flows: list[Flow], idle: Any, calls: int):
    """T-8.4, T-8.9 to T-8.11 and the budget (section 19): a call only for what it can decide."""
    chat = Chat(*flows, idle=idle)
    chat.model.feed("understand", {"asks": True})
    chat.model.feed("speak", {"message": "Hi"})
    result = chat.agent.turn_sync("s1", {"message": "hello", "id": "m1"})
    assert result.llm_calls == calls


def test_a_floor_alone_is_not_judged():
    """T-8.11: with a flow on the floor, no other flow and nothing to read there is no call."""
    chat = Chat(Flow("lead", steps=NOTE), _wants("once"))
    chat.start("once")
    chat.start("lead", speak="Note?")
    chat.session.claims["once:s1:"] = chat.session.claims["once:s1:k1"]  # type: ignore[union-attr]
    chat.message(speak="Note?")
    chat.message(speak={"message": "Thanks", "note": "x"})


def test_another_flow_or_a_branch_is_worth_a_call():
    """T-8.11: an eligible flow beside the floor, a branch with a `when`, an open field."""
    chat = Chat(Flow("lead", steps=NOTE), _wants("other"))
    chat.start("lead", speak="Note?")
    chat.message(understand={"flows": {"other": 0}}, speak="Note?")
    assert _ids(_task(chat).flows) == ["lead", "other"]
    branchy = Chat(Flow("lead", steps=[Collect("c", ["note"], branches=[Branch("wants out", then="end")])]))
    branchy.start("lead", speak="Note?")
    branchy.message(understand={"flows": {"lead": 90}}, speak="Note?")
    assert [branch.id for branch in _task(branchy).branches] == ["lead#k1/c/0"]


# --- the gate -----------------------------------------------------------------------------------


def test_a_closed_gate_is_judged_only_on_request():
    """T-8, T-17.1: with `understand: true`."""
    chat = Chat(_wants("lead"), _wants("other"))
    chat.message(silenced="held")
    result = chat.message(silenced={"reason": "held", "understand": True}, understand={"flows": {"other": 90}})
    assert [run.flow_id for run in result.started] == ["other"]


def test_a_failed_call_goes_out_and_changes_nothing():
    """T-8.14: the provider's failure is raised; the same input may be tried again."""
    chat = Chat(_wants("lead"), _wants("other"))
    with pytest.raises(ProviderError):
        chat.message(understand=ProviderError("down", kind="overload"))
    assert chat.session is None
    assert said(chat.message(id="m1", understand={"flows": {"other": 90}})) == ["x"]


def test_an_answer_that_cannot_be_read_counts():
    """T-8.13: an empty judgement; the call and its usage count."""
    chat = Chat(_wants("lead"), _wants("other"), idle="silent")
    assert chat.message(understand="I cannot say.").llm_calls == 1
    assert not chat.runs


# --- the run on the floor -----------------------------------------------------------------------


def test_the_asker_is_on_the_floor():
    """T-8.1: the first that asks; its flow, its step and its pending fields are told."""
    chat = Chat(Flow("lead", steps=[Collect("c", ["note", "name"], prompt="Go on.")]))
    chat.start("lead", speak={"message": "Note?", "note": "x"})
    chat.message(understand={"flows": {"lead": 1}}, speak="Name?")
    floor = _task(chat).floor
    assert (floor.id, floor.step_id, floor.prompt) == ("lead", "c", "Go on.")
    assert [field.slug for field in floor.pending] == ["name"]


def test_the_asker_comes_before_a_run_that_took_the_floor():
    """T-8.1: a released run is on the floor only when nobody asks."""
    wait = Flow("wait", steps=[Wait("w", "1d", else_="t"), Prompt("t", "Talk.", branches=[Branch("x", then="end")])])
    chat = Chat(Flow("lead", steps=NAME), wait)
    chat.start("wait")
    chat.start("lead", "k2", speak="Name?")
    chat.message(understand={"flows": {"lead": 1}}, speak="Well.")
    assert _task(chat).floor.id == "lead"
    assert _task(chat).branches == ()


def test_the_branches_of_a_run_that_took_the_floor_are_asked():
    """T-8.7: also for a run released in Ingest, though only an asker's branches fire."""
    branches = [Branch(if_={"flag": "on"}, then="end"), Branch("wants out", then="end")]
    chat = Chat(Flow("wait", steps=[Wait("w", "1d", else_="t"), Prompt("t", "Talk.", branches=branches)]))
    chat.start("wait")
    result = chat.message(understand={"branches": {"q1": True}}, speak="Well.")
    assert [branch.id for branch in _task(chat).branches] == ["wait#k1/t/1"]
    assert said(result) == ["Well."]


def test_a_branch_is_asked_only_while_its_condition_holds():
    """T-8.7, F-8.17: `index` counts all branches; one with both is asked while its `if` holds."""
    branches = [
        Branch(if_={"flag": "off"}, then="c"),
        Branch("a", if_={"flag": "on"}, then="c"),
        Branch("b", then="c"),
        Branch("d", if_={"flag": "off"}, then="c"),
    ]
    chat = Chat(Flow("lead", steps=[Collect("c", ["note"], branches=branches)]))
    chat.start("lead", speak="Note?")
    chat.message(context={"on": True}, understand={"branches": {"q1": False}}, speak="Note?")
    assert [branch.id for branch in _task(chat).branches] == ["lead#k1/c/1", "lead#k1/c/2"]


def test_a_floor_whose_flow_is_gone():
    """T-8.1, M-2.2: no floor flow, no branches; the scored flows are compared all the same."""
    chat = Chat(Flow("lead", steps=NOTE))
    chat.start("lead", speak="Note?")
    edited = chat.without(_wants("one"), _wants("two"), idle="silent")
    edited.message(understand={"flows": {"one": 0}})
    assert _task(edited).floor is None
    assert _ids(_task(edited).flows) == ["one", "two"]


def test_a_lone_flow_is_scored_when_somebody_is_on_the_floor():
    """T-8.5: the unscored start is for a free floor only."""
    chat = Chat(Flow("lead", steps=NOTE), _wants("other"), idle="silent")
    chat.start("lead", speak="Note?")
    chat.message(understand={"flows": {"other": 10}}, speak="Note?")
    assert _ids(_task(chat).flows) == ["lead", "other"]


# --- eligible flows -----------------------------------------------------------------------------


def test_a_flow_is_eligible_by_its_first_message_trigger():
    """T-8.2: one with phrases, also when all of the others would fit; its `if` and its `repeat`."""
    flows = [
        Flow(
            "first",
            on=[OnAnyMessage(if_={"flag": "off"}), OnMessage("wants"), OnMessage("x", if_={"flag": "off"})],
            steps=SAY,
        ),
        Flow("second", on=[OnMessage("wants", if_={"flag": "off"}), OnMessage("x")], steps=SAY),
        Flow("third", on=[OnEvent("plain")], steps=SAY),
        Flow("fourth", on=[OnMessage("a", "!b")], steps=SAY),
    ]
    chat = Chat(*flows)
    chat.message(context={}, understand={"flows": {}}, speak="Hi")
    assert _ids(_task(chat).flows) == ["first", "fourth"]
    assert _task(chat).flows[0].matches == ("wants", "x")


def test_repeat_decides_on_eligibility():
    """T-8.2: no claim may block it under the turn's trigger key, whether or not a run is live."""
    chat = Chat(
        _wants("once"),
        _wants("always", repeat="always", steps=[Wait("w", "1d")]),
        _wants("cool", repeat={"cooldown": "1h"}),
        _wants("held"),
    )
    held = {"held": {"held:s1:": NOW}}
    chat.message(understand={"flows": {"once": 90}}, claims=held)
    assert _ids(_task(chat).flows) == ["once", "always", "cool"]
    chat.message(understand={"flows": {"always": 90}}, claims=held, speak="Hi")
    chat.message(understand={"flows": {"cool": 90}}, claims=held)
    assert _ids(_task(chat).flows) == ["always", "cool"]
    chat.message(understand={"flows": {}}, claims=held, speak="Hi")
    assert _ids(_task(chat).flows) == ["always"]


def test_the_draft_on_which_a_trigger_is_judged():
    """T-8.2, F-7.8: no input, an empty nonce, no step, the id that the run would have."""
    seen: list[Any] = []
    flow = _wants("lead", if_=lambda view: seen.append(view.run) or False, repeat="always")
    Chat(flow, idle="silent").message()
    [run] = seen
    assert (run.id, run.dedupe_key, run.step_id, run.input, run.hop) == ("lead#m1", "lead:s1:", None, None, 0)
    assert (run.status, run.asked, run.visits, run.outcomes, run.trigger.kind) == ("running", {}, {}, [], "message")


def test_the_anchor_of_a_claim_that_decides_on_eligibility():
    """T-8.2, B-12.1: the claim is looked up under the flow's anchor."""
    chat = Chat(_wants("lead", anchor="deal"), _wants("other"), idle="silent")
    anchors = {"deal": {"key": "d1"}}
    chat.message(understand={"flows": {"lead": 90}}, anchors=anchors)
    chat.message(understand={"flows": {"lead": 90}}, anchors={"deal": {"key": "d2"}})
    chat.message(anchors=anchors)  # only `other` is eligible now: it starts unscored
    assert list(chat.session.claims) == ["lead:d1:", "lead:d2:", "other:s1:"]  # type: ignore[union-attr]


# --- catch-all ----------------------------------------------------------------------------------


def test_the_first_catch_all_that_passes_counts():
    """T-8.3: in agent order, by `if` and `repeat`."""
    chat = Chat(
        Flow("one", on=[OnAnyMessage(if_={"flag": "on"})], steps=[Say("x", "one")]),
        Flow("two", on=[OnMention("a dog", repeat="always"), OnAnyMessage()], steps=[Say("x", "two")]),
        Flow("three", on=[OnAnyMessage()], steps=[Say("x", "three")]),
        idle="silent",
    )
    none = {"mentions": {}}
    assert said(chat.message(context={}, understand=none)) == ["two"]
    assert said(chat.message(context={}, understand=none)) == ["three"]
    assert said(chat.message(context={"on": True}, understand=none)) == ["one"]


def test_a_catch_all_that_may_not_start_leaves_the_lone_flow_unscored():
    """T-8.4: "there is no catch-all" means none that passes."""
    chat = Chat(_wants("lead"), Flow("any", on=[OnAnyMessage(if_={"flag": "on"})], steps=SAY), idle="silent")
    assert [run.flow_id for run in chat.message(context={}).started] == ["lead"]


# --- mentions -----------------------------------------------------------------------------------


def test_which_mentions_are_offered():
    """T-8.6: the first trigger, if it has phrases and may start; `if` is not judged here."""
    chat = Chat(
        Flow("one", on=[OnMention("a dog", if_={"flag": "off"})], steps=SAY),
        Flow("two", on=[OnMention(if_={"flag": "off"}), OnMention("a cat")], steps=SAY),
        Flow("three", on=[OnMention("a bird")], steps=SAY),
        idle="silent",
    )
    chat.message(context={}, understand={"mentions": {"three": True}})
    assert _ids(_task(chat).mentions) == ["one", "three"]
    chat.message(context={}, understand={"mentions": {}})
    assert _ids(_task(chat).mentions) == ["one"]


# --- fields -------------------------------------------------------------------------------------


def test_the_fields_to_judge():
    """T-8.8: of the floor's flow, then of each eligible one, each once; open ones of mode `anywhere`."""
    steps = [Collect("c", ["note", "size"]), Collect("d", ["name", "plan", "size"])]
    chat = Chat(Flow("lead", collect=["plan"], steps=steps), _wants("other", collect=["plan", "name", "sure"]))
    chat.session = Session.fresh("s1")
    chat.session.data = {"name": ""}
    chat.start("lead", speak="Note?")
    chat.message(understand={"fields": {}}, speak="Note?")
    assert _slugs(chat) == ["plan", "size", "name"]
    chat.data["plan"] = "pro"
    chat.message(understand={"fields": {}}, speak="Note?")
    assert _slugs(chat) == ["size", "name"]


def test_a_boolean_may_be_read_anywhere_if_its_author_says_so():
    """T-8.8: mode is `extract`, else `anywhere`, but `asked` for booleans."""
    fields = {"a": Field("boolean"), "b": Field("boolean", extract="anywhere"), "c": Field("string", extract="asked")}
    chat = Chat(_wants("lead", collect=["a", "b", "c"]), fields=fields)
    chat.message(understand={"flows": {}}, speak="Hi")
    assert _slugs(chat) == ["b"]


def test_a_lone_flows_fields_are_read_though_it_is_not_scored():
    """T-8.8: of each eligible flow, scored or not."""
    chat = Chat(_wants("lead", collect=["name"]), idle="silent")
    result = chat.message(understand={"fields": {"name": "Ana"}})
    assert (_task(chat).flows, result.session.data) == ((), {"name": "Ana"})


def test_the_catch_alls_fields_ride_on_a_call():
    """T-8.9: its open fields are added, after the others, when there is anything to judge already."""
    chat = Chat(_wants("lead", collect=["size"]), Flow("any", on=[OnAnyMessage()], steps=NAME))
    chat.message(understand={"fields": {}}, speak="Name?")
    assert _slugs(chat) == ["size", "name"]


@pytest.mark.parametrize("beside", [_wants("lead"), Flow("lead", on=[OnMention("a dog")], steps=SAY)])
def test_free_fields_are_read_when_there_is_a_call_anyway(beside: Flow):
    """T-8.9: a scored flow or a mention is something to judge."""
    chat = Chat(beside, Flow("any", on=[OnAnyMessage()], steps=NAME))
    chat.message(understand={"fields": {}}, speak="Name?")
    assert _slugs(chat) == ["name"]


def test_the_catch_alls_fields_are_not_read_over_a_floor():
    """T-8.9: only when nobody is on the floor."""
    chat = Chat(Flow("lead", steps=NOTE, collect=["size"]), Flow("any", on=[OnAnyMessage()], steps=NAME))
    chat.start("lead", speak="Note?")
    chat.message(understand={"fields": {}}, speak="Note?")
    assert _slugs(chat) == ["size"]


def test_one_field_that_is_not_free_brings_them_all():
    """T-8.9: then all open fields of the catch-all are read."""
    chat = Chat(Flow("any", on=[OnAnyMessage()], steps=NAME, collect=["size"]))
    chat.message(understand={"fields": {}}, speak="Name?")
    assert _slugs(chat) == ["size", "name"]


# --- corrections --------------------------------------------------------------------------------


def _correctable(**rest: Any) -> Chat:
    fields = {
        "size": Field("integer", correct=True),
        "name": Field("string"),
        "sure": Field("boolean", correct=True),
        "note": Field("string", extract="asked"),
    }
    lead = Flow("lead", collect=["size", "sure"], steps=NOTE)
    chat = Chat(lead, _wants("other", collect=["size", "name"]), fields=fields, **rest)
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 5, "sure": True}
    return chat


def test_a_correctable_field_of_the_floor_is_offered_again():
    """F-19.1: known, of mode `anywhere`, of the flow on the floor: offered with its value."""
    chat = _correctable()
    chat.start("lead", speak="Note?")
    chat.message(understand={"fields": {}}, speak="Note?")
    fields = _task(chat).fields
    assert [(field.slug, field.known, field.value) for field in fields] == [("size", True, 5), ("name", False, None)]


def test_a_correctable_field_of_another_flow_is_not_offered():
    """F-19.1: an eligible flow beside the floor offers its open fields only."""
    chat = _correctable()
    chat.message(understand={"fields": {}}, speak="Hi")
    assert _slugs(chat) == ["name"]


def test_a_correctable_field_is_reason_enough_for_the_call():
    """F-19.1: it counts as open, also when nothing else is to be judged."""
    chat = Chat(Flow("lead", collect=["size"], steps=NOTE), fields=_correctables())
    chat.session = Session.fresh("s1")
    chat.session.data = {"size": 5}
    chat.start("lead", speak="Note?")
    chat.message(understand={"fields": {"size": 6}}, speak="Note?")
    assert chat.data["size"] == 6


def _correctables() -> dict[str, Any]:
    return {"size": Field("integer", correct=True), "note": Field("string", extract="asked")}


# --- what the call gets -------------------------------------------------------------------------


def test_the_text_and_the_history_go_in_as_they_are():
    """T-8.12, M-2.9: the text is not trimmed; the history does not have it."""
    chat = Chat(_wants("lead"), _wants("other"), idle="silent")
    chat.message("  hi ", understand={}, history=[{"role": "user", "content": "before"}])
    assert _task(chat).text == "  hi "
    assert chat.model.calls[0].request.history == [{"role": "user", "content": "before"}]


def test_asks_is_judged_only_where_a_question_is():
    """T-8.13: only if some flow of the agent has a step with a `question`."""
    for step, asks in ((Collect("c", ["name"], question="Name?"), True), (Collect("c", ["name"]), False)):
        chat = Chat(_wants("lead", steps=[step]), _wants("other"), idle="silent")
        chat.message(understand={"flows": {}})
        assert _task(chat).asks is asks


def test_a_live_run_does_not_make_its_flow_ineligible():
    """T-8.2: whether a run of it is live does not matter; the start is refused then."""
    chat = Chat(_wants("lead", repeat="always", steps=[Wait("w", "1d")]), idle="silent")
    chat.message()
    assert skipped(chat.message()) == ["lead:already-running"]
    assert chat.run("lead").waiting.key == f"lead#m1:w:{at(86_400)}"  # type: ignore[union-attr]


def test_the_call_sees_the_context():
    """T-8.12: in its templates, and as it is for a port that wants it."""
    lead = Flow("lead", on=[OnMessage("asks about {{context.ware}}")], steps=SAY)
    chat = Chat(lead, _wants("other"), idle="silent")
    chat.message(understand={}, context={"ware": "shoes"})
    assert _task(chat).flows[0].matches == ("asks about shoes",)
    assert chat.model.calls[0].request.context == {"ware": "shoes"}


@pytest.mark.parametrize("trigger", [OnMessage("wants", repeat="always"), OnMention("a dog", repeat="always")])
def test_an_always_flow_is_offered_unless_this_very_trigger_was_claimed(trigger: Any):
    """T-8.2, T-8.6, B-10.4: under the turn's trigger key; here the date of a message without an id."""
    chat = Chat(Flow("lead", on=[trigger], steps=SAY), _wants("one"), _wants("two"), idle="silent")
    judged = {"flows": {"lead": 90}, "mentions": {"lead": True}}
    assert chat.message(id=None, at="2026-09-20", understand=judged).started[0].dedupe_key == "lead:s1:2026-09-20"
    chat.message(id=None, at="2026-09-20", understand={"flows": {}})
    assert (_ids(_task(chat).flows), _task(chat).mentions) == (["one", "two"], ())
    chat.message(id=None, at="2026-09-21", understand={"flows": {}})
    assert "lead" in [*_ids(_task(chat).flows), *_ids(_task(chat).mentions)]


def test_the_condition_of_a_branch_question_sees_the_run():
    """T-8.7, T-7.1: its `if` is judged on the run, with the run's own input."""
    branches = [Branch("a", if_={"input": 8}, then="c"), Branch("b", if_={"input": 7}, then="c")]
    chat = Chat(Flow("lead", steps=[Collect("c", ["note"], branches=branches)]))
    chat.start("lead", speak="Note?", input=7)
    chat.message(understand={"branches": {}}, speak="Note?")
    assert [branch.id for branch in _task(chat).branches] == ["lead#k1/c/1"]
