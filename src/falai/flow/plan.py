"""What an agent is once it has been checked: names resolved, look-ups made, nothing left to refuse.

`FlowPlan` is a checked `Flow` with what the turn looks up again and again; `AgentPlan` is the whole
agent. Both are made once, by `Agent`, and never change. The turn and the prompts read only these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

import msgspec

from falai.flow.definition import (
    Branch,
    Collect,
    Condition,
    Flow,
    Instruction,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Step,
    TalkStep,
    Target,
    Trigger,
    Wait,
)  # fmt: skip
from falai.flow.moves import Aim
from falai.flow.phrases import Phrases, split_phrases

__all__ = [
    "ActionPlan", "AgentPlan", "EventPlan", "FieldPlan", "FlowPlan", "IdlePlan", "ParamPlan", "ToolPlan", "branches_of",
    "target_of", "type_words",
]  # fmt: skip

T = TypeVar("T")

WireType = Literal["string", "number", "integer", "boolean"]
DEFAULT_MAX_ASKS = 3


class FieldPlan(msgspec.Struct, frozen=True):
    """A checked field. `validate` is the richer type's own check: JSON value in, JSON value out;
    it raises `ValueError` with the reason (F-19.3). `format` is what JSON schema calls that type's
    text (`date`, `date-time`, `email`, …), for those who have to read such a value. A field that holds
    something else than one value has a `schema`, which goes to the model in place of the type."""

    slug: str
    type: WireType
    enum: tuple[str | int | float, ...] | None = None
    label: str | None = None
    description: str | None = None
    ask: str | None = None
    question: str | None = None
    mode: Literal["anywhere", "asked"] = "anywhere"
    correct: bool = False
    validate: Callable[[Any], Any] | None = None
    format: str | None = None
    schema: Mapping[str, Any] | None = None

    @property
    def kind(self) -> str:
        """How a prompt calls the type."""
        return self.type if self.schema is None else type_words(self.schema)


class ParamPlan(msgspec.Struct, frozen=True):
    """A checked parameter of an action, or of a mention's `extract` (F-12.2)."""

    name: str
    type: Literal["string", "number", "integer", "boolean", "array"]
    enum: tuple[str | int | float, ...] | None = None
    description: str | None = None
    optional: bool = False
    items: ParamPlan | None = None


class ActionPlan(msgspec.Struct, frozen=True):
    """A checked action; `run(context, parameters)` gives the raw result, or an awaitable of it."""

    name: str
    description: str | None
    parameters: tuple[ParamPlan, ...]
    run: Callable[[Any, Mapping[str, Any]], Any]
    moves: tuple[Aim, ...] = ()
    """Where its result may send the run."""


class EventPlan(msgspec.Struct, frozen=True):
    """A declared event (F-13)."""

    name: str
    direction: Literal["inbound", "outbound"] | None = None


class ToolPlan(msgspec.Struct, frozen=True):
    """A checked tool (F-14). `handler(arguments, context)` may give an awaitable; so may the first two gates."""

    id: str
    description: str | None
    parameters: Mapping[str, Any] | None
    handler: Callable[[Mapping[str, Any], Any], Any]
    validate_input: Callable[[Mapping[str, Any], Any], Any] | None = None
    check_permissions: Callable[[Mapping[str, Any], Any], Any] | None = None
    is_read_only: Callable[[Mapping[str, Any]], bool] | None = None
    is_concurrency_safe: Callable[[Mapping[str, Any]], bool] | None = None
    is_destructive: Callable[[Mapping[str, Any]], bool] | None = None
    max_result_size_chars: int | None = None
    moves: tuple[Aim, ...] = ()
    """Where its result may send the run; step ids count in the flows that have such a step."""


class IdlePlan(msgspec.Struct, frozen=True):
    """The speaker when no run holds the floor (F-16.2)."""

    prompt: str = ""
    tools: tuple[str, ...] | None = None
    instructions: tuple[Instruction, ...] = ()


@dataclass(frozen=True, eq=False)
class FlowPlan:
    """A checked flow and what is looked up in it. `flow` holds only objects, no mappings.

    It is itself only (`eq=False`), so that what is made of it once can be kept beside it.
    """

    flow: Flow

    @property
    def id(self) -> str:
        return self.flow.id

    @cached_property
    def triggers(self) -> tuple[Trigger, ...]:
        return cast("tuple[Trigger, ...]", tuple(self.flow.on or ()))

    @cached_property
    def name(self) -> str:
        return self.flow.name or self.flow.id

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return cast("tuple[Step, ...]", tuple(self.flow.steps))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {step.id: index for index, step in enumerate(self.steps)}

    def step(self, step_id: str | None) -> Step | None:
        """The step of that id, or `None`."""
        position = None if step_id is None else self.positions.get(step_id)
        return None if position is None else self.steps[position]

    def after(self, step_id: str) -> Step | None:
        """The step behind this one in the list."""
        position = self.positions[step_id] + 1
        return self.steps[position] if position < len(self.steps) else None

    @cached_property
    def message(self) -> OnMessage | None:
        """The first message trigger with phrases: the one that makes the flow eligible (T-8.2)."""
        return _first(self.triggers, OnMessage)

    @cached_property
    def catch_all(self) -> OnAnyMessage | None:
        """The first message trigger without phrases (T-8.3)."""
        return _first(self.triggers, OnAnyMessage)

    @cached_property
    def mention(self) -> OnMention | None:
        return _first(self.triggers, OnMention)

    @cached_property
    def silence(self) -> OnSilence | None:
        return _first(self.triggers, OnSilence)

    @cached_property
    def events(self) -> tuple[OnEvent, ...]:
        return tuple(t for t in self.triggers if isinstance(t, OnEvent))

    @cached_property
    def wants(self) -> Phrases:
        """The phrases of all message triggers (F-7.8)."""
        return split_phrases(p for t in self.triggers if isinstance(t, OnMessage) for p in t.phrases)

    @cached_property
    def touches(self) -> Phrases:
        """The phrases of all mention triggers (F-7.13)."""
        return split_phrases(p for t in self.triggers if isinstance(t, OnMention) for p in t.phrases)

    @cached_property
    def varies(self) -> bool:
        """Whether what the model is told of the flow, but for its steps, has placeholders."""
        said = (self.flow.description or "", *self.wants.matches, *self.wants.exclusions)
        return any("{{" in text for text in (*said, *self.touches.matches, *self.touches.exclusions))

    @cached_property
    def extract(self) -> Mapping[str, Any]:
        """The first non-empty `extract` among the mention triggers, in wire form (F-7.13)."""
        nothing: Mapping[str, Any] = {}
        return next((t.extract for t in self.triggers if isinstance(t, OnMention) and t.extract), nothing)

    @cached_property
    def talk_steps(self) -> tuple[TalkStep, ...]:
        return tuple(s for s in self.steps if isinstance(s, Collect | Prompt))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The flow's `collect`, then each talk step's, each slug once (F-2.6)."""
        slugs = list(self.flow.collect or ())
        slugs += [slug for step in self.talk_steps if isinstance(step, Collect) for slug in step.collect]
        return tuple(dict.fromkeys(slugs))


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentPlan:
    """A checked agent. Mappings and tuples keep the author's order; like a flow's plan it is itself only."""

    name: str
    persona: str | None = None
    goal: str | None = None
    knowledge_base: Mapping[str, Any] | None = None
    timezone: str | None = None
    language: str | None = None
    """What replies are written in, whatever the customer writes; `None`: the customer's language."""
    fields: Mapping[str, FieldPlan] = field(default_factory=dict[str, FieldPlan])
    flows: Mapping[str, FlowPlan] = field(default_factory=dict[str, FlowPlan])
    actions: Mapping[str, ActionPlan] = field(default_factory=dict[str, ActionPlan])
    events: Mapping[str, EventPlan] = field(default_factory=dict[str, EventPlan])
    conditions: Mapping[str, Condition] = field(default_factory=dict[str, Condition])
    tools: tuple[ToolPlan, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    idle: IdlePlan | None = field(default_factory=IdlePlan)
    """`None` for `"silent"`."""
    business_hours: Callable[[datetime, Any], datetime] | None = None
    """Called as `business_hours(at, context)` (F-11.4)."""
    clock: Callable[[], datetime] | None = None
    max_tool_loops: int = 5
    compaction: Mapping[str, Any] | None = None
    start_score: float = 40
    """What a flow must score to begin, or to take a message over (T-9.3). With 0 the best one begins, whatever its score."""
    switch_margin: float = 15
    """By how much a flow must beat the asker's to take the message over."""
    listener: Callable[[Any], Awaitable[Any]] | None = None
    """Of an agent with a layer on top of it: what acts at the moments of a turn (`falai.turn.effects.Reached`)."""
    missing_tool: Callable[[Any], Any] | None = None
    """Of such an agent: gives the `ToolAnswer` to a `ToolUse` whose tool is not there."""
    driven: frozenset[str] = frozenset()
    """The flows whose steps and branches that layer judges."""
    max_driven_steps: int = 50
    """How many steps a run of such a flow may take in one turn."""

    @cached_property
    def asks_matter(self) -> bool:
        """Whether some step has a fixed question, so that `asks` is judged (M-3.6)."""
        return any(isinstance(s, Collect) and s.question for f in self.flows.values() for s in f.steps)


def type_words(schema: Mapping[str, Any]) -> str:
    """The JSON types that a schema names, in words."""
    given: Any = schema.get("type")
    types: list[Any] = [given] if isinstance(given, str) else given or []
    return " or ".join(str(kind) for kind in types if kind is not None) or "any value"


def target_of(target: Target | Mapping[str, Any] | None) -> Target | None:
    """A target of a checked step, in which no mapping is left."""
    return cast("Target | None", target)


def branches_of(step: TalkStep | Wait) -> tuple[Branch, ...]:
    """The branches of a checked step, in which no mapping is left."""
    return cast("tuple[Branch, ...]", tuple(step.branches or ()))


def _first(triggers: Sequence[Trigger], kind: type[T]) -> T | None:
    return next((t for t in triggers if isinstance(t, kind)), None)
