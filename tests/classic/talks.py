"""Small agents of the 3.x form, and models that say what a test tells them to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from falai.classic import AgentResponse, ClassicAgent, create_agent
from falai.testing import ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}},
}


def model(*speak: Any, understand: Sequence[Any] = (), summary: Sequence[Any] = ()) -> ScriptedModel:
    """A model whose replies, in order, have these messages; what is no text stands as it is."""
    replies = [{"message": reply} if isinstance(reply, str) else reply for reply in speak]
    return ScriptedModel({"speak": replies, "understand": list(understand), "summary": list(summary)})


def talk(id: str = "one", **members: Any) -> dict[str, Any]:
    """A talk step."""
    return {"id": id, "prompt": f"Speak for {id}.", **members}


def flow(*steps: dict[str, Any], id: str = "visit", **members: Any) -> dict[str, Any]:
    """A flow with these steps, or with one talk step."""
    return {"id": id, "title": id.capitalize(), "steps": list(steps) or [talk()], **members}


def agent(provider: ScriptedModel, **options: Any) -> ClassicAgent:
    """An agent of that name."""
    return create_agent(name="Ana", provider=provider, **options)


def used(model: ScriptedModel) -> list[str]:
    """The calls that were made, by their kind."""
    return [call.schema_name for call in model.calls]


async def said(agent: ClassicAgent, *messages: str, **given: Any) -> list[AgentResponse]:
    """What comes of these messages, one after another, on the default session."""
    return [await agent.respond(message, **given) for message in messages]
