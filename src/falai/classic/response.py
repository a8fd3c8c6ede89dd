"""What `respond` gives back: the response, its parts, and the chunks of a stream (D-25, D-27, D-28, D-36).

Attributes have the snake_case of the wire names; `to_wire` gives the wire form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from falai.classic.directive import Directive
from falai.classic.errors import ResponseGenerationError
from falai.classic.sessions import ClassicSession
from falai.classic.tools import tool_id
from falai.flow.places import is_list, is_object
from falai.flow.wire import wire_name
from falai.session.codec import session_to_wire
from falai.turn.result import OutMessage, ScheduledWake, TurnResult

__all__ = [
    "AgentResponse", "Answer", "AppliedInstruction", "Chunk", "EndedBy", "EndedFlow", "ExecutedStep", "Firing",
    "Metadata", "StoppedReason", "ToolCall",
]  # fmt: skip

StoppedReason = Literal[
    "aborted", "halt", "reply", "completed", "goto", "reset", "last_step", "finalize_error", "needs_input",
    "prepare_error", "llm_error", "validation_error", "max_auto_steps",
]  # fmt: skip
"""Why a turn ended where it did (D-27). The last four stand on a stream's error chunk only."""


EndedBy = Literal["completed", "last_step", "goto", "reset", "aborted"]
"""Why a flow's run ended (D-28)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model called."""

    tool_name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExecutedStep:
    """A step that did something: an auto step that ran, or the step that spoke."""

    id: str
    flow_id: str


@dataclass(frozen=True, slots=True)
class AppliedInstruction:
    """An instruction that stood in the speaking prompt; whether its `when` was true is the model's secret (D-41).

    `scope_ref` is the title of the flow, or the id of the step.
    """

    id: str
    scope: Literal["global", "flow", "step"]
    scope_ref: str | None = None


@dataclass(frozen=True, slots=True)
class EndedFlow:
    """A flow whose run ended in this turn (D-28)."""

    flow_id: str
    title: str | None
    reason: EndedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """A signal whose handler was called (D-77). `directive` is what it returned, `reply_with` resolved."""

    id: str
    phase: Literal["pre", "post"]
    reason: str | None = None
    extracted: Mapping[str, Any] | None = None
    directive: Directive | None = None
    handler_error: str | None = None
    extraction_error: str | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """Tokens of the speaking call with its tool rounds, as the provider counted them; `None` when it does not."""

    tokens_used: int | None = None
    cached_input_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a response and the last chunk of a stream have in common."""

    message: str = ""
    tool_calls: tuple[ToolCall, ...] | None = None
    is_flow_complete: bool = False
    executed_steps: tuple[ExecutedStep, ...] = ()
    stopped_reason: StoppedReason | None = None
    applied_instructions: tuple[AppliedInstruction, ...] = ()
    triggered_signals: tuple[Firing, ...] = ()
    metadata: Metadata = Metadata()
    messages: tuple[OutMessage, ...] = ()
    schedule: tuple[ScheduledWake, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentResponse(Answer):
    """The answer to one message (D-25).

    `message` is what to say, `""` for nothing; several texts of one turn are joined by a blank line
    (D-26). `session` is the session after the turn, saved or not. `stopped_reason` is `None` when no
    flow was involved. `messages`, `schedule` and `turn` are the core's result behind it: a host that
    runs flows of the core serves the schedule.
    """

    session: ClassicSession
    turn: TurnResult
    ended_flows: tuple[EndedFlow, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """The response as JSON data under wire names, without `turn`; what is `None` is absent.

        Of the tools that a signal injects, the ids are there.
        """
        turn = self.turn.to_wire()
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("turn", "session", *turn)}
        session = session_to_wire(self.session)
        return {**_members(own), "session": session, "messages": turn["messages"], "schedule": turn["schedule"]}


@dataclass(frozen=True, kw_only=True)
class Chunk(Answer):
    """A piece of a streamed answer (D-36).

    `accumulated` is the text so far; the deltas add up to it, except where the last chunk replaces the
    text. `done` is true once, on the last chunk, which also has what a response has, but
    `ended_flows`; or it has `error`, and the turn had no effect (D-37).
    """

    delta: str
    accumulated: str
    done: bool = False
    session: ClassicSession | None = None
    turn: TurnResult | None = None
    error: ResponseGenerationError | None = None


def _wired(value: Any) -> Any:
    if isinstance(value, Directive):
        return _told(value.to_wire())
    if is_dataclass(value):
        return _members({f.name: getattr(value, f.name) for f in fields(value)})
    return [_wired(entry) for entry in value] if is_list(value) else value


def _told(directive: dict[str, Any]) -> dict[str, Any]:
    """A directive as JSON data: of a tool that it injects, the id (D-49)."""
    if "injectTools" in directive:
        directive["injectTools"] = [{"id": tool_id(tool)} for tool in directive["injectTools"]]
    complete = directive.get("complete")
    if is_object(complete) and is_object(complete.get("next")):
        directive["complete"] = {**complete, "next": _told(dict(complete["next"]))}
    return directive


def _members(values: Mapping[str, Any]) -> dict[str, Any]:
    return {wire_name(name): _wired(value) for name, value in values.items() if value is not None}
