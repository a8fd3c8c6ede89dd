"""The spans that a program's exporter gets, and a desk that does everything worth watching in one turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Delta,
    Do,
    Done,
    Field,
    Flow,
    Message,
    OnMessage,
    ToolContext,
    ToolResult,
    TurnResult,
    ok,
)
from falai.model import ModelReply, ToolCall, Usage
from falai.testing import ScriptedModel

__all__ = ["TEXT", "Seen", "desk", "play", "script"]

TEXT = "book me in, I am Ana sesame-message"
"""Whatever is said, stored or raised in these tests holds the word sesame."""


class Seen:
    """The spans that have ended."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def all(self) -> Sequence[ReadableSpan]:
        """In the order in which they began."""
        return sorted(self._exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def one(self, name: str) -> ReadableSpan:
        """The span of this name; there must be exactly one."""
        [found] = [span for span in self.all if span.name == name]
        return found

    def attributes(self, name: str) -> Mapping[str, Any]:
        return dict(self.one(name).attributes or {})

    def calls(self) -> list[Mapping[str, Any]]:
        """The attributes of the model calls, in order."""
        return [dict(span.attributes or {}) for span in self.all if span.name.startswith("chat ")]

    @property
    def tree(self) -> list[str]:
        """The spans, each behind the name of its parent."""
        names = {span.context.span_id: span.name for span in self.all if span.context}
        return [f"{names.get(span.parent.span_id, '?') if span.parent else '-'} > {span.name}" for span in self.all]

    @property
    def text(self) -> str:
        """Everything that is on them, to look for what must not be there."""
        return "\n".join(span.to_json() for span in self.all)

    def clear(self) -> None:
        self._exporter.clear()


def note(ctx: ActionContext[Any], who: str) -> ActionResult:
    """Note who writes."""
    return ok(f"noted {who}")


def slots(ctx: ToolContext[Any], day: str) -> ToolResult:
    """The free times of a day."""
    return ToolResult(f"sesame-slots on {day}")


def desk(model: Any, **options: Any) -> Agent[Any]:
    """Starts a flow, notes a name by an action, and asks for a day with a tool at hand."""
    return Agent(
        **{
            "name": "Ana",
            "model": model,
            "fields": {"name": Field(str), "day": Field(str, ask="Ask for the day.")},
            "actions": [note],
            "tools": [slots],
            "flows": [
                Flow(
                    "book",
                    on=[OnMessage("wants to come")],
                    steps=[Do("tell", "note", {"who": "{{data.name}}"}), Collect("when", ["day"])],
                )
            ],
            **options,
        }
    )


def reply(envelope: Mapping[str, Any] | None, *calls: ToolCall, tokens: int) -> ModelReply:
    return ModelReply(
        message="" if envelope is None else str(envelope.get("message", "")),
        structured=envelope,
        tool_calls=calls,
        usage=Usage(tokens, tokens // 10, tokens // 2),
        model="gpt-5-mini-2026",
        finish_reason="stop",
        cost=tokens / 1000,
    )


def script(**replies: Sequence[Any]) -> ScriptedModel:
    """A model that routes, calls the tool once, and answers; under a provider's name."""
    model = ScriptedModel(
        {
            "understand": [reply({"flows": {"book": 95}, "fields": {"name": "sesame-name"}}, tokens=100)],
            "speak": [
                reply(None, ToolCall("slots", {"day": "sesame-day"}), tokens=200),
                reply({"message": "sesame-reply", "day": None}, tokens=300),
            ],
            **replies,
        }
    )
    model.name = "openai:gpt-5-mini"
    return model


async def play(agent: Agent[Any], *, streamed: bool = False, text: str = TEXT, session: str = "s1") -> TurnResult:
    """A first turn; streamed, its words are thrown away."""
    if not streamed:
        return await agent.turn(session, Message(text, id="m1"))
    items: AsyncIterator[Delta | Done] = agent.turn_stream(session, Message(text, id="m1"))
    [result] = [item.result async for item in items if isinstance(item, Done)]
    return result
