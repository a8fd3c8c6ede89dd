"""Moves: read from what code hands back, declared beside a function, seen by the checks and the analysis."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError
from falai.flow import Reset, To, ToFlow, analyse, from_spec, validate_flow
from falai.flow.moves import Aim, aim_of, read_beside, read_move
from falai.flow.plan import FlowPlan
from falai.flow.registries import read_registries

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["step", "flow", "clear", "x"]), inner),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("raw", "move"),
    [
        ("ask", "ask"),
        ("end", "end"),
        (To("ask"), To("ask", clear=())),
        ({"step": "ask", "clear": ["name"]}, To("ask", clear=("name",))),
        (ToFlow("human", input=[1]), ToFlow("human", input=[1])),
        ({"flow": "human", "input": None}, ToFlow("human")),
        (Reset(), Reset()),
        ({"reset": True, "step": None}, Reset()),
    ],
)
def test_a_move_is_read_in_either_form(raw: Any, move: Any):
    """Objects and wire form mean the same; null is absent."""
    assert read_move(raw) == move


@pytest.mark.property
@given(raw=JSON | st.builds(To, JSON, clear=JSON) | st.builds(ToFlow, JSON, input=JSON), say=JSON)
def test_whatever_comes_back_is_read_or_refused_in_words(raw: Any, say: Any):
    """Nothing but `ValueError` is raised, and what is read is what was declared."""
    try:
        beside = read_beside(raw, say, [Aim("step", "a"), Aim("flow", "b"), Aim("end")])
    except ValueError:
        return
    assert beside.move is None or aim_of(beside.move) in (Aim("step", "a"), Aim("flow", "b"), Aim("end"))
    assert beside.say is None or beside.say.strip()


# --- checked ------------------------------------------------------------------------------------

SPEC: dict[str, Any] = {
    "id": "f",
    "name": "f",
    "on": [{"message": ["x"]}],
    "steps": [{"id": "act", "do": "act", "then": "end"}, {"id": "aside", "say": "Hi."}],
}


def _names(moves: Any) -> dict[str, Any]:
    return {"actions": {"act": {"parameters": {}, "moves": moves}}}


def test_registries_say_where_an_action_moves():
    """The wire form of a host's names has it, and the flows are checked by it."""
    fine = {**_names(["aside", "end", {"reset": True}, {"flow": "f"}]), "flows": ["f"]}
    assert validate_flow(SPEC, fine) == {"warnings": []}
    gone = {**_names([{"flow": "gone"}]), "flows": ["f"]}
    [warning] = validate_flow(SPEC, gone)["warnings"]
    assert 'the action "act" may move to the flow "gone", and there is no such flow' in warning
    assert validate_flow(SPEC, _names([{"flow": "gone"}])) == {"warnings": []}
    with pytest.raises(FlowConfigurationError) as error:
        validate_flow(SPEC, _names(["nowhere"]))
    assert [(problem.code, problem.path) for problem in error.value.problems] == [("unknown-step", "steps[0].do")]


@pytest.mark.parametrize("kind", ["actions", "tools"])
def test_a_declaration_that_is_none_is_told(kind: str):
    """With its place, and with what to write."""
    _, problems = read_registries({kind: {"act": {"moves": ["a", {"flow": 4}]}}})
    assert [(problem.code, problem.path) for problem in problems] == [("bad-definition", f"{kind}.act.moves[1]")]


# --- analysed -----------------------------------------------------------------------------------


def _found(flows: list[dict[str, Any]], **names: Any) -> list[str]:
    plans = {flow["id"]: FlowPlan(from_spec(flow)) for flow in flows}
    registries, problems = read_registries({"fields": {"sure": {"type": "boolean"}}, **names, "flows": list(plans)})
    assert not problems
    return [notice.code for notice in analyse(plans, registries)]


def test_a_step_that_code_moves_to_is_reachable():
    """What is declared is a way through the flow (`unreachable`)."""
    assert _found([SPEC], **_names([])) == ["unreachable"]
    assert _found([SPEC], **_names(["aside"])) == []


def test_a_step_that_a_tool_moves_to_is_reachable_where_the_tool_is_offered():
    """A tool counts at the talk steps that may call it."""
    talk = {**SPEC, "steps": [{"id": "p", "prompt": "Hi.", "then": "end"}, {"id": "aside", "say": "Hi."}]}
    tools = {"look": {"moves": ["aside"]}}
    assert _found([talk], tools=tools) == []
    assert _found([{**talk, "tools": []}], tools=tools) == ["unreachable"]


@pytest.mark.parametrize("moves", ["end", {"flow": "f"}, {"reset": True}])
def test_a_loop_that_code_may_leave_has_an_end(moves: Any):
    """The end, another flow and a reset end the run (`never-ends`)."""
    loop = {**SPEC, "steps": [{"id": "act", "do": "act", "then": "w"}, {"id": "w", "wait": "1h", "then": "act"}]}
    assert _found([loop], **_names([])) == ["never-ends"]
    assert _found([loop], **_names([moves])) == []


def test_a_flow_that_a_tool_starts_is_not_the_hosts_alone():
    """Whoever speaks may call the tool (`host-start-only`)."""
    flow = {"id": "f", "name": "f", "steps": [{"id": "s", "say": "Hi."}]}
    assert _found([flow], tools=["look"]) == ["host-start-only"]
    assert _found([flow], tools={"look": {"moves": [{"flow": "f"}]}}) == []


def test_code_that_may_lead_away_ends_a_confirmation():
    """Where an action has a word in the way, it is taken to use it well (`endless-confirmation`)."""
    steps = [
        {"id": "ask", "collect": ["sure"], "prompt": "Sure?"},
        {"id": "act", "do": "act"},
        {"id": "if", "if": {"equals": {"sure": True}}, "then": "end", "else": {"step": "ask", "clear": ["sure"]}},
    ]
    assert _found([{**SPEC, "steps": steps}], **_names([])) == ["endless-confirmation"]
    assert _found([{**SPEC, "steps": steps}], **_names(["end"])) == []


def test_an_aim_is_told_in_words():
    """As messages name it."""
    assert [aim.words for aim in (Aim("step", "a"), Aim("flow", "b"), Aim("end"), Aim("reset"))] == [
        'the step "a"',
        'the flow "b"',
        "the end of the flow",
        "the start of the flow",
    ]


def test_a_move_is_no_path_that_the_flow_takes_by_itself():
    """Code that leads past the question is taken to know why (`maybe-unset`)."""
    steps = [
        {"id": "ask", "collect": ["sure"], "prompt": "Sure?"},
        {"id": "if", "if": {"known": ["sure"]}, "else": "end"},
        {"id": "bye", "say": "So {{data.sure}}."},
    ]
    straight = [steps[0], steps[2]]
    tools = {"look": {"moves": ["bye"]}}
    assert _found([{**SPEC, "steps": straight}], tools=tools) == ["maybe-unset"]
    assert _found([{**SPEC, "steps": steps}], tools=tools) == []
