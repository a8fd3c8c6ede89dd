"""What a turn does, watched: calls to the model, actions of the host, tools that the model called.

A log line of these is at debug level, but for a failure that nobody else would hear of.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from falai.log import line
from falai.model.effects import ToolAnswer, ToolUse
from falai.model.port import ModelReply, ModelRequest, Usage
from falai.observability import content, names
from falai.observability.spans import Spans, Work, error_type
from falai.turn.action import read_result
from falai.turn.effects import Act
from falai.turn.result import ModelCall

if TYPE_CHECKING:
    from typing import Self

__all__ = ["UNWATCHED", "ActionWork", "CallWork", "ToolWork", "Unwatched", "model_of", "spent"]

_LOG: Final = logging.getLogger("falai.turn")


class CallWork(Work):
    """A call to the model."""

    def __init__(self, session: str, spans: Spans | None, model: str, request: ModelRequest, *, streams: bool) -> None:
        super().__init__(session, spans)
        self._name = request.schema_name
        self._first_piece_ms: int | None = None
        if spans is None:
            return
        provider, model = model_of(model)
        attributes = {
            names.OPERATION: "chat",
            names.PROVIDER: provider,
            names.MODEL: model,
            names.CALL: request.schema_name,
            names.OUTPUT_TYPE: "json" if request.schema else "text",
            names.MAX_TOKENS: request.max_output_tokens,
            names.STREAM: streams or None,
        }
        self._span = spans.start(f"chat {model}", attributes, remote=True)
        if self.has_content:
            self.tell(content.of_request(request))

    def arrived(self) -> None:
        """A piece of a stream has come."""
        if self._first_piece_ms is None:
            self._first_piece_ms = self.ms

    def noted(self, call: ModelCall, reply: ModelReply) -> None:
        """What the call was, and its reply: an empty one if it failed."""
        if not self.is_recorded:
            return
        first = None if self._first_piece_ms is None else self._first_piece_ms / 1000
        reasons = None if reply.finish_reason is None else [reply.finish_reason]
        ended = {names.MODEL_ANSWERED: call.model, names.FINISH_REASONS: reasons, names.FIRST_CHUNK: first}
        self.tell({**ended, **spent([call])})
        if self.has_content and call.error is None:
            self.tell(content.of_reply(reply))

    def ended(self, error: BaseException | None) -> None:
        if _LOG.isEnabledFor(logging.DEBUG):
            call, why = self._name, None if error is None else error_type(error)
            extra = line("model.called", session=self.session, call=call, error=why, ms=self.ms)
            _LOG.debug("the %s call took %d ms: %s", call, self.ms, why or "answered", extra=extra)


class Unwatched:
    """A call that nobody watches: most turns are played without anybody looking, and pay nothing for it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None: ...

    def noted(self, call: ModelCall, reply: ModelReply) -> None: ...


UNWATCHED: Final = Unwatched()


class ActionWork(Work):
    """An action of the host."""

    def __init__(self, session: str, spans: Spans | None, act: Act) -> None:
        super().__init__(session, spans)
        self._act = act
        if spans is None:
            return
        name, run = act.action.name, act.context.run
        attributes = {
            names.OPERATION: "execute_action",
            names.ACTION: name,
            names.FLOW: run.flow_id,
            names.STEP: run.step_id,
        }
        self._span = spans.start(f"execute_action {name}", attributes)
        if self.has_content:
            self.tell({names.ACTION_PARAMETERS: content.as_json(act.parameters)})

    def answered(self, raw: object) -> None:
        if self.is_recorded:
            done = read_result(self._act.action, raw)
            self.tell({names.ACTION_STATUS: done.status, names.ACTION_RESULT: done.words if self.has_content else None})

    def ended(self, error: BaseException | None) -> None:
        name, run = self._act.action.name, self._act.context.run
        if isinstance(error, Exception):
            extra = line("action.raised", run, session=self.session, function=name)
            detail = error if _LOG.isEnabledFor(logging.DEBUG) else None  # its words may be a customer's
            _LOG.warning("action %s raised %s", name, error_type(error), exc_info=detail, extra=extra)
        elif _LOG.isEnabledFor(logging.DEBUG):
            extra = line("action.ran", run, session=self.session, function=name, ms=self.ms)
            _LOG.debug("action %s took %d ms", name, self.ms, extra=extra)


class ToolWork(Work):
    """A tool that the model called. What names no tool is the model's invention, and is not told."""

    def __init__(self, session: str, spans: Spans | None, use: ToolUse) -> None:
        super().__init__(session, spans)
        self._use = use
        if spans is None:
            return
        known = None if use.tool is None else use.tool.id
        attributes = {names.OPERATION: "execute_tool", names.TOOL: known, names.TOOL_TYPE: "function"}
        self._span = spans.start("execute_tool" if known is None else f"execute_tool {known}", attributes)
        if self.has_content:
            self.tell({names.TOOL_ARGUMENTS: content.as_json(use.arguments)})

    def answered(self, answer: ToolAnswer) -> None:
        if answer.error is not None:
            self.failed(answer.error)
        if self.has_content:
            self.tell({names.TOOL_RESULT: answer.content})

    def ended(self, error: BaseException | None) -> None:
        if error is None and self._use.tool is not None and _LOG.isEnabledFor(logging.DEBUG):
            name = self._use.tool.id
            extra = line("tool.ran", self._use.context.run, session=self.session, function=name, ms=self.ms)
            _LOG.debug("tool %s took %d ms", name, self.ms, extra=extra)


def model_of(name: str) -> tuple[str, str]:
    """The provider, as the conventions call it, and the model behind a model's name."""
    prefix, colon, model = name.partition(":")
    if not colon or "(" in prefix:  # one that has no provider: lexical, fallback(…), a port of the host's
        return name.partition("(")[0], name
    return names.PROVIDERS.get(prefix, prefix), model


def spent(calls: Sequence[ModelCall]) -> Mapping[str, Any]:
    """What calls have cost together, as far as it is known."""
    usages = [call.usage for call in calls if call.usage is not None]
    costs = [call.cost for call in calls if call.cost is not None]
    used = sum(usages, Usage()) if usages else None
    return {
        names.INPUT_TOKENS: used and used.prompt_tokens,
        names.OUTPUT_TOKENS: used and used.completion_tokens,
        names.INPUT_TOKENS_CACHED: used and used.cached_input_tokens,
        names.COST: sum(costs) if costs else None,
    }
