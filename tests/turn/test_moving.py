"""T-12: targets, the end of a flow, chaining, resetting, staying, early ends."""

from __future__ import annotations

from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
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
    WaitEvent,
    ok,
)
from falai.session.model import Run, Session, TriggerRef
from turn.chat import Chat, at, ended, lines, said, skipped

NOTE = Collect("c", ["note"])

# --- targets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "next_", "texts"),
    [
        (None, None, ["a", "b", "c"]),
        ("c", "c", ["a", "c"]),
        (To("c"), "c", ["a", "c"]),
        ("end", "end", ["a"]),
        (ToFlow("other"), "flow:other", ["a", "other"]),
        (ToFlow("{{input}}"), "flow:{{input}}", ["a", "other"]),
    ],
)
def test_following_a_target(then: Any, next_: str | None, texts: list[str]):
    """T-12.2, B-8.2: where it leads, and how the line names it."""
    flow = Flow("lead", steps=[Say("a", "a", then=then), Say("b", "b"), Say("c", "c")])
    result = Chat(flow, Flow("other", steps=[Say("x", "other")])).start("lead", input="other")
    assert (result.outcomes[0].next, said(result)) == (next_, texts)


@pytest.mark.parametrize(("then", "data"), [(To("x", clear=["name"]), {}), ("x", {"name": "Ana"})])
def test_a_target_that_is_gone(then: Any, data: dict[str, Any]):
    """T-12.2, F-8.8: the run ends `step-gone` where it stands; `clear` has happened all the same (T-12.5)."""
    chat = Chat(Flow("lead", steps=[Wait("w", "1d", then=then), Say("x", "x")]))
    chat.start("lead")
    chat.data["name"] = "Ana"
    plan = chat.agent.plan.flows["lead"]
    plan.__dict__["positions"] = {"w": 0}  # as if the step had been taken out of a flow that nobody checked
    result = chat.wake(f"lead#k1:w:{at(86_400)}")
    assert lines(result) == ["wait/ok/no-reply", "wait/skipped/step-gone"]
    assert (result.session.data, ended(result)) == (data, ["lead:skipped"])


def test_entering_a_step_counts_a_visit():
    """T-12.1: each entry is a visit, and so a new key."""
    chat = Chat(
        Flow("lead", steps=[Say("a", "a"), If("i", lambda view: view.run.visits["a"] < 2, then="a", else_="end")])
    )
    result = chat.start("lead")
    assert [message.key for message in result.messages] == ["lead#k1:a:1", "lead#k1:a:2"]
    assert result.ended[0].run.visits == {"a": 2, "i": 2}


def test_clearing():
    """T-12.5, F-8.6: the fields leave `data`, their counts leave the run; others stay."""
    ask = Collect(
        "c", ["name", "note"], branches=[Branch(if_={"known": ["name"]}, then=To("d", clear=["name", "size"]))]
    )
    chat = Chat(Flow("lead", steps=[ask, Collect("d", ["name", "note"])]))
    chat.start("lead", speak="?")
    chat.data["size"] = 3
    result = chat.message(understand={"fields": {"name": "Ana"}}, speak="?")
    assert chat.data == {}
    assert chat.run("lead").asked == {"note": 2, "name": 1}
    assert [(change.field, change.source) for change in result.changes][-2:] == [("name", "clear"), ("size", "clear")]


# --- another flow -------------------------------------------------------------------------------


def test_chaining():
    """T-12.6: the parent ends with reason `flow`, without a line; the child is one hop deeper."""
    chat = Chat(Flow("lead", steps=[Say("a", "a", then=ToFlow("child"))]), Flow("child", steps=[Wait("w", "1d")]))
    result = chat.start("lead", input={"deal": 7}, hop=2)
    child = chat.run("child")
    assert ended(result) == ["lead:flow"]
    assert lines(result) == ["say/ok", "wait/waiting"]
    assert (child.id, child.trigger.kind, child.trigger.key) == ("child#lead#k1:a:1", "flow", "lead#k1:a:1")
    assert (child.hop, child.input, child.dedupe_key) == (3, {"deal": 7}, "child:s1:lead#k1:a:1")


def test_the_input_of_a_move():
    """T-12.6, F-8.7: its own is passed as it is, not rendered; without one the parent's."""
    chat = Chat(
        Flow("lead", steps=[Say("a", "a", then=ToFlow("child", input={"x": "{{data.name}}"}))]),
        Flow("child", steps=[Wait("w", "1d")]),
    )
    chat.start("lead", input=1)
    assert chat.run("child").input == {"x": "{{data.name}}"}


@pytest.mark.parametrize("flow", ["gone", "{{context.nowhere}}"])
def test_chaining_to_a_flow_that_is_gone(flow: str):
    """T-12.6: a `skipped` entry with the session id and the parent's step key; the parent has ended."""
    result = Chat(Flow("lead", steps=[Say("a", "a", then=ToFlow(flow))])).start("lead")
    [start] = result.skipped
    assert (start.flow_id, start.code, start.anchor, start.trigger_key) == (flow, "flow-gone", "s1", "lead#k1:a:1")
    assert ended(result) == ["lead:flow"]


def test_a_child_that_may_not_start():
    """T-12.6: the parent has ended all the same."""
    chat = Chat(Flow("lead", steps=[Say("a", "a", then=ToFlow("child"))]), Flow("child", steps=[Wait("w", "1d")]))
    chat.start("child")
    result = chat.start("lead", "k2")
    assert (ended(result), skipped(result)) == (["lead:flow"], ["child:already-running"])


def test_the_hop_limit_of_a_chain():
    """T-6.4, T-12.6: a chain of five is the longest."""
    result = Chat(Flow("lead", steps=[Say("a", "a", then=ToFlow("lead"))])).start("lead")
    assert (len(result.messages), skipped(result)) == (5, ["lead:hop-limit"])


def test_a_child_inherits_the_floor_of_its_parent():
    """T-12.7: so a `stay` of the child answers the message though another asks (T-12.11)."""
    talk = Flow("talk", on_end="stay", steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")])
    lead = Flow("lead", on=[OnMessage("wants")], steps=[Do("a", "note", then=ToFlow("talk"))])
    chat = Chat(Flow("ask", steps=[NOTE]), lead, talk, actions={"note": ok()})
    chat.start("ask", speak="Note?")
    result = chat.message(understand={"flows": {"lead": 90}}, speak="Talking.")
    assert chat.statuses == {"ask": "suspended", "talk": "asking"}
    assert said(result) == ["Talking."]


def test_a_child_of_a_bystander_does_not_take_the_floor():
    """T-12.7: while `floor` names a live run, a chain elsewhere changes nothing: its stay is suspended."""
    side = Flow("side", on=[OnMention("a dog")], steps=[Do("d", "note", then=ToFlow("talk"))])
    talk = Flow("talk", on_end="stay", steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")])
    chat = Chat(Flow("ask", steps=[NOTE]), side, talk, actions={"note": ok()})
    chat.start("ask", speak="Note?")
    result = chat.message(understand={"mentions": {"side": True}}, speak="Note?")
    assert chat.statuses == {"ask": "asking", "talk": "suspended"}
    assert result.messages[0].run_id == "ask#k1"


# --- reset --------------------------------------------------------------------------------------


def test_a_reset():
    """T-12.8, B-9.2: a fresh run, one hop deeper, the same input; its key is the last step's."""
    flow = Flow("lead", on_end="reset", steps=[Wait("w", "1d", then="end"), Say("x", "x")])
    chat = Chat(flow)
    chat.start("lead", input=7, hop=1)
    result = chat.wake(f"lead#k1:w:{at(86_400)}")
    assert ended(result) == ["lead:reset"]
    run = chat.run("lead")
    assert (run.id, run.trigger.kind, run.hop, run.input) == ("lead#lead#k1:x:0", "flow", 2, 7)
    assert (run.trigger.key, run.trigger.payload) == ("lead#k1:x:0", 7)


def test_the_visit_in_the_key_of_a_reset():
    """B-9.2: the parent's visit of the flow's last step."""
    chat = Chat(Flow("lead", on_end="reset", steps=[Wait("w", "1d"), Say("x", "x")]))
    chat.start("lead")
    chat.wake(f"lead#k1:w:{at(86_400)}")
    assert chat.run("lead").id == "lead#lead#k1:x:1"


def test_a_reset_at_the_hop_limit():
    """T-12.8: a `skipped` entry, and no run."""
    result = Chat(Flow("lead", on_end="reset", steps=[Say("x", "x")])).start("lead", hop=4)
    assert (ended(result), skipped(result), result.session.runs) == (["lead:reset"], ["lead:hop-limit"], [])


def test_a_reset_without_steps_is_an_end():
    """T-12.8: a flow without steps: as `end`; so is `stay` without a talk step."""
    chat = Chat(Flow("bare", on_end="reset", steps=[]), Flow("mute", on_end="stay", steps=[Say("x", "x")]))
    assert ended(chat.start("bare")) == ["bare:end"]
    assert ended(chat.start("mute")) == ["mute:end"]


def test_the_fresh_run_of_a_reset_is_moved_in_the_same_turn():
    """T-12.8, T-6.9: it is queued, and may answer the message."""
    fork = If("i", lambda view: view.run.hop > 0, then="p", else_="end")
    chat = Chat(
        Flow("lead", on_end="reset", steps=[Collect("c", ["name"]), fork, Prompt("p", "Talk."), Wait("w", "1d")])
    )
    chat.start("lead", speak="Name?")
    result = chat.message(understand={"fields": {"name": "Ana"}}, speak="Talking.")
    assert (said(result), result.messages[0].run_id) == (["Talking."], "lead#lead#k1:w:0")


# --- stay ---------------------------------------------------------------------------------------


def test_staying_after_the_reply():
    """T-12.9, T-12.10: a new visit of the talk step, `staying`, asking; it answers every message."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Prompt("p", "Talk.")]))
    assert lines(chat.start("lead", speak="Hi")) == ["prompt/ok"]
    run = chat.run("lead")
    assert (run.staying, run.status, run.step_id, run.visits) == (True, "asking", "p", {"p": 2})
    for visit in (2, 3):
        result = chat.message(speak="Well.")
        assert result.messages[0].key == f"lead#k1:p:{visit}"
        assert chat.run("lead").visits == {"p": visit + 1}


def test_the_step_to_stay_on_is_the_last_that_it_took():
    """T-12.9: the newest line of kind `prompt` or `collect` whose step is a talk step now."""
    steps = [Prompt("a", "A.", then="x"), Prompt("b", "B."), Say("x", "x", then="end")]
    chat = Chat(Flow("lead", on_end="stay", steps=steps))
    chat.start("lead", speak="Hi")
    assert chat.run("lead").step_id == "a"


def test_without_a_talk_line_it_stays_on_the_last_talk_step():
    """T-12.9: of the flow's list."""
    steps = [Say("x", "x", then="end"), Prompt("a", "A."), Collect("b", ["note"]), Do("d", "note")]
    chat = Chat(Flow("lead", on_end="stay", steps=steps), actions={"note": ok()})
    chat.start("lead")
    assert (chat.run("lead").step_id, chat.run("lead").visits) == ("b", {"x": 1, "b": 1})


def test_a_line_of_a_step_that_is_no_talk_step_any_more_is_passed_over():
    """T-12.9: the line's step must be a talk step of the flow now."""
    chat = Chat(Flow("lead", on_end="stay", steps=[Prompt("a", "A."), Wait("w", "1d"), Prompt("b", "B.")]))
    chat.start("lead", speak="Hi")
    edited = chat.without(
        Flow("lead", on_end="stay", steps=[Say("a", "a"), Wait("w", "1d", then="end"), Prompt("b", "B.")])
    )
    edited.wake(f"lead#k1:w:{at(86_400)}")
    assert edited.run("lead").step_id == "b"


def test_a_staying_run_in_a_wake_suspends_itself_beside_an_asker():
    """T-12.11 no. 1: there are others, and the turn is no message of its own."""
    chat = Chat(
        Flow("ask", steps=[NOTE]), Flow("lead", on_end="stay", steps=[Say("x", "x", then="end"), Prompt("p", "Talk.")])
    )
    chat.start("ask", speak="Note?")
    result = chat.start("lead", "k2")
    assert chat.statuses == {"ask": "asking", "lead": "suspended"}
    assert chat.run("lead").suspended_at == "2026-09-20T10:00:00.000Z"
    assert (said(result), chat.run("lead").staying) == (["x"], True)


def test_a_staying_run_in_a_wake_asks_when_nobody_does():
    """T-12.11 no. 3: it may not answer outside a message: it stays asking, in silence."""
    chat = Chat(
        Flow("lead", on_end="stay", steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")]), actions={"note": ok()}
    )
    result = chat.start("lead")
    assert (lines(result), chat.statuses) == (["do/ok"], {"lead": "asking"})


def test_a_run_that_has_the_floor_suspends_the_others():
    """T-12.11 nos. 2 and 3: the message is its own, so it answers from the step it stays on."""
    lead = Flow(
        "lead", on=[OnMessage("wants")], on_end="stay", steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")]
    )
    chat = Chat(Flow("ask", steps=[NOTE]), lead, actions={"note": ok()})
    chat.start("ask", speak="Note?")
    result = chat.message(understand={"flows": {"lead": 90}}, speak="Talking.")
    assert chat.statuses == {"ask": "suspended", "lead": "asking"}
    assert (said(result), result.messages[0].key) == (["Talking."], "lead#m1:p:1")
    assert chat.run("ask").suspended_at == "2026-09-20T10:00:00.000Z"


@pytest.mark.parametrize("closed", [None, "held"])
def test_a_say_or_a_closed_gate_keeps_a_staying_run_quiet(closed: str | None):
    """T-12.11 no. 3: `spokeBy` is empty and the gate is open; otherwise it stays asking."""
    step = Say("x", "x", then="end") if closed is None else Do("x", "note", then="end")
    lead = Flow("lead", on=[OnMessage("wants")], on_end="stay", steps=[step, Prompt("p", "Talk.")])
    chat = Chat(lead, actions={"note": ok()}, idle="silent")
    result = chat.message(silenced=closed)
    assert (said(result), chat.statuses) == (["x"] if closed is None else [], {"lead": "asking"})
    assert chat.run("lead").visits == {"x": 1, "p": 1}


def test_a_wait_that_ends_in_ingest_leads_to_an_answer():
    """T-12.11 no. 3: not in Ingest itself, but the run asks then and phase 5 moves it."""
    flow = Flow("lead", on_end="stay", steps=[Wait("w", "1d", else_="end"), Prompt("p", "Talk.")])
    chat = Chat(flow)
    chat.start("lead")
    result = chat.message(speak="Talking.")
    assert (said(result), chat.run("lead").visits) == (["Talking."], {"w": 1, "p": 2})


def test_a_branch_to_the_end_of_a_staying_flow():
    """T-12.11: in Decide too the run may answer; the asker that fired it has the floor."""
    ask = Collect("c", ["note"], branches=[Branch("wants out", then="end")])
    chat = Chat(Flow("lead", on_end="stay", steps=[ask]))
    chat.start("lead", speak="Note?")
    result = chat.message(understand={"branches": {"q1": True}}, speak="Well.")
    assert (said(result), result.messages[0].key) == (["Well."], "lead#k1:c:2")


def test_the_talk_of_a_run_that_is_suspended_is_dropped():
    """T-12.11 no. 2: the older asker was to speak; the routed run stays and answers."""
    lead = Flow(
        "lead", on=[OnMessage("wants")], on_end="stay", steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")]
    )
    chat = Chat(Flow("ask", steps=[NOTE]), lead, actions={"note": ok()})
    chat.start("ask", speak="Note?")
    result = chat.message(understand={"flows": {"lead": 90}}, speak="Talking.")
    assert [line.run_id for line in result.outcomes] == ["lead#m1", "lead#m1"]
    assert chat.run("ask").asked == {"note": 1}


def test_staying_ends_when_the_run_goes_elsewhere():
    """T-12.1, B-7.1: entering any step by any other way removes `staying`."""
    ask = Prompt("p", "Talk.", branches=[Branch("done", then="c")], then="end")
    chat = Chat(Flow("lead", on_end="stay", steps=[ask, NOTE]))
    chat.start("lead", speak="Hi")
    assert chat.run("lead").staying
    chat.message(understand={"branches": {"q1": True}}, speak="Note?")
    assert (chat.run("lead").step_id, chat.run("lead").staying) == ("c", None)


def test_staying_goes_on_in_the_same_move():
    """T-12.11 no. 3: nobody else asks, so the run is `running`, and its premise is not judged again (T-7.5)."""
    flow = Flow(
        "dog",
        on=[OnMention()],
        on_end="stay",
        while_=lambda view: "name" not in view.data,
        steps=[Do("d", "note", then="end"), Prompt("p", "Talk.")],
    )
    chat = Chat(flow, actions={"note": lambda ctx: ctx.set({"name": "Ana"}) or ok()})
    assert said(chat.message(speak="Talking.")) == ["Talking."]


def test_a_run_that_stays_after_its_reply_is_not_moved_again():
    """T-15.10: it is queued only if it is `running`; so its premise is not judged in phase 7."""
    flow = Flow(
        "lead",
        on=[OnAnyMessage()],
        on_end="stay",
        while_=lambda view: "name" not in view.data,
        steps=[Collect("c", ["name"])],
    )
    chat = Chat(flow)
    result = chat.message(speak={"message": "Hi", "name": "Ana"})
    assert (ended(result), chat.statuses) == ([], {"lead": "asking"})


def test_a_run_that_ends_after_its_reply_was_running():
    """T-15.10, T-2.3: the step was left before the flow came to its end."""
    result = Chat(Flow("lead", steps=[Prompt("p", "Talk.")])).start("lead", speak="Hi")
    assert result.ended[0].run.status == "running"


def test_the_step_to_stay_on_may_be_one_that_collects():
    """T-12.9: lines of kind `collect` count like those of kind `prompt`."""
    steps = [Collect("a", ["name"], then="end"), Prompt("b", "B.")]
    chat = Chat(Flow("lead", on_end="stay", steps=steps))
    chat.start("lead", speak={"message": "Hi", "name": "Ana"})
    assert chat.run("lead").step_id == "a"


# --- early ends ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Say("s", "x"), "say"),
        (Do("s", "note"), "do"),
        (If("s", {}), "if"),
        (Prompt("s", "x"), "prompt"),
        (Collect("s", ["note"]), "collect"),
        (Collect("s", [], prompt="x"), "prompt"),
        (Wait("s", "1d"), "wait"),
        (WaitEvent("s", "plain"), "wait"),
    ],
)
def test_the_kind_of_an_early_end(step: Any, kind: str):
    """T-12.12, O-5.8: the kind of the step where it stands; status `skipped`, no key, no detail."""
    chat = Chat(Flow("lead", while_={"flag": "on"}, steps=[step]), actions={"note": ok()})
    chat.session = Session.fresh("s1")
    chat.session.runs = [
        Run(
            id="lead#h", flow_id="lead", anchor="s1", dedupe_key="lead:s1:h", step_id="s", status="running",
            trigger=TriggerRef(kind="start", key="h"), hop=0, started_at="2026-09-20", asked={}, visits={"s": 1}, outcomes=[],
        )
    ]  # fmt: skip
    [line] = chat.event("in", context={}).outcomes
    assert (line.kind, line.status, line.code, line.key, line.detail) == (
        kind,
        "skipped",
        "premise-changed",
        None,
        None,
    )
    assert (line.run_id, line.flow_id, line.step_id) == ("lead#h", "lead", "s")


def test_an_ended_run_is_told_with_its_last_line():
    """T-2.3, T-12.12: the line is written first; the run leaves `runs`."""
    result = Chat(Flow("lead", while_={"flag": "on"}, steps=[Say("x", "x")])).start("lead", context={})
    [end] = result.to_wire()["ended"]
    assert (end["id"], end["reason"], [line["code"] for line in end["outcomes"]]) == (
        "lead#k1",
        "skipped",
        ["premise-changed"],
    )
    assert result.session.runs == []


def test_a_run_may_start_and_end_in_one_turn():
    """T-2.4: it is in both lists."""
    result = Chat(Flow("lead", steps=[Say("x", "x")])).start("lead")
    assert ([run.run_id for run in result.started], ended(result)) == (["lead#k1"], ["lead:end"])
