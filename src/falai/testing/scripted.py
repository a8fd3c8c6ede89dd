"""A model that says what a test tells it to, and remembers what it was asked (M-23)::

    model = ScriptedModel({
        "understand": [{"fields": {"name": "Ana"}}],
        "speak": [{"message": "Hello Ana!"}, ProviderError("down", kind="overload")],
    })

Each call takes the next reply of the queue of its schema name. A call that nobody foresaw raises;
what a test did not use up is in `remaining()`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from falai.model.port import ModelChunk, ModelReply, ModelRequest, Usage

__all__ = ["Call", "Pieces", "Reply", "Scripted", "ScriptedModel", "whole_reply"]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Text that streams in these pieces; read whole, it is their concatenation (M-23.7).

    `structured` is the object that the provider parsed from it, if it did.
    """

    pieces: Sequence[str]
    structured: Mapping[str, Any] | None = None


Scripted = Mapping[str, Any] | str | Pieces | ModelReply | BaseException
"""What comes of one call: the object that the model returns (its envelope, raw); bare text; text
in pieces; a whole `ModelReply`, for tool calls and finish reasons; an exception to raise."""

Reply = Scripted | Callable[[ModelRequest], Scripted]
"""An entry of a script: what comes of the call, or a function of the request that says it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call: `text` is system and prompt together, as a model reads them (M-23.4)."""

    schema_name: str
    prompt: str
    system: str | None
    text: str
    request: ModelRequest


class ScriptedModel:
    """A model out of a script: schema name (`understand`, `speak`, `summary`, `flow`) → replies in order.

    With `usage=True` each reply counts characters as tokens (M-23.5); by default none are reported.
    """

    name = "mock"

    def __init__(self, script: Mapping[str, Sequence[Reply]] | None = None, *, usage: bool = False) -> None:
        self.calls: list[Call] = []
        self._queues: dict[str, list[Reply]] = {name: list(replies) for name, replies in (script or {}).items()}
        self._usage = usage

    def feed(self, schema_name: str, *replies: Reply) -> None:
        """Appends replies to a queue."""
        self._queues.setdefault(schema_name, []).extend(replies)

    def remaining(self) -> dict[str, list[Reply]]:
        """The replies that no call has taken, by schema name; names without any are left out."""
        return {name: list(queue) for name, queue in self._queues.items() if queue}

    def clear(self) -> None:
        """Forgets the recorded calls and the replies that are left."""
        self.calls.clear()
        self._queues.clear()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The next reply of this request's queue. Raises what the script says, and `RuntimeError`
        naming the schema name and the number of the call when the queue is empty (M-23.3)."""
        _, reply = self._take(request)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same reply in its pieces, one if the script gives none; raises as `complete`."""
        pieces, reply = self._take(request)
        accumulated = ""
        for index, piece in enumerate(pieces):
            accumulated += piece
            yield ModelChunk(piece, accumulated, reply if index == len(pieces) - 1 else None)

    def _take(self, request: ModelRequest) -> tuple[Sequence[str], ModelReply]:
        self._record(request)
        queue = self._queues.get(request.schema_name)
        if not queue:
            raise RuntimeError(self._exhausted(request.schema_name))
        entry = queue.pop(0)
        scripted = entry(request) if callable(entry) else entry
        reply = self._counted(request, whole_reply(scripted))
        pieces = scripted.pieces if isinstance(scripted, Pieces) and scripted.pieces else [reply.message]
        return pieces, reply

    def _record(self, request: ModelRequest) -> None:
        text = request.prompt if request.system is None else f"{request.system}\n\n{request.prompt}"
        self.calls.append(Call(request.schema_name, request.prompt, request.system, text, request))

    def _exhausted(self, name: str) -> str:
        nth = sum(call.schema_name == name for call in self.calls)
        return f'the script has no reply for call {len(self.calls)}, which is "{name}" number {nth}'

    def _counted(self, request: ModelRequest, reply: ModelReply) -> ModelReply:
        if not self._usage or reply.usage is not None:
            return reply
        usage = Usage(len(request.system or "") + len(request.prompt), len(reply.message), 0)
        return replace(reply, usage=usage)


def whole_reply(scripted: Scripted) -> ModelReply:
    """What a provider returns for this entry. Raises the entry when it is an exception."""
    match scripted:
        case BaseException():
            raise scripted
        case ModelReply():
            return scripted
        case Pieces():
            return ModelReply(message="".join(scripted.pieces), structured=scripted.structured, model="mock")
        case str():
            return ModelReply(message=scripted, model="mock")
        case _:
            return ModelReply(message=_message(scripted), structured=scripted, model="mock")


def _message(envelope: Mapping[str, Any]) -> str:
    message = envelope.get("message")
    return message if isinstance(message, str) else json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
