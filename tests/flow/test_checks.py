"""The checks of a flow: everything at once, in order, each with its place (F-17, F-19.5, S-17 to S-43).

Codes and texts of single problems are rows of the conformance tables; here it is their company.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import (
    Branch,
    Collect,
    Do,
    Flow,
    If,
    Instruction,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    To,
    ToFlow,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.flow.handlers import ActionResult, ok
from falai.flow.spec import validate_flow
from strategies_flow import REGISTRIES, flow_specs, json_values


def problems(flow: Any, registries: Any = REGISTRIES) -> list[Problem]:
    with pytest.raises(FlowConfigurationError) as raised:
        validate_flow(flow, registries)
    return list(raised.value.problems)


def found(flow: Any) -> list[tuple[str, str]]:
    return [(problem.code, problem.path) for problem in problems(flow)]


def warnings(flow: Any) -> list[str]:
    return validate_flow(flow, REGISTRIES)["warnings"]


def flow(*steps: Any, **own: Any) -> dict[str, Any]:
    return {"id": "f", "name": "F", "steps": list(steps), **own}


SAY = {"id": "a", "say": "Hi"}

TWENTY_SHAPES = {
    "id": "f",
    "name": "",
    "description": 1,
    "anchor": [],
    "collect": "name",
    "clearOnStart": ["name", 2],
    "tools": {},
    "onEnd": "stop",
    "while": True,
    "instructions": [5, {"kind": "may", "prompt": 1, "when": [2], "if": "x"}],
    "on": [
        "x",
        {"message": "a", "mention": [1], "if": 5, "repeat": {"cooldown": 1}, "businessHours": 0, "extract": {"n": {}}},
    ],
    "steps": [
        None,
        {"id": "a"},
        {
            "id": "b",
            "say": 1,
            "do": "x",
            "prompt": [],
            "question": 2,
            "label": 3,
            "collect": "x",
            "tools": [4],
            "ask": {"n": 5},
        },
        {"id": "c", "kind": "say", "do": "x", "with": [], "ui": 1, "onFail": {"step": "a", "flow": "b", "clear": "x"}},
        {"id": "d", "wait": {"upTo": 1}, "maxAsks": True, "once": 1, "media": {}, "then": 5, "else": {}},
        {"id": "e", "if": [], "branches": [7, {"when": 1, "if": 2}]},
        {"id": "g", "wait": 5, "instructions": {"prompt": "x"}},
    ],
}


def test_every_problem_of_shape_is_found_in_the_order_of_the_specification() -> None:
    """F-19.5, S-17: one error with all of them; the first is the error's own."""
    assert found(TWENTY_SHAPES) == [
        ("not-text", "name"),
        ("not-text", "description"),
        ("not-text", "anchor"),
        ("not-a-list", "collect"),
        ("bad-entry", "clearOnStart[1]"),
        ("not-a-list", "tools"),
        ("not-one-of", "onEnd"),
        ("not-a-condition", "while"),
        ("bad-entry", "instructions[0]"),
        ("not-one-of", "instructions[1].kind"),
        ("not-text", "instructions[1].prompt"),
        ("bad-entry", "instructions[1].when[0]"),
        ("not-a-condition", "instructions[1].if"),
        ("bad-entry", "on[0]"),
        ("not-a-list", "on[1].message"),
        ("bad-entry", "on[1].mention[0]"),
        ("not-a-condition", "on[1].if"),
        ("bad-repeat", "on[1].repeat.cooldown"),
        ("not-a-boolean", "on[1].businessHours"),
        ("bad-extract", "on[1].extract.n.type"),
        ("bad-entry", "steps[0]"),
        ("does-nothing", "steps[1]"),
        ("mixed-step", "steps[2]"),
        ("not-text", "steps[2].say"),
        ("not-text", "steps[2].prompt"),
        ("not-text", "steps[2].question"),
        ("not-text", "steps[2].label"),
        ("not-a-list", "steps[2].collect"),
        ("bad-entry", "steps[2].tools[0]"),
        ("not-text", "steps[2].ask.n"),
        ("kind-mismatch", "steps[3].kind"),
        ("not-an-object", "steps[3].with"),
        ("not-an-object", "steps[3].ui"),
        ("bad-target", "steps[3].onFail"),
        ("not-a-list", "steps[3].onFail.clear"),
        ("not-text", "steps[4].media.slug"),
        ("bad-max-asks", "steps[4].maxAsks"),
        ("no-event", "steps[4].wait"),
        ("not-a-boolean", "steps[4].once"),
        ("bad-target", "steps[4].then"),
        ("bad-target", "steps[4].else"),
        ("not-a-condition", "steps[5].if"),
        ("bad-entry", "steps[5].branches[0]"),
        ("not-text", "steps[5].branches[1].when"),
        ("not-a-condition", "steps[5].branches[1].if"),
        ("bad-target", "steps[5].branches[1].then"),
        ("bad-duration", "steps[6].wait"),
        ("not-a-list", "steps[6].instructions"),
    ]


NAMES = {
    "id": "f",
    "name": "F",
    "collect": ["name", "phone"],
    "clearOnStart": ["fax"],
    "while": {"equals": {"agreed": "yes", "size": 4, "phone": 1}, "known": ["name", 5], "silenced": 1, "new": 1},
    "tools": ["search", "map"],
    "instructions": [{"prompt": "x", "if": {"equals": 5}}],
    "on": [
        {},
        {"message": ["a"], "silence": "1d"},
        {"event": "moved", "after": "soon", "repeat": {"cooldown": "often"}, "if": {"known": "name"}},
        {"silence": 5},
        {"mention": [" ", "!x"], "if": {"nope": 1}},
    ],
    "steps": [
        {"id": "a", "collect": ["name", "phone"], "ask": {"fax": "?"}, "then": "z", "else": {"step": "end", "clear": ["fax"]}},
        {"id": "a", "prompt": "p", "question": "Q?", "branches": [{"then": "y"}, {"if": {"no": 1}, "then": {"step": "a", "clear": ["fax"]}}]},
        {"id": "end", "prompt": "p", "instructions": [{"prompt": "x", "if": {"no": 1}}], "tools": ["map"]},
        {"id": " ", "do": "fly", "with": {"x": 1}, "onFail": "x"},
        {"id": "t", "do": "tell", "with": {"tags": ["a", 5], "more": 1, "other": 2}, "onFail": "x"},
        {"id": "w", "wait": "long"},
        {"id": "e", "wait": {"event": "moved", "upTo": "long"}},
        {"id": "i", "if": {"known": ["fax"]}, "then": "a"},
    ],
}  # fmt: skip


def test_every_problem_of_names_is_found_in_the_order_of_the_specification() -> None:
    """S-23, 5.3, 5.4: ids first, then flow, triggers, steps."""
    assert found(NAMES) == [
        ("duplicate-step-id", "steps[1].id"),
        ("reserved-step-id", "steps[2].id"),
        ("no-step-id", "steps[3].id"),
        ("unknown-field", "collect[1]"),
        ("unknown-field", "clearOnStart[0]"),
        ("equals-type", "while.equals.agreed"),
        ("equals-not-in-enum", "while.equals.size"),
        ("unknown-field", "while.equals.phone"),
        ("unknown-field", "while.known[1]"),
        ("silenced-not-a-boolean", "while.silenced"),
        ("unknown-condition", "while.new"),
        ("unknown-tool", "tools[1]"),
        ("equals-not-an-object", "instructions[0].if.equals"),
        ("no-trigger-kind", "on[0]"),
        ("mixed-trigger", "on[1]"),
        ("unknown-event", "on[2].event"),
        ("bad-duration", "on[2].after"),
        ("bad-duration", "on[2].repeat.cooldown"),
        ("known-not-a-list", "on[2].if.known"),
        ("bad-duration", "on[3].silence"),
        ("unknown-condition", "on[4].if.nope"),
        ("only-exclusions", "on[4].mention"),
        ("unknown-step", "steps[0].then"),
        ("unknown-field", "steps[0].else.clear[0]"),
        ("unknown-field", "steps[0].collect[1]"),
        ("unknown-field", "steps[0].ask.fax"),
        ("question-without-collect", "steps[1].question"),
        ("branch-without-test", "steps[1].branches[0]"),
        ("unknown-step", "steps[1].branches[0].then"),
        ("unknown-condition", "steps[1].branches[1].if.no"),
        ("unknown-field", "steps[1].branches[1].then.clear[0]"),
        ("unknown-condition", "steps[2].instructions[0].if.no"),
        ("unknown-tool", "steps[2].tools[0]"),
        ("unknown-action", "steps[3].do"),
        ("unknown-step", "steps[3].onFail"),
        ("missing-parameter", "steps[4].with.to"),
        ("parameter-type", "steps[4].with.tags"),
        ("extra-parameter", "steps[4].with.more"),
        ("extra-parameter", "steps[4].with.other"),
        ("unknown-step", "steps[4].onFail"),
        ("bad-duration", "steps[5].wait"),
        ("unknown-event", "steps[6].wait"),
        ("bad-duration", "steps[6].wait.upTo"),
        ("unknown-field", "steps[7].if.known[0]"),
        ("backward-if-without-else", "steps[7].then"),
    ]  # fmt: skip


def test_no_name_is_looked_up_in_a_flow_whose_shape_is_wrong() -> None:
    """F-19.5, S-17: shape first, of the whole flow."""
    assert found(flow({"id": "a", "collect": ["phone"]}, {"id": "b", "say": 5})) == [("not-text", "steps[1].say")]


def test_the_error_is_that_of_its_first_problem_and_lists_the_others() -> None:
    """S-18, S-20, F-19.5."""
    with pytest.raises(FlowConfigurationError) as raised:
        validate_flow(NAMES, REGISTRIES)
    error = raised.value
    assert (error.code, error.where) == ("duplicate-step-id", 'flow "f", step "a"')
    assert str(error).startswith('[FlowConfigurationError] flow "f", step "a": ')
    assert str(error).count("\n") == 1 + len(error.problems) - 1


@pytest.mark.parametrize(
    ("made", "where"),
    [
        ({"name": "F", "steps": [{"id": "a", "say": 5}]}, 'flow, step "a"'),
        ({"id": " ", "steps": [{"id": 5, "say": 5}]}, "flow, step #1"),
        ({"id": "f", "on": [{"message": 1}], "steps": []}, 'flow "f", trigger #1'),
        ({"id": "f", "on": 5, "steps": []}, 'flow "f"'),
    ],
)
def test_a_place_is_named_by_id_or_by_number(made: Any, where: str) -> None:
    """F-1.10."""
    assert problems(made)[0].where == where


def tell(ctx: Any, to: str) -> ActionResult:
    return ok(to)


OBJECTS = Flow(
    "f",
    on=[
        OnMessage("wants it", "!not now", repeat="always"), OnAnyMessage(if_={"vip": 1}),
        OnMention("touches it", extract={"n": {"type": "integer"}}, repeat={"cooldown": "7d"}), OnMention(),
        OnSilence("24h", business_hours=True), OnEvent("paid", after="1h"),
    ],
    while_=lambda view: True,
    collect=("name",),
    clear_on_start=["agreed"],
    on_end="stay",
    instructions=[Instruction("Be brief.", kind="must", when=["always"], if_={"silenced": False}, id="brief")],
    tools=["search"],
    steps=[
        Collect("who", ["name"], prompt="Ask.", ask={"name": "?"}, max_asks=2, branches=[Branch("left", then="end")], label="L"),
        Collect("sure", ["agreed"], question="Sure?"),
        If("fork", {"equals": {"agreed": True}}, then="go", else_=To("sure", clear=["agreed"])),
        Do("go", tell, {"to": "{{data.name}}"}, on_fail=ToFlow("other", input={"a": 1})),
        Wait("pause", "3s", else_="end", branches=[Branch(if_=lambda view: True, then=ToFlow("{{data.name}}"))]),
        WaitEvent("paid", "paid", up_to="3d"),
        Prompt("bye", "Say bye."),
        Say("last", "Bye.", media={"slug": "map"}, once=True, ui={"x": 1}),
    ],
)  # fmt: skip


def test_objects_pass_as_their_wire_form_does() -> None:
    """S-17, S-27: a typed flow; functions pass unread, one in `do` goes by its name."""
    assert warnings(OBJECTS) == []


def test_a_message_trigger_needs_phrases_and_a_catch_all_says_so() -> None:
    """`OnMessage()` is a slip, `{"message": []}` and `OnAnyMessage()` are meant."""
    (problem,) = problems(Flow("f", on=[OnMessage()], steps=[Say("a", "x")]))
    assert problem.path == "on[0].message"
    assert "OnAnyMessage()" in problem.fix
    assert warnings(Flow("f", on=[OnAnyMessage()], steps=[Say("a", "x")])) == []
    assert warnings(flow(SAY, on=[{"message": []}])) == []


@pytest.mark.parametrize(
    ("misused", "code", "path"),
    [
        (Flow("f", steps=[Say("a", 42)]), "not-text", "steps[0].say"),  # type: ignore[arg-type]
        (Flow("f", steps=[Say("a", None)]), "does-nothing", "steps[0]"),  # type: ignore[arg-type]
        (Flow("f", steps=[Say]), "bad-entry", "steps[0]"),  # type: ignore[list-item]
        (Flow("f", steps=[OnMessage("x")]), "does-nothing", "steps[0]"),  # type: ignore[list-item]
        (Flow("f", steps=Say("a", "x")), "no-steps", "steps"),  # type: ignore[arg-type]
        (Flow("f", steps=None), "no-steps", "steps"),  # type: ignore[arg-type]
        (Flow("", steps=[]), "no-flow-id", "id"),
        (Flow(5, steps=[]), "no-flow-id", "id"),  # type: ignore[arg-type]
        (Flow("f", on=[OnMessage(["a", "b"])], steps=[Say("a", "x")]), "bad-entry", "on[0].message[0]"),  # type: ignore[arg-type]
        (Flow("f", on=OnMessage("a"), steps=[Say("a", "x")]), "not-a-list", "on"),  # type: ignore[arg-type]
        (Flow("f", steps=[Collect("a", "name")]), "not-a-list", "steps[0].collect"),
        (Flow("f", steps=[Wait("a", 5)]), "bad-duration", "steps[0].wait"),  # type: ignore[arg-type]
        (Flow("f", steps=[WaitEvent("a", 5)]), "no-event", "steps[0].wait"),  # type: ignore[arg-type]
        (Flow("f", steps=[Do("a", 5)]), "unknown-action", "steps[0].do"),  # type: ignore[arg-type]
        (Flow("f", steps=[Say("a", "x", then=To(5))]), "bad-target", "steps[0].then"),  # type: ignore[arg-type]
        (Flow("f", steps=[Prompt("a", "x", branches=[Branch("w")])]), "bad-target", "steps[0].branches[0].then"),
        (Flow("f", steps=[If("a", 5, else_="end")]), "not-a-condition", "steps[0].if"),  # type: ignore[arg-type]
        (Say("a", "x"), "no-steps", "steps"),
        (Flow, "not-an-object", ""),
    ],
)
def test_misused_objects_are_problems_and_no_exceptions(misused: Any, code: str, path: str) -> None:
    """Nothing is validated in a constructor, everything in the checks."""
    assert (code, path) in found(misused)


def test_a_name_of_any_kind_is_shown() -> None:
    """S-25: what is no text is looked up by its JSON text, and shown by its kind when it has none."""
    (number,) = problems(flow({"id": "a", "if": {"known": [5]}, "else": "end"}))
    (other,) = problems(flow({"id": "a", "if": {"known": [object()]}, "else": "end"}))
    assert (number.code, '"5"' in number.what) == ("unknown-field", True)
    assert (other.code, '"a object"' in other.what) == ("unknown-field", True)


def test_data_that_holds_itself_is_a_problem() -> None:
    """Bad input of any depth is FlowConfigurationError."""
    endless: dict[str, Any] = flow()
    endless["ui"] = endless
    assert found(endless) == [("not-an-object", "")]


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ({"id": "b", "say": "x", "then": "a"}, 1),
        ({"id": "b", "say": "x", "then": {"step": "b", "clear": ["name"]}}, 0),
        ({"id": "b", "do": "stop", "onFail": {"step": "a", "clear": []}}, 1),
        ({"id": "b", "prompt": "p", "branches": [{"when": "w", "then": "a"}, {"when": "v", "then": "c"}]}, 1),
    ],
)
def test_going_back_without_clearing_warns_once_an_edge(step: Any, count: int) -> None:
    """W1."""
    assert len([text for text in warnings(flow(SAY, step, {"id": "c", "say": "x"})) if "clear" in text]) == count


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ({"collect": ["agreed"]}, 1), ({"collect": ["agreed", "name"]}, 0), ({"collect": ["agreed"], "ask": {"agreed": " "}}, 1),
        ({"collect": ["name"], "ask": {"name": " "}}, 0), ({"collect": ["agreed"], "prompt": "p"}, 0),
        ({"collect": ["agreed"], "question": "q"}, 0), ({"collect": []}, 0),
    ],
)  # fmt: skip
def test_a_step_that_nothing_tells_how_to_ask(step: Any, count: int) -> None:
    """W2, S-39 to S-41: an `ask` on the step or on the agent, for one of its fields, is enough; a blank one is none."""
    assert len(warnings(flow({"id": "a", **step}))) == count


def test_a_property_in_snake_case_is_recognised() -> None:
    """W6 with a hint; where the camelCase name has no meaning either, there is none."""
    step = {"id": "a", "collect": ["name"], "max_asks": 2, "else_": "end", "businessHours": True}
    found_ = warnings(flow(step, clear_on_start=[], on=[{"event": "paid", "business_hours": True, "if_": {}}]))
    hints = [text.rpartition(". ")[2] for text in found_]
    assert hints[:4] == [
        "Did you mean clearOnStart?",
        "Did you mean businessHours?",
        "Did you mean if?",
        "Did you mean maxAsks?",
    ]
    assert len(found_) == 6
    assert '"else_"' in found_[4]
    assert "Did you mean" not in found_[4]


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (flow({"id": "y", "waitt": "2d"}), 'Did you mean wait instead of "waitt"? Give it one of'),
        (flow({"id": "y", "If": {}}), "Did you mean if instead of"),
        (flow({"id": "y", "text": "Hi"}), "Give it one of"),
        ({"id": "f", "step": []}, "Did you mean steps instead of"),
        (flow({"id": "y", "wait": {"evnt": "paid"}}), "Did you mean event instead of"),
        (flow({**SAY, "then": {"stp": "a"}}), "Did you mean step instead of"),
        (flow({"id": "y", "prompt": "p", "branches": [{"when": "w", "than": "end"}]}), "Did you mean then instead of"),
        (flow({"id": "y", "prompt": "p", "branches": [{"when": "w"}]}), 'Write "<step id>"'),
        (flow({"id": "y", "prompt": "p", "branches": [{"wen": "w", "then": "end"}]}), "Did you mean when instead of"),
        (flow(SAY, on=[{"messages": ["hi"]}]), "Did you mean message instead of"),
        (flow({**SAY, "then": "End"}), 'Did you mean "end"? Write'),
        (flow({"id": "y", "collect": ["nmae"]}), 'Did you mean "name"? Add it'),
        (flow({"id": "y", "if": {"knwon": ["name"]}, "else": "end"}), 'Did you mean "known"? Register it'),
        (flow({"id": "y", "do": "tll"}), 'Did you mean "tell"? Add it'),
        (flow({"id": "y", "do": "tell", "with": {"to": "x", "tag": []}}), 'Did you mean "tags"? Its parameters'),
    ],
)  # fmt: skip
def test_a_misspelt_name_is_recognised(wrong: Any, fix: str) -> None:
    """What may have been meant is the first word of the fix; what is like nothing gets no guess."""
    assert any(problem.fix.startswith(fix) for problem in problems(wrong)), problems(wrong)


def test_of_very_many_names_a_message_has_a_few() -> None:
    """A flow of a thousand steps does not fill the screen for each problem."""
    (problem,) = problems(flow(*({"id": f"s{n}", "say": "x"} for n in range(1000)), {**SAY, "then": "nowhere"}))
    assert problem.fix.endswith('"s29" or 971 more')


def test_warnings_come_as_found() -> None:
    """S-37: flow, triggers, steps; W2 between `ask` and branches, W4 in its branch."""
    step = {
        "id": "b", "collect": ["size"], "branches": [{"when": "w", "then": {"step": "a", "x": 1}}], "then": {"flow": "gone"},
    }  # fmt: skip
    wait = {"id": "c", "wait": "1d", "branches": [{"when": "w", "then": "end"}], "odd": 1}
    found_ = warnings(flow(SAY, step, wait, collect=["agreed"]))
    marks = ['"agreed"', '"gone"', '"size"', 'back to "a"', '"x"', "branches[0] has a when", '"odd"']
    assert [mark in text for mark, text in zip(marks, found_, strict=True)] == [True] * len(marks)


def test_nothing_is_changed_and_nulls_are_unset() -> None:
    """S-17, S-6."""
    given_ = flow({"id": "a", "say": "x", "then": None, "odd": None}, on=None)
    assert warnings(given_) == []
    assert given_["on"] is None


def test_registries_that_are_wrong_themselves_come_first() -> None:
    """Their definitions are checked as an agent's are; what a wrong one would allow is not guessed."""
    registries = {"fields": {"name": {"type": "text"}}, "actions": {"tell": {"parameters": {"to": {}}}, "stop": 5}}
    made = flow(
        {"id": "a", "collect": ["name"]}, {"id": "b", "do": "tell", "with": {"to": 5}}, {"id": "c", "do": "stop"},
        {"id": "d", "if": {"equals": {"name": 5}}},
    )  # fmt: skip
    assert [(p.code, p.path) for p in problems(made, registries)] == [
        ("bad-definition", "fields.name.type"),
        ("bad-definition", "actions.tell.parameters.to.type"),
        ("bad-definition", "actions.stop"),
    ]


@pytest.mark.property
@given(json_values | flow_specs, json_values)
@example({"steps": [{"do": {"a": []}, "if": {"": {"": []}}}], "on": [{"repeat": {"cooldown": ""}}]}, None)
def test_validation_is_total_on_json(flow_: Any, part: Any) -> None:
    """Any JSON is valid, or raises FlowConfigurationError and nothing else."""
    try:
        validate_flow(flow_, REGISTRIES)
    except FlowConfigurationError:
        return


KEYS = [
    "id", "name", "on", "while", "collect", "clearOnStart", "steps", "instructions", "tools", "message", "mention", "extract",
    "repeat", "silence", "event", "after", "if", "prompt", "question", "ask", "maxAsks", "branches", "when", "then", "else",
    "say", "media", "do", "with", "onFail", "wait", "upTo", "step", "flow", "clear", "equals", "known", "silenced", "vip", "kind",
]  # fmt: skip
spoilt = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["a", "end", "once", "1d", "tell", "paid", "name", "", " ", "!x", "{{"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@pytest.mark.property
@given(
    st.lists(st.dictionaries(st.sampled_from(KEYS), spoilt, max_size=6), max_size=3),
    st.dictionaries(st.sampled_from(KEYS), spoilt, max_size=6),
)
def test_validation_is_total_on_spoilt_flows(steps: list[Any], own: dict[str, Any]) -> None:
    """The same of what looks like a flow: right words in wrong places."""
    for made in (
        {**own, "steps": steps},
        {"id": "f", "steps": [{"id": "a", "say": "x", **step} for step in steps], **own},
    ):
        try:
            validate_flow(made, REGISTRIES)
        except FlowConfigurationError:
            continue
