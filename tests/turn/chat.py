"""A conversation of a test: an agent, a scripted model, a clock that stands still, the session so far.

    chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[Collect("ask", ["name"])]))
    asked = chat.message("hello", speak="What is your name?")
    assert lines(asked) == ["collect/ok"]

Each call plays one turn and says which model calls it costs: `understand` and `speak` are what the
model answers. A call that is not announced fails the test, and so does an answer that is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falai import Agent, Event, Message, Start, TurnResult, Wake
from falai.flow.functions import Action
from falai.flow.handlers import ActionContext
from falai.session.model import Run, Session
from falai.testing import Clock, ScriptedModel

__all__ = ["FIELDS", "NOW", "Chat", "at", "ended", "lines", "said", "scheduled", "skipped"]

NOW = "2026-09-20T10:00:00.000Z"
NOW_MS = 1_789_898_400_000
FIELDS: Mapping[str, Any] = {
    "name": {"type": "string"},
    "size": {"type": "integer"},
    "plan": {"type": "string", "enum": ["basic", "pro"]},
    "sure": {"type": "boolean"},
    "note": {"type": "string", "extract": "asked"},
}
CONDITIONS: Mapping[str, Any] = {
    "flag": lambda view, name: bool((view.context or {}).get(name)),
    "input": lambda view, wanted: view.input == wanted,
}


class Chat:
    """Plays turns, each on the session of the one before."""

    def __init__(
        self, *flows: Any, actions: Mapping[str, Any] | None = None, moves: Any = None, **options: Any
    ) -> None:
        self.clock = Clock(NOW)
        self.model = ScriptedModel()
        self.session: Session | None = None
        self.acted: list[ActionContext[Any]] = []
        self.parameters: list[Mapping[str, Any]] = []
        self.ids = 0
        self.moves = moves  # of every action
        self.agent: Agent[Any] = Agent(
            **{
                "name": "Ana",
                "model": self.model,
                "clock": self.clock,
                "fields": FIELDS,
                "conditions": CONDITIONS,
                "events": {"in": {"direction": "inbound"}, "out": {"direction": "outbound"}, "plain": {}},
                **options,
                "flows": flows,
                "actions": {name: self._action(name, results) for name, results in (actions or {}).items()},
            }
        )

    def _action(self, name: str, results: Any) -> Action:
        queue = list(results) if isinstance(results, list) else [results]

        def run(ctx: ActionContext[Any], **parameters: Any) -> Any:
            self.acted.append(ctx)
            self.parameters.append(parameters)
            result = queue.pop(0) if len(queue) > 1 else queue[0]
            if isinstance(result, BaseException):
                raise result
            return result(ctx) if callable(result) else result

        return Action(name, run, parameters={"text": {"type": "string", "optional": True}}, moves=self.moves)

    # --- turns

    def message(self, text: str = "hello", *, id: Any = ..., at: Any = None, **rest: Any) -> TurnResult:
        """The customer writes; ids are m1, m2, … unless given."""
        self.ids += 1
        return self.play(Message(text, f"m{self.ids}" if id is ... else id, at), **rest)

    def wake(self, key: str, **rest: Any) -> TurnResult:
        return self.play(Wake(key), **rest)

    def event(self, name: str, key: str = "e1", **rest: Any) -> TurnResult:
        payload, hop = rest.pop("payload", None), rest.pop("hop", 0)
        return self.play(Event(name, key, payload, hop), **rest)

    def start(self, flow: str, key: str = "k1", **rest: Any) -> TurnResult:
        given, hop = rest.pop("input", None), rest.pop("hop", 0)
        return self.play(Start(flow, key, given, hop), **rest)

    def play(self, given: Any, *, understand: Any = None, speak: Any = None, **around: Any) -> TurnResult:
        """One turn; `around` is context, silenced, anchors, claims, history, session."""
        self._script(understand, speak)
        session = around.pop("session", self.session)
        result = self.agent.turn_sync("s1", given, session=session, **around)
        assert self.model.remaining() == {}
        assert result.llm_calls == len(self.model.calls), "a model call that nobody announced"
        self.session = result.session
        return result

    def _script(self, understand: Any, speak: Any) -> None:
        self.model.clear()
        if understand is not None:
            self.model.feed("understand", understand)
        for reply in speak if isinstance(speak, list) else [] if speak is None else [speak]:
            self.model.feed("speak", {"message": reply} if isinstance(reply, str) else reply)

    # --- looking

    def run(self, flow: str) -> Run:
        """The live run of a flow; there must be exactly one."""
        [found] = [run for run in self.runs if run.flow_id == flow]
        return found

    @property
    def runs(self) -> list[Run]:
        assert self.session is not None
        return self.session.runs

    @property
    def statuses(self) -> dict[str, str]:
        return {run.flow_id: run.status for run in self.runs}

    @property
    def data(self) -> dict[str, Any]:
        assert self.session is not None
        return self.session.data

    @property
    def asked(self) -> str:
        """The text of this turn's last model call, as the model read it."""
        return self.model.calls[-1].text

    def without(self, *flows: Any, **options: Any) -> Chat:
        """The same conversation after its author changed the agent."""
        other = Chat(*flows, **options)
        other.clock, other.session, other.ids = self.clock, self.session, self.ids
        other.agent.clock = self.clock
        return other


def lines(result: TurnResult) -> list[str]:
    """The outcome lines as `kind/status` or `kind/status/code`."""
    return ["/".join(filter(None, (line.kind, line.status, line.code))) for line in result.outcomes]


def said(result: TurnResult) -> list[str]:
    return [message.text for message in result.messages]


def ended(result: TurnResult) -> list[str]:
    return [f"{end.run.flow_id}:{end.reason}" for end in result.ended]


def skipped(result: TurnResult) -> list[str]:
    return [f"{start.flow_id}:{start.code}" for start in result.skipped]


def scheduled(result: TurnResult) -> list[tuple[str, str]]:
    """The wakes, as key and distance from the default now in seconds."""
    return [(wake.key, f"+{wake.at.timestamp() - NOW_MS / 1000:.10g}s") for wake in result.schedule]


def at(seconds: float) -> int:
    """The instant so many seconds after the default now, in milliseconds, as keys have it."""
    return NOW_MS + int(seconds * 1000)
