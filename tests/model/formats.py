"""The four languages that providers speak, each with its loopback server, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from falai.flow.plan import FieldPlan
from falai.model.envelopes import speak_schema
from falai.model.port import ModelReply, ModelRequest
from falai.model.pydantic_ai import PydanticAIModel
from falai.model.tasks import SummaryTask
from model import loopback, loopback_anthropic, loopback_google, loopback_responses
from model.loopback import Answer, ChatServer

__all__ = ["FORMATS", "REQUEST", "Format", "connected", "streamed"]

SIZE = FieldPlan("size", "string", enum=("1-10", "11-50"), description="how many work there")
REQUEST = ModelRequest(
    schema_name="speak",
    prompt="Say hello.",
    system="You are Ana.",
    history=[{"role": "user", "content": "oi"}, {"role": "assistant", "content": "Olá!"}],
    context=None,
    schema=speak_schema({"size": SIZE, "people": FieldPlan("people", "integer")}),
    task=SummaryTask(items=()),
)


@dataclass(frozen=True)
class Format:
    """A format: a model's name that speaks it, its server, and its answers."""

    name: str
    model: str
    server: Callable[[Sequence[Answer]], AbstractContextManager[ChatServer]]
    says: Callable[..., Answer]
    calls: Callable[..., Answer]
    thinks: Callable[[str, Answer], Answer]
    refuses: Callable[[], Answer]


FORMATS = [
    Format(name, model, server, module.says, module.calls, module.thinks, module.refuses)
    for name, model, server, module in (
        ("chat", "openai:gpt-5-mini", loopback.chat_server, loopback),
        ("responses", "openai-responses:gpt-5-mini", loopback_responses.server, loopback_responses),
        ("anthropic", "anthropic:claude-haiku-5-5", loopback_anthropic.server, loopback_anthropic),
        ("google", "google:gemini-3.5-flash", loopback_google.server, loopback_google),
    )
]


@asynccontextmanager
async def connected(
    form: Format, *answers: Answer, **options: Any
) -> AsyncIterator[tuple[PydanticAIModel, ChatServer]]:
    """A model that speaks this format with a server that gives these answers; it tries once."""
    with form.server(answers) as server:
        given = {"retries": 0, "api_key": "made-up", **options}
        model = PydanticAIModel(given.pop("model", form.model), base_url=server.base_url, **given)
        async with aclosing(model):
            yield model, server


async def streamed(model: PydanticAIModel, request: ModelRequest = REQUEST) -> tuple[list[str], ModelReply]:
    """The pieces of a stream, and its reply."""
    chunks = [chunk async for chunk in model.stream(request)]
    reply = chunks[-1].reply
    assert reply is not None
    assert [chunk.reply for chunk in chunks[:-1]] == [None] * (len(chunks) - 1), "only the last chunk has the reply"
    return [chunk.delta for chunk in chunks if chunk.delta], reply
