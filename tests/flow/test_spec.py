"""Flows as JSON: from a spec and to one (S-6 to S-16), and the schema by which a model writes one (S-49 to S-59)."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from falai.errors import FlowConfigurationError
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
    Step,
    To,
    ToFlow,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.flow.registries import read_registries
from falai.flow.spec import from_spec, to_spec, validate_flow
from falai.flow.specschema import flow_spec_schema
from strategies_flow import LIBRARY_NAMES, REGISTRIES, flow_specs

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
LIBRARY = json.loads((FIXTURES / "flowspec-library.json").read_text())
ERRORS = json.loads((FIXTURES / "flowspec-errors.json").read_text())["cases"]


def error_of(call: Any, *arguments: Any) -> FlowConfigurationError:
    with pytest.raises(FlowConfigurationError) as raised:
        call(*arguments)
    return raised.value


@pytest.mark.parametrize("case", ERRORS, ids=[case["name"] for case in ERRORS])
def test_the_fixtures_fail_as_they_say(case: dict[str, Any]) -> None:
    """06-flowspec section 9: code and texts of each wrong spec, or the number of its warnings."""
    names = LIBRARY_NAMES | ({"flows": case["flows"]} if "flows" in case else {})
    if "code" not in case:
        assert len(validate_flow(case["spec"], names)["warnings"]) == case["warnings"]
        return
    error = error_of(validate_flow, case["spec"], names)
    assert error.code == case["code"]
    assert all(text in str(error) for text in case.get("contains", ()))


def test_the_library_spec_passes_and_comes_back() -> None:
    """06-flowspec section 9: one of each thing."""
    assert validate_flow(LIBRARY, LIBRARY_NAMES) == {"warnings": []}
    assert to_spec(from_spec(LIBRARY)) == LIBRARY


EVERYTHING = Flow(
    "f",
    on=[
        OnMessage("a", "!b", repeat="always"), OnAnyMessage(if_={"vip": 1}), OnMention("c", extract={"n": {"type": "integer"}}),
        OnMention(), OnSilence("24h", business_hours=True, repeat={"cooldown": "7d"}), OnEvent("paid", after="1h"),
    ],
    while_={"silenced": False},
    instructions=[Instruction("Be brief.", kind="must", when=["a"], if_={}, id="i")],
    clear_on_start=[],
    steps=[
        Collect("a", ["name"], question="Q?", ask={"name": "?"}, max_asks=2, branches=[Branch("w", then="end")]),
        Collect("b", []),
        Prompt("c", "p", tools=[]),
        Say("d", "s", media={"slug": "m"}, once=False, then=To("a", clear=["name"])),
        Do("e", "tell", {"to": "x"}, on_fail=ToFlow("g", input={"a": [None]})),
        Wait("g", "1d", else_="end", branches=[Branch(if_={"known": ["name"]}, then=To("a"))]),
        WaitEvent("h", "paid", up_to="3d"),
        WaitEvent("i", "paid"),
        If("j", {"equals": {"name": 1}}, else_="a"),
    ],
)  # fmt: skip


def test_a_flow_of_objects_comes_back_equal() -> None:
    """S-15: every kind of trigger, step and target; the name is the id without one."""
    spec = to_spec(EVERYTHING)
    assert [step["kind"] for step in spec["steps"]] == [
        "collect",
        "collect",
        "prompt",
        "say",
        "do",
        "wait",
        "waitEvent",
        "waitEvent",
        "if",
    ]
    assert spec["name"] == EVERYTHING.name == "f"
    assert from_spec(spec) == EVERYTHING
    assert json.loads(json.dumps(spec)) == spec


def test_a_spec_becomes_objects_only() -> None:
    """Wherever a mapping may stand, an object stands afterwards."""
    flow = from_spec(to_spec(EVERYTHING))
    assert all(isinstance(step, Step) for step in flow.steps)
    parts = [*(flow.on or ()), *(flow.instructions or ()), *_targets(flow)]
    assert not any(isinstance(part, dict) for part in parts)


def _targets(flow: Flow) -> Iterator[Any]:
    for step in flow.steps:
        for name in ("then", "else_", "on_fail"):
            yield getattr(step, name, None)
        yield from (part for branch in getattr(step, "branches", None) or () for part in (branch, branch.then))


def test_what_no_object_can_hold_stays_for_the_later_check() -> None:
    """S-7: names are not looked up, so a trigger without a kind, or with two, passes and comes back."""
    spec = {"id": "f", "name": "F", "on": [{"if": {}}, {"message": ["a"], "silence": "1d"}], "steps": []}
    assert to_spec(from_spec(spec)) == spec
    assert error_of(validate_flow, from_spec(spec), REGISTRIES).code == "triggers-without-steps"


def test_ids_are_no_matter_of_shape() -> None:
    """S-7: a spec without ids converts, and comes back without them."""
    spec = {"name": "F", "steps": [{"kind": "say", "say": "x"}]}
    assert to_spec(from_spec(spec)) == spec


def test_nothing_is_shared_with_the_argument() -> None:
    """S-9."""
    spec = copy.deepcopy(LIBRARY)
    flow = from_spec(spec)
    spec["steps"][0]["collect"].append("more")
    spec["on"][0]["message"].clear()
    spec["on"][1]["extract"]["title"]["type"] = "number"
    spec["while"]["role"].append("more")
    assert to_spec(flow) == LIBRARY


@pytest.mark.parametrize("spec", [None, "{}", b"{}", 5, [LIBRARY]])
def test_text_is_not_parsed(spec: Any) -> None:
    """S-10."""
    assert error_of(from_spec, spec).code == "not-an-object"
    assert error_of(to_spec, spec).code == "not-an-object"


def test_from_spec_reports_every_problem_of_shape() -> None:
    """S-7, F-19.5."""
    error = error_of(from_spec, {"id": "f", "steps": [{"say": 1}, {"say": 2}]})
    assert [problem.path for problem in error.problems] == ["steps[0].say", "steps[1].say"]


def always(_: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("flow", "where", "place"),
    [
        (Flow("f", while_=always, steps=[]), 'flow "f"', 'flow "f", while'),
        (Flow("f", instructions=[Instruction("a"), Instruction("b", if_=always)], steps=[]), 'flow "f"', 'flow "f", instructions[1].if'),
        (Flow("f", on=[OnMention(if_=always)], steps=[Say("a", "x")]), 'flow "f", trigger #1', 'flow "f", trigger #1 if'),
        (Flow("f", steps=[If("a", always)]), 'flow "f", step "a"', 'flow "f", step "a" if'),
        (Flow("f", steps=[Prompt("a", "p", branches=[Branch(if_=always, then="end")])]), 'flow "f", step "a"', 'flow "f", step "a" branches[0].if'),
        (
            Flow("f", steps=[Prompt("a", "p", instructions=[Instruction("b", if_=always)])]),
            'flow "f", step "a"',
            'flow "f", step "a" instructions[0].if',
        ),
        (Flow("f", description=always, steps=[]), 'flow "f"', 'flow "f", description'),  # type: ignore[arg-type]
        (Flow("f, g", while_=always, steps=[]), 'flow "f, g"', 'flow "f, g", while'),
    ],
)  # fmt: skip
def test_a_function_is_named_with_its_place(flow: Flow, where: str, place: str) -> None:
    """S-14, F-18.3."""
    error = error_of(to_spec, flow)
    assert (error.code, error.where) == ("function-predicate", where)
    assert f"{place} is a function" in str(error)
    assert "condition object" in str(error)


def test_half_talk_steps_are_refused() -> None:
    """S-14: nothing to say, or a question for nothing; a function in `do` is written by its name."""
    error = error_of(to_spec, {"id": "f", "steps": [{"id": "a"}, {"id": "b", "prompt": "p", "question": "q"}]})
    assert [problem.code for problem in error.problems] == ["empty-talk-step", "question-without-collect"]
    assert error.problems[1].where == 'flow "f", step "b"'

    def tell() -> None:
        pass

    assert to_spec(Flow("f", steps=[Do("a", tell)]))["steps"][0]["do"] == "tell"  # type: ignore[arg-type]


def test_a_wrong_flow_is_not_written() -> None:
    """A flow whose shape is wrong has no JSON form."""
    assert error_of(to_spec, Flow("f", steps=[Say("a", 5)])).code == "not-text"  # type: ignore[arg-type]


@pytest.mark.property
@given(flow_specs)
def test_a_spec_comes_back_as_it_went_in(spec: dict[str, Any]) -> None:
    """S-15: to_spec(from_spec(spec)) is the spec, which is not changed; and the flow comes back equal."""
    before = copy.deepcopy(spec)
    flow = from_spec(spec)
    assert to_spec(flow) == spec == before
    assert from_spec(to_spec(flow)) == flow


# --- the schema for a model that writes flows ---------------------------------------------------


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema inside a schema."""
    yield schema
    for part in (
        *schema.get("anyOf", ()),
        *schema.get("properties", {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ):
        yield from nodes(part)


SCHEMA = flow_spec_schema(LIBRARY_NAMES)
STEPS = {
    variant["properties"]["kind"]["enum"][0]: variant for variant in SCHEMA["properties"]["steps"]["items"]["anyOf"]
}


def test_every_object_is_closed_and_requires_everything() -> None:
    """S-50, S-51: in the order of its properties; unions are `anyOf`, and nothing refers elsewhere."""
    for node in nodes(SCHEMA):
        assert not {"oneOf", "$ref", "$defs", "const"} & set(node)
        if "properties" in node:
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])


def test_the_flow_and_its_steps_have_their_properties_in_order() -> None:
    """S-53."""
    assert list(SCHEMA["properties"]) == [
        "id", "name", "description", "on", "anchor", "while", "collect", "clearOnStart", "steps", "onEnd", "instructions",
    ]  # fmt: skip
    variants = SCHEMA["properties"]["steps"]["items"]["anyOf"]
    assert [v["properties"]["kind"]["enum"] for v in variants] == [
        ["prompt"], ["collect"], ["say"], ["do"], ["do"], ["wait"], ["waitEvent"], ["if"],
    ]  # fmt: skip
    base = ["id", "label", "then", "kind"]
    own = {
        "prompt": ["prompt", "branches"], "collect": ["collect", "prompt", "question", "maxAsks", "branches"],
        "say": ["say", "media", "once"], "do": ["do", "with", "onFail"], "wait": ["wait", "businessHours", "else", "branches"],
        "waitEvent": ["wait", "else"], "if": ["if", "else"],
    }  # fmt: skip
    assert {kind: list(variant["properties"]) for kind, variant in STEPS.items()} == {
        kind: base + names for kind, names in own.items()
    }


def test_triggers_conditions_and_targets() -> None:
    """S-52, S-53."""
    triggers = SCHEMA["properties"]["on"]
    assert triggers["type"] == ["array", "null"]
    assert [list(t["properties"]) for t in triggers["items"]["anyOf"]] == [
        ["message", "if", "repeat"], ["mention", "if", "repeat"], ["silence", "businessHours", "if", "repeat"],
        ["event", "after", "businessHours", "if", "repeat"],
    ]  # fmt: skip
    condition = SCHEMA["properties"]["while"]
    assert condition["type"] == ["object", "null"]
    assert list(condition["properties"]) == ["equals", "known", "silenced", "role"]
    equals = condition["properties"]["equals"]
    assert equals["type"] == ["object", "null"]
    assert equals["properties"]["branch"] == {"type": ["string", "null"], "enum": ["north", "harbour"]}
    role = condition["properties"]["role"]
    assert [m.get("type") for m in role["anyOf"]] == ["string", "number", "boolean", "array", "null"]
    then = STEPS["say"]["properties"]["then"]["anyOf"]
    assert [m.get("type") for m in then] == ["string", "object", "object", "null"]
    assert [list(m["properties"]) for m in then[1:3]] == [["step", "clear"], ["flow"]]
    assert SCHEMA["properties"]["onEnd"]["enum"] == ["end", "stay", "reset"]


def test_with_requires_all_parameters_and_lets_the_optional_be_null() -> None:
    """S-54, S-55: the action's own description stands on `do`."""
    names = copy.deepcopy(LIBRARY_NAMES)
    names["actions"]["reserve"]["description"] = "Puts a book aside."
    names["actions"]["stop"] = {}
    variants = flow_spec_schema(names)["properties"]["steps"]["items"]["anyOf"]
    do = {v["properties"]["do"]["enum"][0]: v["properties"] for v in variants if "do" in v["properties"]}
    assert do["reserve"]["do"]["description"] == "Puts a book aside."
    assert do["reserve"]["with"]["required"] == ["title", "days", "size"]
    kinds = {name: part["type"] for name, part in do["reserve"]["with"]["properties"].items()}
    assert kinds == {"title": "string", "days": ["integer", "null"], "size": ["string", "null"]}
    assert "description" not in do["label"]["do"]
    assert "with" not in do["stop"]


def test_what_there_is_none_of_is_left_out() -> None:
    """S-53: no fields, no events, no actions."""
    schema = flow_spec_schema({})
    kinds = [v["properties"]["kind"]["enum"][0] for v in schema["properties"]["steps"]["items"]["anyOf"]]
    assert kinds == ["prompt", "say", "wait", "if"]
    assert "collect" not in schema["properties"]
    assert list(schema["properties"]["while"]["properties"]) == ["silenced"]
    assert len(schema["properties"]["on"]["items"]["anyOf"]) == 3
    assert list(STEPS["say"]["properties"]["then"]["anyOf"][1]["properties"]) == ["step", "clear"]


def test_a_condition_that_no_agent_could_have_is_no_property() -> None:
    """A1: its name is a built-in one's, which stays what it is."""
    schema = flow_spec_schema({"conditions": {"silenced": {}, "vip": {}}})
    assert list(schema["properties"]["while"]["properties"]) == ["silenced", "vip"]
    assert schema["properties"]["while"]["properties"]["silenced"]["type"] == ["boolean", "null"]


def test_the_nodes_of_the_list_carry_a_description() -> None:
    """S-57."""
    flow = SCHEMA["properties"]
    for name in (
        "id",
        "description",
        "on",
        "anchor",
        "while",
        "collect",
        "clearOnStart",
        "steps",
        "onEnd",
        "instructions",
    ):
        assert flow[name]["description"], name
    message, mention, silence, event = (t["properties"] for t in flow["on"]["items"]["anyOf"])
    cooldown = message["repeat"]["anyOf"][1]["properties"]["cooldown"]
    condition = flow["while"]["properties"]
    to_text, to_step, to_flow = STEPS["if"]["properties"]["then"]["anyOf"][:3]
    collect, wait = STEPS["collect"]["properties"], STEPS["waitEvent"]["properties"]["wait"]
    carriers = [
        message["message"], mention["mention"], silence["silence"], event["after"], message["repeat"], cooldown,
        *condition.values(), to_text, to_step["properties"]["clear"], to_flow["properties"]["flow"], collect["branches"],
        collect["prompt"], STEPS["prompt"]["properties"]["prompt"], collect["question"], collect["maxAsks"],
        STEPS["say"]["properties"]["say"], STEPS["wait"]["properties"]["wait"], wait, wait["properties"]["upTo"],
        flow["instructions"]["items"]["properties"]["when"], *(own["properties"]["id"] for own in STEPS.values()),
    ]  # fmt: skip
    assert all(node.get("description") for node in carriers)


def test_wrong_registries_are_refused() -> None:
    """A schema of a wrong definition would let a model write wrong flows."""
    assert error_of(flow_spec_schema, {"fields": {"a": {}}}).code == "bad-definition"
    names, found = read_registries(LIBRARY_NAMES)
    assert found == []
    assert flow_spec_schema(names) == SCHEMA
