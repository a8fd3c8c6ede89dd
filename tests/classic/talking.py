"""A conversation of a test with the engine of the 3.x face: options, a scripted model, a clock, the session so far.

    talk = Talk(flow("Order", {"id": "ask", "prompt": "Ask."}))
    talk.says("hello", speak="What would you like?")
    assert talk.said == ["What would you like?"] and talk.at == "order.ask"

Each call plays one turn and says which model calls it costs. A call that is not announced fails the
test, and so does an answer that is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falai.classic.checking import checked_options
from falai.classic.compiling import compiled
from falai.classic.core import Core
from falai.classic.state import CURRENT, TurnState
from falai.session.inputs import Message
from falai.session.model import Session
from falai.testing import Clock, ScriptedModel
from falai.turn.result import TurnResult

__all__ = ["FIELDS", "Talk", "flow"]

FIELDS: Mapping[str, Any] = {
    "name": {"type": "string"},
    "size": {"type": "integer"},
    "plan": {"type": "string", "enum": ["basic", "pro"]},
}


def flow(title: str, *steps: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    """A flow with an id that is its title in lower case."""
    return {"title": title, "steps": list(steps), **options}


class Talk:
    """Plays turns, each on the session of the one before."""

    def __init__(self, *flows: Any, schema: Any = ..., context: Any = None, **options: Any) -> None:
        self.clock = Clock("2026-09-20T10:00:00.000Z")
        self.model = ScriptedModel()
        fields = {"type": "object", "properties": dict(FIELDS)} if schema is ... else schema
        given = {"name": "Ana", "provider": self.model, "flows": list(flows), **options}
        self.core = Core(compiled(checked_options(given if fields is None else {**given, "schema": fields})))
        self.core.clock = self.clock
        self.context = {} if context is None else context
        self.session: Session | None = None
        self.state: TurnState
        self.result: TurnResult
        self.messages = 0

    def says(
        self, text: str = "hello", *, understand: Any = None, speak: Any = None, allowed: Any = None
    ) -> TurnResult:
        """The customer writes."""
        self.model.clear()
        for name, replies in (("understand", understand), ("speak", speak)):
            for reply in replies if isinstance(replies, list) else [] if replies is None else [replies]:
                self.model.feed(name, {"message": reply} if isinstance(reply, str) else reply)
        self.messages += 1
        history = [{"role": "user", "content": text}]
        allowed = None if allowed is None else frozenset(allowed)
        self.state = TurnState(self.core.compiled, context=self.context, history=history, allowed=allowed)
        CURRENT.set(self.state)
        message = Message(text, f"m{self.messages}")
        self.result = self.core.turn_sync("s1", message, session=self.session, context=self.context)
        assert self.model.remaining() == {}
        self.session = self.result.session
        return self.result

    @property
    def said(self) -> list[str]:
        """The texts of the last turn."""
        return [message.text for message in self.result.messages]

    @property
    def at(self) -> str | None:
        """Where the run stands that asks: `flow.step`."""
        assert self.session is not None
        return next((f"{run.flow_id}.{run.step_id}" for run in self.session.runs if run.status == "asking"), None)

    @property
    def suspended(self) -> list[str]:
        """The flows of the suspended runs."""
        assert self.session is not None
        return [run.flow_id for run in self.session.runs if run.status == "suspended"]

    @property
    def data(self) -> dict[str, Any]:
        """The session's data."""
        assert self.session is not None
        return self.session.data

    @property
    def ended(self) -> list[tuple[str, str]]:
        """The flows whose runs ended in the last turn, and why, as the core says."""
        return [(end.run.flow_id, end.reason) for end in self.result.ended]

    @property
    def executed(self) -> list[str]:
        """The steps that did something in the last turn."""
        return [step.id for step in self.state.executed]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The positions that were applied in the last turn, and who emitted them."""
        return [(link.description, link.emitter) for link in self.state.links]
