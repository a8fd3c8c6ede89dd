"""Mistakes that a type checker must see: each line that is marked, and no other, is an error."""

from __future__ import annotations

from typing import Literal

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Flow,
    Message,
    OnMessage,
    Say,
    ToolContext,
    ToolResult,
    TurnResult,
    View,
    action,
    failed,
    ok,
    skipped,
    tool,
)
from falai.classic import Directive, create_agent, flow


class Crm:
    name: str = "crm"


def forgotten(ctx: ActionContext[Crm], number: int) -> ActionResult:  # expect-error
    """A handler that forgets to say how it went."""
    if number > 3:
        return ok("more than three")


def wrong_kind(ctx: ActionContext[Crm]) -> ActionResult:
    return "done"  # expect-error


def right(ctx: ActionContext[Crm], number: int, kind: Literal["a", "b"] = "a") -> ActionResult:
    known: str = ctx.context.name
    ctx.context.names  # expect-error
    return ok(known) if number else failed(kind)


@action(name="decorated")
async def decorated(ctx: ActionContext[Crm], number: int) -> ActionResult:
    """A decorated function stays the function that it is."""
    return skipped("nothing to do") if number else await decorated(ctx, 1)


@tool(read_only=True)
def look(ctx: ToolContext[Crm], day: str) -> ToolResult:
    return ToolResult(value=f"{ctx.context.name} {day}")


def premise(view: View[Crm]) -> bool:
    return view.run.visits.get("ask", 0) < view.context.name  # expect-error


def build(model: str) -> Agent[Crm]:
    Collect("who", "name", 3)  # expect-error
    Say("bye")  # expect-error
    Do("tell", right, with_={"number": 1}, onFail="end")  # expect-error
    Flow("lead", on=[OnMessage(1)])  # expect-error
    Flow("lead", on=[OnMessage("wants a quote")], steps=[Say("hi", "Hello.")], on_end="stop")  # expect-error
    return Agent[Crm](name="Ana", model=model, actions=[right, decorated], tools=[look], fields={})


async def play(agent: Agent[Crm]) -> TurnResult:
    await agent.turn("s1", "hello")  # expect-error
    await agent.turn("s1", Message("hello"), context="no crm")  # expect-error
    result = await agent.turn("s1", Message("hello", id="m1"), context=Crm())
    result.changed = False  # expect-error
    return await decorated(result, 1)  # expect-error


async def of_the_3x_form() -> None:
    create_agent(name="Ana")  # expect-error
    create_agent(name="Ana", provider="lexical", max_tool_loops="5")  # expect-error
    create_agent(name="Ana", provider="lexical", router_mode="rules")  # expect-error
    agent = create_agent(name="Ana", provider="lexical", knowledge={})  # expect-error
    response = await agent.respond(5)  # expect-error
    response.mesage  # expect-error
    Directive("visit")  # expect-error
    Directive(goto="visit")  # expect-error
    flow.valid({})  # expect-error
