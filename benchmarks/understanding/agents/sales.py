"""A sales desk with support behind it: names, companies, ranges, money, an instant, and a way out."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from falai import Agent, Branch, Collect, Field, Flow, OnMention, OnMessage, Say

FIELDS = {
    "name": Field(str, description="the person's name", ask="Ask for the name lightly."),
    "company": Field(str, description="the company that they write for", ask="Ask where they work.", correct=True),
    "size": Field(
        Literal["1-10", "11-50", "50+"],
        description="how many people work at the company",
        ask="Ask how many people work there.",
        correct=True,
    ),
    "start": Field(date, description="from which day they need it", ask="Ask from which day.", correct=True),
    "budget": Field(float, description="what they can spend a month, in euros", ask="Ask what they can spend."),
    "invoice": Field(bool, description="whether they want to pay by invoice", extract="anywhere"),
    "email": Field(str, description="where to send the offer, like ana@example.com", ask="Ask for the address."),
    "problem": Field(str, description="what does not work", ask="Ask what happens."),
    "call_at": Field(datetime, description="when to call them back", ask="Ask when to call."),
}

triage = Flow(
    "triage",
    name="Interest in the product",
    description="Finds out who writes and what they need, for an offer.",
    on=[OnMessage("wants to know how it works", "asks for a quote", "wants a demo", "!only says thanks")],
    steps=[
        Collect("who", ["name", "company", "size", "start"], prompt="Find out who they are."),
        Collect("terms", ["budget", "invoice"], prompt="Find out what they can spend, and how they pay."),
        Collect("where", ["email"], prompt="Find out where the offer may go."),
        Say("bye", "Thank you. The offer is on its way."),
    ],
)

support = Flow(
    "support",
    name="A problem with the product",
    description="Takes down what does not work, and when to call.",
    on=[OnMessage("has a problem with the product", "cannot log in", "something does not work")],
    steps=[
        Collect("what", ["problem"], prompt="Find out what happens."),
        Collect("call", ["call_at"], branches=[Branch("does not want to be called", then="mail")]),
        Say("called", "We will call you then.", then="end"),
        Say("mail", "We will write to you."),
    ],
)

person = Flow(
    "person",
    name="A person of the team",
    on=[OnMention("asks for a person", repeat="always")],
    steps=[Say("moment", "I will get someone.")],
)

pricing = Flow(
    "pricing",
    name="What it costs",
    on=[OnMention("asks what it costs", repeat="always")],
    steps=[Say("list", "It is 12 euros a person and month.")],
)

stop = Flow(
    "stop",
    name="No more messages",
    on=[OnMention("wants no more messages", repeat="always")],
    steps=[Say("stopped", "You will not hear from us again.")],
)

agent = Agent(
    name="Ana",
    model="lexical",
    persona="Warm, brief, never invents prices.",
    goal="Everyone leaves with an offer or with help.",
    timezone="Europe/Madrid",
    fields=FIELDS,
    flows=[triage, support, person, pricing, stop],
)
