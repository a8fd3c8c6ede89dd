"""A real small model at work: `FALAI_TEST_LLM_URL` names any server that speaks OpenAI's chat protocol.

What is tested strictly is what the house promises whatever the model: readable answers, a reply in
the right shape. Of the model's own judgement only clear-cut cases are held against it.
"""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Field,
    Flow,
    Message,
    OnMessage,
    Prompt,
    Start,
    failed,
)
from falai.model import Model
from falai.model.pydantic_ai import PydanticAIModel
from falai.testing import ScriptedModel

URL = os.environ.get("FALAI_TEST_LLM_URL")
pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(URL is None, reason="FALAI_TEST_LLM_URL names no server, as http://127.0.0.1:8080/v1"),
]
ADMITS = re.compile(
    r"\b(not|no|n't|cannot|unable|unfortunately|sorry|apolog\w+|failed|issue|problem|another|different|taken|full)\b"
)
PORTUGUESE = r"\b(voc[êe]s?|mesa|qual|quantas|seu|nome|para|pessoas)\b"
ENGLISH = r"\b(you|your|the|how|many|what|name|table|please|sorry|is|we|have|hello|would|like|to|thank)\b"
CLAIMS = re.compile(r"\b(is|has been|was|been|have|successfully) (now )?(successfully )?(booked|confirmed|reserved)\b")


@pytest.fixture
async def model() -> AsyncIterator[PydanticAIModel]:
    with urllib.request.urlopen(f"{URL}/models") as answer:
        name = json.load(answer)["data"][0]["id"]
    model = PydanticAIModel(f"openai:{name}", base_url=URL, timeout=600)
    yield model
    await model.aclose()


def book(ctx: ActionContext) -> ActionResult:
    """Book the table."""
    return failed("every table is taken on Friday evening")


def _desk(model: Model, **options: Any) -> Agent[Any]:
    return Agent(
        name="Ana",
        persona="The front desk of a restaurant: warm and brief.",
        model=model,
        timezone="Europe/Lisbon",
        fields={
            "name": Field(str, description="the customer's name", ask="Ask for the name."),
            "people": Field(int, description="how many people come", ask="Ask how many they are."),
        },
        actions=[book],
        flows=[
            Flow("table", name="Booking a table", on=[OnMessage("wants to book a table")],
                 steps=[Collect("who", ["name", "people"]), Do("book", book), Prompt("told", "Say how the booking went.")]),
            Flow("job", name="Jobs", on=[OnMessage("is looking for a job")], steps=[Prompt("j", "Ask for a letter.")]),
        ],
        **options,
    )  # fmt: skip


async def test_a_clear_message_is_understood(model: PydanticAIModel) -> None:
    """One readable answer: the right flow starts, the values are those of the message, none is invented."""
    result = await _desk(model).turn(
        "s1", Message("Hello, I want to book a table for 6 people. My name is Ines.", id="m1")
    )
    assert [start.flow_id for start in result.started] == ["table"]
    assert result.session.data["people"] == 6
    assert result.session.data.get("name", "Ines") == "Ines"
    assert result.messages, "a reply was phrased"
    assert not result.messages[0].text.lstrip().startswith("{")


@pytest.mark.parametrize("guideline", ["Say how the booking went.", "Tell the customer about the table on Friday."])
async def test_a_failed_booking_is_not_announced_as_done(model: PydanticAIModel, guideline: str) -> None:
    """What the action did stands in the prompt, and the reply admits it (M-24.4, T75)."""
    agent = Agent(
        name="Ana",
        persona="The front desk of a restaurant: warm and brief.",
        model=model,
        actions=[book],
        flows=[Flow("only", steps=[Do("book", book), Prompt("told", guideline)])],
    )
    result = await agent.turn("s1", Start("only", key="k1"))
    said = result.messages[0].text.lower().replace("\u2019", "'")
    assert ADMITS.search(said), said
    assert not CLAIMS.search(said), said


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (None, "Olá, quero reservar uma mesa para o jantar", PORTUGUESE),
        ("English", "Olá, quero reservar uma mesa para o jantar", ENGLISH),
    ],
)
async def test_the_reply_is_in_the_right_language(
    model: PydanticAIModel, language: str | None, text: str, words: str
) -> None:
    """The customer's, unless the agent fixes one."""
    agent = _desk(model, language=language)
    history = [{"role": "assistant", "content": "Bom dia!"}]
    result = await agent.turn("s1", Message(text, id="m1"), history=history)
    said = result.messages[0].text.lower()
    assert text.lower() not in said, "the customer's words are no reply"
    assert len(re.findall(words, said)) >= 2, said


async def test_a_short_word_does_not_switch_the_language(model: PydanticAIModel) -> None:
    """A talk in Portuguese stays so after an "ok", which is a word of every language."""
    begun = await _desk(ScriptedModel({"speak": [{"message": "Claro!"}]})).turn("s1", Start("table", key="k1"))
    history = [
        {"role": "user", "content": "Olá, quero reservar uma mesa para sexta-feira à noite"},
        {"role": "assistant", "content": "Claro! Para reservar preciso de dois dados seus, pode ser?"},
    ]
    result = await _desk(model).turn("s1", Message("ok", id="m1"), session=begun.session, history=history)
    said = result.messages[0].text.lower()
    assert len(re.findall(PORTUGUESE, said)) >= 2, said
    assert not re.search(ENGLISH, said), said
