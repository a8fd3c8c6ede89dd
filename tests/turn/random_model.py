"""A model that answers at random, well and badly, and remembers what it was asked.

It reads `task`, so that what it says is about the flows, branches and fields on offer. The dice
are set before each turn: the same turn played again gets the same answers (V-32).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, get_args

from falai.errors import ProviderError, ProviderErrorKind
from falai.model.port import ModelChunk, ModelReply, ModelRequest, ToolCall, Usage
from falai.model.tasks import FieldTask, SpeakTask, UnderstandTask
from strategies import Dice

__all__ = ["RandomModel"]

FITTING: dict[str, Sequence[Any]] = {
    "string": ["Ana", "42", "the blue one"],
    "integer": [3, "7.9", 12],
    "number": [2.5, "4,5", 10],
    "boolean": [True, False, "sim", "no"],
}
UNFIT = [None, "", ["x"], {"a": 1}, "many", True, 1e400]
SCORES: Sequence[Any] = [0, 20, 39, 40, 54, 55, 90, 100, 140, "75", "high", None, True]
VERDICTS: Sequence[Any] = [True, True, False, False, False, None, "sim", "não", "perhaps", 1]


class RandomModel:
    """Answers every call by the dice at hand."""

    name = "random"

    def __init__(self) -> None:
        self.dice = Dice(0)
        self.requests: list[ModelRequest] = []

    def begin(self, dice: Dice) -> None:
        """Forgets the calls so far; from now on these dice are thrown."""
        self.dice = dice
        self.requests = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        answers: dict[str, Callable[[Any, ModelRequest], ModelReply]] = {
            "understand": self._understand,
            "speak": self._speak,
            "summary": self._summary,
        }
        return answers[request.schema_name](request.task, request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        text = reply.message or json.dumps(reply.structured, default=str)
        half = len(text) // 2
        yield ModelChunk(text[:half], text[:half])
        yield ModelChunk(text[half:], text, reply)

    # --- the understand call

    def _understand(self, task: UnderstandTask, _request: ModelRequest) -> ModelReply:
        if self.dice.chance(0.05):
            raise self._failure()
        judged = self._judgement(task)
        match self.dice.weighted({"object": 80, "text": 6, "prose": 6, "nothing": 4, "sections": 4}):
            case "object":
                return self._reply(structured=judged)
            case "text":
                return self._reply(message=json.dumps(judged))
            case "prose":
                return self._reply(message=f"Sure! {json.dumps(judged)} There you are.")
            case "nothing":
                return self._reply(message="I cannot say.")
            case _:
                return self._reply(structured={**judged, "flows": "none", "fields": [1], "branches": None})

    def _judgement(self, task: UnderstandTask) -> dict[str, Any]:
        pick = self.dice.pick
        judged: dict[str, Any] = {
            "flows": {flow.key: pick(SCORES) for flow in task.flows},
            "mentions": {flow.key: pick(VERDICTS) for flow in task.mentions},
            "extract": {flow.key: pick([{"what": "a dog", "ghost": 1}, {"what": None}, "x"]) for flow in task.mentions},
            "branches": {branch.key: pick(VERDICTS) for branch in task.branches},
            "fields": self._values(task.fields),
        }
        if task.asks:
            judged["asks"] = pick(VERDICTS)
        return judged

    # --- the speak call

    def _speak(self, task: SpeakTask, request: ModelRequest) -> ModelReply:
        kind = self.dice.weighted(
            {"object": 65, "text": 6, "blank": 4, "broken": 3, "fails": 16, "tools": 30 if request.tools else 0}
        )
        match kind:
            case "fails":
                raise self._failure()
            case "tools":
                return self._reply(structured={"message": "A moment."}, tools=self._tool_calls(request))
            case "text":
                return self._reply(message="Just words.")
            case "blank":
                return self._reply(structured={"message": self.dice.pick(["", "  ", None, 7])})
            case "broken":
                return self._reply(message='{"message": "cut')
            case _:
                return self._reply(structured={"message": "So be it.", **self._values(task.fields)})

    def _tool_calls(self, request: ModelRequest) -> tuple[ToolCall, ...]:
        names = [tool.name for tool in request.tools] + ["no such tool"]
        arguments = self.dice.pick([{}, {"q": 1}, '{"q": 2}', "nonsense", None])
        return tuple(ToolCall(self.dice.pick(names), arguments) for _ in range(self.dice.number(1, 3)))

    def _values(self, fields: Sequence[FieldTask]) -> dict[str, Any]:
        values = {field.key: self._value(field) for field in fields if self.dice.chance(0.7)}
        return {**values, "ghost": 1} if self.dice.chance(0.1) else values

    def _value(self, field: FieldTask) -> Any:
        if self.dice.chance(0.25):
            return self.dice.pick(UNFIT)
        return self.dice.pick(field.enum or FITTING[field.type])

    # --- either

    def _summary(self, _task: Any, _request: ModelRequest) -> ModelReply:
        if self.dice.chance(0.3):
            raise self._failure()
        return self._reply(message="They talked.")

    def _reply(self, *, message: str = "", structured: Any = None, tools: tuple[ToolCall, ...] = ()) -> ModelReply:
        usage = Usage(10, 2, 1) if self.dice.chance(0.5) else None
        return ModelReply(message=message, structured=structured, tool_calls=tools, usage=usage)

    def _failure(self) -> Exception:
        if self.dice.chance(0.2):
            return self.dice.pick([ConnectionResetError("gone"), TimeoutError("slow"), ValueError("odd")])
        return ProviderError(
            "it failed",
            kind=self.dice.pick(get_args(ProviderErrorKind)),
            retry_after_ms=self.dice.pick([None, None, 90_000]),
            reset_at_ms=self.dice.pick([None, None, 1_790_000_000_000]),
            should_retry=self.dice.pick([None, None, None, True, False]),
        )
