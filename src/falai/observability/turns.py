"""A turn, watched from its beginning to its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from falai.log import line
from falai.model.effects import ToolUse
from falai.model.port import ModelRequest
from falai.observability import content as about
from falai.observability import names
from falai.observability.spans import Spans, Work, error_type
from falai.observability.works import UNWATCHED, ActionWork, CallWork, ToolWork, Unwatched, model_of, spent
from falai.session.inputs import Message
from falai.turn.effects import Act
from falai.turn.given import Given
from falai.turn.result import ModelCall, TurnResult

__all__ = ["TurnWork"]

_LOG: Final = logging.getLogger("falai.turn")


class TurnWork(Work):
    """One turn. With `content`, its spans hold what is written and said."""

    def __init__(self, agent: str, model: str, given: Given, *, content: bool) -> None:
        super().__init__(given.session_id, Spans.wanted(given.session_id, content=content))
        self.calls: list[ModelCall] = []
        """The calls to the model so far. A turn that fails has no other place to tell of them."""
        self._model = model
        self._is_watched = self._spans is not None or _LOG.isEnabledFor(logging.INFO)
        if self._is_watched:
            self._begin(agent, given)

    def _begin(self, agent: str, given: Given) -> None:
        kind = type(given.input).__name__.lower()
        _LOG.debug("a turn begins: %s", kind, extra=line("turn.started", session=self.session, kind=kind))
        if self._spans is None:
            return
        attributes = {
            names.OPERATION: "invoke_workflow",
            names.AGENT: agent,
            names.WORKFLOW: agent,
            names.MODEL: model_of(self._model)[1],
            names.INPUT: kind,
            names.SILENCED: True if given.silenced else None,
        }
        self._span = self._spans.start(f"invoke_workflow {agent}", attributes)
        if self.has_content and isinstance(given.input, Message):
            self.tell(about.message(given.input.text))

    def call(self, request: ModelRequest) -> CallWork | Unwatched:
        """A call to the model for a whole reply."""
        if not self._is_watched:
            return UNWATCHED
        return CallWork(self.session, self._spans, self._model, request, streams=False)

    def stream(self, request: ModelRequest) -> CallWork:
        """A call to the model for a reply in pieces."""
        return CallWork(self.session, self._spans, self._model, request, streams=True)

    def action(self, act: Act) -> ActionWork:
        """An action of the host."""
        return ActionWork(self.session, self._spans, act)

    def tool(self, use: ToolUse) -> ToolWork:
        """A tool that the model called."""
        return ToolWork(self.session, self._spans, use)

    def finished(self, result: TurnResult) -> None:
        """The turn has its result."""
        if not self._is_watched:
            return
        if self.is_recorded:
            self.tell(_summary(result))
        if self.has_content:
            self.tell(about.messages([message.text for message in result.messages]))
        said, calls, changed = len(result.messages), result.llm_calls, result.changed
        _LOG.info(
            "a turn took %d ms: %d messages, %d calls to the model", self.ms, said, calls,
            extra=line("turn.finished", session=self.session, ms=self.ms, messages=said, llm_calls=calls, changed=changed),
        )  # fmt: skip

    def ended(self, error: BaseException | None) -> None:
        if self.is_recorded:
            self.tell({names.LLM_CALLS: len(self.calls), **spent(self.calls)})
        if error is not None:  # it is raised: the host's to tell louder
            why = error_type(error)
            _LOG.info("a turn failed: %s", why, extra=line("turn.failed", session=self.session, error=why, ms=self.ms))


def _summary(result: TurnResult) -> Mapping[str, Any]:
    codes = (outcome.code for outcome in result.outcomes)
    return {
        names.CHANGED: result.changed,
        names.MESSAGES: len(result.messages),
        names.FLOWS_STARTED: [run.flow_id for run in result.started],
        names.FLOWS_ENDED: [end.run.flow_id for end in result.ended],
        names.OUTCOMES: list(dict.fromkeys(code for code in codes if code is not None)),
    }
