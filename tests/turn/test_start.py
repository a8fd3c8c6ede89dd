"""T-6 and B-9 to B-12: starting a run, its claim, its anchor, its delay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from falai import (
    Collect,
    Flow,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    ToFlow,
    Wait,
)  # fmt: skip
from falai.session.model import Claim, Session, TriggerRef
from turn.chat import NOW, Chat, at, ended, lines, said, scheduled, skipped

PARKED = [Wait("w", "30d")]
DONE = [Say("x", "x")]
ALWAYS = OnEvent("plain")


# --- the run ------------------------------------------------------------------------------------


def test_a_fresh_run():
    """T-6.1: everything that a run starts with."""
    result = Chat(Flow("lead", on=[ALWAYS], steps=PARKED)).event("plain", "e1", payload=[1])
    run = result.to_wire()["session"]["runs"][0]
    del run["waiting"], run["outcomes"]
    assert run == {
        "id": "lead#e1", "flowId": "lead", "anchor": "s1", "dedupeKey": "lead:s1:e1", "stepId": "w", "status": "waiting",
        "trigger": {"kind": "event", "key": "e1", "payload": [1]}, "input": [1], "hop": 0, "startedAt": NOW,
        "asked": {}, "visits": {"w": 1},
    }  # fmt: skip


def test_what_a_start_leaves_in_the_result():
    """T-6.6: the claim, the run at the end of the list, an entry in `started`."""
    chat = Chat(Flow("one", steps=PARKED), Flow("two", steps=PARKED))
    chat.start("one")
    result = chat.start("two", "k2")
    assert [run.flow_id for run in result.session.runs] == ["one", "two"]
    assert result.session.claims == {"one:s1:k1": Claim(at=NOW), "two:s1:k2": Claim(at=NOW)}
    [entry] = result.to_wire()["started"]
    assert entry == {"runId": "two#k2", "flowId": "two", "anchor": "s1", "dedupeKey": "two:s1:k2"}


@pytest.mark.parametrize(
    ("trigger", "nonce"),
    [
        (OnMention(), ""),
        (OnAnyMessage(), ""),
        (OnAnyMessage(repeat="once"), ""),
        (OnAnyMessage(repeat="always"), "m1"),
        (OnAnyMessage(repeat={"cooldown": "1h"}), ""),
    ],
)
def test_the_nonce_of_a_claim(trigger: Any, nonce: str):
    """B-10.1, B-10.2: the trigger key for `always`, empty for `once` and a cooldown; messages default to once."""
    result = Chat(Flow("lead", on=[trigger], steps=DONE), idle="silent").message()
    assert result.started[0].dedupe_key == f"lead:s1:{nonce}"


def test_starts_events_and_chains_repeat_always():
    """B-10.2: their default is `always`, so the nonce is the trigger key."""
    chat = Chat(Flow("one", on=[OnEvent("plain")], steps=[Say("x", "x", then=ToFlow("two"))]), Flow("two", steps=DONE))
    assert [run.dedupe_key for run in chat.event("plain").started] == ["one:s1:e1", "two:s1:one#e1:x:1"]
    assert [run.dedupe_key for run in chat.start("two").started] == ["two:s1:k1"]


def test_a_silence_starts_once():
    """B-10.2: silence defaults to `once`."""
    chat = Chat(Flow("nudge", on=[OnSilence("1h")], steps=PARKED))
    chat.message(speak="Hi")
    assert chat.wake(f"silence:nudge:s1:{at(0)}").started[0].dedupe_key == "nudge:s1:"


# --- the checks, in order -----------------------------------------------------------------------


def test_a_false_condition_leaves_no_trace():
    """T-6.2: no run, no entry; judged on the draft, whose `input` is the payload."""
    flow = Flow("lead", on=[OnEvent("plain", if_={"input": "yes"}, repeat="once")], steps=DONE)
    chat = Chat(flow)
    refused = chat.event("plain", payload="no")
    assert (refused.started, refused.skipped, refused.session.claims) == ((), (), {})
    assert said(chat.event("plain", payload="yes")) == ["x"]


def test_the_condition_comes_before_the_claim():
    """T-6.2 before T-6.3: a false `if` hides a claim."""
    chat = Chat(Flow("lead", on=[OnEvent("plain", if_={"flag": "on"}, repeat="once")], steps=DONE))
    chat.event("plain", context={"on": True})
    assert not skipped(chat.event("plain", "e2", context={}))
    assert skipped(chat.event("plain", "e2", context={"on": True})) == ["lead:already-claimed"]


def test_a_refusal_tells_all_of_itself():
    """T-6.5, O-7.2: flow, anchor, trigger key, code and sentence; no claim, nothing cleared."""
    flow = Flow("lead", on=[OnEvent("plain", repeat="once")], anchor="deal", clear_on_start=["name"], steps=DONE)
    chat = Chat(flow)
    anchors = {"deal": {"key": "d1"}}
    chat.event("plain", anchors=anchors)
    chat.data["name"] = "Ana"
    result = chat.event("plain", "e2", anchors=anchors)
    [entry] = result.to_wire()["skipped"]
    assert entry == {
        "flowId": "lead", "anchor": "d1", "triggerKey": "e2", "code": "already-claimed",
        "message": "An earlier start holds the claim that this start would need.",
    }  # fmt: skip
    assert result.session.data == {"name": "Ana"}
    assert list(result.session.claims) == ["lead:d1:"]
    assert result.changed


def test_a_cooldown():
    """B-10.4: blocked while younger; free at exactly its length, and claimed anew then."""
    chat = Chat(Flow("lead", on=[OnEvent("plain", repeat={"cooldown": "1h"})], steps=DONE))
    chat.event("plain", "e1")
    chat.clock.advance(3_599_999)
    assert skipped(chat.event("plain", "e2")) == ["lead:cooldown"]
    chat.clock.advance(1)
    result = chat.event("plain", "e3")
    assert said(result) == ["x"]
    assert result.session.claims == {"lead:s1:": Claim(at="2026-09-20T11:00:00.000Z")}


def test_always_is_blocked_by_the_same_key_only():
    """B-10.4: a replay of an event starts nothing; another key does."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=DONE))
    chat.event("plain", "e1")
    assert skipped(chat.event("plain", "e1")) == ["lead:already-claimed"]
    assert said(chat.event("plain", "e2")) == ["x"]


def test_claims_of_other_sessions_count():
    """B-10.3: `claims.held` counts like the session's own, which comes first."""
    chat = Chat(Flow("lead", on=[OnEvent("plain", repeat={"cooldown": "1h"})], steps=DONE))
    young, old = {"held": {"lead:s1:": NOW}}, {"held": {"lead:s1:": "2026-09-20T08:00:00.000Z"}}
    assert skipped(chat.event("plain", "e1", claims=young)) == ["lead:cooldown"]
    assert said(chat.event("plain", "e2", claims=old)) == ["x"]
    assert skipped(chat.event("plain", "e3", claims=old)) == ["lead:cooldown"]


@pytest.mark.parametrize(("hop", "codes"), [(4, []), (5, ["lead:hop-limit"]), (9, ["lead:hop-limit"])])
def test_the_hop_limit(hop: int, codes: list[str]):
    """T-6.4: a start with hop 5 or more is refused."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=DONE))
    assert skipped(chat.event("plain", hop=hop)) == codes
    assert skipped(chat.start("lead", hop=hop)) == codes


def test_a_claim_comes_before_the_hop_limit_and_that_before_a_live_run():
    """T-6.3, T-6.4, T-6.5: the first check that fails gives the code."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=PARKED))
    chat.event("plain", "e1")
    assert skipped(chat.event("plain", "e1", hop=5)) == ["lead:already-claimed"]
    assert skipped(chat.event("plain", "e2", hop=5)) == ["lead:hop-limit"]
    assert skipped(chat.event("plain", "e3")) == ["lead:already-running"]


def test_one_live_run_per_flow_and_anchor():
    """T-6.5, B-4.2: another anchor is another run."""
    flow = Flow("lead", on=[ALWAYS], anchor="deal", steps=PARKED)
    chat = Chat(flow)
    one, two = {"deal": {"key": "d1"}}, {"deal": {"key": "d2"}}
    assert not skipped(chat.event("plain", "e1", anchors=one))
    assert not skipped(chat.event("plain", "e2", anchors=two))
    assert not skipped(chat.event("plain", "e3"))
    assert [run.anchor for run in chat.runs] == ["d1", "d2", "s1"]
    assert skipped(chat.event("plain", "e4", anchors=two)) == ["lead:already-running"]


def test_a_live_run_of_the_same_id():
    """T-6.5 (decision): no live run, of whatever anchor, has the drafted run's id."""
    flow = Flow("lead", on=[OnEvent("plain", after="1h", repeat={"cooldown": "1s"})], anchor="deal", steps=DONE)
    chat = Chat(flow)
    chat.event("plain", "e1", anchors={"deal": {"key": "d1"}})
    assert skipped(chat.event("plain", "e1", anchors={"deal": {"key": "d2"}})) == ["lead:already-running"]
    chat.clock.advance("2s")
    assert skipped(chat.event("plain", "e1", anchors={"deal": {"key": "d1"}})) == ["lead:already-running"]


def test_what_is_live_elsewhere():
    """T-6.5: `claims.active` refuses the flow with that anchor, and no other."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=DONE), Flow("other", on=[ALWAYS], steps=DONE))
    result = chat.event("plain", claims={"active": ["lead:s1", "other:s2"]})
    assert skipped(result) == ["lead:already-running"]
    assert [run.flow_id for run in result.started] == ["other"]


def test_a_delayed_start_gives_way():
    """T-6.5: it ends `replaced`, without a line, also against `claims.active`; its wake is stale."""
    chat = Chat(Flow("lead", on=[OnEvent("plain", after="1h")], steps=DONE))
    [first] = scheduled(chat.event("plain", "e1"))
    chat.clock.advance("1m")
    result = chat.event("plain", "e2", claims={"active": ["lead:s1"]})
    assert ended(result) == ["lead:replaced"]
    assert lines(result) == ["wait/waiting/awaiting-trigger"]
    assert [run.id for run in chat.runs] == ["lead#e2"]
    assert lines(chat.wake(first[0])) == ["wait/skipped/stale-wake"]


def test_a_run_that_waits_at_a_step_does_not_give_way():
    """T-6.5: only a run that is parked with no step yet is replaced."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=PARKED))
    chat.event("plain", "e1")
    assert skipped(chat.event("plain", "e2")) == ["lead:already-running"]


def test_a_run_without_a_step_that_is_not_parked_does_not_give_way():
    """T-6.5: parked *and* without a step; a run that was just drafted is live."""
    flow = Flow("lead", on=[OnMention(repeat="always"), OnAnyMessage(repeat="always")], steps=DONE)
    result = Chat(flow, idle="silent").message()
    assert skipped(result) == ["lead:already-claimed"]
    assert [run.run_id for run in result.started] == ["lead#m1"]


# --- the claims ledger --------------------------------------------------------------------------


def test_always_claims_are_cut_to_fifty():
    """B-10.5: the oldest goes; `once` and cooldown claims and those of other flows and anchors stay."""
    chat = Chat(Flow("lead", on=[ALWAYS], steps=DONE))
    chat.session = Session.fresh("s1")
    kept = ["lead:s1:", "lead:s2:e0", "leader:s1:e0"]
    chat.session.claims = {key: Claim(at="2020-01-01") for key in kept}
    for number in range(52):
        chat.event("plain", f"e{number}")
        chat.clock.advance("1s")
    ours = [key for key in chat.session.claims if key not in kept]
    assert ours == [f"lead:s1:e{number}" for number in range(2, 52)]
    assert [key for key in kept if key in chat.session.claims] == kept


def test_keys_that_only_look_alike_are_not_cut():
    """B-10.5: a `say`'s claim, those of a flow with a longer id, those of an anchor with a longer name."""
    flows = [
        Flow("lead", on=[ALWAYS], steps=[Say("s1", "x")]),
        Flow("lead:s1:z", steps=[Say("x", "x")]),
        Flow("deals", anchor="deal", steps=PARKED),
    ]
    chat = Chat(*flows)
    chat.session = Session.fresh("s1")
    alike = ["lead:s1:s1", "lead:s1:z:s1:e", "lead:s1:d:e", "lead:s1:q:e", "lead:s1:e:"]
    chat.session.claims = {key: Claim(at="2020-01-01") for key in alike}
    chat.start("deals", anchors={"deal": {"key": "s1:q"}})
    for number in range(51):
        chat.event("plain", f"e{number}", anchors={"deal": {"key": "s1:d"}})
    assert [key for key in alike if key in chat.session.claims] == alike
    assert "lead:s1:e0" not in chat.session.claims


def test_claims_are_cut_only_after_an_always_claim():
    """B-10.5: a `once` start leaves the others alone."""
    chat = Chat(Flow("lead", on=[OnEvent("plain", repeat="once")], steps=DONE))
    chat.session = Session.fresh("s1")
    chat.session.claims = {f"lead:s1:e{number}": Claim(at="2020-01-01") for number in range(60)}
    assert len(chat.event("plain").session.claims) == 61


# --- clearOnStart -------------------------------------------------------------------------------


def test_a_start_forgets_fields():
    """T-6.6: the listed ones are deleted from `data`, also for a start and a chain."""
    lead = Flow("lead", clear_on_start=["name"], steps=DONE)
    chat = Chat(lead, Flow("first", steps=[Say("x", "x", then=ToFlow("lead"))]))
    for flow in ("lead", "first"):
        chat.session = Session.fresh("s1")
        chat.session.data = {"name": "Ana", "size": 3}
        assert chat.start(flow).session.data == {"size": 3}


def test_the_fresh_run_of_a_reset_forgets_nothing():
    """T-6.6, F-6.7: `clearOnStart` is not applied when a flow restarts itself."""
    chat = Chat(Flow("lead", clear_on_start=["name"], on_end="reset", steps=[Collect("c", ["name"]), Wait("w", "1d")]))
    chat.start("lead", speak="Name?")
    chat.message(understand={"fields": {"name": "Ana"}}, speak="Hm?")
    result = chat.wake(f"lead#k1:w:{at(86_400)}")
    assert ended(result) == ["lead:reset"]
    assert result.session.data == {"name": "Ana"}


def test_the_values_of_the_starting_message_land_after_the_clearing():
    """T-9.9: `clearOnStart` runs before this message's values are written."""
    lead = Flow(
        "lead", on=[OnMessage("wants")], collect=["name"], clear_on_start=["name"], steps=[Prompt("p", "Greet.")]
    )
    chat = Chat(lead)
    chat.session = Session.fresh("s1")
    result = chat.message(understand={"flows": {"lead": 90}, "fields": {"name": "Bo"}}, speak="Hi")
    assert result.session.data == {"name": "Bo"}


# --- a delayed start ----------------------------------------------------------------------------


def _delayed(**trigger: Any) -> Flow:
    return Flow("lead", on=[OnEvent("plain", **trigger)], steps=DONE)


def _open_at(hours: float) -> Any:
    """Business hours that open so many hours after what is asked."""
    return lambda moment, _context: moment + timedelta(hours=hours)


def test_a_start_can_be_delayed():
    """T-6.8: it parks without a step; the line has `until` and no step and no key."""
    chat = Chat(_delayed(after="1h"))
    result = chat.event("plain")
    [line] = result.outcomes
    assert lines(result) == ["wait/waiting/awaiting-trigger"]
    assert (line.until, line.step_id, line.key) == ("2026-09-20T11:00:00.000Z", None, None)
    [run] = chat.runs
    assert (run.status, run.step_id, run.visits) == ("waiting", None, {})
    assert scheduled(result) == [(f"lead#e1:start:{at(3600)}", "+3600s")]
    assert said(chat.wake(f"lead#e1:start:{at(3600)}")) == ["x"]


def test_a_delay_of_nothing_parks_too():
    """T-6.8: `after: "0s"` parks; no `after` does not."""
    assert scheduled(Chat(_delayed(after="0s")).event("plain")) == [(f"lead#e1:start:{at(0)}", "+0s")]
    assert said(Chat(_delayed()).event("plain")) == ["x"]


@pytest.mark.parametrize(
    ("trigger", "hours", "due"),
    [
        ({"business_hours": True}, 2, 7_200),
        ({"business_hours": True}, 0, None),
        ({"business_hours": True}, -1, None),
        ({"business_hours": True, "after": "1h"}, 2, 10_800),
        ({"business_hours": True, "after": "1h"}, -3, 3_600),
        ({"business_hours": False, "after": "1h"}, 2, 3_600),
        ({"after": "1h"}, 2, 3_600),
        ({}, 2, None),
    ],
)
def test_a_start_waits_for_business_hours(trigger: Any, hours: float, due: int | None):
    """T-6.8, T-11.25: with or without `after`; an earlier answer counts as the due time."""
    result = Chat(_delayed(**trigger), business_hours=_open_at(hours)).event("plain")
    assert scheduled(result) == ([] if due is None else [(f"lead#e1:start:{at(due)}", f"+{due}s")])


def test_business_hours_without_a_function_move_nothing():
    """T-11.25: without the function nothing is moved."""
    assert said(Chat(_delayed(business_hours=True)).event("plain")) == ["x"]


def test_business_hours_see_the_context_and_may_answer_without_a_zone():
    """F-11.4, B-2.6: the function is called with the turn's context; a naive answer is UTC."""
    seen: list[Any] = []

    def hours(moment: Any, context: Any) -> Any:
        seen.append(context)
        return moment.replace(tzinfo=None) + timedelta(hours=1)

    result = Chat(_delayed(business_hours=True), business_hours=hours).event("plain", context={"a": 1})
    assert scheduled(result) == [(f"lead#e1:start:{at(3600)}", "+3600s")]
    assert seen == [{"a": 1}]


def test_only_event_triggers_delay_a_start():
    """T-6.8: a start of the same flow begins at once."""
    assert said(Chat(_delayed(after="1h")).start("lead")) == ["x"]


def test_a_delayed_start_is_judged_again():
    """T-6.8, T-7.4: its `if` must still hold when it wakes, with its own payload."""
    chat = Chat(_delayed(after="1h", if_={"flag": "on"}))
    chat.event("plain", context={"on": True}, payload=1)
    result = chat.wake(f"lead#e1:start:{at(3600)}", context={})
    assert lines(result) == ["wait/waiting/awaiting-trigger", "if/skipped/premise-changed"][1:]
    assert ended(result) == ["lead:skipped"]


# --- the anchor ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("anchor", "expected"), [(None, "s1"), ("session", "s1"), ("deal", "d1"), ("other", "s1")])
def test_the_anchor_of_a_flow(anchor: str | None, expected: str):
    """B-12.1, B-12.2: the input's anchor of that name, else the session; run and claim use it."""
    chat = Chat(Flow("lead", anchor=anchor, steps=DONE))
    result = chat.start("lead", anchors={"deal": {"key": "d1"}})
    assert (result.started[0].anchor, result.started[0].dedupe_key) == (expected, f"lead:{expected}:k1")


# --- the hand-over of a start in the middle of a turn -------------------------------------------


def test_a_run_that_starts_moves_in_the_same_turn():
    """T-6.9: in phase 5, after the runs that are older; nothing of it runs in Ingest."""
    chat = Chat(Flow("old", steps=PARKED), Flow("new", on=[ALWAYS], steps=[Say("a", "a"), Say("b", "b")]))
    chat.start("old")
    result = chat.event("plain")
    assert said(result) == ["a", "b"]
    assert ended(result) == ["new:end"]


def test_the_trigger_of_a_run_is_kept_whole():
    """B-4: kind, key and payload of what started it."""
    chat = Chat(
        Flow("lead", on=[OnMention("a dog", extract={"what": {"type": "string"}})], steps=PARKED), idle="silent"
    )
    chat.message(understand={"mentions": {"lead": True}, "extract": {"lead": {"what": "Rex"}}})
    assert chat.run("lead").trigger == TriggerRef(kind="mention", key="m1", payload={"what": "Rex"})
