"""What the turn hands to the two calls, and what it gets back (T-8.12, T-14, T-14.7).

The turn decides *who* speaks and *what* is judged; this room makes the words of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from falai.flow.definition import Instruction, Move, TalkStep
from falai.flow.plan import FlowPlan, ToolPlan
from falai.model.port import Usage
from falai.model.tasks import Acted, Corrected, Refused, Said
from falai.session.model import Run

__all__ = ["BranchQuestion", "Deferred", "Judgement", "SpeakInput", "Spoken", "UnderstandInput"]


class BranchQuestion(msgspec.Struct, frozen=True):
    """A `when` branch to judge: `{runId}/{stepId}/{index}` and the text as the author wrote it."""

    id: str
    when: str


class UnderstandInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the understand call is asked (T-8.12)."""

    text: str
    history: Sequence[Mapping[str, Any]]
    context: Any
    data: Mapping[str, Any]
    now_ms: int
    run: Run | None
    """The run on the floor."""
    flow: FlowPlan | None
    """Its flow, if the agent has it. It is the first of `compared` then."""
    pending: tuple[str, ...]
    """The pending fields of the talk step on which that run stands."""
    compared: tuple[FlowPlan, ...]
    mentions: tuple[FlowPlan, ...]
    branches: tuple[BranchQuestion, ...]
    fields: tuple[str, ...]
    """Slugs to read; those of `correctable` are known."""
    correctable: frozenset[str]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The understand call's answer under real ids, raw values (T-8.13). All empty: not judged."""

    flows: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    mentions: Mapping[str, bool] = msgspec.field(default_factory=dict[str, bool])
    extract: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict[str, Mapping[str, Any]])
    branches: Mapping[str, bool] = msgspec.field(default_factory=dict[str, bool])
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    asks: bool | None = None


class SpeakInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the speak call is told (T-14). Without `run`, the idle speaker speaks."""

    run: Run | None
    flow: FlowPlan | None
    step: TalkStep | None
    pending: tuple[str, ...]
    fixed_after: str | None
    kind: Literal["message", "wake", "event", "start"]
    text: str | None
    retry: bool
    context: Any
    data: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    now_ms: int
    said: tuple[Said, ...]
    instructions: tuple[Instruction, ...]
    """Those whose `if` holds, in order."""
    tools: tuple[ToolPlan, ...]
    refused: tuple[Refused, ...]
    corrected: tuple[Corrected, ...] = ()
    acted: tuple[Acted, ...]
    sentences: tuple[str, ...] = ()
    """More of the guideline. They may hold what a customer wrote, so no line of them passes for a mark of ours."""


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """A reply (T-14.7): a message that is not blank, raw values by slug, the tools' merged data.

    `verbatim`: a tool's text took the place of the model's. `move` is where a tool sends the run. `by`
    names the tools that did either.
    """

    message: str
    values: Mapping[str, Any]
    data: Mapping[str, Any]
    llm_calls: int
    usage: Usage | None
    verbatim: bool = False
    move: Move | None = None
    by: str | None = None


class Deferred(msgspec.Struct, frozen=True, kw_only=True):
    """No reply (M-10): the outcome's code, whether another try can help, when the provider opens."""

    code: str
    retryable: bool
    reset_at_ms: int | None
    llm_calls: int
    usage: Usage | None
