"""What the response of a turn tells (D-25 to D-29, D-35)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, said, talk, used
from falai import Do, Flow, FlowConfigurationError, OnMessage, ProviderError, Say
from falai.classic import Directive
from falai.classic.response import AppliedInstruction, EndedFlow, ExecutedStep
from falai.testing import ScriptedModel

VISIT = {"flows": {"visit": 90}}

pytestmark = pytest.mark.anyio


async def test_an_agent_without_flows_answers_by_itself() -> None:
    """No flow was involved: no reason, no steps; the core's result is behind the response."""
    response = await agent(model("Hello")).chat("Hi")
    assert (response.message, response.stopped_reason, response.executed_steps) == ("Hello", None, ())
    assert (response.tool_calls, response.is_flow_complete, response.ended_flows) == (None, False, ())
    assert (response.messages, response.schedule) == (response.turn.messages, ())
    assert [message.text for message in response.messages] == ["Hello"]


async def test_a_step_that_waits_needs_input() -> None:
    """The step that spoke is told by its own id."""
    one = agent(model("One"), flows=[flow(talk("one"), talk("two"))])
    response = await one.chat("Hi")
    assert (response.stopped_reason, response.executed_steps) == ("needs_input", (ExecutedStep("one", "visit"),))
    assert (response.session.current_flow, response.session.current_step) == ("visit", "one")


async def test_the_last_step_ends_its_flow_in_the_turn_in_which_it_is_done() -> None:
    """Reason, list of ended flows and flag say so."""
    response = await agent(model("One"), flows=[flow()]).chat("Hi")
    assert (response.stopped_reason, response.is_flow_complete) == ("last_step", True)
    assert response.ended_flows == (EndedFlow("visit", "Visit", "last_step"),)
    assert response.session.current_flow is None


async def test_texts_of_one_turn_are_joined_by_a_blank_line() -> None:
    """A flow of the core may say more than one (D-26)."""
    core = Flow(
        "hello", name="Hello", on=[OnMessage("a greeting")], steps=[Say("one", "Hello."), Say("two", "Good day.")]
    )
    response = await agent(model(), flows=[core]).chat("Hi")
    assert response.message == "Hello.\n\nGood day."
    assert response.ended_flows == (EndedFlow("hello", "Hello", "last_step"),)


def prepare(directive: Any) -> dict[str, Any]:
    """The options of an agent whose first step prepares with this."""
    step = talk("one", prepare=lambda *_: directive)
    return {"flows": [flow(step, talk("two")), flow(id="other")]}


@pytest.mark.parametrize(
    ("directive", "reason", "message"),
    [
        (Directive(abort="enough"), "aborted", ""),
        (Directive(halt=True), "halt", ""),
        (Directive(halt=True, reply="Later."), "reply", "Later."),
        (Directive(reply="Here."), "reply", "Here."),
        (Directive(go_to="other"), "goto", "spoken"),
        (Directive(go_to_step="two"), "goto", "spoken"),
        (Directive(complete=True), "completed", "spoken"),
    ],
)
async def test_the_first_reason_that_applies_is_told(directive: Directive, reason: str, message: str) -> None:
    """In the order of D-27; what ended in the turn hides what merely moved."""
    response = await agent(model("spoken", understand=[VISIT]), **prepare(directive)).chat("Hi")
    assert (response.stopped_reason, response.message) == (reason, message)


async def test_ended_flows_say_how_they_ended() -> None:
    """A flow that a redirect left; one that is only suspended has not ended; signals are no flows."""
    signal = {"id": "seen", "phase": "post", "handler": lambda _: None}
    one = agent(model("spoken", understand=[VISIT]), signals=[signal], **prepare(Directive(go_to="other")))
    response = await one.chat("Hi")
    assert [(flow.flow_id, flow.reason) for flow in response.ended_flows] == [("visit", "goto"), ("other", "last_step")]


async def test_tokens_are_those_of_the_speaking_call() -> None:
    """With its tool rounds, and without what understanding cost; none are told when none are counted."""
    provider = ScriptedModel({"understand": [{}], "speak": [{"message": "What name?"}]}, usage=True)
    response = await agent(provider, schema=SCHEMA, flows=[flow(talk(collect=["name"]))]).chat("Hi")
    speak = provider.calls[-1]
    counted = len(speak.text) - 2 + len("What name?")
    assert response.metadata.tokens_used == counted
    assert response.metadata.cached_input_tokens == 0
    assert (await agent(model("Hello")).chat("Hi")).metadata.tokens_used is None


async def test_the_response_has_a_wire_form() -> None:
    """Wire names, dates as text, nothing that is absent; the session as it is stored."""
    one = agent(model("Hello"), instructions=[{"prompt": "Be kind."}], session_id="x")
    wire = (await one.chat("Hi")).to_wire()
    assert wire["session"]["id"] == "x"
    assert wire["appliedInstructions"] == [{"id": "instruction_0", "scope": "global"}]
    assert wire["messages"][0]["text"] == wire["message"] == "Hello"
    assert (wire["isFlowComplete"], wire["metadata"], "stoppedReason" in wire) == (False, {}, False)


async def test_the_wire_form_is_json_whatever_a_signal_wants() -> None:
    """Of tools that are injected, wherever they stand, it has the ids (D-49, D-77)."""
    tools = [{"id": "find", "handler": print}]
    wanted = {"injectTools": tools, "complete": {"next": {"injectTools": tools}}}
    one = agent(model("Hi"), signals=[{"id": "s", "phase": "pre", "handler": lambda _: wanted}], flows=[flow()])
    [firing] = json.loads(json.dumps((await one.chat("Hi")).to_wire()))["triggeredSignals"]
    ids = [{"id": "find"}]
    assert firing["directive"] == {"injectTools": ids, "complete": {"next": {"injectTools": ids}}}
    assert tools[0]["handler"] is print


# --- instructions -------------------------------------------------------------------------------


async def test_the_instructions_that_stood_in_the_prompt_are_told() -> None:
    """Agent's, flow's and step's, with kind and scope in the prompt; `if` and `enabled` leave one out (D-40, D-41)."""

    def knows(scene: Any) -> bool:
        return scene.data.get("name") is not None

    step = talk("one", instructions=[{"id": "soft", "prompt": "Ask {{data.city}} softly.", "when": ["sad", "!mad"]}])
    one = agent(
        model("Hello", understand=[{}]),
        schema=SCHEMA,
        initial_data={"city": "Rome"},
        instructions=[
            {"id": "kind", "prompt": "Be kind.", "kind": "must"},
            {"id": "named", "prompt": "Use the name.", "if": knows},
            {"id": "off", "prompt": "Shout.", "enabled": False},
        ],
        flows=[flow(step, instructions=[{"prompt": "Promise nothing.", "kind": "never"}])],
    )
    response = await one.chat("Hi")
    assert response.applied_instructions == (
        AppliedInstruction("kind", "global"),
        AppliedInstruction("instruction_0", "flow", "Visit"),
        AppliedInstruction("soft", "step", "one"),
    )
    rules = [rule for rule in one.core.model.calls[-1].prompt.splitlines() if rule.startswith("- ")]  # type: ignore[attr-defined]  # a scripted one
    assert [rule for rule in rules if "kind" in rule or "Promise" in rule or "softly" in rule] == [
        "- must: (always) Be kind.",
        "- never: (in this flow) Promise nothing.",
        "- should: (at this point) Ask Rome softly. [only when: sad] [never when: mad]",
    ]


async def test_an_instruction_that_was_not_in_a_prompt_is_not_told() -> None:
    """A reply step speaks without a prompt."""
    one = agent(model(), instructions=[{"prompt": "Be kind."}], flows=[flow({"id": "hi", "reply": "Hi."})])
    assert (await one.chat("Hi")).applied_instructions == ()


# --- terms --------------------------------------------------------------------------------------

TERMS = [{"name": "GP", "description": "a family doctor", "synonyms": ["doctor", "physician"]}]


@pytest.mark.parametrize(("knowledge", "heading"), [(None, "Glossary"), ({"Glossary": {"a": 1}}, "Glossary (terms)")])
async def test_terms_are_a_part_of_the_knowledge(knowledge: Any, heading: str) -> None:
    """Under a heading that is free (D-42)."""
    provider = model("Hello")
    await agent(provider, terms=TERMS, **({"knowledge_base": knowledge} if knowledge else {})).chat("Hi")
    assert f"- {heading}:\n  - GP: a family doctor (also: doctor, physician)" in provider.calls[0].text


async def test_a_term_may_be_a_template() -> None:
    """It stands with the persona then, in every prompt (D-17)."""
    provider = model("Hello", "Hello")
    terms = [*TERMS, {"name": "hours", "description": "{{context.open}}"}, {"name": "us", "description": lambda _: "X"}]
    one = agent(provider, terms=terms, persona="Kind.", context={"open": "9 to 5"})
    await one.chat("Hi")
    assert "Kind.\nGlossary:\n- hours: 9 to 5\n- us: X" in provider.calls[0].prompt
    assert "hours" not in (provider.calls[0].system or "")


# --- who may be routed to ------------------------------------------------------------------------

TWO = [flow(talk("a"), talk("b"), id="visit"), flow(talk("c"), talk("d"), id="refund")]


async def test_only_allowed_flows_are_candidates() -> None:
    """By id or title; the directive's way is another one (D-29)."""
    one = agent(model("Refund"), flows=TWO)
    response = await one.respond("Hi", allowed_flows=["Refund"])
    assert response.session.current_flow == "refund"
    assert used(one.core.model) == ["speak"]  # type: ignore[arg-type]  # a scripted one


async def test_directives_and_branches_reach_every_flow() -> None:
    """Who is allowed is a matter of routing alone; with nobody allowed the agent answers by itself (D-29)."""
    away = talk("a", prepare=lambda *_: Directive(go_to="refund"))
    one = agent(model("Refund", "Idle"), flows=[flow(away, id="visit"), TWO[1]])
    response = await one.respond("Hi", allowed_flows=["visit"], session_id="x")
    assert (response.message, response.session.current_flow) == ("Refund", "refund")
    assert (await one.respond("Hi", allowed_flows=[], session_id="y")).session.current_flow is None


async def test_unknown_allowed_flows_are_refused_by_name() -> None:
    """With the flows there are; nothing has happened."""
    one = agent(model(), flows=TWO)
    with pytest.raises(FlowConfigurationError, match=r'"gone" or "lost".*"visit" \(Visit\)') as failure:
        await one.respond("Hi", allowed_flows=["visit", "gone", "lost"])
    assert failure.value.code == "unknown-flow"


async def test_flows_of_the_core_run_beside() -> None:
    """Their actions too; the schedule is the host's to serve (D-85)."""
    done: list[str] = []

    def note(ctx: Any) -> None:
        done.append(ctx.session_id)

    core = Flow("note", on=[OnMessage("a wish to be noted")], steps=[Do("note", note), Say("ok", "Noted.")])
    response = await agent(model(), flows=[core], session_id="x").chat("Note me")
    assert (response.message, done) == ("Noted.", ["x"])


async def test_chat_and_respond_share_the_default_session() -> None:
    """`chat` is `respond` on it (D-35)."""
    one = agent(model("a", "b"))
    first, second = await said(one, "1", "2")
    assert first.session.id == second.session.id


async def test_a_provider_that_fails_at_understanding_fails_the_turn() -> None:
    """As it fails in the speaking call (D-83)."""
    down = ProviderError("down", kind="overload")
    one = agent(ScriptedModel({"understand": [down]}), schema=SCHEMA, flows=[flow(talk(collect=["name"]))])
    with pytest.raises(ProviderError):
        await one.chat("Hi")
