"""What a turn was answered from outside: the model's replies, what actions and tools returned, what conditions said.

A scenario file needs them to play the turn again without the model, the program's functions and their world.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import msgspec

from falai.driving import model_call
from falai.errors import ProviderError, words_of
from falai.flow.definition import Condition, Reset
from falai.flow.handlers import ActionResult, ToolResult, View
from falai.flow.plan import ActionPlan, ToolPlan
from falai.flow.wire import to_wire
from falai.model.failures import classify
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.session.jsontext import is_object, to_plain
from falai.turn.result import ModelCall

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
    """A reply of the model, or how the call failed; and what is told of the call."""

    call: ModelCall
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
class _Notes:
    answers: list[Answer] = field(default_factory=list[Answer])
    actions: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    tools: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    conditions: list[tuple[str, Any, bool]] = field(default_factory=list[tuple[str, Any, bool]])


class Recorder:
    """Notes what is answered to the input that is being played."""

    def __init__(self) -> None:
        self.notes = _Notes()
        self._of = dict[str, _Notes]()

    def begin(self, key: str) -> None:
        """From now on it is this input; of an earlier try at it nothing counts."""
        self.notes = self._of[key] = _Notes()

    def take(self, key: str) -> Recorded:
        """What was noted of an input; asked for once."""
        notes = self._of.pop(key)
        return Recorded(tuple(notes.answers), tuple(notes.actions), tuple(notes.tools), tuple(notes.conditions))


class RecordedModel:
    """A model whose replies are noted."""

    def __init__(self, model: Model, recorder: Recorder) -> None:
        self._model = model
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        begun = perf_counter()
        try:
            reply = await self._model.complete(request)
        except Exception as error:
            self._note(request, begun, classify(error, self._model.name))
            raise
        self._note(request, begun, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        begun = perf_counter()
        chunks = self._model.stream(request)
        try:
            async for chunk in chunks:
                if chunk.reply is not None:
                    self._note(request, begun, chunk.reply)
                yield chunk
        except Exception as error:
            self._note(request, begun, classify(error, self._model.name))
            raise
        finally:
            if isinstance(chunks, AsyncGenerator):  # whoever stops listening lets the provider go
                await chunks.aclose()

    def _note(self, request: ModelRequest, begun: float, reply: ModelReply | ProviderError) -> None:
        if isinstance(reply, ProviderError):
            given = reply.answer if isinstance(reply.answer, ModelReply) else ModelReply()
            call = model_call(request, begun, given, str(reply))
        else:
            call = model_call(request, begun, reply)
        self._recorder.notes.answers.append(Answer(call, reply))


def recorded_action(plan: ActionPlan, recorder: Recorder) -> ActionPlan:
    """The action, noting what it wrote and returned."""

    def run(context: Any, parameters: Mapping[str, Any]) -> Any:
        written: dict[str, Any] = {}

        def write(patch: Mapping[str, Any]) -> None:
            context.set(patch)
            written.update(patch)

        def note(result: Any) -> None:
            wrote = {"set": _plain(written)} if written else {}
            recorder.notes.actions.append((plan.name, {**_action_wire(result), **wrote}))

        return _noting(lambda: plan.run(replace(context, set=write), parameters), note)

    return ActionPlan(plan.name, plan.description, plan.parameters, run, plan.moves)


def recorded_tool(plan: ToolPlan, recorder: Recorder) -> ToolPlan:
    """The tool, noting what it returned."""

    def handle(arguments: Mapping[str, Any], context: Any) -> Any:
        def note(result: Any) -> None:
            recorder.notes.tools.append((plan.id, _tool_wire(result)))

        return _noting(lambda: plan.handler(arguments, context), note)

    return msgspec.structs.replace(plan, handler=handle)


def recorded_condition(condition: Condition, recorder: Recorder) -> Condition:
    """The condition, noting what it said."""

    def check(view: View[Any], argument: Any) -> Any:
        verdict = condition.check(view, argument)
        recorder.notes.conditions.append((condition.name, argument, bool(verdict)))
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
