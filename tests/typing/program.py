"""A sales desk: finds out who writes, confirms at most twice, tells a colleague, follows up on silence."""
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

from falai import (ActionContext, ActionResult, Agent, Branch, BusinessHours, Collect, Do, Field, Flow, If, Message,
                   OnMention, OnMessage, OnSilence, Prompt, Say, To, ToFlow, TurnResult, View, Wait, failed, ok)


class Crm(Protocol):
    async def notify(self, recipient: str, message: str, *, idempotency_key: str) -> bool: ...


@dataclass(frozen=True)
class Desk:
    """The host's context of one turn."""
    crm: Crm


async def notify(ctx: ActionContext[Desk], recipient: Literal["sales", "desk"], message: str) -> ActionResult:
    """Tell a person of the team."""
    told = await ctx.context.crm.notify(recipient, message, idempotency_key=ctx.key)
    return ok("told") if told else failed("nobody is on duty")


def may_ask_again(view: View[Desk]) -> bool:
    return view.run.visits.get("confirm", 0) < 2


agent = Agent[Desk](
    name="Ana",
    persona="Warm, brief, never invents prices.",
    model="openai:gpt-5-mini",   # or "lexical", a Model of pydantic-ai, or a port of your own
    timezone="America/Sao_Paulo",
    business_hours=BusinessHours("09:00", "18:00"),
    fields={
        "name": Field(str, ask="Ask for the name lightly.", question="What is your name?"),
        "size": Field(Literal["1-10", "11-50", "50+"], ask="Ask how many people work there.", correct=True),
        "start": Field(date, ask="Ask from which day they need it.", correct=True),
        "agreed": Field(bool, ask="Sum up what you noted and ask whether it is right."),
    },
    actions=[notify],
    flows=[
        Flow("triage", on=[OnMessage("wants to know how it works", "asks for a quote", "!only says thanks")], steps=[
            Collect("who", ["name", "size", "start"], prompt="Find out who they are."),
            If("complete", {"known": ["name", "size"]}, else_=ToFlow("human")),
            Collect("confirm", ["agreed"], max_asks=2, branches=[Branch("wants a person", then=ToFlow("human"))]),
            If("right", {"equals": {"agreed": True}}, then="tell", else_="retry"),
            If("retry", may_ask_again, then=To("confirm", clear=["agreed"]), else_=ToFlow("human")),
            Do("tell", notify, {"recipient": "sales", "message": "{{data.name}}: {{data.size}} people"},
               on_fail=ToFlow("human")),
            Say("bye", "Thank you, {{data.name}}. A colleague takes it from here."),
        ]),
        Flow("human", on=[OnMention("asks for a person", repeat="always")], steps=[Say("moment", "I will get someone.")]),
        Flow("nudge", on=[OnSilence("24h", business_hours=True)], steps=[
            Prompt("again", "Pick up the open subject lightly."),
            Wait("pause", "2d", else_="end"),
            Prompt("last", "A last, short try."),
        ]),
    ],
)


async def answer(crm: Crm, text: str, message_id: str) -> TurnResult:
    return await agent.turn("s1", Message(text, id=message_id), context=Desk(crm))
