"""What an author writes, as frozen dataclasses: fields, triggers, steps, branches, flows.

Nothing is checked in a constructor. A definition is turned into its wire form (`wire.py`), the one
checker looks at that (`shape.py`, `names.py`), and what passed comes back as these same classes,
with every mapping that an author may have used turned into an object. So the rest of the house
reads only these classes, and knows that they are right.

Positional: the id and the step's body. Everything else is keyword-only and optional; `None` means
"not set" (F-1.2). Wire names that are Python keywords have a trailing underscore.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from falai.flow.handlers import ActionResult, View

__all__ = [
    "ActionFunction",
    "Ask",
    "Branch",
    "Collect",
    "Condition",
    "Do",
    "EventDefinition",
    "Field",
    "Flow",
    "Idle",
    "If",
    "Instruction",
    "Move",
    "OnAnyMessage",
    "OnEvent",
    "OnMention",
    "OnMessage",
    "OnSilence",
    "Param",
    "Predicate",
    "Prompt",
    "Repeat",
    "Reset",
    "Say",
    "Step",
    "TalkStep",
    "Target",
    "To",
    "ToFlow",
    "Trigger",
    "Wait",
    "WaitEvent",
]  # fmt: skip

Predicate = Mapping[str, Any] | Callable[[View[Any]], bool]
"""A condition spec (F-9.3), or a synchronous function of one argument."""
Repeat = Literal["once", "always"] | Mapping[Literal["cooldown"], str]
ActionFunction = Callable[..., ActionResult] | Callable[..., Awaitable[ActionResult]]


@dataclass(frozen=True)
class Field:
    """One value that conversations gather (F-2, F-19.1 to F-19.3).

    `type` is `str`, `int`, `float`, `bool`, a `Literal`, any type that pydantic validates, or a
    wire name (`"string"`). `ask` tells the model how to ask; `question` is wording for the
    customer, for a model that cannot phrase. `correct` lets a later message replace a known value.
    """

    type: Any
    _: KW_ONLY
    enum: Sequence[str | int | float] | None = None
    label: str | None = None
    description: str | None = None
    ask: str | None = None
    question: str | None = None
    extract: Literal["anywhere", "asked"] | None = None
    correct: bool | None = None


@dataclass(frozen=True)
class Ask:
    """What an annotation of a pydantic model says about a field: `Annotated[date, Ask("…")]`."""

    ask: str | None = None
    _: KW_ONLY
    question: str | None = None
    label: str | None = None
    description: str | None = None
    extract: Literal["anywhere", "asked"] | None = None
    correct: bool | None = None


@dataclass(frozen=True)
class Param:
    """What a signature cannot say about a parameter: `Annotated[str, Param("slotId", "The slot's id.")]`."""

    name: str | None = None
    description: str | None = None


@dataclass(frozen=True)
class To:
    """Go to a step of this flow, first forgetting the fields in `clear` (F-8.6)."""

    step: str
    _: KW_ONLY
    clear: Sequence[str] | None = None


@dataclass(frozen=True)
class ToFlow:
    """End this run and start another flow in the same turn; `flow` may be a template (F-8.7)."""

    flow: str
    _: KW_ONLY
    input: Any = None


@dataclass(frozen=True)
class Reset:
    """End this run and start its flow again, with the data as they are: a move that only code makes (T-12.8)."""


Target = str | To | ToFlow
"""Where a step leads: a step id, `"end"`, `To` or `ToFlow` (F-8.5)."""
Move = Target | Reset
"""Where an action or a tool sends the run: what a step's `then` may be, or a reset."""


@dataclass(frozen=True)
class Condition:
    """A host condition: `check(view, argument)` says whether it holds (F-9.5)."""

    name: str
    check: Callable[[View[Any], Any], bool]


@dataclass(frozen=True)
class Instruction:
    """One rule for the model's wording (F-15)."""

    prompt: str
    _: KW_ONLY
    kind: Literal["must", "never", "should"] | None = None
    when: str | Sequence[str] | None = None
    if_: Predicate | None = None
    id: str | None = None


@dataclass(frozen=True)
class EventDefinition:
    """What a reported event counts as: the customer writing, the assistant speaking, or neither (F-13)."""

    direction: Literal["inbound", "outbound"] | None = None


@dataclass(frozen=True)
class Idle:
    """The speaker when no run holds the floor (F-16.2). `"silent"` in its place mutes it."""

    prompt: str = ""
    _: KW_ONLY
    tools: Sequence[str] | None = None
    instructions: Sequence[Instruction | Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Branch:
    """A way out of a talk step, judged on the customer's next message (F-8.17)."""

    when: str | None = None
    _: KW_ONLY
    if_: Predicate | None = None
    then: Target | Mapping[str, Any] | None = None


# --- triggers ---------------------------------------------------------------------------------


@dataclass(frozen=True, init=False)
class OnMessage:
    """The customer may want this (F-7.7). A phrase that begins with `!` rules the flow out."""

    phrases: tuple[str, ...]
    if_: Predicate | None
    repeat: Repeat | None

    def __init__(self, *phrases: str, if_: Predicate | None = None, repeat: Repeat | None = None) -> None:
        _fill(self, phrases=phrases, if_=if_, repeat=repeat)


@dataclass(frozen=True)
class OnAnyMessage:
    """The catch-all: a message that nobody asked for and no scored flow wants (F-7.7)."""

    _: KW_ONLY
    if_: Predicate | None = None
    repeat: Repeat | None = None


@dataclass(frozen=True, init=False)
class OnMention:
    """The customer may touch on this; the run goes on beside the conversation (F-7.10).

    Without phrases nothing is asked of the model: code decides, on every message (F-7.11).
    """

    phrases: tuple[str, ...]
    extract: Mapping[str, Any] | None
    if_: Predicate | None
    repeat: Repeat | None

    def __init__(
        self,
        *phrases: str,
        extract: Mapping[str, Any] | None = None,
        if_: Predicate | None = None,
        repeat: Repeat | None = None,
    ) -> None:
        _fill(self, phrases=phrases, extract=extract, if_=if_, repeat=repeat)


@dataclass(frozen=True)
class OnSilence:
    """So much time has passed since the assistant's last word, without a line (F-7.14)."""

    silence: str
    _: KW_ONLY
    business_hours: bool | None = None
    if_: Predicate | None = None
    repeat: Repeat | None = None


@dataclass(frozen=True)
class OnEvent:
    """The host reported this event; `after` delays the first step (F-7.15)."""

    event: str
    _: KW_ONLY
    after: str | None = None
    business_hours: bool | None = None
    if_: Predicate | None = None
    repeat: Repeat | None = None


Trigger = OnMessage | OnAnyMessage | OnMention | OnSilence | OnEvent


# --- steps ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collect:
    """A talk step that asks for fields (F-8.10). `question` is a fixed first wording (F-8.15)."""

    id: str
    collect: Sequence[str]
    _: KW_ONLY
    prompt: str | None = None
    question: str | None = None
    ask: Mapping[str, str] | None = None
    max_asks: int | None = None
    branches: Sequence[Branch | Mapping[str, Any]] | None = None
    tools: Sequence[str] | None = None
    instructions: Sequence[Instruction | Mapping[str, Any]] | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Prompt:
    """A talk step that says something, phrased by the model, and asks for no field (F-8.10)."""

    id: str
    prompt: str
    _: KW_ONLY
    ask: Mapping[str, str] | None = None
    max_asks: int | None = None
    branches: Sequence[Branch | Mapping[str, Any]] | None = None
    tools: Sequence[str] | None = None
    instructions: Sequence[Instruction | Mapping[str, Any]] | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Say:
    """A fixed text, sent as written with its placeholders filled in (F-8.21)."""

    id: str
    say: str
    _: KW_ONLY
    media: Mapping[str, str] | None = None
    once: bool | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Do:
    """A host action, by its function or its name, with its parameters (F-8.24)."""

    id: str
    do: str | ActionFunction
    with_: Mapping[str, Any] | None = None
    _: KW_ONLY
    on_fail: Target | Mapping[str, Any] | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Wait:
    """A pause; `else_` is taken when the customer writes first (F-8.25 to F-8.29)."""

    id: str
    wait: str
    _: KW_ONLY
    business_hours: bool | None = None
    else_: Target | Mapping[str, Any] | None = None
    branches: Sequence[Branch | Mapping[str, Any]] | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class WaitEvent:
    """Parks the run until the host reports the event, or for `up_to` (F-8.30)."""

    id: str
    event: str
    _: KW_ONLY
    up_to: str | None = None
    else_: Target | Mapping[str, Any] | None = None
    then: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class If:
    """A fork that code decides: `then` when the condition holds, else `else_` (F-8.32)."""

    id: str
    if_: Predicate
    _: KW_ONLY
    then: Target | Mapping[str, Any] | None = None
    else_: Target | Mapping[str, Any] | None = None
    label: str | None = None
    ui: Mapping[str, Any] | None = None


TalkStep = Collect | Prompt
Step = Collect | Prompt | Say | Do | Wait | WaitEvent | If


@dataclass(frozen=True)
class Flow:
    """When a conversation begins to follow these steps, and the steps (F-6). Without a `name`, the id serves."""

    id: str
    _: KW_ONLY
    on: Sequence[Trigger | Mapping[str, Any]] | None = None
    steps: Sequence[Step | Mapping[str, Any]] = field(default_factory=list[Step])
    name: str | None = None
    description: str | None = None
    anchor: str | None = None
    while_: Predicate | None = None
    collect: Sequence[str] | None = None
    clear_on_start: Sequence[str] | None = None
    on_end: Literal["end", "stay", "reset"] | None = None
    instructions: Sequence[Instruction | Mapping[str, Any]] | None = None
    tools: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.name is None:
            _fill(self, name=self.id)


def _fill(target: object, **values: object) -> None:
    """Sets the attributes of a frozen dataclass that has a constructor of its own."""
    for name, value in values.items():
        object.__setattr__(target, name, value)
