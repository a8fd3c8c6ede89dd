from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai.classic.signals import SignalContext

STEP = {"id": "a1", "prompt": "Step a1."}
NEXT = {"id": "a2", "prompt": "Step a2."}
A = flow("A", STEP, NEXT)


class Fired:
    """Signals that note their contexts, and give what they are told to."""

    def __init__(self) -> None:
        self.contexts: list[SignalContext] = []

    def signal(self, id: str, gives: Any = None, phase: str = "pre", **options: Any) -> dict[str, Any]:
        def handler(ctx: SignalContext) -> Any:
            self.contexts.append(ctx)
            if isinstance(gives, Exception):
                raise gives
            return gives

        return {"id": id, "phase": phase, "handler": handler, **options}

    @property
    def ids(self) -> list[str]:
        return [ctx.signal["id"] for ctx in self.contexts]


@pytest.fixture
def fired() -> Fired:
    return Fired()


# --- which fire ---------------------------------------------------------------------------------


def test_signals_fire_by_priority_then_as_declared(fired: Fired) -> None:
    """DT-15, D-69."""
    signals = [fired.signal("s1"), fired.signal("s2", priority=1), fired.signal("s3"), fired.signal("s4", priority=5)]
    talk = Talk(A, signals=signals)
    talk.says(speak="One.")
    assert fired.ids == ["s4", "s2", "s1", "s3"]


def test_a_signal_may_stop_the_others_of_its_phase(fired: Fired) -> None:
    """DT-15, D-73."""
    signals = [fired.signal("s1", {"stopOtherSignals": True}), fired.signal("s2"), fired.signal("s3", phase="post")]
    talk = Talk(A, signals=signals)
    talk.says(speak="One.")
    assert fired.ids == ["s1", "s3"]


@pytest.mark.parametrize(
    ("options", "verdict", "reason"),
    [
        ({}, None, "unconditional"),
        ({"if": lambda ctx: True}, None, "code-only"),
        ({"when": "is angry"}, True, "matched"),
        ({"when": "is angry"}, False, None),
        ({"when": ["!is joking"]}, True, "matched"),
        ({"when": ["!is joking"]}, False, None),
        ({"when": "is angry", "if": lambda ctx: False}, None, None),
        ({"if": lambda ctx: ctx.nothing}, None, None),
        ({"enabled": False}, None, None),
    ],
)  # fmt: skip
def test_when_a_signal_fires_and_why(fired: Fired, options: Any, verdict: bool | None, reason: str | None) -> None:
    """D-69, D-70: `if` first, for free; then `when`; exclusions alone let it fire unless one matches."""
    talk = Talk(A, signals=[fired.signal("s", **options)])
    talk.says(understand=None if verdict is None else {"mentions": {"s": verdict}}, speak="One.")
    assert [ctx.reason for ctx in fired.contexts] == ([] if reason is None else [reason])
    assert [firing.reason for firing in talk.state.firings] == ([] if reason is None else [reason])


def test_all_signals_are_judged_in_the_one_understanding(fired: Fired) -> None:
    """D-71: they are a reason to make the call, and never add a second one."""
    signals = [fired.signal(f"s{n}", when=f"mood {n}") for n in range(20)]
    talk = Talk(A, flow("B", NEXT), signals=signals)
    talk.says(understand={"flows": {"a": 90}, "mentions": {"s3": True, "s17": True}}, speak="One.")
    assert fired.ids == ["s3", "s17"]


# --- extraction ---------------------------------------------------------------------------------

EXTRACT = {
    "type": "object",
    "properties": {"mood": {"type": "string"}, "words": {"type": "array", "items": {"type": "string"}}},
}


def test_values_are_extracted(fired: Fired) -> None:
    """D-69, D-72."""
    talk = Talk(A, signals=[fired.signal("s", when="is angry", extract=EXTRACT)])
    talk.says(understand={"mentions": {"s": True}, "extract": {"s": {"mood": "bad", "words": ["x"]}}}, speak="One.")
    assert fired.contexts[0].extracted == {"mood": "bad", "words": ["x"]}
    assert talk.state.firings[0].extracted == {"mood": "bad", "words": ["x"]}


def test_extraction_without_a_when_asks_for_the_values_only(fired: Fired) -> None:
    """D-88: whatever the model says of the mention, code decides."""
    talk = Talk(A, signals=[fired.signal("s", extract=EXTRACT)])
    talk.says(understand={"mentions": {"s": False}, "extract": {"s": {"mood": "good"}}}, speak="One.")
    assert [(ctx.reason, ctx.extracted) for ctx in fired.contexts] == [("unconditional", {"mood": "good"})]


def test_a_match_without_values_runs_the_handler_and_says_so(fired: Fired, caplog: pytest.LogCaptureFixture) -> None:
    """D-76: `extracted` is `None`; a WARNING; the firing says so."""
    talk = Talk(A, signals=[fired.signal("s", when="is angry", extract=EXTRACT)])
    talk.says(understand={"mentions": {"s": True}}, speak="One.")
    assert fired.contexts[0].extracted is None
    assert talk.state.firings[0].extraction_error
    assert any(record.levelname == "WARNING" and "signal s" in record.getMessage() for record in caplog.records)


def test_a_value_of_any_other_shape_is_passed_on(fired: Fired) -> None:
    """D-88: its schema goes to the model as written."""
    nested = {"type": "object", "properties": {"who": {"type": "object", "properties": {"name": {"type": "string"}}}}}
    talk = Talk(A, signals=[fired.signal("s", when="is angry", extract=nested)])
    talk.says(understand={"mentions": {"s": True}, "extract": {"s": {"who": {"name": "Ana"}}}}, speak="One.")
    assert fired.contexts[0].extracted == {"who": {"name": "Ana"}}
    schema = talk.model.calls[0].request.schema
    assert schema is not None
    who = schema["properties"]["extract"]["properties"]["s"]["properties"]["who"]
    assert nested["properties"]["who"] in (who, *who.get("anyOf", ()))


# --- handlers -----------------------------------------------------------------------------------


def test_what_a_handler_gets(fired: Fired) -> None:
    """D-72."""
    talk = Talk(A, signals=[fired.signal("s")], context={"x": 1})
    talk.says("Hi there", speak="One.")
    [ctx] = fired.contexts
    assert (ctx.phase, ctx.matched, ctx.reason, ctx.extracted) == ("pre", True, "unconditional", None)
    assert (ctx.context, ctx.data, ctx.last_user_message) == ({"x": 1}, {}, "Hi there")
    assert (ctx.session.id, ctx.history[-1]["content"]) == ("s1", "Hi there")
    assert ctx.triggered_at == "2026-09-20T10:00:00.000Z"


def test_a_handler_writes_and_dispatches() -> None:
    """D-72: its writes count when it has succeeded; what it dispatches comes before what it returns."""

    async def handler(ctx: SignalContext) -> Any:
        ctx.update_data({"size": 2})
        ctx.update_context({"x": 2})
        assert (ctx.data, ctx.context) == ({"size": 2}, {"x": 2})
        ctx.dispatch({"reply": "first"})
        return {"replyWith": lambda given: f"{given.phase} second"}

    talk = Talk(A, signals=[{"id": "s", "phase": "pre", "handler": handler}], context={"x": 1})
    talk.says()
    assert (talk.said, talk.data, talk.context) == (["pre second"], {"size": 2}, {"x": 2})
    directive = talk.state.firings[0].directive
    assert directive is not None
    assert directive.to_wire() == {"reply": "pre second"}


def test_a_failing_handler_is_logged_and_does_not_count(fired: Fired, caplog: pytest.LogCaptureFixture) -> None:
    """DT-15, D-75: the turn goes on, the firing carries the text, and a `once` signal may fire again."""
    signals = [fired.signal("s", ValueError("no"), behavior="once"), fired.signal("t")]
    talk = Talk(A, signals=signals)
    talk.says(speak="One.")
    assert fired.ids == ["s", "t"]
    assert talk.state.firings[0].handler_error == "no"
    assert any(record.levelname == "ERROR" for record in caplog.records)
    talk.says(speak="Two.")
    assert fired.ids == ["s", "t", "s", "t"]


def test_a_reply_with_that_fails_is_a_failing_handler() -> None:
    """D-73, D-75: it belongs to the handler; nothing of it counts, and the turn goes on."""

    def handler(ctx: SignalContext) -> Any:
        ctx.update_data({"size": 2})
        return {"replyWith": lambda given: given.nothing, "complete": True}

    talk = Talk(A, signals=[{"id": "s", "phase": "pre", "behavior": "once", "handler": handler}])
    talk.says(speak="One.")
    [firing] = talk.state.firings
    assert (talk.said, talk.data, talk.at, firing.directive) == (["One."], {}, "a.a1", None)
    assert "nothing" in str(firing.handler_error)
    assert talk.session is not None
    assert "falai3" not in talk.session.metadata


# --- how often ----------------------------------------------------------------------------------


def test_a_once_signal_fires_once_in_a_session(fired: Fired) -> None:
    """D-69."""
    talk = Talk(A, signals=[fired.signal("s", behavior="once")])
    talk.says(speak="One.")
    talk.says(speak="Two.")
    assert fired.ids == ["s"]


def test_a_cooldown_is_waited_for(fired: Fired) -> None:
    """DT-15, D-69."""
    talk = Talk(A, signals=[fired.signal("s", behavior="cooldown", cooldownMs=60_000)])
    talk.says(speak="One.")
    talk.clock.advance("59s")
    talk.says(speak="Two.")
    assert fired.ids == ["s"]
    talk.clock.advance("1s")
    talk.says(speak="Idle.")
    assert fired.ids == ["s", "s"]


def test_a_cooldown_without_a_time_is_always(fired: Fired) -> None:
    """D-69."""
    talk = Talk(A, signals=[fired.signal("s", behavior="cooldown")])
    talk.says(speak="One.")
    talk.says(speak="Two.")
    assert fired.ids == ["s", "s"]


@pytest.mark.parametrize(
    ("behavior", "phases"), [("always", ["pre", "post"]), ("once", ["pre"]), ("cooldown", ["pre"])]
)
def test_both_runs_in_each_phase(fired: Fired, behavior: str, phases: list[str]) -> None:
    """DT-15, D-79: after a `once` or `cooldown` signal has fired, its second phase does not fire in that turn."""
    talk = Talk(A, signals=[fired.signal("s", phase="both", behavior=behavior, cooldownMs=1000)])
    talk.says(speak="One.")
    assert [ctx.phase for ctx in fired.contexts] == phases
    assert [firing.phase for firing in talk.state.firings] == phases


def test_a_cooldown_without_a_time_runs_in_both_phases(fired: Fired) -> None:
    """D-69, D-79: it is treated as `always` there too."""
    talk = Talk(A, signals=[fired.signal("s", phase="both", behavior="cooldown")])
    talk.says(speak="One.")
    assert [ctx.phase for ctx in fired.contexts] == ["pre", "post"]


def test_what_is_known_of_a_signal(fired: Fired) -> None:
    """D-78: written after a handler succeeded; the first time never changes."""
    talk = Talk(A, signals=[fired.signal("s")])
    talk.says(speak="One.")
    talk.clock.advance("1s")
    talk.says(speak="Two.")
    assert talk.session is not None
    assert talk.session.metadata["falai3"]["signals"]["triggers"]["s"] == {
        "firstTriggeredAt": "2026-09-20T10:00:00.000Z", "lastTriggeredAt": "2026-09-20T10:00:01.000Z",
        "count": 2, "lastReason": "unconditional", "lastPhase": "pre",
    }  # fmt: skip


# --- after the turn -----------------------------------------------------------------------------


def test_a_redirect_after_the_turn_is_for_the_next_one(fired: Fired) -> None:
    """DT-16, D-74: this turn's reply stands; the next turn starts in B, once."""
    talk = Talk(
        A,
        flow("B", {"id": "b1", "prompt": "B."}, {"id": "b2", "prompt": "B."}),
        signals=[fired.signal("s", {"goTo": "B"}, "post", behavior="once")],
    )
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    assert (talk.said, talk.at) == (["One."], "a.a1")
    assert talk.session is not None
    assert talk.session.metadata["falai3"]["pendingDirective"] == {"goTo": "B"}
    talk.says(speak="B one.")
    assert (talk.executed, talk.links) == (["b1"], [("goTo:b", "pending")])
    assert "pendingDirective" not in talk.session.metadata["falai3"]


def test_a_reply_after_the_turn_replaces_what_was_said(fired: Fired) -> None:
    """D-74."""
    talk = Talk(A, signals=[fired.signal("s", {"replyWith": "Better.", "dataUpdate": {"size": 1}}, "post")])
    talk.says(speak="Worse.")
    assert (talk.said, talk.data, talk.at) == (["Better."], {"size": 1}, "a.a1")


def test_complete_and_abort_after_the_turn_are_applied_now(fired: Fired) -> None:
    """D-74."""
    talk = Talk(A, signals=[fired.signal("s", {"complete": True}, "post")])
    talk.says(speak="One.")
    assert (talk.said, talk.ended) == (["One."], [("a", "end")])
    talk = Talk(A, signals=[fired.signal("s", {"abort": "no"}, "post")])
    talk.says(speak="One.")
    assert (talk.said, talk.ended) == ([], [("a", "skipped")])


def test_what_comes_too_late_is_dropped(fired: Fired) -> None:
    """D-74: `halt`, `appendPrompt` and `injectTools`."""
    talk = Talk(A, signals=[fired.signal("s", {"halt": True, "appendPrompt": ["x"]}, "post")])
    talk.says(speak="One.")
    assert (talk.said, talk.at) == (["One."], "a.a1")


def test_a_signal_is_no_flow_of_the_conversation(fired: Fired) -> None:
    """D-28: it starts no run, and none ends."""
    talk = Talk(A, signals=[fired.signal("s", when="x")])
    talk.says(understand={"mentions": {"s": True}}, speak="One.")
    assert [run.flow_id for run in talk.result.started] == ["a"]
    assert talk.ended == []
