"""The options of an agent are checked as one: every rule of D-4 by its code, and all of it at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Flow, FlowConfigurationError, Instruction, OnMention, Say, Tool, tool
from falai.classic import Directive, UnsupportedOptionError
from falai.classic.checking import checked_options, option_findings
from falai.classic.named import snake_name
from falai.classic.options import AGENT, BRANCH, FLOW, INSTRUCTION, SIGNAL, STEP, TOOL, wire_options
from falai.errors import Problem
from falai.session.jsontext import is_list, is_object
from falai.store import MemoryStore


def does(*_: object) -> None:
    """Stands for any function of an author's."""


def step(**members: Any) -> dict[str, Any]:
    return {"id": "ask", **members}


def flow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"id": "visit", "title": "Book a visit", "steps": list(steps) or [step(prompt="Ask.")], **members}


def agent(**members: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    return {"name": "Ana", "provider": object(), "schema": schema, "flows": [flow()], **members}


def in_step(**members: Any) -> dict[str, Any]:
    return agent(flows=[flow(step(**members))])


def in_branch(*entries: Any) -> dict[str, Any]:
    return agent(flows=[flow(step(prompt="Ask.", branches=list(entries)), {"id": "bye", "reply": "Bye."})])


def signal(**members: Any) -> dict[str, Any]:
    return agent(signals=[{"id": "angry", "phase": "pre", "handler": does, **members}])


WRONG: dict[str, list[tuple[dict[str, Any], str, list[str]]]] = {
    "context-and-provider": [(agent(context={}, contextProvider=does), "context", ["context", "contextProvider"])],
    "bad-schema": [
        (agent(schema={"type": "array"}), "schema", ["schema"]),
        (agent(schema={"type": "object", "properties": {"x": 5}}), "schema.properties.x", ['"x"']),
    ],
    "bad-initial-data": [
        (agent(initialData={"age": "ten"}), "initialData.age", ['"age"', '"ten"']),
        (agent(initialData={"size": 1}), "initialData.size", ['"size"']),
        (agent(initialData=[]), "initialData", ["initialData"]),
        (agent(flows=[flow(initialData={"name": 5})]), "flows[0].initialData.name", ['flow "visit"', '"name"']),
    ],
    "duplicate-flow": [
        (agent(flows=[flow(), flow(title="Other")]), "flows", ['"visit"']),
        (agent(flows=[flow(), flow(id="other")]), "flows", ['"Book a visit"']),
        (agent(flows=[flow(), Flow("visit", steps=[Say("s", "Hi")])]), "flows", ['"visit"']),
    ],
    "duplicate-tool": [
        (agent(tools=[{"id": "crm", "handler": does}, Tool("crm", does)]), "tools", ['"crm"']),
    ],
    "duplicate-signal": [
        (
            agent(
                signals=[{"id": "a", "phase": "pre", "handler": does}, {"id": "a", "phase": "post", "handler": does}]
            ),
            "signals",
            ['"a"'],
        ),
    ],
    "id-clash": [(signal(id="visit"), "signals[0].id", ['"visit"'])],
    "duplicate-step": [
        (agent(flows=[flow(step(prompt="a"), step(prompt="b"))]), "flows[0].steps[1].id", ['flow "visit"', '"ask"']),
    ],
    "duplicate-instruction": [
        (agent(instructions=[{"prompt": "a", "id": "x"}, {"prompt": "b", "id": "x"}]), "instructions[1].id", ['"x"']),
        (
            agent(flows=[flow(instructions=[{"prompt": "a", "id": "instruction_1"}, {"prompt": "b"}])]),
            "flows[0].instructions[1].id",
            ['"instruction_1"'],
        ),
    ],
    "bad-instruction-kind": [
        (agent(instructions=[{"prompt": "a", "kind": "may"}]), "instructions[0].kind", ['"may"', '"must"']),
        (in_step(instructions=[Instruction("a", kind=5)]), "flows[0].steps[0].instructions[0].kind", ["5"]),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # wrong on purpose
    ],
    "unknown-collect-field": [
        (
            in_step(collect=["name", "x"]),
            "flows[0].steps[0].collect[1]",
            ['"ask"', '"Book a visit"', '"x"', '"name" and "age"'],
        ),
        (in_step(requires=["x"]), "flows[0].steps[0].requires[0]", ['"x"']),
        (agent(schema=None, flows=[flow(step(collect=["x"]))]), "flows[0].steps[0].collect[0]", ["fields: none"]),
    ],
    "unknown-flow-field": [
        (agent(flows=[flow(requiredFields=["x"])]), "flows[0].requiredFields[0]", ['"Book a visit"', '"x"', '"age"']),
        (agent(flows=[flow(optionalFields=["x"])]), "flows[0].optionalFields[0]", ['"x"']),
    ],
    "function-on-when": [
        (agent(flows=[flow(when=does)]), "flows[0].when", ['flow "visit"', "when", "if"]),
        (in_step(when=["a", does]), "flows[0].steps[0].when[1]", ['step "ask"', "when[1]", "if"]),
        (in_branch({"when": does, "then": "bye"}), "flows[0].steps[0].branches[0].when", ["branches[0].when"]),
        (agent(instructions=[{"prompt": "a", "when": does}]), "instructions[0].when", ['instruction "instruction_0"']),
        (signal(when=[does]), "signals[0].when[0]", ['signal "angry"', "when[0]"]),
    ],
    "auto-step-shape": [
        (in_step(auto=True, prompt="a", collect=["name"]), "flows[0].steps[0]", ['"ask"', "prompt and collect"]),
        (in_step(auto=True, tools=[]), "flows[0].steps[0]", ["tools"]),
        (in_step(auto=True, finalize=does), "flows[0].steps[0]", ["finalize"]),
        (in_step(auto=True, hooks={"finalize": does}), "flows[0].steps[0]", ["hooks.finalize"]),
    ],
    "reply-step-shape": [
        (in_step(reply="a", prompt="b", auto=True), "flows[0].steps[0]", ['"ask"', "prompt and auto"]),
        (in_step(reply=does, hooks={"finalize": does}), "flows[0].steps[0]", ["hooks.finalize"]),
    ],
    "empty-branches": [(in_step(branches=[]), "flows[0].steps[0].branches", ['"ask"'])],
    "dead-branch": [
        (
            in_branch({"then": "bye"}, {"when": "a", "then": "bye"}),
            "flows[0].steps[0].branches[0]",
            ['"ask"', "branches[0]"],
        ),
        (in_branch({"when": [], "then": "bye"}, {"then": "bye"}), "flows[0].steps[0].branches[0]", ["branches[0]"]),
    ],
    "bad-branch-target": [
        (in_branch({"then": "nowhere"}), "flows[0].steps[0].branches[0].then", ['"nowhere"', '"visit.ask"']),
        (in_branch({"when": "a"}), "flows[0].steps[0].branches[0].then", ["missing"]),
        (in_branch({"then": 5}), "flows[0].steps[0].branches[0].then", ["5"]),
    ],
    "bad-directive": [
        (
            in_branch({"then": {"go_to": "visit", "abort": "x"}}),
            "flows[0].steps[0].branches[0].then",
            ['step "ask"', "branches[0].then", "(abort, goTo)"],
        ),
        (in_branch({"then": Directive(go_to={})}), "flows[0].steps[0].branches[0].then.goTo", ["empty object"]),
        (
            in_branch({"then": {"complete": {"next": {"abort": "x", "reply": "y"}}}}),
            "flows[0].steps[0].branches[0].then.complete.next",
            ["reply", "abort"],
        ),
    ],
    "two-completions": [
        (
            agent(flows=[flow(onComplete="visit", hooks={"onComplete": does})]),
            "flows[0].onComplete",
            ['"Book a visit"', "onComplete", "hooks.onComplete"],
        ),
    ],
    "mixed-hook": [
        (
            in_step(prepare=Tool("t", does), hooks={"prepare": does}),
            "flows[0].steps[0].prepare",
            ['"ask"', "prepare"],
        ),
        (
            agent(tools=[Tool("t", does)], flows=[flow(step(finalize="t", hooks={"finalize": does}))]),
            "flows[0].steps[0].finalize",
            ["finalize"],
        ),
    ],
    "bad-signal-batch-size": [
        (agent(signalBatchSize=size), "signalBatchSize", ["signalBatchSize", shown])
        for size, shown in ((0, "0"), (1.5, "1.5"), (True, "true"), ("3", '"3"'))
    ],
    "bad-signal-extract": [(signal(extract=["a"]), "signals[0].extract", ['signal "angry"'])],
    "bad-signal-phase": [
        (signal(phase="during"), "signals[0].phase", ['signal "angry"', '"during"']),
        (signal(phase=None), "signals[0].phase", ["missing"]),
    ],
    "bad-limit": [
        (agent(**{name: value}), name, [name, str(value)])
        for name, value in (
            ("flowSwitchMargin", 101),
            ("flowSwitchMargin", -1),
            ("maxHistoryMessages", -1),
            ("maxAutoStepsPerTurn", 0),
            ("maxDirectiveChain", 0),
            ("maxToolLoops", -1),
            ("maxToolLoops", 1.5),
        )
    ],
    "bad-tool": [
        (agent(tools=[{"handler": does}]), "tools[0]", ["id", "missing"]),
        (agent(tools=[{"id": "crm"}]), "tools[0]", ['"crm"', "missing"]),
        (agent(tools=[{"id": "crm", "handler": "run"}]), "tools[0]", ['"crm"', '"run"']),
        (agent(tools=["crm"]), "tools[0]", ['"crm"']),
        (in_step(prepare=5), "flows[0].steps[0].prepare", ["5"]),
    ],
    "unknown-tool": [
        (agent(flows=[flow(tools=["crm"])]), "flows[0].tools[0]", ['flow "visit"', '"crm"']),
        (in_step(tools=["crm"]), "flows[0].steps[0].tools[0]", ['step "ask"', '"crm"']),
        (in_step(finalize="crm"), "flows[0].steps[0].finalize", ['"crm"']),
    ],
    "not-text": [
        (agent(name=" "), "name", ["name"]),
        (agent(goal=5), "goal", ["5"]),
        (agent(sessionId=" "), "sessionId", ['" "']),
        (agent(flows=[{"id": "a", "when": "x"}]), "flows[0].title", ["missing"]),
        (in_step(prompt=5), "flows[0].steps[0].prompt", ["5"]),
        (agent(terms=[{"name": "CRM"}]), "terms[0].description", ["missing"]),
    ],
    "not-a-list": [
        (agent(flows={}), "flows", ["an object"]),
        (agent(tools="crm"), "tools", ['"crm"']),
        (agent(flows=[{"id": "a", "title": "A", "steps": {}}]), "flows[0].steps", ["an object"]),
    ],
    "bad-entry": [(agent(flows=[flow(), 5]), "flows[1]", ["5"]), (agent(signals=["a"]), "signals[0]", ['"a"'])],
    "not-a-function": [
        (agent(flows=[flow(**{"if": "x"})]), "flows[0].if", ['"x"']),
        (in_step(skip=[does, 5]), "flows[0].steps[0].skip[1]", ["5"]),
        (signal(handler=None), "signals[0].handler", ["missing"]),
        (agent(hooks={"beforeRespond": 5}), "hooks.beforeRespond", ["5"]),
    ],
    "not-an-object": [
        (agent(hooks=[]), "hooks", ["a list"]),
        (agent(persistence=[]), "persistence", ["a list", "adapter"]),
        (agent(knowledgeBase=["a"]), "knowledgeBase", ["a list"]),
    ],
    "not-a-store": [
        (agent(persistence={"autoSave": True}), "persistence.adapter", ["missing"]),
        (agent(persistence={"adapter": dict}), "persistence.adapter", ["persistence.adapter"]),
    ],
    "bad-model": [(agent(provider=None), "provider", ["provider is missing"])],
    "not-a-boolean": [(in_step(auto=1), "flows[0].steps[0].auto", ["1"]), (agent(debug="on"), "debug", ['"on"'])],
    "not-a-number": [(signal(priority="high"), "signals[0].priority", ['"high"'])],
    "not-one-of": [(signal(behavior="twice"), "signals[0].behavior", ['"twice"'])],
    "reserved-step-id": [(in_step(id="end", prompt="a"), "flows[0].steps[0].id", ['"end"'])],
}


def found(options: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(FlowConfigurationError) as raised:
        checked_options(options)
    assert str(raised.value).startswith("[FlowConfigurationError] ")
    return raised.value.problems


@pytest.mark.parametrize(
    ("code", "options", "path", "said"),
    [
        pytest.param(code, *row, id=f"{code} {number}")
        for code, rows in WRONG.items()
        for number, row in enumerate(rows)
    ],
)
def test_a_mistake_has_its_code_and_names_what_is_wrong(
    code: str, options: dict[str, Any], path: str, said: list[str]
) -> None:
    """D-4: one mistake is one problem, with its code, the path in wire names, and the words of the last column."""
    (problem,) = found(options)
    assert (problem.code, problem.path) == (code, path)
    assert [words for words in said if words not in problem.message] == []


def test_everything_is_told_at_once() -> None:
    """D-1: the mistakes of all places come in one error."""
    wrong = agent(
        maxToolLoops=-1,
        signals=[{"phase": "late", "handler": does}],
        flows=[flow(step(collect=["x"], branches=[]), tools=["crm"]), flow(step(reply="a", auto=True), when=does)],
    )
    codes = [problem.code for problem in found(wrong)]
    assert sorted(codes) == [
        "bad-limit", "bad-signal-phase", "duplicate-flow", "duplicate-flow", "empty-branches", "function-on-when",
        "reply-step-shape", "unknown-collect-field", "unknown-tool",
    ]  # fmt: skip


def test_what_is_not_known_for_another_mistake_is_not_told_again() -> None:
    """A wrong schema is one problem, not one for each name of a field."""
    everywhere = [flow(step(collect=["x"]), requiredFields=["x"], initialData={"x": 1})]
    for schema in (5, {"type": "object", "properties": {"x": 5}}):
        (problem,) = found(agent(schema=schema, flows=everywhere, initialData={"x": 1}))
        assert problem.code == "bad-schema"


def test_without_a_schema_data_are_not_held_to_it() -> None:
    """D-56: without a schema nothing is checked."""
    assert checked_options(agent(schema=None, initialData={"x": 1}, flows=[flow(initialData={"y": 2})])).fields == {}


def a_full_agent() -> dict[str, Any]:
    """Every member of every part, in wire form."""

    @tool()
    def look_up(_: object) -> None:
        """Looks something up."""

    rule: dict[str, Any] = {
        "prompt": does,
        "kind": "never",
        "when": ["a", "!b"],
        "if": [does],
        "enabled": False,
        "tags": ["t"],
        "metadata": {},
    }
    branches: list[Any] = [
        {"when": "wants out", "then": {"abort": "over"}},
        {"if": does, "then": "Book a visit", "label": "again"},
        {"then": "bye"},
    ]
    steps: list[Any] = [
        {"description": "Ask who it is", "prompt": "Ask.", "collect": ["name"], "requires": ["age"], "tools": ["crm", look_up],
         "instructions": [rule], "prepare": does, "finalize": "look_up", "hooks": {"onEnter": does, "prepare": does, "onExit": does},
         "when": "a", "if": does, "skip": [does], "branches": branches},
        {"auto": True, "prepare": {"id": "log", "handler": does}},
        {"id": "bye", "reply": "Bye, {{data.name}}."},
    ]  # fmt: skip
    flows: list[Any] = [
        {"title": "Book a visit", "description": "d", "when": ["a"], "if": does, "steps": steps,
         "requiredFields": ["name"], "optionalFields": ["age"], "initialData": {"age": None}, "instructions": [rule],
         "tools": [Tool("own", does)], "reentrant": True, "hooks": {"onComplete": does, "onDataUpdate": does}},
        Flow("aside", on=[OnMention("asks")], steps=[Say("s", "Hi")]),
        {"id": "spec", "on": [{"mention": ["x"]}], "steps": [{"id": "s", "say": "Hi"}]},
    ]  # fmt: skip
    return agent(
        goal="g", persona=does, initialData={"name": "Ana"}, flows=flows, tools=[{"id": "crm", "handler": does, "isReadOnly": True}],
        instructions=[rule, Instruction("x")], terms=[{"name": "CRM", "description": "d", "synonyms": ["s"]}],
        knowledgeBase={}, signals=[{"title": "Is angry", "phase": "both", "handler": does, "extract": {}, "behavior": "cooldown",
        "cooldownMs": 5, "enabled": True, "priority": 1.5, "when": "!calm", "if": does, "description": "d"}],
        signalBatchSize=1, contextProvider=does, hooks={"beforeRespond": does}, persistence={"adapter": MemoryStore(), "autoSave": False},
        flowSwitchMargin=0, maxHistoryMessages=0, maxAutoStepsPerTurn=1, maxDirectiveChain=1, maxToolLoops=0,
        compaction={"maxTokens": 100}, debug=False, routerMode="ai", sessionId="s1",
    )  # fmt: skip


NAMES = {
    *AGENT,
    *FLOW,
    *STEP,
    *BRANCH,
    *INSTRUCTION,
    *SIGNAL,
    *TOOL,
    "maxTokens",
    "autoSave",
    "beforeRespond",
    "onEnter",
}
KEPT = ("schema", "initialData", "initial_data", "metadata", "then", "on")


def snaked(value: Any, key: str = "") -> Any:
    """The same options as a Python author writes them."""
    if is_object(value) and key not in KEPT and "on" not in value:
        return {(snake_name(k) if k in NAMES else k): snaked(v, k) for k, v in value.items()}
    return [snaked(entry) for entry in value] if is_list(value) else value


def test_right_options_pass_in_either_spelling() -> None:
    """D-1: wire names or snake_case, objects or mappings, flows of the core beside the others; nothing is changed."""
    given = a_full_agent()
    shown = copy.copy(given)
    checked = checked_options(given)
    assert given == shown
    assert checked.warnings == ()
    assert checked_options(snaked(given)).options == checked.options
    assert list(checked.fields) == ["name", "age"]


def test_ids_are_there_after_the_check() -> None:
    """D-2: every flow, step, signal and instruction has an id; those of the core stay as they are."""
    options = checked_options(a_full_agent()).options
    flows = options["flows"]
    assert isinstance(flows[1], Flow)
    assert flows[2] == {"id": "spec", "on": [{"mention": ["x"]}], "steps": [{"id": "s", "say": "Hi"}]}
    assert flows[0]["id"] == "book_a_visit"
    assert [step["id"] for step in flows[0]["steps"]] == ["ask_who_it_is", "step_1", "bye"]
    assert options["signals"][0]["id"] == "is_angry"
    assert [rule["id"] for rule in options["instructions"]] == ["instruction_0", "instruction_1"]


def test_two_equal_derived_ids_are_a_duplicate() -> None:
    """D-2: nobody is renamed without a word."""
    (problem,) = found(
        agent(flows=[flow({"description": "Ask!", "prompt": "a"}, {"description": "ask", "prompt": "b"})])
    )
    assert problem.code == "duplicate-step"


def test_targets_are_steps_then_flows_by_id_or_title() -> None:
    """D-3, D-82: a branch leads to a step of its flow, or to a flow of either kind."""
    other = [flow(id="o", title="Other"), Flow("core", name="Of the core", steps=[Say("s", "Hi")])]
    for target in ("bye", "visit", "Book a visit", "o", "Other", "core", "Of the core"):
        options = in_branch({"then": target})
        checked_options({**options, "flows": [*options["flows"], *other]})
    (problem,) = found(
        {
            **(options := in_branch({"then": "ask2"})),
            "flows": [*options["flows"], flow(step(id="ask2", prompt="a"), id="o", title="Other")],
        }
    )
    assert problem.code == "bad-branch-target"


def test_a_misspelt_name_is_a_warning() -> None:
    """What has no meaning where it stands is told, with what was perhaps meant; so is a second spelling."""
    options = agent(flows=[flow(step(prompts="Ask.", prompt="a", auto=False))], max_tool_loops=1, maxToolLoops=2)
    said = [notice.text for notice in checked_options(options).warnings]
    assert len(said) == 2
    assert '"max_tool_loops"' in said[0]
    assert '"prompts"' in said[1]
    assert "prompt" in said[1]


def test_other_routers_are_not_built() -> None:
    """D-9: the product's not-implemented error, with option and value."""
    with pytest.raises(UnsupportedOptionError, match='routerMode: "rules"'):
        checked_options(agent(router_mode="rules"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("maxTokens", 0), ("compactionThreshold", 0.4), ("preserve_recent_count", 1), ("maxToolResultChars", 0)],
)
def test_compaction_out_of_range_is_a_value_error(name: str, value: float) -> None:
    """D-7: option, value and range are named."""
    with pytest.raises(ValueError, match=rf"{value}.*must be"):
        checked_options(agent(compaction={"maxTokens": 100, name: value}))


NESTED = sorted(NAMES - {"compaction", "routerMode"})
ODD: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.text(max_size=3)
    | st.sampled_from([does, Directive(), Instruction("x"), Flow("f")]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NESTED), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def members(draw: st.DrawFn, names: tuple[str, ...], **parts: st.SearchStrategy[Any]) -> Any:
    """A mapping with some of the names, each with what it takes, or with anything; sometimes no mapping at all."""
    if not draw(st.integers(0, 9)):
        return draw(ODD)
    chosen = {*parts, *draw(st.lists(st.sampled_from(names), max_size=6))}
    return {name: draw(parts.get(name, ODD)) for name in names if name in chosen}


STEPS = st.lists(
    members(STEP, branches=st.lists(members(BRANCH), max_size=2), tools=st.lists(members(TOOL))), max_size=3
)
OPTIONS = members(
    tuple(name for name in AGENT if name not in ("compaction", "routerMode")),
    flows=st.lists(members(FLOW, title=st.just("x") | ODD, steps=STEPS | ODD), max_size=3) | ODD,
    signals=st.lists(members(SIGNAL), max_size=2),
    instructions=st.lists(members(INSTRUCTION), max_size=2),
).filter(is_object)


@pytest.mark.property
@given(OPTIONS)
def test_whatever_comes_is_judged(options: dict[str, Any]) -> None:
    """D-1: options of any kind are checked, or all that is wrong is told; the check never fails itself."""
    findings = list(option_findings(wire_options(options)))
    assert all(finding.code and finding.what and finding.fix for finding in findings)
