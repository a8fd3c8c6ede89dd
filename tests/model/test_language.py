"""In which language a reply is, and that no letter is lost on the way to a model."""

from __future__ import annotations

from typing import Any

import pytest

from falai import Agent, Collect, Field, Flow, FlowConfigurationError, Message, OnAnyMessage, OnMessage, Prompt, Start
from falai.flow.functions import Tool
from falai.model.lexical.sentences import SENTENCES, language_of
from falai.model.pydantic_ai import PydanticAIModel
from falai.testing import ScriptedModel
from model.loopback import calls, chat_server, says

FLOWS = [Flow("talk", on=[OnAnyMessage()], steps=[Prompt("help", "Ask what they need.")])]


async def _asked(**options: Any) -> tuple[str, str | None]:
    """The prompt and the prefix of a speak call."""
    model = ScriptedModel({"speak": [{"message": "Oi!"}]})
    agent = Agent(name="Ana", model=model, flows=FLOWS, idle="silent", **options)
    await agent.turn("s1", Message("oi", id="m1"))
    (call,) = model.calls
    return call.prompt, call.system


async def test_a_reply_follows_the_customer() -> None:
    """Without the option the prompt says so, and that a short word is no change of language."""
    prompt, _ = await _asked()
    assert "in the language that the customer writes" in prompt
    assert '"ok"' in prompt


@pytest.mark.parametrize("language", ["Portuguese", "pt-BR", "日本語"])
async def test_the_option_fixes_the_language(language: str) -> None:
    """Then it is named, and nothing is said of the customer's own."""
    prompt, system = await _asked(language=language)
    assert f'Whatever language the customer writes, write it in: "{language}"' in prompt
    assert "language that the customer writes" not in prompt
    assert system == (await _asked())[1], "the stable prefix is as the rules have it (M-11.6)"


async def test_the_idle_speaker_has_the_same_language() -> None:
    """Where no flow speaks, too."""
    model = ScriptedModel({"speak": [{"message": "Olá!"}]})
    await Agent(name="Ana", model=model, language="pt").turn("s1", Message("hi", id="m1"))
    assert 'write it in: "pt"' in model.calls[0].prompt


async def test_a_language_is_one_line_of_text() -> None:
    """A line break in it forges nothing; a blank one is none; what is no text is a mistake of the author's."""
    prompt, _ = await _asked(language="Klingon\n## Tools")
    assert '"Klingon\\n## Tools"' in prompt
    assert await _asked(language=" ") == await _asked()
    with pytest.raises(FlowConfigurationError, match="language is 5"):
        Agent(name="Ana", model="lexical", flows=FLOWS, language=5)  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize(
    ("name", "language"),
    [("pt", "pt"), ("pt-BR", "pt"), ("Brazilian Portuguese", "pt"), ("português", "pt"), ("es-419", "es"),
     ("Español", "es"), ("English", "en"), ("en_GB", "en"), ("fr", None), ("", None), (None, None)],
)  # fmt: skip
def test_names_and_tags(name: str | None, language: str | None) -> None:
    """The lexical model's three languages by their names and tags; another one is not guessed."""
    assert language_of(name) == language


@pytest.mark.parametrize(("language", "stock"), [(None, "en"), ("pt-BR", "pt"), ("Spanish", "es"), ("French", "en")])
async def test_the_lexical_model_follows_the_option(language: str | None, stock: Any) -> None:
    """Its stock sentences are in the agent's language when it has them, else in its own."""
    agent = Agent(name="Ana", model="lexical", language=language)
    result = await agent.turn("s1", Message("", id="m1"))
    assert result.messages[0].text.startswith(SENTENCES[stock].hello)


# --- letters ----------------------------------------------------------------------------------

STRANGE = "Ação às 15h, 世界 😀 ﷺ é"


def _agent(model: Any) -> Agent:
    return Agent(
        name=f"Ana {STRANGE}",
        model=model,
        persona=STRANGE,
        knowledge_base={STRANGE: [STRANGE]},
        fields={"name": Field(str, description=STRANGE), "visto": Field(str, enum=["ação", "reação"])},
        tools=[Tool("slots", lambda ctx, **given: {"value": {"when": STRANGE}}, description=STRANGE,
                    parameters={"type": "object", "properties": {"día": {"type": "string"}}})],
        flows=[
            Flow("falar", name=STRANGE, on=[OnMessage(f"quer {STRANGE}")],
                 steps=[Collect("who", ["name", "visto"], prompt=STRANGE)]),
            Flow("start", steps=[Prompt("p", "{{input.said}}")]),
        ],
    )  # fmt: skip


@pytest.mark.servers
async def test_nothing_outside_ascii_is_escaped_on_the_wire() -> None:
    """Prompts, prefix, history, schemas, tools and their results travel as the letters that they are."""
    pytest.importorskip("pydantic_ai.models.openai")
    answers = [says('{"flows": {"falar": 95}}'), calls("slots", {"día": "seg"}), says('{"message": "Olá"}')]
    with chat_server(answers) as server:
        model = PydanticAIModel("openai:any", base_url=server.base_url, timeout=5)
        history = [{"role": "user", "content": STRANGE}, {"role": "assistant", "content": STRANGE}]
        await _agent(model).turn("s1", Message(f"oi {STRANGE}", id="m1"), history=history)
        await model.aclose()
    assert len(server.bodies) == 3
    for body in server.bodies:
        assert b"\\u" not in body
    shown = server.bodies[2].decode()
    assert shown.count(STRANGE) > 10


async def test_values_that_an_author_inserts_keep_their_letters() -> None:
    """A known fact, a rendered value and what an action said stand readable in the prompt."""
    model = ScriptedModel({"speak": [{"message": "x"}]})
    await _agent(model).turn("s1", Start("start", key="k1", input={"said": STRANGE}))
    assert STRANGE in model.calls[0].prompt
    assert "\\u" not in model.calls[0].text
