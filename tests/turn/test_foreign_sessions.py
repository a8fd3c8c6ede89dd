"""Sessions that no turn of this product wrote: several askers, doubled ids, runs that run, what is gone or missing."""

from __future__ import annotations

from typing import Any

import pytest

from falai import Branch, Collect, Do, Flow, If, OnMessage, Prompt, Say, ToFlow, Wait, WaitEvent
from falai.session.model import Run, Session, StepOutcome, TriggerRef, Waiting
from turn.chat import NOW, Chat, at, ended, lines, said

EARLIER = "2026-09-20T09:00:00.000Z"
ASK = Collect("c", ["name"], prompt="Ask.")


def _run(flow_id: str, step_id: str | None, status: Any, key: str = "h1", **more: Any) -> Run:
    """A run of a blob; the second visit of its step, unless said otherwise."""
    given: dict[str, Any] = {
        "id": f"{flow_id}#{key}",
        "flow_id": flow_id,
        "anchor": "s1",
        "dedupe_key": f"{flow_id}:s1:{key}",
        "step_id": step_id,
        "status": status,
        "trigger": TriggerRef(kind="start", key=key),
        "hop": 0,
        "started_at": EARLIER,
        "asked": {},
        "visits": {step_id: 2} if step_id else {},
        "outcomes": [],
    }
    return Run(**(given | more))


def _blob(*runs: Run, **more: Any) -> Session:
    """The session as a store would load it: its JSON, checked."""
    session = Session.fresh("s1")
    session.runs = list(runs)
    for name, value in more.items():
        setattr(session, name, value)
    return Session.from_json(session.to_json())


def _parked(kind: Any = "timer", **more: Any) -> Waiting:
    return Waiting(kind=kind, **({"set_at": EARLIER} | more))


# --- several askers, doubled ids ----------------------------------------------------------------


def test_of_several_askers_the_first_in_the_list_is_the_asker():
    """B-5.1, T-9.10, T-11.4: its branches are judged, it speaks, and the others lose the floor."""
    flows = [Flow(name, steps=[Collect("c", ["name"], prompt=f"Ask {name}.")]) for name in ("a", "b")]
    chat = Chat(*flows)
    chat.message(session=_blob(_run("a", "c", "asking"), _run("b", "c", "asking")), understand={}, speak="Name?")
    assert "Ask a." in chat.asked
    assert chat.statuses == {"a": "asking", "b": "suspended"}


def test_several_askers_stay_in_a_turn_without_a_message():
    """B-5.1, T-10.5: at most one asks at the end if at most one did when it began; a start passes them by."""
    chat = Chat(Flow("a", steps=[ASK]), Flow("b", steps=[ASK]), Flow("n", steps=[Wait("w", "1d")]))
    result = chat.start("n", session=_blob(_run("a", "c", "asking"), _run("b", "c", "asking")))
    assert chat.statuses == {"a": "asking", "b": "asking", "n": "waiting"}
    assert result.llm_calls == 0


def test_a_wake_belongs_to_the_first_run_that_waits_on_its_key():
    """T-5.5: a key that stands twice wakes one run; the second is woken by the same key once more."""
    chat = Chat(Flow("a", steps=[Wait("w", "1d"), Say("s", "x")]))
    twin = {"waiting": _parked(key="wake", until=NOW)}
    chat.session = _blob(_run("a", "w", "waiting", **twin), _run("a", "w", "waiting", **twin))
    assert said(chat.wake("wake")) == ["x"]
    assert [run.status for run in chat.runs] == ["waiting"]
    assert said(chat.wake("wake")) == ["x"]
    assert lines(chat.wake("wake")) == ["wait/skipped/stale-wake"]


def test_a_doubled_run_id_moves_both_runs_and_refuses_a_third():
    """T-10.2, T-6.5: a run is the object, not its id; the first that ends does not end the other."""
    chat = Chat(Flow("a", steps=[Say("s", "x"), Wait("w", "1d")]))
    both = _blob(_run("a", "s", "running"), _run("a", "w", "running", visits={"w": 1}))
    result = chat.start("a", "h1", session=both)
    assert [start.code for start in result.skipped] == ["already-running"]
    assert [(run.step_id, run.status) for run in chat.runs] == [("w", "waiting"), ("w", "waiting")]


# --- runs that run at load ----------------------------------------------------------------------


@pytest.mark.parametrize(("step_id", "sent"), [(None, ["one", "two"]), ("two", ["two"]), ("one", ["one", "two"])])
def test_a_run_that_runs_at_load_goes_on_where_it_stands(step_id: str | None, sent: list[str]):
    """B-5, T-10.7, T-10.8: any turn moves it; without a step it enters the first."""
    chat = Chat(Flow("a", steps=[Say("one", "one"), Say("two", "two")]), idle="silent")
    assert said(chat.message(session=_blob(_run("a", step_id, "running")))) == sent


def test_a_run_that_runs_at_load_is_not_resuming():
    """T-10.7, T-11.2: what it finds known is `already-known`, and a closed gate ends it (T-17.3)."""
    chat = Chat(Flow("a", steps=[ASK]), idle="silent")
    known = _blob(_run("a", "c", "running"), data={"name": "Ana"})
    assert lines(chat.event("plain", session=known)) == ["collect/skipped/already-known"]
    assert ended(chat.event("plain", session=_blob(_run("a", "c", "running")), silenced="a person")) == ["a:skipped"]


def test_an_ignored_turn_leaves_it_running():
    """B-5.2, T-5.15: no run is touched."""
    chat = Chat(Flow("a", steps=[Say("s", "x")]))
    chat.wake("nobody", session=_blob(_run("a", "s", "running")))
    assert chat.statuses == {"a": "running"}


# --- what is missing ----------------------------------------------------------------------------


def test_a_park_without_a_key_is_released_by_a_reply_or_its_event_only():
    """B-6.1, B-18.2: it is pending nowhere; its `else` is still taken."""
    steps = [Wait("w", "1d", else_="s"), WaitEvent("e", "plain", then="s"), Say("s", "x")]
    chat = Chat(Flow("a", steps=steps), idle="silent")
    reply = _blob(_run("a", "w", "waiting", waiting=_parked()))
    assert chat.agent.pending_wakes(reply) == []
    assert lines(chat.wake("a#h1:w:5", session=reply)) == ["wait/skipped/stale-wake"]
    assert said(chat.message(session=reply)) == ["x"]
    event = _blob(_run("a", "e", "waiting", waiting=_parked("event", event="plain")))
    assert said(chat.message(session=event)) == []
    assert said(chat.event("plain", session=event)) == ["x"]


def test_a_waiting_run_without_its_park_stays_where_it_is():
    """B-6: nothing can release it, and nothing raises."""
    chat = Chat(Flow("a", steps=[Wait("w", "1d", else_="s"), Say("s", "x")]), idle="silent")
    session = _blob(_run("a", "w", "waiting"))
    assert chat.agent.pending_wakes(session) == []
    for result in (chat.message(session=session), chat.event("in", session=session)):
        assert result.outcomes == ()
        assert chat.statuses == {"a": "waiting"}


def test_a_wait_whose_date_cannot_be_read():
    """T-5.5, B-2.8: with an unreadable `setAt` the customer has not written since; `startedAt` stands in for none."""
    chat = Chat(Flow("a", steps=[Wait("w", "1d", else_="late"), Say("on", "on", then="end"), Say("late", "late")]))
    for set_at, sent in [("yesterday", "on"), ("", "late")]:
        waits = _run("a", "w", "waiting", waiting=_parked(key="wake", set_at=set_at))
        assert said(chat.wake("wake", session=_blob(waits, last_user_at=NOW))) == [sent]


def test_a_suspended_run_without_a_date_counts_from_its_start():
    """T-13.5: `startedAt` stands in for `suspendedAt`; among equals the later in the list comes back."""
    chat = Chat(*(Flow(name, steps=[ASK]) for name in ("a", "b", "c")))
    early = _run("a", "c", "suspended", started_at="2026-09-20T08:00:00.000Z")
    chat.start("gone", session=_blob(_run("b", "c", "suspended"), _run("c", "c", "suspended"), early))
    assert chat.statuses == {"b": "suspended", "c": "asking", "a": "suspended"}


def test_a_step_that_was_never_entered_has_visit_nothing():
    """B-9.1: without a count the step key ends with 0."""
    chat = Chat(Flow("a", steps=[Say("s", "x")]), idle="silent")
    [message] = chat.message(session=_blob(_run("a", "s", "running", visits={}))).messages
    assert message.key == "a#h1:s:0"


def test_counts_above_the_limit_have_given_up():
    """T-11.1, T-11.2: a field that was asked more often than `maxAsks` is not asked again."""
    chat = Chat(Flow("a", steps=[Collect("c", ["name"], prompt="Ask.", max_asks=2)]), idle="silent")
    over = _blob(_run("a", "c", "asking", asked={"name": 7}))
    assert lines(chat.message(session=over, understand={})) == ["collect/skipped/max-asks", "collect/ok"]


# --- what is gone -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["running", "asking"])
@pytest.mark.parametrize(("flow_id", "code"), [("old", "flow-gone"), ("a", "step-gone")])
def test_a_run_whose_flow_or_step_is_gone_ends(status: str, flow_id: str, code: str):
    """T-10.4, T-10.8, O-5.8: one line of the kind `if`, without a key; the message goes elsewhere."""
    chat = Chat(Flow("a", steps=[Say("s", "x")]))
    result = chat.message(session=_blob(_run(flow_id, "lost", status)), speak="How can I help?")
    line, idle = result.outcomes
    assert (line.kind, line.status, line.code, line.key, line.step_id) == ("if", "skipped", code, None, "lost")
    assert (ended(result), idle.kind) == ([f"{flow_id}:skipped"], "idle")


def test_a_gone_run_is_passed_on_the_way_down_the_stack():
    """T-13.5, T-10.3: the run that came back first is gone, so the next one takes the message."""
    chat = Chat(Flow("a", steps=[ASK]))
    stack = _blob(_run("a", "c", "suspended", suspended_at=EARLIER), _run("old", "c", "suspended", suspended_at=NOW))
    result = chat.message(session=stack, speak="Your name?")
    assert lines(result) == ["if/skipped/flow-gone", "collect/ok"]
    assert chat.statuses == {"a": "asking"}


def test_a_wake_of_a_gone_flow_ends_its_run():
    """T-5.5, T-10.4: nothing is followed; phase 5 ends it."""
    chat = Chat(Flow("a", steps=[ASK]))
    lost = _run("old", "w", "waiting", waiting=_parked(key="wake"))
    assert lines(chat.wake("wake", session=_blob(lost))) == ["if/skipped/flow-gone"]


def test_a_step_that_became_another_kind_is_executed_as_it_is_now():
    """T-10.8, T-5.5: the wake of a `wait` that is a `do` today runs the action, at the same visit."""
    chat = Chat(Flow("a", steps=[Do("w", "act"), Say("s", "x")]), actions={"act": {"ok": True}})
    waits = _run("a", "w", "waiting", waiting=_parked(key="wake"))
    assert said(chat.wake("wake", session=_blob(waits))) == ["x"]
    assert [acted.key for acted in chat.acted] == ["a#h1:w:2"]


def test_a_talk_step_that_became_an_if_answers_the_asker():
    """T-10.8: an asking run whose step is no talk step any more is moved by the message all the same."""
    chat = Chat(Flow("a", steps=[If("c", {"known": ["name"]}, else_="s"), Say("s", "x")]), idle="silent")
    assert lines(chat.message(session=_blob(_run("a", "c", "asking")))) == ["if/ok", "say/ok"]


# --- staying ------------------------------------------------------------------------------------


def test_a_count_of_nothing_is_no_visit():
    """T-9.11: a branch of code leads a staying run back only to a step that it has entered."""
    branch = Branch(if_={"known": ["name"]}, then="out")
    flow = Flow("a", on_end="stay", steps=[Say("out", "Out."), Prompt("p", "Talk.", branches=[branch])])
    stays = _run("a", "p", "asking", staying=True, visits={"p": 1, "out": 0})
    result = Chat(flow).message(session=_blob(stays, data={"name": "Ana"}))
    assert lines(result)[:2] == ["prompt/ok/branch", "say/ok"]
    back = _run("a", "p", "asking", staying=True, visits={"p": 1, "out": 1})
    assert lines(Chat(flow).message(session=_blob(back, data={"name": "Ana"}), speak="Yes?")) == ["prompt/ok"]


def test_the_step_to_stay_on_is_read_from_lines_of_steps_that_still_are():
    """T-12.9: the newest line of a talk step of the flow as it is now; else the flow's last talk step."""
    flow = Flow("a", on_end="stay", steps=[Prompt("p", "P."), Prompt("q", "Q."), Say("s", "x"), Say("out", "y")])

    def line(kind: Any, step_id: str) -> StepOutcome:
        return StepOutcome(run_id="a#h1", flow_id="a", step_id=step_id, kind=kind, status="ok", at=EARLIER)

    for written, stays_on in [
        ([line("prompt", "p"), line("collect", "s"), line("prompt", "lost"), line("say", "q")], "p"),
        ([line("say", "p")], "q"),
        ([], "q"),
    ]:
        chat = Chat(flow)
        chat.event("plain", session=_blob(_run("a", "out", "running", outcomes=written)))
        assert (chat.run("a").step_id, chat.run("a").staying) == (stays_on, True)


# --- ended means ended --------------------------------------------------------------------------


def test_a_run_that_was_replaced_is_not_released_by_the_same_event():
    """T-2.3, T-5.12: a run that ended earlier in the turn is kept in `ended` in the state it had then."""
    opens = Flow("a", steps=[WaitEvent("e", "plain", then=ToFlow("b"))])
    chat = Chat(opens, Flow("b", steps=[Wait("w", "1d")]))
    waits = _run("a", "e", "waiting", waiting=_parked("event", event="plain", key="one"))
    delayed = _run("b", None, "waiting", waiting=_parked("event", event="plain", key="two"))
    result = chat.event("plain", session=_blob(waits, delayed))
    assert ended(result) == ["a:flow", "b:replaced"]
    assert (result.ended[1].run.status, result.ended[1].run.waiting) == ("waiting", delayed.waiting)


def test_a_live_run_at_its_last_hop_is_no_start():
    """T-6.4: the limit is on starts; a run that lives at hop 9 moves on, and cannot chain."""
    chat = Chat(Flow("a", steps=[Say("s", "x", then=ToFlow("b"))]), Flow("b", on=[OnMessage("b")], steps=[ASK]))
    result = chat.wake("wake", session=_blob(_run("a", "s", "waiting", hop=9, waiting=_parked(key="wake"))))
    assert (said(result), ended(result)) == (["x"], ["a:flow"])
    assert [start.code for start in result.skipped] == ["hop-limit"]


def test_the_wake_that_was_used_cannot_be_parked_on_again():
    """T-11.27: a blob's key counts too, when the wait has no length."""
    chat = Chat(Flow("a", steps=[Wait("w", "0s", then="w")]))
    waits = _run("a", "w", "waiting", waiting=_parked(key=f"a#h1:w:{at(0)}", until=NOW))
    [wake] = chat.wake(f"a#h1:w:{at(0)}", session=_blob(waits)).schedule
    assert wake.key == f"a#h1:w:{at(0.001)}"
