"""A repair shop in the form of version 3: finds orders, hands annoyed customers over, collects a day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falai.classic import (
    AgentResponse,
    ClassicSession,
    Directive,
    HookContext,
    SignalContext,
    TemplateContext,
    ToolContext,
    ToolResult,
    create_agent,
    flow,
)
from falai.store import MemoryStore


def find_order(ctx: ToolContext, args: Mapping[str, Any]) -> ToolResult:
    """Looks for an order."""
    if ctx.has_field("day") or ctx.step is None:
        return ToolResult(success=False, error="asked already")
    ctx.update_data({"day": "Friday"})
    return ToolResult(data=f"ready: {args['code']}", directive=Directive(complete={"next": {"goTo": "person"}}))


def annoyed(ctx: SignalContext) -> Directive:
    """Hands the customer over."""
    ctx.update_context({"annoyed_at": ctx.triggered_at})
    return Directive(go_to={"flow": "person", "carry": "reset"}, reply=ctx.last_user_message)


async def entered(ctx: HookContext) -> Directive | None:
    """Greets whoever comes for the first time."""
    ctx.dispatch(Directive(append_prompt=["Greet them."]))
    return None if ctx.history else Directive(data_update={"day": None})


def left(ctx: HookContext, reason: str) -> None:
    """Notes why a flow was left."""
    ctx.session.metadata["left"] = reason


def ask(scene: TemplateContext) -> str:
    """Asks for the day, by name."""
    return f"Ask {scene.data.get('name')} for the day, after {scene.helpers.get_last_user_message()}."


async def is_open(scene: TemplateContext) -> bool:
    """Whether the shop takes orders."""
    return scene.context is not None


agent = create_agent(
    name="Bia",
    provider="lexical",
    persona=ask,
    schema={"type": "object", "properties": {"day": {"type": "string"}}},
    flows=[
        {
            "title": "Repair",
            "if": is_open,
            "steps": [{"collect": ["day"], "prompt": ask}, {"reply": "See you on {{data.day}}."}],
            "hooks": {"onEnter": entered, "onExit": left},
        },
        {"id": "person", "title": "A person", "steps": [{"reply": "I will get someone."}]},
    ],
    tools=[{"id": "find_order", "handler": find_order}],
    signals=[{"id": "annoyed", "when": "is annoyed", "phase": "pre", "handler": annoyed}],
    instructions=[{"prompt": "Be brief.", "kind": "should"}],
    persistence={"adapter": MemoryStore(), "userId": "rui"},
    max_tool_loops=3,
)


async def main() -> list[object]:
    seen: list[object] = []
    response: AgentResponse = await agent.respond("Hi", session_id="s1", context_override={"tier": "gold"})
    step: str | None = response.session.current_step
    fired: list[str] = [firing.id for firing in response.triggered_signals]
    async for chunk in agent.respond_stream("Hi", session_id="s1"):
        words: str = chunk.delta
        seen += [step, fired, words, chunk.error]
    session: ClassicSession = await agent.dispatch(flow.merge({"goTo": "person"}, Directive(reply="One moment.")))
    return [*seen, session.signals.triggers]
