"""The conversation that both sides have, and a model without latency that answers it.

Six messages: three fields, one correction, a confirmation that runs an action. After that the
customer keeps chatting. Each message costs two model calls, one that understands and one that
speaks. Message ids are as long as WhatsApp's.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from falai import ActionContext, ActionResult, Agent, Branch, Collect, Do, Field, Flow, OnMessage, Prompt, ok
from falai.model.port import ModelChunk, ModelReply, ModelRequest

__all__ = ["CHAT", "MESSAGES", "Answers", "message_id", "sales_desk", "spoken", "understood"]

MESSAGES = (
    "Hello, I would like a quote.", "My name is Ana Souza.", "About 50 people would use it.", "We want to begin in March.",
    "Sorry, actually it is 60 people.", "Yes, that is right.",
)  # fmt: skip
CHAT = "Thank you, and have a nice day."

TOLD: tuple[dict[str, Any], ...] = (
    {}, {"name": "Ana Souza"}, {"size": 50}, {"start": "March"}, {"size": 60}, {}, {},
)  # fmt: skip
"""What each message tells; what comes after the six tells nothing."""
_UNDERSTOOD = tuple(
    json.dumps({"flows": {"quote": 90 if number == 0 else 0, "chat": 0}, "fields": told})
    for number, told in enumerate(TOLD)
)
_SPOKEN = json.dumps({"message": "Thank you. And what comes next?"})
_CONFIRMED = json.dumps({"message": "Then I pass it on.", "agreed": True})


def message_id(number: int) -> str:
    """An id of ordinary channel length."""
    return f"wamid.HBgNNTUxMTk5OTg4Nzc2NhUCABIYFjNFQjBDNzY4RkY5RTQxMzk4{number:06X}"


class Answers:
    """A model that has its answers ready, as JSON text; `number` is the message that is being answered."""

    name = "ready"

    def __init__(self) -> None:
        self.number = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        text = understood(self.number) if request.schema_name == "understand" else spoken(self.number)
        return ModelReply(message=text, structured=json.loads(text))

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


def understood(number: int) -> str:
    """What the model reads from a message."""
    return _UNDERSTOOD[min(number, len(_UNDERSTOOD) - 1)]


def spoken(number: int) -> str:
    """What the model says to a message."""
    return _CONFIRMED if number == len(MESSAGES) - 1 else _SPOKEN


async def notify(ctx: ActionContext[None], text: str) -> ActionResult:
    """Tell a person of the team."""
    return ok(f"told: {len(text)} characters under {len(ctx.key)}")


def sales_desk(answers: Answers, clock: Callable[[], Any], *, stays: bool = False) -> Agent[None]:
    """The agent of the conversation. One that `stays` keeps its run for good and answers from it."""
    return Agent(
        name="Ana",
        persona="Warm, brief, never invents prices.",
        goal="Find out what a company needs.",
        model=answers,
        clock=clock,
        fields=_fields(),
        actions=[notify],
        flows=[
            Flow("quote", on=[OnMessage("asks for a quote")], steps=_steps(), on_end="stay" if stays else "end"),
            Flow(
                "chat",
                on=[OnMessage("wants to talk to a person", repeat="always")],
                steps=[Prompt("say", "Hand over.")],
            ),
        ],
    )


def _fields() -> Mapping[str, Field]:
    return {
        "name": Field("string", ask="Ask for the name lightly."),
        "size": Field("integer", ask="Ask how many people would use it.", correct=True),
        "start": Field("string", ask="Ask from when they need it."),
        "agreed": Field("boolean", ask="Sum up what you noted and ask whether it is right."),
    }


def _steps() -> list[Any]:
    return [
        Collect("who", ["name", "size", "start"], prompt="Find out who they are and what they need."),
        Collect("confirm", ["agreed"], branches=[Branch("wants a person", then="tell")]),
        Do("tell", notify, {"text": "{{data.name}}: {{data.size}} people from {{data.start}}"}),
    ]
