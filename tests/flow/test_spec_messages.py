"""What every message names, and where it stands: the "must name" columns of 06-flowspec 5.2 to 5.4, code by code (S-18 to S-21)."""

from __future__ import annotations

from typing import Any

import pytest

from falai.errors import FlowConfigurationError, Problem
from falai.flow.spec import validate_flow

NAMES: dict[str, Any] = {
    "fields": {
        "name": {"type": "string"},
        "size": {"type": "integer", "enum": [1, 2]},
        "plan": {"type": "string", "enum": ["a", 'b "c"']},
        "ok": {"type": "boolean"},
    },
    "actions": {
        "tell": {"parameters": {"to": {"type": "string", "enum": ["x", "y"]}, "n": {"type": "integer", "optional": True}}},
        "tag": {"parameters": {"tags": {"type": "array", "items": {"type": "number", "enum": [1, 2]}}}},
    },
    "events": {"paid": {}},
    "conditions": {"vip": {}},
    "tools": ["search"],
    "flows": ["f", "g"],
}  # fmt: skip
FLOW, STEP, TRIGGER = 'flow "f"', 'flow "f", step "a"', 'flow "f", trigger #1'
LONG = "é" * 41


def first(spec: Any) -> Problem:
    with pytest.raises(FlowConfigurationError) as raised:
        validate_flow(spec, NAMES)
    return raised.value.problems[0]


def flow(*steps: Any, **own: Any) -> dict[str, Any]:
    return {"id": "f", "name": "F", "steps": list(steps or [{"id": "a", "say": "x"}]), **own}


def step(**own: Any) -> dict[str, Any]:
    return flow({"id": "a", **own})


def trigger(**own: Any) -> dict[str, Any]:
    return flow(on=[own])


def rule(**own: Any) -> dict[str, Any]:
    return flow(instructions=[{"prompt": "p"}, own])


SHAPES = [
    (5, "not-an-object", "flow", ["5"]),
    ("x", "not-an-object", "flow", ['"x"']),
    ({"id": "f"}, "no-steps", FLOW, ["steps", "missing"]),
    (flow(name=5), "not-text", FLOW, ["name", "5"]),
    (flow(name=""), "not-text", FLOW, ["name", '""']),
    (flow(description=[]), "not-text", FLOW, ["description", "a list"]),
    (flow(anchor={}), "not-text", FLOW, ["anchor", "an object"]),
    (flow(collect="name"), "not-a-list", FLOW, ["collect", '"name"', '["name"]']),
    (flow(clearOnStart={}), "not-a-list", FLOW, ["clearOnStart", "an object"]),
    (flow(tools=["search", None]), "bad-entry", FLOW, ["tools[1]", "null"]),
    (flow(onEnd="stop"), "not-one-of", FLOW, ["onEnd", '"stop"', '"end"', '"stay"', '"reset"']),
    (flow(**{"while": "x"}), "not-a-condition", FLOW, ["while", '"x"']),
    (flow(instructions={}), "not-a-list", FLOW, ["instructions", "an object"]),
    (flow(instructions=[5]), "bad-entry", FLOW, ["instructions[0]", "5"]),
    (rule(prompt="p", kind="may"), "not-one-of", FLOW, ["instructions[1].kind", '"may"', '"must"', '"never"', '"should"']),
    (rule(), "not-text", FLOW, ["instructions[1].prompt", "missing"]),
    (rule(prompt="p", when=5), "not-text", FLOW, ["instructions[1].when", "5"]),
    (rule(prompt="p", when=["a", 5]), "bad-entry", FLOW, ["instructions[1].when[1]", "5"]),
    (rule(prompt="p", **{"if": 5}), "not-a-condition", FLOW, ["instructions[1].if", "5"]),
    (flow(on={}), "not-a-list", FLOW, ["on", "an object"]),
    (flow(on=[5]), "bad-entry", FLOW, ["on[0]", "5"]),
    (trigger(message="x"), "not-a-list", TRIGGER, ["message", '"x"', '["x"]']),
    (trigger(mention=[5]), "bad-entry", TRIGGER, ["mention[0]", "5"]),
    (trigger(message=[], **{"if": []}), "not-a-condition", TRIGGER, ["if", "a list"]),
    (trigger(message=[], repeat="daily"), "bad-repeat", TRIGGER, ["repeat", '"daily"', '"once"', '"always"', '{"cooldown":']),
    (trigger(message=[], repeat={"cooldown": 5}), "bad-repeat", TRIGGER, ["repeat.cooldown", "5"]),
    (trigger(message=[], repeat={}), "bad-repeat", TRIGGER, ["repeat", "an object"]),
    (trigger(silence="1d", businessHours=1), "not-a-boolean", TRIGGER, ["businessHours", "1"]),
    (trigger(mention=[], extract=5), "bad-extract", TRIGGER, ["extract", "5"]),
    (trigger(mention=[], extract={"n": {"type": "x"}}), "bad-extract", TRIGGER, ["extract", '"x"']),
    (flow(5), "bad-entry", FLOW, ["steps[0]", "5"]),
    (step(), "does-nothing", STEP, ["prompt", "collect", "say", "do", "wait", "if"]),
    (step(say="x", wait={"event": "paid"}, do="tell"), "mixed-step", STEP, ['"say"', '"do"', '"waitEvent"']),
    (step(kind="prompt", say="x"), "kind-mismatch", STEP, ['"prompt"', '"say"']),
    (step(kind=5, say="x"), "kind-mismatch", STEP, ["5", '"say"']),
    (step(say=5), "not-text", STEP, ["say", "5"]),
    (step(prompt=[]), "not-text", STEP, ["prompt", "a list"]),
    (step(collect=[], question=5), "not-text", STEP, ["question", "5"]),
    (step(say="x", label=5), "not-text", STEP, ["label", "5"]),
    (step(collect="name"), "not-a-list", STEP, ["collect", '"name"', '["name"]']),
    (step(prompt="p", ask=[]), "not-an-object", STEP, ["ask", "a list"]),
    (step(prompt="p", ask={"name": 5}), "not-text", STEP, ["ask.name", "5"]),
    (step(do="tell", **{"with": 5}), "not-an-object", STEP, ["with", "5"]),
    (step(say="x", ui=5), "not-an-object", STEP, ["ui", "5"]),
    (step(say="x", media={"slug": 5}), "not-text", STEP, ["media.slug", "5"]),
    (step(prompt="p", maxAsks=True), "bad-max-asks", STEP, ["maxAsks", "true"]),
    (step(prompt="p", maxAsks=1.5), "bad-max-asks", STEP, ["maxAsks", "1.5"]),
    (step(wait={"upTo": "1d"}), "no-event", STEP, ["wait"]),
    (step(wait=5), "bad-duration", STEP, ["wait", "5"]),
    (step(wait="1d", businessHours="yes"), "not-a-boolean", STEP, ["businessHours", '"yes"']),
    (step(say="x", once=0), "not-a-boolean", STEP, ["once", "0"]),
    (step(**{"if": True}), "not-a-condition", STEP, ["if", "true"]),
    (step(say="x", then=5), "bad-target", STEP, ["then", "5"]),
    (step(say="x", **{"else": {"step": "a", "flow": "g"}}), "bad-target", STEP, ["else", "an object"]),
    (step(say="x", onFail={}), "bad-target", STEP, ["onFail", "an object"]),
    (step(say="x", then={"step": "a", "clear": "name"}), "not-a-list", STEP, ["then.clear", '"name"', '["name"]']),
    (step(say="x", then={"step": "a", "clear": [5]}), "bad-entry", STEP, ["then.clear[0]", "5"]),
    (step(prompt="p", branches={}), "not-a-list", STEP, ["branches", "an object"]),
    (step(prompt="p", branches=[5]), "bad-entry", STEP, ["branches[0]", "5"]),
    (step(prompt="p", branches=[{"when": 5, "then": "end"}]), "not-text", STEP, ["branches[0].when", "5"]),
    (step(prompt="p", branches=[{"if": 5, "then": "end"}]), "not-a-condition", STEP, ["branches[0].if", "5"]),
    (step(prompt="p", branches=[{"when": "w"}]), "bad-target", STEP, ["branches[0].then", "missing"]),
    (step(prompt="p", branches=[{"when": "w", "then": {"step": "a", "clear": 5}}]), "not-a-list", STEP, ["branches[0].then.clear", "5"]),
    (step(say=LONG, label=LONG + '"', kind="x" * 41), "kind-mismatch", STEP, [f'"{"x" * 37}..."']),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "where", "texts"), SHAPES)
def test_a_wrong_shape(spec: Any, code: str, where: str, texts: list[str]) -> None:
    """Section 5.2, and S-21 for how the value is shown."""
    named(first(spec), code, where, texts)


def named(problem: Problem, code: str, where: str, texts: list[str]) -> None:
    assert (problem.code, problem.where) == (code, where)
    assert [text for text in texts if text not in f"{problem.what}. {problem.fix}"] == []


PLACES = ("if", "while", "instructions[0].if", "branches[0].if")


def asking(place: str, condition: Any) -> tuple[dict[str, Any], str]:
    """A flow that asks a condition at a place, and its `where`."""
    match place:
        case "while":
            return flow(**{"while": condition}), FLOW
        case "instructions[0].if":
            return flow(instructions=[{"prompt": "p", "if": condition}]), FLOW
        case "branches[0].if":
            return step(prompt="p", branches=[{"if": condition, "then": "end"}]), STEP
        case _:
            return step(**{"if": condition}), STEP


CONDITIONS = [
    ({"equals": {"nope": 1}}, "unknown-field", ['"nope"', "{}.equals"]),
    ({"known": ["name", "nope"]}, "unknown-field", ['"nope"', "{}.known"]),
    ({"known": [5]}, "unknown-field", ['"5"', "{}.known"]),
    ({"nope": 1}, "unknown-condition", ['"nope"', "{}", "equals", "known", "silenced"]),
    ({"equals": []}, "equals-not-an-object", ["{}.equals"]),
    ({"equals": {"size": "1"}}, "equals-type", ["{}.equals", '"size"', "a string", "integer"]),
    ({"equals": {"ok": 1}}, "equals-type", ["{}.equals", '"ok"', "a number", "boolean"]),
    ({"equals": {"name": {}}}, "equals-type", ["{}.equals", '"name"', "an object", "string"]),
    ({"equals": {"size": 3}}, "equals-not-in-enum", ["{}.equals", '"size"', "3", "1", "2"]),
    ({"equals": {"plan": "z"}}, "equals-not-in-enum", ["{}.equals", '"plan"', '"z"', '"a"', '"b \\"c\\""']),
    ({"known": "name"}, "known-not-a-list", ["{}.known"]),
    ({"silenced": "no"}, "silenced-not-a-boolean", ["{}.silenced"]),
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("condition", "code", "texts"), CONDITIONS)
def test_a_wrong_condition(place: str, condition: Any, code: str, texts: list[str]) -> None:
    """C1 to C6, wherever a condition stands."""
    spec, where = asking(place, condition)
    named(first(spec), code, where, [text.format(place) for text in texts])


FORMS = ["30s", "5m", "24h", "3d"]
SENSE = [
    (flow() | {"id": " "}, "no-flow-id", "flow", []),
    (flow({"say": "x"}), "no-step-id", 'flow "f", step #1', []),
    (flow({"say": "x", "then": "b"}), "no-step-id", 'flow "f", step #1', []),
    (flow({"id": "end", "say": "x"}), "reserved-step-id", 'flow "f", step "end"', ["end"]),
    (flow({"id": "a", "say": "x"}, {"id": "a", "say": "y"}), "duplicate-step-id", STEP, ['"a"']),
    (flow(on=[{"message": []}]) | {"steps": []}, "triggers-without-steps", FLOW, ["trigger"]),
    (flow(collect=["nope"]), "unknown-field", FLOW, ['"nope"', "collect"]),
    (flow(clearOnStart=["nope"]), "unknown-field", FLOW, ['"nope"', "clearOnStart"]),
    (step(collect=["nope"]), "unknown-field", STEP, ['"nope"', "collect"]),
    (step(prompt="p", ask={"nope": "x"}), "unknown-field", STEP, ['"nope"', "ask"]),
    (step(say="x", then={"step": "a", "clear": ["nope"]}), "unknown-field", STEP, ['"nope"', "then.clear"]),
    (step(prompt="p", branches=[{"when": "w", "then": {"step": "a", "clear": ["nope"]}}]), "unknown-field", STEP, ['"nope"', "branches[0].then.clear"]),
    (flow(tools=["nope"]), "unknown-tool", FLOW, ['"nope"']),
    (step(prompt="p", tools=["nope"]), "unknown-tool", STEP, ['"nope"']),
    (step(do="nope"), "unknown-action", STEP, ['"nope"']),
    (step(do="__class__"), "unknown-action", STEP, ['"__class__"']),
    (step(do=["nope"]), "unknown-action", STEP, ["a list"]),
    (trigger(event={"nope": 1}), "unknown-event", TRIGGER, ["an object"]),
    (trigger(event=5), "unknown-event", TRIGGER, [" 5."]),
    (trigger(event="nope"), "unknown-event", TRIGGER, ['"nope"']),
    (step(wait={"event": "nope"}), "unknown-event", STEP, ['"nope"', "wait"]),
    (trigger(silence="1w"), "bad-duration", TRIGGER, ["silence", '"1w"', *FORMS]),
    (trigger(event="paid", after=5), "bad-duration", TRIGGER, ["after", "5", *FORMS]),
    (trigger(message=[], repeat={"cooldown": "x"}), "bad-duration", TRIGGER, ["repeat.cooldown", '"x"', *FORMS]),
    (step(wait="5m\n"), "bad-duration", STEP, ["wait", '"5m\\n"', *FORMS]),
    (step(wait={"event": "paid", "upTo": "1"}), "bad-duration", STEP, ["wait.upTo", '"1"', *FORMS]),
    (trigger(kind="message", when=["x"]), "no-trigger-kind", TRIGGER, ["`message`", "`mention`", "`silence`", "`event`"]),
    (trigger(mention=["x"], event="paid"), "mixed-trigger", TRIGGER, ["`mention`", "`event`"]),
    (trigger(message=[" ", "!x"]), "only-exclusions", TRIGGER, ["message", "!"]),
    (step(say="x", then="b"), "unknown-step", STEP, ["then", '"b"']),
    (step(say="x", **{"else": {"step": "end"}}), "unknown-step", STEP, ["else", '"end"']),
    (step(do="tell", **{"with": {"to": "x"}}, onFail="b"), "unknown-step", STEP, ["onFail", '"b"']),
    (step(prompt="p", branches=[{"when": "w", "then": "b"}]), "unknown-step", STEP, ["branches[0].then", '"b"']),
    (step(prompt="p", question="q"), "question-without-collect", STEP, ["question"]),
    (step(prompt="p", branches=[{"then": "end"}]), "branch-without-test", STEP, ["branches[0]"]),
    (step(do="tell"), "missing-parameter", STEP, ['"tell"', '"to"']),
    (step(do="tell", **{"with": {"to": 5}}), "parameter-type", STEP, ['"to"', '"tell"', "a string", "a number"]),
    (step(do="tell", **{"with": {"to": "x", "n": "{{data.n}}"}}), "parameter-type", STEP, ['"n"', "an integer", "a string"]),
    (step(do="tell", **{"with": {"to": "x", "n": True}}), "parameter-type", STEP, ['"n"', "an integer", "a boolean"]),
    (step(do="tag", **{"with": {"tags": 1}}), "parameter-type", STEP, ['"tags"', '"tag"', "a list of numbers", "a number"]),
    (step(do="tag", **{"with": {"tags": [9, "x"]}}), "parameter-type", STEP, ["a list of numbers", "a string"]),
    (step(do="tag", **{"with": {"tags": [1, None]}}), "parameter-type", STEP, ["a list of numbers", "null"]),
    (step(do="tag", **{"with": {"tags": [1, 9, 8]}}), "parameter-not-in-enum", STEP, ['"tags"', '"tag"', "1", "2", "9"]),
    (step(do="tell", **{"with": {"to": "z"}}), "parameter-not-in-enum", STEP, ['"to"', '"tell"', '"x"', '"y"', '"z"']),
    (step(do="tell", **{"with": {"to": "x", "more": 1}}), "extra-parameter", STEP, ['"tell"', '"more"']),
    (step(**{"if": {}}, then={"step": "a", "clear": ["name"]}), "backward-if-without-else", STEP, ['"a"']),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "code", "where", "texts"), SENSE)
def test_a_wrong_name(spec: Any, code: str, where: str, texts: list[str]) -> None:
    """Sections 5.3 and 5.4."""
    named(first(spec), code, where, texts)


BACK = {"id": "b", "say": "y", "then": "a"}
WARNINGS = [
    (flow({"id": "a", "say": "x"}, BACK), 'flow "f", step "b"', ["then", '"a"', "clear"]),
    (step(collect=["ok", "name"]), STEP, ['"ok"', '"name"']),
    (flow(collect=["ok"]), FLOW, ['"ok"']),
    (step(wait="1d", branches=[{"when": "w", "then": "end"}]), STEP, ["branches[0]"]),
    (step(say="x", then={"flow": "h"}), STEP, ["then", '"h"', '"f"', '"g"']),
    (flow(note=1), FLOW, ['"note"']),
    (trigger(message=[], extract={}), TRIGGER, ['"extract"']),
    (step(prompt="p", branches=[{"when": "w", "then": {"step": "a", "clear": ["name"], "input": 1}, "x": 1}]), STEP, ['"input"', "branches[0].then"]),
    (step(prompt="p", instructions=[{"prompt": "p", "x": 1}]), STEP, ['"x"', "instructions[0]"]),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "where", "texts"), WARNINGS)
def test_a_warning(spec: Any, where: str, texts: list[str]) -> None:
    """S-37: what each names."""
    warning = validate_flow(spec, NAMES)["warnings"][0]
    assert warning.startswith(f"{where}: ")
    assert [text for text in texts if text not in warning] == []


def test_the_order_of_what_is_found() -> None:
    """S-26, S-31, S-37: conditions as written, parameters as the action has them, then what `with` has more."""
    both = step(do="tell", **{"with": {"z": 1, "n": "x", "a": 1}}) | {"while": {"nope": 1, "equals": {"x": 1, "ok": 1}}}
    with pytest.raises(FlowConfigurationError) as raised:
        validate_flow(both, NAMES)
    assert [problem.path for problem in raised.value.problems] == [
        "while.nope", "while.equals.x", "while.equals.ok", "steps[0].with.to", "steps[0].with.n", "steps[0].with.z",
        "steps[0].with.a",
    ]  # fmt: skip
    shapes = step(say="x", ask={"name": 5}, ui=5, media={"slug": 5}, **{"with": 5})
    with pytest.raises(FlowConfigurationError) as raised:
        validate_flow(shapes, NAMES)
    assert [problem.path for problem in raised.value.problems] == [
        "steps[0].with", "steps[0].ui", "steps[0].ask.name", "steps[0].media.slug",
    ]  # fmt: skip
    odd = flow(
        {"z": 1, "id": "a", "prompt": "p", "then": {"flow": "h", "q": 1}, "branches": [{"x": 1, "when": "w", "then": {"step": "a", "y": 1}}], "b": 1},
        note=1, collect=["ok", "ok"], on=[{"k": 1, "message": []}],
    )  # fmt: skip
    words = ["ok", "note", "k", "h", "a", "z", "q", "x", "y", "b"]
    found = validate_flow(odd, NAMES)["warnings"]
    assert [f'"{word}"' in text for word, text in zip(words, found, strict=True)] == [True] * 10
