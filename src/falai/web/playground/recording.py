"""What a turn was answered from outside: the model's replies, what actions and tools returned, what conditions said.

A scenario file needs them to play the turn again without the model, the program's functions and their world.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from falai.errors import ProviderError, words_of
from falai.flow.definition import Condition, Reset
from falai.flow.handlers import ActionResult, ToolResult, View
from falai.flow.plan import ActionPlan, ToolPlan
from falai.flow.wire import to_wire
from falai.model.failures import classify
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.session.jsontext import is_object, to_plain

__all__ = [
    "NOTHING",
    "Answer",
    "Recorded",
    "RecordedModel",
    "Recorder",
    "recorded_action",
    "recorded_condition",
    "recorded_tool",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply of the model to a call of this name, or how the call failed."""

    call: str
    reply: ModelReply | ProviderError


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one turn was answered. `actions` and `tools` have (name, result in wire form), `conditions` (name, argument, verdict)."""

    answers: tuple[Answer, ...] = ()
    actions: tuple[tuple[str, Any], ...] = ()
    tools: tuple[tuple[str, Any], ...] = ()
    conditions: tuple[tuple[str, Any, bool], ...] = ()


NOTHING = Recorded()
"""Of what was no turn."""


@dataclass(slots=True)
class Recorder:
    """Notes what is answered since the last `take`."""

    answers: list[Answer] = field(default_factory=list[Answer])
    actions: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    tools: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    conditions: list[tuple[str, Any, bool]] = field(default_factory=list[tuple[str, Any, bool]])

    def take(self) -> Recorded:
        """What was noted; the notes begin anew."""
        found = Recorded(tuple(self.answers), tuple(self.actions), tuple(self.tools), tuple(self.conditions))
        self.answers, self.actions, self.tools, self.conditions = [], [], [], []
        return found


class RecordedModel:
    """A model whose replies are noted."""

    def __init__(self, model: Model, recorder: Recorder) -> None:
        self._model = model
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        try:
            reply = await self._model.complete(request)
        except Exception as error:
            self._note(request, classify(error, self._model.name))
            raise
        self._note(request, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        chunks = self._model.stream(request)
        try:
            async for chunk in chunks:
                if chunk.reply is not None:
                    self._note(request, chunk.reply)
                yield chunk
        except Exception as error:
            self._note(request, classify(error, self._model.name))
            raise
        finally:
            if isinstance(chunks, AsyncGenerator):  # whoever stops listening lets the provider go
                await chunks.aclose()

    def _note(self, request: ModelRequest, reply: ModelReply | ProviderError) -> None:
        self._recorder.answers.append(Answer(request.schema_name, reply))


def recorded_action(plan: ActionPlan, recorder: Recorder) -> ActionPlan:
    """The action, noting what it wrote and returned."""

    def run(context: Any, parameters: Mapping[str, Any]) -> Any:
        written: dict[str, Any] = {}

        def write(patch: Mapping[str, Any]) -> None:
            context.set(patch)
            written.update(patch)

        def note(result: Any) -> None:
            wrote = {"set": _plain(written)} if written else {}
            recorder.actions.append((plan.name, {**_action_wire(result), **wrote}))

        return _noting(lambda: plan.run(replace(context, set=write), parameters), note)

    return ActionPlan(plan.name, plan.description, plan.parameters, run, plan.moves)


def recorded_tool(plan: ToolPlan, recorder: Recorder) -> ToolPlan:
    """The tool, noting what it returned."""

    def handle(arguments: Mapping[str, Any], context: Any) -> Any:
        def note(result: Any) -> None:
            recorder.tools.append((plan.id, _tool_wire(result)))

        return _noting(lambda: plan.handler(arguments, context), note)

    return msgspec.structs.replace(plan, handler=handle)


def recorded_condition(condition: Condition, recorder: Recorder) -> Condition:
    """The condition, noting what it said."""

    def check(view: View[Any], argument: Any) -> Any:
        verdict = condition.check(view, argument)
        recorder.conditions.append((condition.name, argument, bool(verdict)))
        return verdict

    return Condition(condition.name, check)


def _noting(call: Callable[[], Any], note: Callable[[Any], None]) -> Any:
    """What the call gives, now or later; what it raises is noted as well."""
    try:
        result = call()
    except Exception as error:
        note({"raises": words_of(error)})
        raise
    if inspect.isawaitable(result):
        return _noting_later(result, note)
    note(result)
    return result


async def _noting_later(result: Awaitable[Any], note: Callable[[Any], None]) -> Any:
    try:
        settled = await result
    except Exception as error:
        note({"raises": words_of(error)})
        raise
    note(settled)
    return settled


def _action_wire(result: Any) -> dict[str, Any]:
    if isinstance(result, ActionResult):
        return _told({name: getattr(result, name) for name in ActionResult.__slots__})
    return _told(result) if is_object(result) else {}


def _tool_wire(result: Any) -> dict[str, Any]:
    if isinstance(result, ToolResult):
        return _told({name: getattr(result, name) for name in ToolResult.__slots__})
    return _told(result if is_object(result) else {"value": result})


def _told(members: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in members.items() if value is not None}
    return {name: _move(value) if name == "move" else _plain(value) for name, value in given.items()}


def _move(value: Any) -> Any:
    return {"reset": True} if isinstance(value, Reset) else to_wire(value)


def _plain(value: Any) -> Any:
    """The value as data; what is none becomes words."""
    try:
        return to_plain(value)
    except TypeError:
        return str(value)
