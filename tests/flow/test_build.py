"""An agent's options: one error with everything that is wrong, or a plan and warnings (F-16, F-17, F-19.4, F-19.5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError, Problem
from falai.flow.build import AgentOptions, EventDefinition, Idle, build_plan
from falai.flow.definition import (
    Branch,
    Collect,
    Condition,
    Do,
    Field,
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
)  # fmt: skip
from falai.flow.functions import Action, Tool, action
from falai.flow.handlers import ActionResult, ToolResult, View, ok
from falai.flow.hours import BusinessHours
from falai.flow.plan import AgentPlan, IdlePlan
from falai.flow.registries import Registries
from falai.flow.spec import validate_flow
from strategies_flow import flow_specs, json_values


def built(**options: Any) -> AgentPlan:
    return build_plan(AgentOptions(**({"name": "Ana"} | options)))[0]


def warned(**options: Any) -> tuple[str, ...]:
    return build_plan(AgentOptions(**({"name": "Ana"} | options)))[1]


def refused(**options: Any) -> list[tuple[str, str]]:
    with pytest.raises(FlowConfigurationError) as raised:
        built(**options)
    return [(problem.code, problem.path) for problem in raised.value.problems]


def tell(ctx: Any, to: str) -> ActionResult:
    """Tells."""
    return ok(to)


def search(ctx: Any, query: str) -> ToolResult:
    """Searches."""
    return ToolResult(query)


def no_context() -> ActionResult:
    return ok()


def vip(view: View[Any], argument: Any) -> bool:
    return bool(argument)


TWENTY = {
    "name": " ",
    "timezone": "Mars/Base",
    "max_tool_loops": -1,
    "fields": {
        "name": Field(str, ask=5),  # type: ignore[arg-type]
        "size": {"type": "text"},
        "agreed": Field(bool),
    },
    "actions": [tell, no_context, Action("stop", tell, parameters={"x": {"type": "array"}})],
    "events": {"paid": {"direction": "up"}},
    "conditions": {"known": vip},
    "instructions": [Instruction("Be brief.", if_={"nope": 1})],
    "tools": [Tool("look", search, parameters={"type": "array"})],
    "idle": {"prompt": "Help.", "tools": ["gone"]},
    "flows": [
        Flow("f", on=[OnMessage(), OnSilence(5)], steps=[Say("a", 42), Collect("b", ["name"], max_asks=0)]),  # type: ignore[arg-type]
        Flow(
            "f",
            on=[OnEvent("moved"), OnSilence("soon")],
            steps=[
                Collect("a", ["phone"], then="z"),
                Do("b", tell, {"to": 5}),
                Do("c", search),  # type: ignore[arg-type]
                If("d", {"equals": {"agreed": "yes", "size": 5}}, then="a"),
            ],
        ),
        {"id": "g", "steps": [{"id": "a", "wait": "long"}]},
    ],
}


def test_twenty_mistakes_are_twenty_problems_with_their_paths() -> None:
    """F-19.5: in the order of F-17.2; what a wrong definition would allow is not judged."""
    assert refused(**TWENTY) == [
        ("bad-definition", "fields.name.ask"),
        ("bad-definition", "fields.size.type"),
        ("bad-definition", "actions[1]"),
        ("bad-definition", "actions[2].parameters.x.items"),
        ("bad-definition", "events.paid.direction"),
        ("shadowed-condition", "conditions.known"),
        ("unknown-condition", "instructions[0].if.nope"),
        ("no-phrases", "flows[0].on[0].message"),
        ("not-text", "flows[0].steps[0].say"),
        ("bad-max-asks", "flows[0].steps[1].maxAsks"),
        ("duplicate-flow-id", "flows[1].id"),
        ("unknown-event", "flows[1].on[0].event"),
        ("bad-duration", "flows[1].on[1].silence"),
        ("unknown-step", "flows[1].steps[0].then"),
        ("unknown-field", "flows[1].steps[0].collect[0]"),
        ("parameter-type", "flows[1].steps[1].with.to"),
        ("unknown-action", "flows[1].steps[2].do"),
        ("equals-type", "flows[1].steps[3].if.equals.agreed"),
        ("backward-if-without-else", "flows[1].steps[3].then"),
        ("bad-duration", "flows[2].steps[0].wait"),
        ("tool-parameters", "tools[0].parameters"),
        ("unknown-tool", "idle.tools[0]"),
        ("bad-limit", "maxToolLoops"),
        ("not-text", "name"),
        ("bad-timezone", "timezone"),
    ]


def test_the_message_shows_the_first_and_lists_the_rest() -> None:
    """S-18: the first problem's sentence first, then a line for each other with its path."""
    with pytest.raises(FlowConfigurationError) as raised:
        built(**TWENTY)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith('[FlowConfigurationError] field "name": ask')
    assert lines[1] == "24 more:"
    assert lines[2].startswith("  fields.size.type: ")


def test_a_plan_has_everything_by_name_and_objects_only() -> None:
    """What the turn reads: names resolved, functions in `do` gone, defaults filled in."""
    hours = BusinessHours("09:00", "18:00")
    plan = built(
        persona="Kind.",
        goal="To help.",
        knowledge_base={"address": "Rua do Sol"},
        timezone="America/Sao_Paulo",
        fields={"name": Field(str), "agreed": {"type": "boolean"}},
        actions={"say": tell, "stop": {"run": tell, "parameters": {}, "description": "Stops."}},
        events={"paid": EventDefinition("inbound"), "left": {}},
        conditions=[Condition("vip", vip)],
        tools=[search],
        instructions=[{"prompt": "Be brief."}],
        idle=Idle("Help.", tools=["search"], instructions=[Instruction("x", if_={"vip": 1})]),
        business_hours=hours,
        max_tool_loops=2.0,
        compaction={"maxTokens": 100},
        flows=[
            Flow("f", steps=[Do("a", tell, {"to": "x"}, then={"step": "a", "clear": ["name"]})]),
            {"id": "g", "steps": []},
        ],
    )
    assert list(plan.fields) == ["name", "agreed"]
    assert list(plan.actions) == ["say", "stop"]
    assert plan.actions["stop"].description == "Stops."
    assert plan.actions["say"].run(None, {"to": "x"}) == ok("x")
    assert plan.flows["f"].flow == Flow("f", steps=[Do("a", "say", {"to": "x"}, then=To("a", clear=["name"]))])
    assert plan.flows["g"].name == "g"
    assert (plan.events["paid"].direction, plan.events["left"].direction) == ("inbound", None)
    assert plan.conditions["vip"].check is vip
    assert [t.id for t in plan.tools] == ["search"]
    assert plan.instructions == (Instruction("Be brief."),)
    assert plan.idle == IdlePlan("Help.", ("search",), (Instruction("x", if_={"vip": 1}),))
    assert plan.business_hours == hours.in_zone("America/Sao_Paulo")
    assert (plan.max_tool_loops, plan.compaction) == (2, {"maxTokens": 100})
    assert Registries.of(plan).flows == ("f", "g")
    assert validate_flow({"id": "h", "steps": [{"id": "a", "do": "say", "with": {"to": "x"}}]}, Registries.of(plan))


def test_the_least_agent() -> None:
    """F-16.1: everything but the name has a default."""
    plan = built()
    assert (plan.idle, plan.max_tool_loops, plan.business_hours, plan.flows) == (IdlePlan(), 5, None, {})
    assert built(idle="silent").idle is None
    own = lambda at, context: at  # noqa: E731
    assert built(business_hours=own, timezone="UTC").business_hours is own


@pytest.mark.parametrize(
    ("options", "code", "path"),
    [
        ({"name": None}, "not-text", "name"), ({"persona": 5}, "not-text", "persona"), ({"goal": []}, "not-text", "goal"),
        ({"knowledge_base": "x"}, "not-an-object", "knowledgeBase"), ({"knowledge_base": {"a": object()}}, "not-an-object", "knowledgeBase"),
        ({"max_tool_loops": True}, "bad-limit", "maxToolLoops"), ({"max_tool_loops": 1.5}, "bad-limit", "maxToolLoops"),
        ({"max_tool_loops": "5"}, "bad-limit", "maxToolLoops"), ({"timezone": 5}, "bad-timezone", "timezone"),
        ({"clock": 5}, "not-a-function", "clock"), ({"business_hours": "09:00"}, "not-a-function", "businessHours"),
        ({"fields": ["name"]}, "bad-definition", "fields"), ({"fields": {"a": str}}, "bad-definition", "fields.a"),
        ({"actions": "tell"}, "bad-definition", "actions"), ({"actions": ["tell"]}, "bad-definition", "actions[0]"),
        ({"actions": {"tell": 5}}, "bad-definition", "actions.tell"), ({"actions": {"tell": {}}}, "bad-definition", "actions.tell.run"),
        ({"actions": [tell, tell]}, "bad-definition", "actions[1]"), ({"actions": [Action(" ", tell)]}, "bad-definition", "actions[0]"),
        ({"events": ["paid"]}, "bad-definition", "events"), ({"conditions": {"vip": True}}, "bad-definition", "conditions.vip"),
        ({"conditions": [vip]}, "bad-definition", "conditions[0]"), ({"conditions": 5}, "bad-definition", "conditions"),
        ({"conditions": [Condition("equals", vip)]}, "shadowed-condition", "conditions[0]"),
        ({"tools": 5}, "bad-definition", "tools"), ({"tools": ["search"]}, "bad-definition", "tools[0]"),
        ({"tools": [Tool("", search)]}, "bad-definition", "tools[0]"), ({"tools": [Tool("a", search, parameters={})]}, "tool-parameters", "tools[0].parameters"),
        ({"instructions": "Be brief."}, "not-a-list", "instructions"), ({"instructions": [{}]}, "not-text", "instructions[0].prompt"),
        ({"idle": "loud"}, "not-an-object", "idle"), ({"idle": {"prompt": 5}}, "not-text", "idle.prompt"),
        ({"idle": Idle(tools="x")}, "not-a-list", "idle.tools"), ({"idle": {"instructions": [5]}}, "bad-entry", "idle.instructions[0]"),
        ({"flows": "f"}, "not-a-list", "flows"), ({"flows": {"f": {}}}, "not-a-list", "flows"), ({"flows": [None]}, "not-an-object", "flows[0]"),
        ({"problems": (Problem("bad-model", "agent", "x", "y", "model"),)}, "bad-model", "model"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_problem(options: dict[str, Any], code: str, path: str) -> None:
    """F-16, F-17.1: with its wire name."""
    assert refused(**options) == [(code, path)]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "maxTokens"), ({"maxTokens": 0}, "maxTokens"), ({"maxTokens": True}, "maxTokens"),
        ({"maxTokens": 9, "compactionThreshold": 0.49}, "compactionThreshold"), ({"maxTokens": 9, "compactionThreshold": 0.96}, "0.95"),
        ({"maxTokens": 9, "preserveRecentCount": 1}, "preserveRecentCount"), ({"maxTokens": 9, "preserveRecentCount": 2.5}, "preserveRecentCount"),
        ({"maxTokens": 9, "maxToolResultChars": 0}, "maxToolResultChars"), ({"max_tokens": 9}, "did you mean maxTokens"), (5, "compaction"), ({1: 2}, "1 is no option"),
    ],
)  # fmt: skip
def test_compaction_out_of_range_is_a_value_error(options: Any, named: str) -> None:
    """F-16.4: it comes last, and names the option."""
    with pytest.raises(ValueError, match=named) as raised:
        built(compaction=options)
    assert str(raised.value).startswith("[CompactionEngine]")
    assert refused(compaction=options, name="") == [("not-text", "name")]


@pytest.mark.parametrize(
    "options",
    [
        {"maxTokens": 1, "compactionThreshold": 0.5},
        {"maxTokens": 1, "compactionThreshold": 0.95},
        {"enabled": False},
        {"maxTokens": 5, "preserveRecentCount": 2.0},
    ],
)
def test_compaction_within_its_range_is_accepted(options: Any) -> None:
    """F-16.4: both ends included; nothing is checked when it is off."""
    assert built(compaction=options).compaction == options


def test_a_function_in_do_is_found_by_itself_not_by_its_name() -> None:
    """A function that the agent does not have is refused, even when another one has its name."""

    def impostor(ctx: Any, to: str) -> ActionResult:
        return ok(to)

    impostor.__name__ = "tell"

    @action(name="tellPerson")
    def named(ctx: Any, to: str) -> ActionResult:
        return ok(to)

    step = {"to": "x"}
    assert refused(actions=[tell], flows=[Flow("f", steps=[Do("a", impostor, step)])]) == [
        ("unknown-action", "flows[0].steps[0].do")
    ]
    assert built(actions=[named], flows=[Flow("f", steps=[Do("a", named, step)])]).flows["f"].steps[0] == Do(
        "a", "tellPerson", step
    )
    made = Action("other", tell)
    assert built(actions=[made], flows=[Flow("f", steps=[Do("a", tell, step)])]).flows["f"].steps[0] == Do(
        "a", "other", step
    )


def test_nothing_that_an_author_wrote_is_called() -> None:
    """F-16.6."""

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    built(
        clock=never, business_hours=never, conditions={"vip": never}, actions=[Action("a", never, parameters={})], tools=[Tool("t", never)],
        flows=[Flow("f", while_=never, steps=[If("a", never)])],
    )  # fmt: skip


def test_warnings_of_the_flows_come_first() -> None:
    """S-44, F-14.7: the flows' own, with the agent's flows as what a target may name; then tools, then advice."""
    said = warned(
        tools=[search, search],
        flows=[
            Flow(
                "f",
                on=[OnSilence("1d", business_hours=True)],
                steps=[Say("a", "x", then=ToFlow("gone")), Say("b", "y", then=ToFlow("f"))],
            )
        ],
    )
    assert [mark in text for mark, text in zip(['"gone"', '"search"', "businessHours"], said, strict=True)] == [
        True
    ] * 3


def test_a_definition_in_snake_case_is_recognised() -> None:
    """In every mapping that an author writes."""
    said = warned(
        fields={"a": {"type": "string", "ask_": "?"}},
        events={"e": {"direction_": "inbound"}},
        actions={"x": {"run": tell, "parameters_": {}}},
        instructions=[{"prompt": "x", "if_": {}}],
        idle={"prompt": "x", "tools_": []},
    )
    hints = [text.rpartition("Did you mean ")[2] for text in said]
    assert sorted(hints) == ["ask?", "direction?", "if?", "parameters?", "tools?"]


# --- advice --------------------------------------------------------------------------------------

FIELDS = {"name": Field(str, ask="?"), "agreed": Field(bool, ask="?")}
ASKED = Collect("ask", ["name"])


def advised(*steps: Any, on: Any = None, while_: Any = None, **options: Any) -> tuple[str, ...]:
    return warned(
        **({"fields": FIELDS, "actions": [tell], "flows": [Flow("f", on=on, while_=while_, steps=steps)]} | options)
    )


def test_business_hours_without_a_function() -> None:
    """F-11.4: on silence and event triggers and timed waits, each in its place."""
    on = [
        OnSilence("1d", business_hours=True),
        OnEvent("paid", business_hours=True),
        OnEvent("paid", business_hours=False),
    ]
    steps = [Wait("w", "1d", business_hours=True), Wait("v", "1d")]
    said = advised(*steps, on=on, events={"paid": {}})
    assert [text.partition(":")[0] for text in said] == [
        'flow "f", trigger #1',
        'flow "f", trigger #2',
        'flow "f", step "w"',
    ]
    assert advised(*steps, on=on, events={"paid": {}}, business_hours=lambda at, context: at) == ()


@pytest.mark.parametrize(
    "steps",
    [
        [ASKED, Say("a", "Hi {{data.name}}")],
        [ASKED, Do("a", "tell", {"to": "{{ data.name.first }}"})],
        [ASKED, If("i", {"known": ["agreed"]}), Say("a", "Hi {{data.name}}")],
        [ASKED, If("i", {"silenced": False}), Say("a", "Hi {{data.name}}")],
    ],
)
def test_a_placeholder_that_may_be_unset(steps: list[Any]) -> None:
    """A field that is given up after `maxAsks` stays a placeholder in what the customer reads."""
    (text,) = advised(*steps)
    assert text.startswith('flow "f", step "a": {{data.name}} may have no value: the step "ask"')


@pytest.mark.parametrize(
    "steps",
    [
        [ASKED, If("i", {"known": ["name"]}, else_="end"), Say("a", "Hi {{data.name}}")],
        [ASKED, If("i", {"equals": {"name": "x"}}, else_="end"), Say("a", "Hi {{data.name}}")],
        [ASKED, If("i", lambda view: True), Say("a", "Hi {{data.name}}")],
        [ASKED, If("i", {"vip": 1}), Say("a", "Hi {{data.name}}")],
        [Say("a", "Hi {{data.name}}"), ASKED],
        [ASKED, Say("a", "Hi {{context.name}} {{data}}")],
        [ASKED, Prompt("a", "Greet {{data.name}}")],
    ],
)
def test_no_false_alarm_about_placeholders(steps: list[Any]) -> None:
    """A test between them, code that decides, or a model that phrases."""
    assert advised(*steps, conditions={"vip": vip}) == ()
    assert advised(ASKED, Say("a", "Hi {{data.name}}"), while_={"known": ["name"]}) == ()


CONFIRM = Collect("confirm", ["agreed"])
RIGHT = {"equals": {"agreed": True}}
AGAIN = To("confirm", clear=["agreed"])


@pytest.mark.parametrize(
    "steps",
    [
        [CONFIRM, If("right", RIGHT, else_=AGAIN)],
        [CONFIRM, If("right", RIGHT, else_="no"), Say("yes", "x", then="end"), Say("no", "x", then=AGAIN)],
        [Say("first", "x"), CONFIRM, If("right", RIGHT, else_=To("first", clear=["name", "agreed"]))],
        [Collect("confirm", ["agreed"], branches=[Branch("no", then=AGAIN)])],
    ],
)
def test_a_confirmation_that_can_be_asked_without_end(steps: list[Any]) -> None:
    """F-8.6: clearing sets the count of asks back, so nothing ends the circle."""
    assert len([text for text in advised(*steps) if '"agreed"' in text and "for ever" in text]) == 1


@pytest.mark.parametrize(
    "steps",
    [
        [
            CONFIRM,
            If("right", RIGHT, else_="retry"),
            Say("yes", "x", then="end"),
            If("retry", lambda view: True, then=AGAIN, else_="end"),
        ],
        [
            CONFIRM,
            If("right", RIGHT, else_="retry"),
            Say("yes", "x", then="end"),
            If("retry", {"vip": 1}, then=AGAIN, else_="end"),
        ],
        [
            Collect("confirm", ["agreed"], branches=[Branch(if_=lambda view: True, then="end")]),
            If("right", RIGHT, else_=AGAIN),
        ],
        [CONFIRM, If("right", RIGHT, else_="end")],
        [ASKED, Do("a", "tell", {"to": "x"}, on_fail=To("ask", clear=["name"]))],
        [Say("first", "x", then="end"), CONFIRM, If("right", RIGHT, else_=To("first", clear=["agreed"]))],
        [If("skip", RIGHT, else_="last"), CONFIRM, Say("last", "x", then=To("skip", clear=["name"]))],
    ],
)
def test_no_false_alarm_about_confirmations(steps: list[Any]) -> None:
    """Code decides on the way, an action finds that it cannot be, or the circle is not closed."""
    assert [text for text in advised(*steps, conditions={"vip": vip}) if "for ever" in text] == []


GATED = Flow("g", steps=[If("i", {"silenced": True})])


@pytest.mark.parametrize(
    "trigger", [OnMessage("x"), OnAnyMessage(), OnMessage("x", repeat="once"), OnMessage("x", if_={"known": ["name"]})]
)
def test_a_once_trigger_that_a_closed_gate_uses_up(trigger: Any) -> None:
    """T-17.7: only on an agent that shows that its host closes the gate."""
    flow = Flow("f", on=[trigger], steps=[Say("a", "x")])
    (text,) = warned(fields=FIELDS, flows=[flow, GATED])
    assert text.startswith('flow "f", trigger #1: it starts once')
    assert warned(fields=FIELDS, flows=[flow]) == ()


@pytest.mark.parametrize(
    "flow",
    [
        Flow("f", on=[OnMessage("x", if_={"silenced": False})], steps=[Say("a", "x")]),
        Flow("f", on=[OnMessage("x", if_=lambda view: True)], steps=[Say("a", "x")]),
        Flow("f", on=[OnMessage("x", repeat="always")], steps=[Say("a", "x")]),
        Flow("f", on=[OnMessage("x", repeat={"cooldown": "1d"})], steps=[Say("a", "x")]),
        Flow("f", on=[OnMention("x")], steps=[Say("a", "x")]),
        Flow("f", on=[OnMessage("x")], steps=[Do("a", "tell", {"to": "x"})]),
    ],
)
def test_no_false_alarm_about_the_gate(flow: Flow) -> None:
    """It starts again anyway, says nothing first, or has a condition that may know."""
    assert warned(fields=FIELDS, actions=[tell], flows=[flow, GATED]) == ()


@pytest.mark.parametrize(
    "options",
    [
        {"instructions": [Instruction("x", if_={"silenced": True})]},
        {"flows": [Flow("g", while_={"silenced": False}, steps=[])]},
        {"flows": [Flow("g", on=[OnMention(if_={"silenced": False})], steps=[Do("a", "tell", {"to": "x"})])]},
        {"flows": [Flow("g", steps=[Prompt("a", "x", branches=[Branch(if_={"silenced": True}, then="end")])])]},
    ],
)
def test_any_condition_shows_that_the_gate_is_used(options: dict[str, Any]) -> None:
    """Wherever a condition may stand."""
    flows = [Flow("f", on=[OnMessage("x")], steps=[Say("a", "x")]), *options.get("flows", ())]
    assert len(warned(**(options | {"flows": flows, "actions": [tell]}))) == 1


@pytest.mark.property
@given(st.dictionaries(st.sampled_from(["fields", "flows", "actions", "events", "conditions", "tools", "instructions", "idle", "knowledge_base",
                                        "timezone", "max_tool_loops", "business_hours", "clock", "persona"]), json_values))  # fmt: skip
def test_options_of_any_json_are_accepted_or_refused(options: dict[str, Any]) -> None:
    """Nothing but FlowConfigurationError comes out."""
    try:
        built(**options)
    except FlowConfigurationError:
        return


@pytest.mark.property
@given(st.lists(flow_specs, max_size=3))
def test_advice_is_total(flows: list[dict[str, Any]]) -> None:
    """Every agent that passes the checks gets its warnings, and no exception."""
    try:
        plan, said = build_plan(
            AgentOptions(
                name="Ana", fields={"name": Field(str), "size": Field(int, enum=[1, 2, 3]), "agreed": Field(bool)},
                actions=[tell, Action("stop", tell, parameters={})], events={"paid": {}, "left": {}}, conditions={"vip": vip}, tools=[search], flows=flows,
            )
        )  # fmt: skip
    except FlowConfigurationError:
        return
    assert set(plan.flows) == {flow["id"] for flow in flows}
    assert all(text for text in said)
