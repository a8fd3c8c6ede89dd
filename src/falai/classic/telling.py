"""What a turn did, as its response tells it (D-25 to D-28)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from falai.classic.errors import DataValidationError, ResponseGenerationError
from falai.classic.response import (
    AgentResponse,
    EndedBy,
    EndedFlow,
    Metadata,
    StoppedReason,
)  # fmt: skip
from falai.classic.sessions import ClassicSession
from falai.classic.state import Mark, TurnState
from falai.errors import FlowConfigurationError, ProviderError
from falai.model.port import Usage
from falai.turn.result import EndedRun, EndReason, ModelCall, TurnResult

__all__ = ["message_of", "response_of", "stopped_by"]

_FIRST_OF: Final[Sequence[Mark]] = (
    "aborted", "halt", "reply", "completed", "goto", "reset", "last_step", "finalize_error",
)  # fmt: skip
_ENDED: Final[Mapping[EndReason, EndedBy]] = {"end": "last_step", "flow": "goto", "replaced": "goto", "reset": "reset"}


def message_of(result: TurnResult) -> str:
    """All texts of the turn, with a blank line between each two (D-26)."""
    return "\n\n".join(message.text for message in result.messages)


def response_of(state: TurnState, result: TurnResult, session: ClassicSession) -> AgentResponse:
    """The response of a turn that stands, with the session as it was kept."""
    ended = tuple(_ended(state, result))
    return AgentResponse(
        message=message_of(result),
        session=session,
        tool_calls=tuple(state.tool_calls) or None,
        is_flow_complete=any(flow.reason in ("completed", "last_step") for flow in ended),
        executed_steps=tuple(state.executed),
        stopped_reason=_stopped(state, result, session),
        applied_instructions=tuple(state.applied),
        triggered_signals=tuple(state.firings),
        ended_flows=ended,
        metadata=_metadata(result.calls),
        messages=result.messages,
        schedule=result.schedule,
        turn=result,
    )


def stopped_by(error: BaseException) -> StoppedReason | None:
    """What the last chunk of a stream says of the error that ended it."""
    cause = error.cause if isinstance(error, ResponseGenerationError) else error
    if isinstance(cause, ProviderError):
        return "llm_error"
    if isinstance(cause, DataValidationError):
        return "validation_error"
    if isinstance(cause, FlowConfigurationError) and cause.code == "auto-step-limit":
        return "max_auto_steps"
    in_a_step = isinstance(error, ResponseGenerationError) and error.phase == "step_preparation"
    return "prepare_error" if in_a_step else None


def _ended(state: TurnState, result: TurnResult) -> Iterator[EndedFlow]:
    titles = {flow.id: flow.title for flow in state.compiled.named}
    for end in result.ended:
        yield EndedFlow(end.run.flow_id, titles.get(end.run.flow_id), _reason(state, end))


def _reason(state: TurnState, end: EndedRun) -> EndedBy:
    return "completed" if end.run.id in state.completed else _ENDED.get(end.reason, "aborted")


def _stopped(state: TurnState, result: TurnResult, session: ClassicSession) -> StoppedReason | None:
    marks = set(state.marks)
    if any(end.reason == "end" for end in result.ended):
        marks.add("last_step")
    if result.messages:  # a signal may speak after a halt
        marks.discard("halt")
    for mark in _FIRST_OF:
        if mark in marks:
            return mark
    return None if session.current_flow is None else "needs_input"


def _metadata(calls: Sequence[ModelCall]) -> Metadata:
    """The tokens of the speaking call with its tool rounds; those of the understanding are not in it."""
    counted = [call.usage for call in calls if call.name == "speak" and call.usage is not None]
    if not counted:
        return Metadata()
    total = sum(counted, Usage())
    return Metadata(total.prompt_tokens + total.completion_tokens, total.cached_input_tokens)
