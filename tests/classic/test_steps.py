from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai import FlowConfigurationError

ASK = {"id": "ask", "prompt": "Ask what it is to be."}
BYE = {"id": "bye", "prompt": "Say goodbye."}


def test_a_message_leads_to_one_utterance_and_an_auto_step_runs_with_the_next() -> None:
    """DT-11: prompt, reply, auto, prompt over three messages; the flow completes with the last one's words."""
    talk = Talk(flow("Order", ASK, {"id": "fixed", "reply": "Noted."}, {"id": "work", "auto": True}, BYE))
    talk.says(speak="What shall it be?")
    assert (talk.said, talk.at, talk.executed) == (["What shall it be?"], "order.ask", ["ask"])
    talk.says()
    assert (talk.said, talk.at, talk.executed) == (["Noted."], "order.fixed", ["fixed"])
    talk.says(speak="Goodbye.")
    assert (talk.said, talk.at, talk.executed) == (["Goodbye."], None, ["work", "bye"])
    assert talk.ended == [("order", "end")]
    assert "last_step" in talk.state.marks


def test_a_collect_step_asks_until_its_fields_are_known() -> None:
    """Beside D-90: the step stays, and what the model reads out of the customer's words moves it on."""
    talk = Talk(flow("Order", {"id": "size", "collect": ["size"]}, BYE))
    talk.says(understand={"fields": {}}, speak="Which size?")
    talk.says(understand={"fields": {}}, speak="Really, which size?")
    assert talk.at == "order.size"
    talk.says(understand={"fields": {"size": 3}}, speak="Goodbye.")
    assert (talk.said, talk.data) == (["Goodbye."], {"size": 3})


def test_a_field_is_asked_for_three_times() -> None:
    """D-87: then the step is done without it."""
    talk = Talk(flow("Order", {"id": "size", "collect": ["size"]}, BYE))
    for _ in range(3):
        talk.says(understand={"fields": {}}, speak="Which size?")
    assert talk.at == "order.size"
    talk.says(understand={"fields": {}}, speak="Goodbye.")
    assert talk.said == ["Goodbye."]
    assert talk.data == {}


def test_a_value_that_comes_with_the_reply_leaves_the_step_waiting_for_the_next_message() -> None:
    """D-90, 1: the step has spoken, so what comes next comes with the next message."""
    talk = Talk(flow("Order", {"id": "size", "collect": ["size"]}, BYE))
    talk.says("a 3", understand={"fields": {}}, speak={"message": "A 3, fine.", "size": 3})
    assert (talk.at, talk.data) == ("order.size", {"size": 3})
    talk.says(speak="Goodbye.")
    assert talk.said == ["Goodbye."]


def test_a_step_whose_fields_are_known_is_passed_without_a_word() -> None:
    """D-90, 2: reached without having spoken, the run goes on at once."""
    talk = Talk(flow("Order", {"id": "size", "collect": ["size"]}, BYE), initialData={"size": 1})
    talk.says(understand={"fields": {"size": 4}}, speak="Goodbye.")
    assert talk.executed == ["bye"]


def test_known_required_fields_alone_complete_nothing() -> None:
    """D-13: the steps of the flow are still taken."""
    talk = Talk(flow("Order", ASK, BYE, requiredFields=["size"]))
    talk.says(understand={"fields": {"size": 3}}, speak="And?")
    assert (talk.at, talk.ended) == ("order.ask", [])


@pytest.mark.parametrize(
    "condition",
    [{"if": lambda ctx: False}, {"skip": lambda ctx: True}, {"skip": [lambda ctx: False, lambda ctx: True]}],
    ids=["if", "skip", "one of several"],
)
def test_if_and_skip_pass_a_step_over(condition: dict[str, Any]) -> None:
    """D-12, D-16: every `if` must hold, one `skip` is enough."""
    talk = Talk(flow("Order", {**ASK, **condition}, BYE))
    talk.says(speak="Goodbye.")
    assert talk.executed == ["bye"]


async def _later(ctx: Any) -> bool:
    return ctx.data.get("size") == 3 and ctx.history[-1]["content"] == "hello" and ctx.context == {}


def test_a_predicate_may_be_asynchronous() -> None:
    """D-12: it gets context, data, session and history, and gives an awaitable of a boolean."""
    talk = Talk(flow("Order", {**ASK, "skip": _later}, BYE, optionalFields=["size"]))
    talk.says(understand={"fields": {"size": 3}}, speak="Goodbye.")
    assert talk.executed == ["bye"]


def test_a_predicate_that_raises_is_logged_and_false(caplog: pytest.LogCaptureFixture) -> None:
    """D-12: at ERROR; the turn goes on."""
    talk = Talk(flow("Order", {**ASK, "skip": lambda ctx: ctx.data["nothing"]}, BYE))
    talk.says(speak="What shall it be?")
    assert talk.at == "order.ask"
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "KeyError" in record.getMessage()


def test_what_a_step_requires_is_asked_for_first() -> None:
    """D-11, D-87: without a limit on the asking; the step itself comes after."""
    talk = Talk(flow("Order", {**ASK, "requires": ["name"]}, BYE))
    talk.says(understand={"fields": {}}, speak="What is your name?")
    assert talk.executed == ["ask"]
    for _ in range(4):
        talk.says(understand={"fields": {}}, speak="Your name, please?")
    talk.says(understand={"fields": {"name": "Ana"}}, speak="What shall it be?")
    assert (talk.said, talk.at) == (["What shall it be?"], "order.ask")


def test_known_requirements_are_passed() -> None:
    """D-16: `requires` comes before the utterance, which is all that is heard of it."""
    talk = Talk(flow("Order", BYE, {**ASK, "requires": ["name"]}))
    talk.says(understand={"fields": {"name": "Ana"}}, speak="Hello Ana.")
    talk.says(speak="What shall it be?")
    assert talk.executed == ["ask"]
    assert talk.ended == [("order", "end")]


def test_if_is_judged_before_requires() -> None:
    """D-16: a step that does not apply asks for nothing."""
    talk = Talk(flow("Order", {**ASK, "requires": ["name"], "if": lambda ctx: False}, BYE))
    talk.says(understand={"fields": {}}, speak="Goodbye.")
    assert talk.executed == ["bye"]


def test_an_auto_step_cannot_ask_for_what_it_requires() -> None:
    """D-87: `missing-required` names the step and the fields."""
    talk = Talk(flow("Order", {"id": "work", "auto": True, "requires": ["name"]}))
    with pytest.raises(FlowConfigurationError) as raised:
        talk.says()
    assert raised.value.code == "missing-required"
    assert "work" in str(raised.value)
    assert '"name"' in str(raised.value)


def test_auto_steps_have_a_limit() -> None:
    """D-84: over the limit the turn fails; the message has the option, the limit and the ids in order."""
    back = {"branches": [{"then": "one"}]}
    steps = ({"id": "one", "auto": True}, {"id": "two", "auto": True, **back})
    talk = Talk(flow("Loop", *steps), maxAutoStepsPerTurn=4)
    with pytest.raises(FlowConfigurationError) as raised:
        talk.says()
    assert raised.value.code == "auto-step-limit"
    assert "maxAutoStepsPerTurn" in str(raised.value)
    assert "one, two, one, two, one" in str(raised.value)


def test_many_auto_steps_are_no_loop_of_the_core() -> None:
    """D-84: the limit of the option is the one that is met."""
    talk = Talk(flow("Long", *({"id": f"s{n}", "auto": True} for n in range(120))), maxAutoStepsPerTurn=200)
    talk.says(speak="Nothing to do.")
    assert len(talk.executed) == 120
    assert talk.ended == [("long", "end")]


def test_a_reply_step_says_its_text_filled_in() -> None:
    """D-11, D-17: without a model call; paths into data and context are filled."""
    talk = Talk(
        flow("Order", {"id": "r", "reply": "Size {{data.size}} for {{who}}, {{data.gone}}."}, optionalFields=["size"]),
        context={"who": "Ana"},
    )
    talk.says(understand={"fields": {"size": 3}})
    assert talk.said == ["Size 3 for Ana, {{data.gone}}."]
    assert "reply" in talk.state.marks


def test_a_template_may_be_code() -> None:
    """D-17: text or a callable, sync or async."""

    async def text(ctx: Any) -> str:
        return f"You wrote {ctx.helpers.get_last_user_message()}."

    talk = Talk(flow("Order", {"id": "r", "reply": text}, {"id": "p", "prompt": lambda ctx: "Be short."}))
    talk.says("x")
    assert talk.said == ["You wrote x."]
    talk.says(speak="Bye.")
    assert "Be short." in talk.model.calls[-1].prompt


def test_the_when_of_a_step_is_a_part_of_its_guideline() -> None:
    """D-87: it is not judged, and a warning says so."""
    talk = Talk(flow("Order", {**ASK, "when": "the customer is in a hurry"}))
    assert any("when of a step is not judged" in warning for warning in talk.core.compiled.warnings)
    talk.says(speak="Quick!")
    assert "the customer is in a hurry" in talk.model.calls[-1].prompt


ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}}, "description": "Where it goes"}
LISTED = {"type": "object", "properties": {"to": ADDRESS, "tags": {"type": "array"}}}


def test_a_field_that_holds_no_scalar_goes_to_the_model_by_its_schema() -> None:
    """D-5: as written; a value is accepted when its outer type fits."""
    talk = Talk(flow("Order", {"id": "to", "collect": ["to", "tags"]}, BYE), schema=LISTED)
    talk.says(understand={"fields": {"to": {"street": "Long"}, "tags": "x"}}, speak={"message": "And?", "tags": ["x"]})
    assert talk.data == {"to": {"street": "Long"}, "tags": ["x"]}
    asked = talk.model.calls[0].request
    assert asked.schema is not None
    assert asked.schema["properties"]["fields"]["properties"]["to"] == {"anyOf": [ADDRESS, {"type": "null"}]}
    assert "to (object): Where it goes" in asked.prompt


def test_the_schema_of_a_field_says_how_it_is_extracted() -> None:
    """D-5: `ask` and `extract` mean what they mean in the core; a boolean may be taken from any message too."""
    properties = {
        "sure": {"type": "boolean"},
        "note": {"type": ["string", "null"], "extract": "asked", "ask": "Ask kindly."},
    }
    talk = Talk(
        flow("Order", {"id": "x", "collect": ["sure", "note"]}), schema={"type": "object", "properties": properties}
    )
    talk.says(understand={"fields": {"sure": True, "note": "no"}}, speak="Any note?")
    assert talk.data == {"sure": True}
    assert "Ask kindly." in talk.model.calls[-1].prompt


def test_a_reply_that_comes_out_blank_sends_no_message() -> None:
    """D-11, D-25: the step counts as having spoken all the same."""
    talk = Talk(flow("Order", {"id": "r", "reply": lambda ctx: None}, {"id": "last", "reply": " "}))
    talk.says()
    assert (talk.said, talk.at) == ([], "order.r")
    talk.says()
    assert (talk.said, talk.ended) == ([], [("order", "end")])
