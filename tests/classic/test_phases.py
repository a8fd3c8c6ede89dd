from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai import FlowConfigurationError
from falai.classic.errors import DataValidationError


def step(id: str, **options: Any) -> dict[str, Any]:
    return {"id": id, "prompt": f"Step {id}.", **options}


def gives(directive: Any) -> Any:
    """A function of a hook that returns the directive."""
    return lambda *given: directive


def signal(id: str, directive: Any, phase: str = "pre") -> dict[str, Any]:
    return {"id": id, "phase": phase, "handler": gives(directive)}


def calls(tool: str) -> dict[str, Any]:
    return {"message": "", "toolCalls": [{"toolName": tool, "arguments": {}}]}


def tool(id: str, directive: Any) -> dict[str, Any]:
    return {
        "id": id,
        "description": "x",
        "parameters": {"type": "object"},
        "handler": lambda ctx, args: {"directive": directive},
    }


OTHER = flow("B", step("b1"), step("b2"), when="never")
SCORES = {"flows": {"a": 90}}


# --- before routing -----------------------------------------------------------------------------


def test_an_abort_wins_over_what_others_want_and_silences_them() -> None:
    """DT-2: `{goTo, reply, data}`, `{abort}`, `{reply, data}`: aborted, no message, both data."""
    first = {"goTo": "A", "reply": "x", "dataUpdate": {"size": 1}}
    last = {"reply": "y", "dataUpdate": {"name": "z"}}
    talk = Talk(flow("A", step("a1")), signals=[signal("s1", first), signal("s2", {"abort": "no"}), signal("s3", last)])
    talk.says()
    assert (talk.said, talk.data) == ([], {"size": 1, "name": "z"})
    assert "aborted" in talk.state.marks


def test_a_position_takes_the_place_of_routing() -> None:
    """D-95, 6: the message is not routed and branches are not looked at."""
    talk = Talk(flow("A", step("a1")), OTHER, signals=[signal("s", {"goTo": "B"})])
    talk.says(understand=SCORES, speak="B one.")
    assert talk.executed == ["b1"]


def test_a_halt_moves_and_says_nothing() -> None:
    """D-54, D-55: no speaking call; the flow is not even started."""
    talk = Talk(flow("A", step("a1")), signals=[signal("s", {"halt": True})])
    talk.says()
    assert (talk.said, talk.at, talk.state.marks) == ([], None, {"halt"})


def test_a_halt_with_a_reply_says_it() -> None:
    """D-55: and the reason is the reply."""
    talk = Talk(flow("A", step("a1"), step("a2")))
    talk.says(speak="A one.")
    talk = Talk(flow("A", step("a1")), signals=[signal("s", {"halt": True, "reply": "One moment."})])
    talk.says()
    assert (talk.said, talk.state.marks) == (["One moment."], {"reply"})


def test_the_position_of_a_halted_turn_is_applied_and_nothing_else_moves() -> None:
    """D-54: the flow that is entered waits at its first step, and begins with the next message."""
    first = {"id": "b0", "auto": True, "prepare": gives({"dataUpdate": {"size": 1}})}
    b = flow("B", first, step("b1"), step("b2"), when="never")
    talk = Talk(flow("A", step("a1")), b, signals=[{**signal("s", {"halt": True, "goTo": "B"}), "behavior": "once"}])
    talk.says(understand=SCORES)
    assert (talk.said, talk.at, talk.data) == ([], "b.b0", {})
    talk.says(understand=SCORES, speak="B one.")
    assert (talk.said, talk.at, talk.data) == (["B one."], "b.b1", {"size": 1})


def test_what_the_first_merge_leaves_reaches_the_speaker() -> None:
    """D-95, 8: sentences and tools of a signal are in the prompt of the step that speaks."""
    extra = {"appendPrompt": ["Mention the sale."], "injectTools": [tool("extra", None)]}
    talk = Talk(flow("A", step("a1", prepare=gives({"appendPrompt": ["Be brief."]}))), signals=[signal("s", extra)])
    talk.says(speak="A one.")
    request = talk.model.calls[-1].request
    assert "Step a1.\nMention the sale.\nBe brief." in request.prompt
    assert [spec.id for spec in request.tools] == ["extra"]


def test_a_reply_of_the_first_merge_stands_for_the_utterance() -> None:
    """D-96: the step counts as having spoken, so the next message goes on from there."""
    once = {**signal("s", {"reply": "Instead."}), "behavior": "once"}
    talk = Talk(flow("A", step("a1"), step("a2")), signals=[once])
    talk.says()
    assert (talk.said, talk.at, talk.executed) == (["Instead."], "a.a1", ["a1"])
    talk.says(speak="A two.")
    assert talk.executed == ["a2"]


def test_a_reply_without_any_flow_is_said_as_the_idle_speakers() -> None:
    """D-92: under the key that the utterance would have had."""
    talk = Talk(signals=[signal("s", {"reply": "Instead."})])
    talk.says()
    assert talk.said == ["Instead."]
    assert (talk.result.messages[0].key, talk.result.messages[0].kind) == ("idle:m1", "verbatim")


# --- before speaking ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directive", "said", "mark"),
    [({"halt": True, "reply": "Wait."}, ["Wait."], "reply"), ({"halt": True}, [], "halt")],
    ids=["with a reply", "alone"],
)
def test_a_halt_of_prepare_leaves_the_step_as_it_is(directive: Any, said: list[str], mark: str) -> None:
    """DT-7: no speaking call, the step unchanged; it is tried again with the next message, and not entered again."""
    entered: list[str] = []
    answers = [directive, None]
    hooks = {"onEnter": lambda ctx: entered.append("a1")}
    talk = Talk(flow("A", step("a1", prepare=lambda context, data: answers.pop(0), hooks=hooks), step("a2")))
    talk.says()
    assert (talk.said, talk.at, talk.state.marks, talk.executed) == (said, "a.a1", {mark}, [])
    talk.says(speak="A one.")
    assert (talk.said, talk.at, entered) == (["A one."], "a.a1", ["a1"])


def test_the_hooks_of_a_step_are_one_merge_in_their_order() -> None:
    """D-63: flow, step, prepare, hooks.prepare; what came first is first in the prompt."""
    hooks = {"onEnter": gives({"appendPrompt": ["2"]}), "prepare": gives({"appendPrompt": ["4"]})}
    a = flow(
        "A",
        step("a1", prepare=gives({"appendPrompt": ["3"]}), hooks=hooks),
        hooks={"onEnter": gives({"appendPrompt": ["1"]})},
    )
    talk = Talk(a)
    talk.says(speak="A one.")
    assert "Step a1.\n1\n2\n3\n4" in talk.model.calls[-1].prompt


def test_after_a_position_the_hooks_of_the_new_place_run_and_what_was_left_stays() -> None:
    """D-63: the merge is made again."""
    a = flow("A", step("a1", prepare=gives({"goTo": "B", "appendPrompt": ["from a"]})))
    b = flow("B", step("b1", prepare=gives({"appendPrompt": ["from b"]})), when="never")
    talk = Talk(a, b)
    talk.says(understand=SCORES, speak="B one.")
    assert "Step b1.\nfrom a\nfrom b" in talk.model.calls[-1].prompt


def test_a_dispatched_directive_comes_before_the_returned_one() -> None:
    """D-63: within one handler; so the returned reply is the later one."""

    def prepare(ctx: Any) -> Any:
        ctx.dispatch({"reply": "first"})
        return {"reply": "second"}

    talk = Talk(flow("A", step("a1", hooks={"prepare": prepare})))
    talk.says()
    assert talk.said == ["second"]


def test_an_empty_directive_is_no_emission() -> None:
    """D-63: nor is nothing."""
    talk = Talk(flow("A", step("a1", prepare=gives({}), hooks={"prepare": gives(None)})))
    talk.says(speak="A one.")
    assert talk.said == ["A one."]


def test_an_invalid_directive_raises_out_of_the_turn() -> None:
    """D-62."""
    talk = Talk(flow("A", step("a1", prepare=gives({"reply": "x", "abort": "y"}))))
    with pytest.raises(FlowConfigurationError) as raised:
        talk.says()
    assert raised.value.code == "reply-with-abort"


def test_the_directive_of_an_auto_step_is_applied_on_the_spot() -> None:
    """D-95, 7: and a reply of it stands for the next utterance."""
    auto = {"id": "go", "auto": True, "prepare": gives({"goToStep": "a2", "reply": "Here."})}
    talk = Talk(flow("A", auto, step("a1"), step("a2"), step("a3")))
    talk.says()
    assert (talk.said, talk.at, talk.executed) == (["Here."], "a.a2", ["go", "a2"])
    assert talk.links == [("goToStep:a2", "auto:go")]


def test_a_halt_stops_the_run_at_an_auto_step_which_runs_again() -> None:
    """D-95, 7."""
    answers = [{"halt": True}, None]
    talk = Talk(flow("A", {"id": "go", "auto": True, "prepare": lambda context, data: answers.pop(0)}, step("a1")))
    talk.says()
    assert (talk.said, talk.at) == ([], "a.go")
    talk.says(speak="A one.")
    assert talk.executed == ["go", "a1"]


# --- after the model ----------------------------------------------------------------------------


def test_a_tool_redirects_and_speaks() -> None:
    """DT-5, D-48: one speaking call; message r; the next message is answered by B's first step."""
    talk = Talk(flow("A", step("a1"), step("a2")), OTHER, tools=[tool("move", {"goTo": "B", "reply": "r"})])
    talk.says(understand=SCORES, speak=calls("move"))
    assert (talk.said, talk.at) == (["r"], "b.b1")
    assert talk.links == [("goTo:b", "tool:move")]
    talk.says(understand={"flows": {"b": 90}}, speak="B one.")
    assert talk.executed == ["b1"]


def test_auto_steps_behind_a_redirect_of_a_tool_have_run_when_the_turn_ends() -> None:
    """D-94: at once; the first utterance comes with the next message."""
    b = flow("B", {"id": "b0", "auto": True, "prepare": gives({"dataUpdate": {"size": 2}})}, step("b1"), when="never")
    talk = Talk(flow("A", step("a1")), b, tools=[tool("move", {"goTo": "B"})])
    talk.says(understand=SCORES, speak=[calls("move"), "Over."])
    assert (talk.said, talk.at, talk.data) == (["Over."], "b.b1", {"size": 2})


def test_finalize_moves_and_what_comes_too_late_is_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """DT-8, D-64: the warning names members and emitters."""
    late = {"appendPrompt": ["x"], "goToStep": "a3"}
    talk = Talk(flow("A", step("a1", finalize=gives(late)), step("a2"), step("a3"), step("a4")))
    talk.says(speak="A one.")
    assert (talk.said, talk.at) == (["A one."], "a.a3")
    [warning] = [record.getMessage() for record in caplog.records if record.name.startswith("falai.classic")]
    assert "appendPrompt" in warning
    assert "hook:finalize:a1" in warning
    talk.says(speak="A three.")
    assert talk.executed == ["a3"]


def test_a_reply_after_the_model_replaces_its_words() -> None:
    """D-54."""
    talk = Talk(flow("A", step("a1", finalize=gives({"reply": "Better."})), step("a2")))
    talk.says(speak="Worse.")
    assert (talk.said, talk.at, talk.state.marks) == (["Better."], "a.a1", {"reply"})


def test_an_abort_after_the_model_takes_its_words_back() -> None:
    """D-54: not even what the model has already phrased."""
    talk = Talk(flow("A", step("a1", finalize=gives({"abort": "no"})), step("a2")))
    talk.says(speak="Said in vain.")
    assert (talk.said, talk.ended) == ([], [("a", "skipped")])
    assert talk.session is not None
    assert talk.session.last_assistant_at is None


def test_tools_emit_in_the_order_of_their_calls_before_finalize() -> None:
    """D-63: so the position of `finalize` is the later one."""
    a = flow("A", step("a1", finalize=gives({"goToStep": "a3"})), step("a2"), step("a3"), step("a4"))
    talk = Talk(a, tools=[tool("move", {"goToStep": "a2", "dataUpdate": {"size": 1}})])
    talk.says(speak=[calls("move"), "Well."])
    assert (talk.at, talk.data) == ("a.a3", {"size": 1})
    assert talk.links == [("goToStep:a3", "hook:finalize:a1")]


def test_a_completion_by_a_tool_keeps_the_reply() -> None:
    """D-54: the model's words are said, then the flow is complete."""
    talk = Talk(flow("A", step("a1"), step("a2")), tools=[tool("done", {"complete": True})])
    talk.says(speak=[calls("done"), "That is all."])
    assert (talk.said, talk.ended) == (["That is all."], [("a", "end")])


# --- writes -------------------------------------------------------------------------------------


def test_writes_apply_whichever_position_wins_and_before_it() -> None:
    """D-56: also those of the directive whose position lost; the flow that is entered finds them."""
    found: list[Any] = []
    b = flow("B", step("b1", prepare=lambda context, data: found.append(dict(data))), when="never")
    talk = Talk(
        flow("A", step("a1")), b,
        signals=[signal("s1", {"reset": True, "dataUpdate": {"size": 1}}), signal("s2", {"goTo": "B"})],
    )  # fmt: skip
    talk.says(understand=SCORES, speak="B one.")
    assert found == [{"size": 1}]


def test_writes_of_one_phase_are_checked_together() -> None:
    """D-56: every field that is wrong is named, and who wrote; nothing is written."""
    wrong = [
        signal("s1", {"dataUpdate": {"size": "big", "name": "Ana"}}),
        signal("s2", {"dataUpdate": {"colour": "red"}}),
    ]
    talk = Talk(flow("A", step("a1")), signals=wrong)
    with pytest.raises(DataValidationError) as raised:
        talk.says()
    assert [problem.field for problem in raised.value.errors] == ["size", "colour"]
    assert raised.value.emitters == ("signal:s1", "signal:s2")


def test_who_wrote_nothing_is_not_blamed() -> None:
    """D-56, D-64: of the emitters of a phase, those are named who emitted what is wrong."""
    wrong = step("a1", prepare=gives({"dataUpdate": {"colour": "red"}}))
    talk = Talk(flow("A", wrong, hooks={"onEnter": gives({"appendPrompt": ["x"]})}))
    with pytest.raises(DataValidationError) as raised:
        talk.says()
    assert raised.value.emitters == ("hook:prepare:a1",)


def test_without_a_schema_nothing_is_checked() -> None:
    """D-56."""
    talk = Talk(flow("A", step("a1")), signals=[signal("s", {"dataUpdate": {"anything": [1]}})], schema=None)
    talk.says(speak="A one.")
    assert talk.data == {"anything": [1]}


def test_a_context_update_is_seen_at_once() -> None:
    """D-24, D-54: within the turn, by the prompt that follows."""
    a = flow("A", step("a1", prompt="For {{context.who}}.", prepare=gives({"contextUpdate": {"who": "Ana"}})))
    talk = Talk(a, context={"who": "nobody"})
    talk.says(speak="A one.")
    assert "For Ana." in talk.model.calls[-1].prompt
