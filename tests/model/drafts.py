"""What the tests of drafting share: an agent, a request, and specs that are right, odd and wrong."""

from __future__ import annotations

from typing import Any

from falai import Agent, Condition, Field, Flow, OnMessage, Say
from falai.flow.definition import EventDefinition
from falai.flow.functions import Action
from falai.flow.handlers import ok

__all__ = ["BAD", "GOOD", "NULLS", "ODD", "REQUEST", "desk"]

REQUEST = "When somebody wants to hold a book, ask which one, hold it and tell them."


def is_member(view: Any, argument: Any) -> bool:
    """Holds for who has a card.

    Its argument is not read.
    """
    return True


def desk(**options: Any) -> Agent:
    """A library's agent with one flow."""
    given: dict[str, Any] = {
        "name": "Lia",
        "model": "lexical",
        "fields": {
            "title": Field(str, description="the book", ask="Ask which book."),
            "branch": Field(str, enum=["north", "harbour"]),
        },
        "actions": [
            Action(
                "hold", lambda ctx, **given: ok(), description="Puts a book aside.",
                parameters={"title": {"type": "string"}, "days": {"type": "integer", "optional": True}},
            )
        ],
        "events": {"returned": EventDefinition("inbound"), "paid": EventDefinition()},
        "conditions": [Condition("member", is_member)],
        "flows": [
            Flow("person", name="A person", description="Hands over.", on=[OnMessage("wants a person")],
                 steps=[Say("moment", "I will get someone.")]),
        ],
    } | options  # fmt: skip
    return Agent(**given)


GOOD: dict[str, Any] = {
    "id": "hold-book",
    "name": "Hold a book",
    "on": [{"message": ["wants to hold a book"]}],
    "steps": [
        {"id": "which", "kind": "collect", "collect": ["title"]},
        {"id": "told-us", "kind": "if", "if": {"known": ["title"]}, "else": {"flow": "person"}},
        {"id": "keep", "kind": "do", "do": "hold", "with": {"title": "{{data.title}}"}, "onFail": {"flow": "person"}},
        {"id": "told", "kind": "say", "say": "{{data.title}} waits for you."},
    ],
}
"""Right, and nothing to be said of it."""

NULLS: dict[str, Any] = {
    **GOOD, "description": None, "anchor": None,
    "steps": [{**step, "label": None, "then": None} for step in GOOD["steps"]],
}  # fmt: skip
"""The same as an enforced schema brings it about (S-62)."""

ODD: dict[str, Any] = {
    **GOOD,
    "steps": [*GOOD["steps"][:3], {"id": "told", "kind": "say", "say": "Done.", "then": {"flow": "desk"}}],
}
"""It can run, but goes to a flow that is not there (W5)."""

BAD: dict[str, Any] = {
    **GOOD,
    "steps": [
        {"id": "which", "kind": "collect", "collect": ["titel"], "then": "keeep"},
        {"id": "pause", "kind": "wait", "wait": "2 days"},
    ],
}
"""Three things are wrong with it."""
