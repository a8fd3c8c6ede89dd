"""Drafting over real HTTP: what an OpenAI-compatible server is asked, and the round of repair (S-60, S-61)."""

from __future__ import annotations

import json
from contextlib import aclosing

import pytest

from falai.errors import DraftError, ProviderError
from falai.flow.registries import Registries
from falai.flow.specschema import flow_spec_schema
from falai.model import Draft, Usage, draft_flow
from falai.model.drafting.guide import GUIDE
from falai.model.pydantic_ai import PydanticAIModel
from model.drafts import BAD, GOOD, NULLS, REQUEST, desk
from model.loopback import Answer, ChatServer, chat_server, fails, says, slow

pytest.importorskip("pydantic_ai.models.openai")
pytestmark = pytest.mark.servers

PLAN = desk().plan


async def _draft(*answers: Answer) -> tuple[Draft, ChatServer]:
    with chat_server(answers) as server:
        async with aclosing(PydanticAIModel("openai:any", base_url=server.base_url, timeout=5, retries=0)) as model:
            draft = await draft_flow(model, REQUEST, PLAN)
        assert server.left == [], "an answer was not asked for"
        return draft, server


async def test_what_the_server_is_asked() -> None:
    """The closed schema of the agent, enforced, under the name `flow`; no tools; the guide as the system message."""
    draft, server = await _draft(says(json.dumps(NULLS)))
    assert draft.spec == GOOD
    [body] = server.requests
    form = body["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("flow", True)
    assert form["schema"]["required"] == flow_spec_schema(Registries.of(PLAN))["required"]
    assert "tools" not in body
    system, prompt = body["messages"]
    assert (system["role"], system["content"], prompt["role"]) == ("system", GUIDE, "user")
    assert REQUEST in prompt["content"]


async def test_the_round_of_repair() -> None:
    """The problems go over the wire in words; both answers are counted."""
    draft, server = await _draft(says(f"Of course!\n{json.dumps(BAD)}"), says(json.dumps(NULLS)))
    assert draft.spec == GOOD
    first, second = (body["messages"] for body in server.requests)
    assert first[0] == second[0]
    assert "titel" in second[1]["content"]
    assert draft.usage == Usage(200, 18, 160)


@pytest.mark.parametrize(("finish", "told"), [("stop", "holds no JSON object"), ("length", "was cut off at the limit")])
async def test_an_answer_that_breaks_off_is_mended(finish: str, told: str) -> None:
    """What came of it goes back like any other fault, and its tokens are counted."""
    half = '{"id": "hold-book", "steps": ['
    draft, server = await _draft(says(half, finish=finish), says(json.dumps(NULLS)))
    assert draft.spec == GOOD
    assert draft.attempts[0].answer == half
    assert half in server.requests[1]["messages"][1]["content"]
    assert told in server.requests[1]["messages"][1]["content"]
    assert draft.usage == Usage(200, 18, 160)


async def test_a_long_flow_may_take_its_time() -> None:
    """It is read as it is written: the time limit is for silence, not for the whole (M-20.2)."""
    text = json.dumps(NULLS)
    slowly = slow(says(text, pieces=[text[start : start + 100] for start in range(0, len(text), 100)]), 0.3)
    with chat_server([slowly]) as server:
        async with aclosing(PydanticAIModel("openai:any", base_url=server.base_url, timeout=2, retries=0)) as model:
            draft = await draft_flow(model, REQUEST, PLAN)
    assert draft.spec == GOOD
    assert server.requests[0]["stream"] is True


async def test_a_server_that_fails_and_one_that_never_learns() -> None:
    """The one is the provider's failure, the other a draft that came to nothing."""
    with pytest.raises(ProviderError) as failed:
        await _draft(fails(401, "no such key"))
    assert failed.value.kind == "auth"
    with pytest.raises(DraftError) as gave_up:
        await _draft(*[says(json.dumps(BAD))] * 3)
    assert gave_up.value.spec == BAD
