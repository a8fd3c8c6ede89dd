from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai import Do, Flow, FlowConfigurationError, OnMessage, Prompt, ProviderError, Say, ToFlow, Wait, ok
from falai.session.inputs import Wake


def step(id: str, **options: Any) -> dict[str, Any]:
    return {"id": id, "prompt": f"Step {id}.", **options}


# --- what the core and the layer have in common -------------------------------------------------


def test_no_flows_and_no_eligible_flow_leave_the_idle_speaker() -> None:
    """D-87."""
    talk = Talk()
    talk.says(speak="Hello.")
    assert (talk.said, talk.at) == (["Hello."], None)
    talk = Talk(flow("A", step("a1"), **{"if": lambda ctx: False}))
    talk.says(speak="Hello.")
    assert (talk.said, talk.at) == (["Hello."], None)


def test_a_flow_without_phrases_is_known_by_its_description_or_title() -> None:
    """D-87: also one that only says what rules it out."""
    talk = Talk(flow("A", step("a1")), flow("B", step("b1"), when=["!is joking"], description="All about b"))
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    prompt = talk.model.calls[0].prompt
    assert "All about b" in prompt
    assert "is joking" in prompt


def test_a_compiled_agent_has_nothing_to_be_warned_of() -> None:
    """What a flow of 3.x becomes is no odd flow of the core."""
    branches = [{"when": "x", "then": "a1"}, {"then": "b"}]
    talk = Talk(
        flow(
            "A",
            step("a1", requires=["name"]),
            {"id": "r", "reply": "{{data.x}}"},
            step("a2", collect=["size"], branches=branches),
        ),
        flow("B", {"id": "go", "auto": True}, reentrant=True),
        signals=[{"id": "s", "phase": "pre", "handler": print, "when": "x"}],
    )
    assert list(talk.core.warnings) == []


def test_a_flow_without_steps_is_complete_at_once() -> None:
    """D-13: there is no step left to take."""
    talk = Talk(flow("A", onComplete="B"), flow("B", step("b1"), step("b2"), when="never"))
    talk.says(understand={"flows": {"a": 90}}, speak="B one.")
    assert (talk.at, talk.ended, talk.executed) == ("b.b1", [("a", "end")], ["b1"])


def test_the_id_that_a_requires_needs_is_no_id_for_another_step() -> None:
    """D-87."""
    with pytest.raises(FlowConfigurationError) as raised:
        Talk(flow("A", step("a1", requires=["name"]), step("a1!")))
    assert raised.value.code == "duplicate-step"


def test_a_flow_whose_if_fails_on_the_way_ends() -> None:
    """D-28: its premise is gone; whoever is left answers, and `onExit` hears that it was broken off."""
    reasons: list[str] = []
    a = flow(
        "A",
        step("a1"),
        step("a2"),
        **{"if": lambda ctx: ctx.context["open"]},
        hooks={"onExit": lambda ctx, reason: reasons.append(reason)},
    )
    talk = Talk(a, context={"open": True})
    talk.says(speak="One.")
    talk.context["open"] = False
    talk.says(speak="Idle.")
    assert (talk.said, talk.ended, reasons) == (["Idle."], [("a", "skipped")], ["aborted"])


def test_a_failure_of_the_speaking_call_goes_out_of_the_turn() -> None:
    """DT-19, D-97: it is raised, the session is as before, and a repetition works; a reply without words is one too."""
    talk = Talk(flow("A", step("a1"), step("a2")))
    for broken in (ProviderError("down", kind="overload"), {"message": "  "}):
        with pytest.raises(ProviderError):
            talk.says(speak=[broken])
        assert talk.session is None
    talk.says(speak="One.")
    assert talk.at == "a.a1"


def test_the_limit_of_tool_rounds_counts_the_rounds_behind_the_first() -> None:
    """DT-21: with 2, a model that always calls runs the tool in 3 rounds, then a message."""
    ran: list[int] = []
    tools = [{"id": "t", "parameters": {"type": "object"}, "handler": lambda ctx, args: ran.append(1)}]
    talk = Talk(flow("A", step("a1")), tools=tools, maxToolLoops=2)
    call = {"message": "", "toolCalls": [{"toolName": "t", "arguments": {}}]}
    talk.says(speak=[call, call, call, "Well."])
    assert (len(ran), talk.said) == (3, ["Well."])


# --- scopes -------------------------------------------------------------------------------------


def test_tools_add_up_and_an_inner_one_replaces_an_outer_one() -> None:
    """D-47: the model sees those of agent, flow and step."""

    def tool(id: str, description: str) -> dict[str, Any]:
        return {"id": id, "description": description, "parameters": {"type": "object"}, "handler": print}

    a = flow(
        "A",
        step("a1", tools=[tool("t", "of the step")]),
        step("a2", tools=["t", "u"]),
        tools=[tool("u", "of the flow")],
    )
    talk = Talk(a, tools=[tool("t", "of the agent")])
    talk.says(speak="One.")
    seen = [{spec.id: spec.description for spec in call.request.tools} for call in talk.model.calls]
    assert seen == [{"t": "of the step", "u": "of the flow"}]
    talk.says(speak="Two.")
    assert {spec.id: spec.description for spec in talk.model.calls[-1].request.tools} == {
        "t": "of the agent",
        "u": "of the flow",
    }
    talk.says(speak="Idle.")
    assert [spec.id for spec in talk.model.calls[-1].request.tools] == ["t"]


def test_instructions_stand_where_they_are_written_while_their_if_holds() -> None:
    """D-40, D-41: agent, flow and step; what stood in the prompt is told."""

    async def no(ctx: Any) -> bool:
        return False

    a = flow(
        "A",
        step("a1", instructions=[{"prompt": "of the step", "kind": "must"}]),
        step("a2"),
        instructions=[{"prompt": "of the flow"}],
    )
    talk = Talk(
        a, instructions=[{"prompt": "of all"}, {"prompt": "off", "enabled": False}, {"prompt": "not now", "if": no}]
    )
    talk.says(speak="One.")
    prompt = talk.model.calls[-1].prompt
    assert [text for text in ("of all", "of the flow", "of the step", "off", "not now") if text in prompt] == [
        "of all",
        "of the flow",
        "of the step",
    ]
    assert [(one.id, one.scope, one.scope_ref) for one in talk.state.applied] == [
        ("instruction_0", "global", None), ("instruction_0", "flow", "A"), ("instruction_0", "step", "a1"),
    ]  # fmt: skip
    talk.says(speak="Two.")
    assert [one.scope for one in talk.state.applied] == ["global", "flow"]


# --- flows of the core beside it ----------------------------------------------------------------


def core_flow(*steps: Any, id: str = "core") -> Flow:
    return Flow(id, on=[OnMessage("core")], steps=list(steps))


def test_flows_of_the_core_run_beside() -> None:
    """D-85: with their actions; they keep the core's ways, and may lead into a flow of 3.x."""
    acted: list[Any] = []

    def act(ctx: Any) -> Any:
        acted.append(ctx.data)
        return ok()

    core = core_flow(Say("hi", "Hi."), Do("act", act), Say("bye", "Bye.", then=ToFlow("a")))
    talk = Talk(core, flow("A", {"id": "a0", "auto": True}, step("a1"), step("a2"), when="a", initialData={"size": 1}))
    talk.says(understand={"flows": {"core": 90}})
    assert (talk.said, len(acted), talk.data, talk.at) == (["Hi.", "Bye."], 1, {"size": 1}, "a.a1")


def test_a_directive_enters_a_flow_of_the_core_at_a_step() -> None:
    """D-54: directives reach every flow."""
    a = flow("A", step("a1", prepare=lambda context, data: {"goTo": {"flow": "core", "step": "second"}}))
    talk = Talk(a, core_flow(Say("first", "One."), Prompt("second", "Second step.")))
    talk.says(understand={"flows": {"a": 90}}, speak="Two.")
    assert (talk.said, talk.ended) == (["Two."], [("a", "flow"), ("core", "end")])
    with pytest.raises(FlowConfigurationError):
        Talk(
            flow("A", step("a1", prepare=lambda context, data: {"goTo": {"flow": "core", "step": "x"}})),
            core_flow(Say("first", "One.")),
        ).says(understand={"flows": {"a": 90}})


def test_a_wake_is_served_by_the_core_itself() -> None:
    """D-85: a host calls the core's turn; a flow of 3.x that waits stays as it is."""
    talk = Talk(flow("A", step("a1"), step("a2")), core_flow(Wait("w", "1h"), Say("late", "Hello again.")))
    talk.says(understand={"flows": {"core": 90}}, speak="Idle.")
    [wake] = talk.result.schedule
    talk.says(speak="A one.")
    assert talk.at == "a.a1"
    talk.clock.advance("1h")
    result = talk.core.turn_sync("s1", Wake(wake.key), session=talk.session)
    assert [message.text for message in result.messages] == ["Hello again."]
    assert [(run.flow_id, run.step_id, run.status) for run in result.session.runs] == [("a", "a1", "asking")]


def test_messages_may_be_played_on_the_core_itself() -> None:
    """D-85: without `respond` a turn makes the layer's state by itself."""
    talk = Talk(flow("A", {"id": "r", "reply": lambda ctx: ctx.history[-1]["content"]}))
    result = talk.core.turn_sync("s1", {"message": "Echo"}, history=[{"role": "user", "content": "before"}])
    assert [message.text for message in result.messages] == ["Echo"]
