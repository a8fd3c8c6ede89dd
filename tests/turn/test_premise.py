"""T-7: predicates and premises."""

from __future__ import annotations

from typing import Any

import pytest

from falai import (
    Branch,
    Collect,
    Do,
    Flow,
    FlowConfigurationError,
    If,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Say,
    ToFlow,
    View,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.session.model import Session
from turn.chat import NOW, Chat, at, ended, lines, said, scheduled

ON, OFF = {"on": True}, {"on": False}
FLAG = {"flag": "on"}


def test_what_a_predicate_sees():
    """T-7.1: context, live data, the run and its input, the reason of a closed gate, the turn's now."""
    seen: list[View[Any]] = []
    flow = Flow("lead", steps=[Do("d", "note"), If("i", lambda view: not seen.append(view))])
    chat = Chat(flow, actions={"note": lambda ctx: ctx.set({"name": "Ana"}) or {"ok": True}})
    chat.start("lead", input=7, context=ON, silenced="held")
    [view] = seen
    assert (view.context, view.data["name"], view.input, view.run.id, view.silenced) == (
        ON,
        "Ana",
        7,
        "lead#k1",
        "held",
    )
    assert view.now == chat.clock()
    chat.start("lead", "k2")
    assert (seen[1].silenced, seen[1].context, seen[1].input) == (None, None, None)


def test_an_unknown_condition_and_an_awaitable_go_out():
    """T-7.2, T-7.6, T-21.5: what a predicate raises goes out of the turn."""

    async def late(_view: Any) -> bool:
        return True

    chat = Chat(Flow("lead", steps=[If("i", late)]), Flow("bad", steps=[If("i", lambda _view: 1 / 0)]))
    with pytest.raises(TypeError, match="synchronous"):
        chat.start("lead")
    with pytest.raises(ZeroDivisionError):
        chat.start("bad")


# --- while --------------------------------------------------------------------------------------


def test_a_false_while_ends_the_run_before_it_moves():
    """T-7.4: one line `premise-changed` of the kind of its step, without a key; reason `skipped`."""
    chat = Chat(Flow("lead", while_=FLAG, steps=[Wait("w", "1d"), Say("x", "x")]))
    chat.start("lead", context=ON)
    result = chat.wake(f"lead#k1:w:{at(86_400)}", context=OFF)
    assert lines(result) == ["wait/ok/no-reply", "say/skipped/premise-changed"]
    assert result.outcomes[1].key is None
    assert ended(result) == ["lead:skipped"]


def test_a_while_sees_the_run_and_its_input():
    """T-7.4: this turn's context and the run's own `input`."""
    chat = Chat(Flow("lead", while_={"input": 7}, steps=[Say("x", "x")]))
    assert said(chat.start("lead", "a", input=7)) == ["x"]
    assert lines(chat.start("lead", "b", input=8)) == ["if/skipped/premise-changed"]


def test_a_while_is_judged_on_a_message_before_the_asking_step():
    """T-7.4: an asking run is judged when a message moves it, and not when it is passed over."""
    chat = Chat(Flow("lead", while_=FLAG, steps=[Collect("c", ["note"])]))
    chat.start("lead", context=ON, speak="Note?")
    assert not lines(chat.event("in", context=OFF))
    assert lines(chat.message(context=OFF, speak="Hi")) == ["collect/skipped/premise-changed", "idle/ok"]


def test_a_premise_is_not_judged_between_two_steps():
    """T-7.5: within one move the flow goes on, whatever changes."""
    flow = Flow("lead", while_=lambda view: "name" not in view.data, steps=[Do("d", "note"), Say("x", "x")])
    chat = Chat(flow, actions={"note": lambda ctx: ctx.set({"name": "Ana"}) or {"ok": True}})
    assert said(chat.start("lead")) == ["x"]


def test_a_wait_that_resolves_is_followed_before_the_premise():
    """T-7.5: the run ends at the step that it came to; a target that chains is followed."""
    flow = Flow("lead", while_=FLAG, steps=[Wait("w", "1d", else_=ToFlow("next")), Say("x", "x")])
    chat = Chat(flow, Flow("next", steps=[Say("y", "y")]))
    chat.start("lead", context=ON)
    result = chat.message(context=OFF)
    assert ended(result) == ["lead:flow", "next:end"]
    assert said(result) == ["y"]


def test_a_branch_fires_before_the_premise():
    """T-7.5: its line is written and its target followed; there the run ends."""
    ask = Collect("c", ["note"], branches=[Branch(if_={}, then="x")])
    flow = Flow("lead", while_=FLAG, steps=[ask, Say("x", "x")])
    chat = Chat(flow)
    chat.start("lead", context=ON, speak="A")
    result = chat.message(context=OFF, speak="Hi")
    assert lines(result) == ["collect/ok/branch", "say/skipped/premise-changed", "idle/ok"]


def test_the_premise_is_judged_again_after_the_reply():
    """T-7.4: in phase 7 too, before what follows the reply."""
    flow = Flow("lead", while_=lambda view: "name" not in view.data, steps=[Collect("c", ["name"]), Say("x", "x")])
    result = Chat(flow).start("lead", speak={"message": "Name?", "name": "Ana"})
    assert lines(result) == ["collect/ok", "say/skipped/premise-changed"]
    assert said(result) == ["Name?"]


# --- the trigger's condition --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("triggers", "holds"),
    [
        ([OnEvent("plain", if_=FLAG)], False),
        ([OnEvent("plain", if_=FLAG), OnEvent("plain")], True),
        ([OnEvent("plain", if_=FLAG), OnEvent("in", if_={})], True),
        ([OnEvent("plain", if_=FLAG), OnMention()], False),
        ([], True),
        ([OnMessage("x", if_=FLAG)], True),
    ],
)
def test_without_a_while_the_triggers_of_its_kind_count(triggers: list[Any], holds: bool):
    """T-7.4 no. 2: at least one trigger of the run's kind must hold; none of that kind passes."""
    steps = [Wait("w", "1d"), Say("x", "x")]
    chat = Chat(Flow("lead", on=[OnEvent("plain", if_=FLAG)], steps=steps))
    chat.event("plain", context=ON)
    edited = chat.without(Flow("lead", on=triggers, steps=steps))
    result = edited.wake(f"lead#e1:w:{at(86_400)}", context=OFF)
    assert said(result) == (["x"] if holds else [])


@pytest.mark.parametrize("kind", [OnAnyMessage, lambda **rest: OnMessage("wants", **rest)])
def test_message_triggers_with_and_without_phrases_are_one_kind(kind: Any):
    """T-7.4: a `message` run looks at both."""
    steps = [Wait("w", "1d"), Say("x", "x")]
    chat = Chat(Flow("lead", on=[OnAnyMessage(if_=FLAG)], steps=steps), idle="silent")
    chat.message(context=ON)
    edited = chat.without(Flow("lead", on=[kind(if_=FLAG)], steps=steps), idle="silent")
    assert lines(edited.wake(f"lead#m1:w:{at(86_400)}", context=OFF))[1] == "say/skipped/premise-changed"


def test_a_mention_and_a_silence_look_at_their_own_triggers():
    """T-7.4: each kind at its own."""
    steps = [Wait("w", "1d"), Say("x", "x")]
    mention = Chat(Flow("lead", on=[OnMention(if_=FLAG)], steps=steps), idle="silent")
    mention.message(context=ON)
    assert lines(mention.wake(f"lead#m1:w:{at(86_400)}", context=OFF))[1] == "say/skipped/premise-changed"
    silence = Chat(Flow("lead", on=[OnSilence("1h", if_=FLAG)], steps=steps))
    silence.session = Session.fresh("s1")
    silence.session.last_assistant_at = NOW
    silence.wake(f"silence:lead:s1:{at(0)}", context=ON)
    assert lines(silence.wake(f"lead#{at(0)}:w:{at(86_400)}", context=OFF))[1] == "say/skipped/premise-changed"


def test_starts_and_chains_have_no_premise_but_while():
    """T-7.4: runs of kind `start` and `flow` pass, whatever the triggers say."""
    lead = Flow("lead", on=[OnEvent("plain", if_=FLAG)], steps=[Say("x", "x")])
    chat = Chat(lead, Flow("first", steps=[Say("y", "y", then=ToFlow("lead"))]))
    assert said(chat.start("lead", context=OFF)) == ["x"]
    assert said(chat.start("first", context=OFF)) == ["y", "x"]


def test_a_while_stands_in_for_the_triggers():
    """T-7.4 no. 2: with a `while`, the triggers' conditions are not looked at."""
    flow = Flow("lead", on=[OnEvent("plain", if_=FLAG)], while_={}, steps=[Wait("w", "1d"), Say("x", "x")])
    chat = Chat(flow)
    chat.event("plain", context=ON)
    assert said(chat.wake(f"lead#e1:w:{at(86_400)}", context=OFF)) == ["x"]


# --- a silence run and the customer -------------------------------------------------------------


def _in_a_silence(*steps: Any, **flow: Any) -> Chat:
    chat = Chat(
        Flow("nudge", on=[OnSilence("1h")], steps=steps, **flow), Flow("other", steps=[Wait("w", "1h"), Say("x", "x")])
    )
    chat.session = Session.fresh("s1")
    chat.session.last_assistant_at = NOW
    chat.wake(f"silence:nudge:s1:{at(0)}")
    return chat


def test_a_silence_run_ends_on_a_wake_after_the_customer_wrote():
    """T-7.4 no. 1: `customer-replied`, judged before the `while`."""
    chat = _in_a_silence(Wait("w", "1h"), Say("x", "x"), while_=lambda _view: True)
    chat.clock.advance(1)
    chat.message(speak="Hi")
    result = chat.wake(f"nudge#{at(0)}:w:{at(3600)}")
    assert lines(result) == ["wait/ok/no-reply", "say/skipped/customer-replied"]
    assert ended(result) == ["nudge:skipped"]


def test_the_customer_must_have_written_later_than_the_start():
    """T-7.4, T-5.9: strictly later than `startedAt`."""
    chat = _in_a_silence(Wait("w", "1h"), Say("x", "x"))
    chat.message(speak="Hi")
    assert said(chat.wake(f"nudge#{at(0)}:w:{at(3600)}")) == ["x"]


def test_only_a_wake_ends_a_silence_run_so():
    """T-7.4: an event moves it though the customer wrote."""
    chat = _in_a_silence(WaitEvent("w", "plain"), Say("x", "x"))
    chat.clock.advance(1)
    chat.message(speak="Hi")
    assert said(chat.event("plain")) == ["x"]


def test_a_run_of_another_kind_goes_on():
    """T-7.4: it is the run's own trigger that counts."""
    chat = _in_a_silence(Wait("w", "1d"), Say("x", "x"))
    [(key, _)] = scheduled(chat.start("other"))
    chat.clock.advance(1)
    chat.message(speak="Hi")
    assert said(chat.wake(key)) == ["x"]


def test_an_unknown_condition_name_raises():
    """T-7.2: a plan whose condition was lost raises, naming it (F-9.6)."""
    chat = Chat(Flow("lead", steps=[If("i", {"flag": "on"})]))
    bare = Chat(Flow("lead", steps=[If("i", {})]), conditions={})
    flow = chat.agent.plan.flows["lead"]
    bare.agent.plan.flows["lead"] = flow  # type: ignore[index]  # as if the flow had come another way
    with pytest.raises(FlowConfigurationError, match='"flag"'):
        bare.start("lead")
