"""What providers can cache: the prefix that is the same, byte for byte, in every call of an agent (M-11.6, M-22.6)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Agent, Collect, Event, Field, Flow, Instruction, Message, OnEvent, OnMessage, Prompt, Start, Tool
from falai.model import PydanticAIModel, ToolCall
from falai.model.port import ModelReply
from falai.testing import Call, ScriptedModel
from model import loopback, loopback_anthropic

KNOWLEDGE = {"hours": "9 às 18", "addresses": ["Main Street 1", {"street": "Harbour", "no": 7}], "open": True}
PERSONA = "Warm, brief. Calls {{data.name}} by name."


def slots(ctx: Any, day: str) -> None:
    """Free slots of a day."""


def _agent(model: Any, **options: Any) -> Agent[Any]:
    return Agent(
        name="Ana", model=model, knowledge_base=options.pop("knowledge_base", KNOWLEDGE),
        fields={"name": Field(str, correct=True), "size": Field(str, enum=["1-10", "11-50"])},
        events={"order.paid": {}}, tools=[slots, Tool("pay", slots, parameters={"type": "object", "properties": {}})],
        instructions=[Instruction("Call {{data.name}} by name.")],
        compaction={"maxTokens": 400, "preserveRecentCount": 2},
        flows=[
            Flow("sales", on=[OnMessage("asks for a quote")], steps=[Collect("who", ["name", "size"], prompt="Find out.")]),
            Flow("help", on=[OnMessage("asks for help"), OnEvent("order.paid")], steps=[Prompt("what", "Help.")]),
        ],
        **options,
    )  # fmt: skip


def _anything(**reply: Any) -> ScriptedModel:
    """A model that answers every call, calling a tool in ever other round of the reply."""

    def speak(request: Any) -> Any:
        calls = (ToolCall("slots", {"day": "mon"}),) if not request.history and request.tools else ()
        return ModelReply(structured={"message": "Hi", **reply}, tool_calls=calls)

    judged = {"flows": {"sales": 90}, "fields": {"name": "Ana"}}
    return ScriptedModel({"understand": [judged] * 50, "speak": [speak] * 150, "summary": ["In short."] * 50})


INPUTS = st.one_of(
    st.builds(Message, st.text(max_size=30), id=st.uuids().map(str)),
    st.builds(Start, st.sampled_from(["sales", "help"]), key=st.uuids().map(str)),
    st.builds(Event, st.just("order.paid"), st.uuids().map(str)),
)
HISTORY = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text(min_size=1, max_size=300)}),
    max_size=8,
)  # fmt: skip


def _both(model: ScriptedModel) -> list[Call]:
    return [call for call in model.calls if call.schema_name != "summary"]


@pytest.mark.property
@given(st.lists(st.tuples(st.sampled_from(["s1", "s2"]), INPUTS, HISTORY), min_size=1, max_size=6), st.booleans())
def test_the_prefix_is_the_same_in_every_call(turns: list[tuple[str, Any, Any]], varies: bool) -> None:
    """Whatever the input, the session, the data, the history, its summary and the round: one text (M-11.6)."""
    model = _anything()
    agent = _agent(model, persona=PERSONA if varies else "Warm, brief.")
    sessions: dict[str, Any] = {}
    for session_id, what, history in turns:
        result = agent.turn_sync(session_id, what, session=sessions.get(session_id), history=history, context={"a": 1})
        sessions[session_id] = result.session
    systems = {call.system for call in _both(model)}
    if systems:
        (system,) = systems
        assert system is not None
        assert system.startswith("## Knowledge" if varies else "## Identity")
        assert "9 às 18" in system
    for call in _both(model):
        assert call.prompt.startswith("## Identity\nYou are Ana") is varies


@pytest.mark.parametrize("option", ["persona", "goal"])
def test_an_identity_that_varies_leaves_nothing_but_knowledge(option: str) -> None:
    """Without knowledge there is no prefix at all (M-11.6)."""
    model = _anything()
    _agent(model, knowledge_base=None, **{option: PERSONA}).turn_sync("s1", Message("hello", id="m1"))
    assert {call.system for call in _both(model)} == {None}
    assert all("## Knowledge" not in call.prompt for call in _both(model))


def test_two_agents_of_one_description_share_the_prefix() -> None:
    """A new process, or a new object, finds what the provider has cached: no order depends on a hash."""
    texts = {_printed(seed) for seed in ("1", "2")}
    assert len(texts) == 1
    assert "## Identity" in texts.pop()


def _printed(seed: str) -> str:
    """System, prompt, schema and tools of two calls in a fresh interpreter."""
    program = (
        "from model.test_prefix import _agent, _anything, _both; from falai import Message\n"
        "model = _anything(); _agent(model).turn_sync('s1', Message('hello', id='m1'))\n"
        "print([(c.system, c.prompt, c.request.schema, c.request.tools) for c in _both(model)])"
    )
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True,
                          cwd=Path(__file__).parents[1])  # fmt: skip
    return done.stdout


# --- on the wire ------------------------------------------------------------------------------


async def test_anthropic_is_told_where_the_prefix_ends() -> None:
    """A cache marker on its system block; nothing that changes stands before it (M-22.6)."""
    judged, spoken = '{"flows": {"sales": 90}}', '{"message": "Hi", "name": null, "size": null}'
    answers = [loopback_anthropic.says(text) for text in (judged, spoken, judged, spoken)]
    history = [{"role": "system", "content": "A summary."}, {"role": "user", "content": "oi"}]
    with loopback_anthropic.server(answers) as server:
        model = PydanticAIModel("anthropic:claude-haiku-5-5", base_url=server.base_url, api_key="k", retries=0)
        agent = _agent(model)
        await agent.turn("s1", Message("a quote, please", id="m1"))
        await agent.turn("s2", Message("how much?", id="m2"), history=history)
        await model.aclose()
    bodies = server.requests
    stable = {str(body["system"][0]) for body in bodies}
    assert len(bodies) == 4
    assert len(stable) == 1
    assert bodies[0]["system"][0]["cache_control"]["type"] == "ephemeral"
    assert bodies[0]["system"][0]["text"].startswith("## Identity\nYou are Ana.")
    assert all("cache_control" not in block for body in bodies for block in body["system"][1:])
    assert {str(body.get("tools")) for body in bodies[1::2]} == {str(bodies[1]["tools"])}, "tools stand before it"


async def test_others_find_the_prefix_by_themselves() -> None:
    """The first message of every call is the same text."""
    judged, spoken = '{"flows": {"sales": 90}}', '{"message": "Hi", "name": null, "size": null}'
    answers = [loopback.says(text) for text in (judged, spoken, judged, spoken)]
    with loopback.chat_server(answers) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url, retries=0)
        agent = _agent(model)
        for number in range(2):
            history = [{"role": "user", "content": f"oi {number}"}]
            await agent.turn(f"s{number}", Message(f"a quote, {number}", id="m1"), history=history)
        await model.aclose()
    assert len(server.requests) == 4
    assert len({str(body["messages"][0]) for body in server.requests}) == 1
    assert server.requests[0]["messages"][0]["content"].startswith("## Identity")
