"""The model of the playground: one port that delegates, so that it can be switched in the middle of a conversation.

Lexical needs nothing; scripted gives the replies of a queue, and the lexical model's behind an empty one;
real is the agent's own model, or one that is named.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from falai.model.names import resolve_model
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest

__all__ = ["Choice", "ModelId", "Models", "Reply", "ScriptedReplies"]

ModelId = Literal["lexical", "scripted", "real"]


class Choice(NamedTuple):
    """A model that can be chosen, or why it cannot."""

    id: ModelId
    label: str
    available: bool
    why: str


class Reply(NamedTuple):
    """What the model is to say to the next call of this name: an envelope, or free text."""

    call: str
    reply: Mapping[str, Any] | str


class ScriptedReplies:
    """Gives the queued replies, each to the next call of its name; another model answers behind an empty queue."""

    name = "scripted"

    def __init__(self, behind: Model) -> None:
        self._behind = behind
        self.queue: list[Reply] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        found = next((reply for reply in self.queue if reply.call == request.schema_name), None)
        if found is None:
            return await self._behind.complete(request)
        self.queue.remove(found)
        return _whole(found.reply)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


class Models:
    """The port that every branch's agent has, and what stands behind it."""

    def __init__(self, own: Model) -> None:
        lexical = resolve_model("lexical")
        self._scripted = ScriptedReplies(lexical)
        self._named: list[Model] = []
        self._known: dict[ModelId, Model] = {"lexical": lexical, "scripted": self._scripted}
        if own.name != lexical.name:
            self._known["real"] = own
        self.id: ModelId = "lexical" if self._missing() else "real"

    @property
    def name(self) -> str:
        return self._current.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await self._current.complete(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        return self._current.stream(request)

    def choices(self) -> tuple[Choice, ...]:
        """What can be chosen."""
        why, real = self._missing(), self._known.get("real")
        return (
            Choice("lexical", "Lexical: no network, by the words alone", True, ""),
            Choice("scripted", "Scripted: the replies that you write", True, ""),
            Choice("real", f"Real: {real.name}" if real else "Real: a provider's model", not why, why),
        )

    def choose(self, id: ModelId, replies: Sequence[Reply] = (), name: str | None = None) -> None:
        """Goes over to a model; `replies` are put behind those that are queued, `name` is of a provider's.

        Raises `ValueError` when it cannot be used, and says what to do.
        """
        if id == "real" and name is not None:
            self._known["real"] = _usable(name)
            self._named.append(self._known["real"])
        if id == "real" and (why := self._missing()):
            raise ValueError(why)
        self._scripted.queue += replies
        self.id = id

    @property
    def queued(self) -> int:
        """How many replies wait."""
        return len(self._scripted.queue)

    async def aclose(self) -> None:
        """Lets go of the models that were named here; the agent's own is its owner's."""
        for model in self._named:
            if (close := getattr(model, "aclose", None)) is not None:
                await close()

    @property
    def _current(self) -> Model:
        return self._known[self.id]

    def _missing(self) -> str:
        """Why there is no real model."""
        real = self._known.get("real")
        return "The agent names no provider's model; name one." if real is None else _without_key(real)


def _usable(name: str) -> Model:
    try:
        model = resolve_model(name)
    except (TypeError, ImportError) as error:
        raise ValueError(str(error)) from error
    if why := _without_key(model):
        raise ValueError(why)
    return model


def _without_key(model: Model) -> str:
    variable: str | None = getattr(model, "missing_key", None)  # only the adapter's models need one
    return "" if variable is None else f"The model {model.name} needs a key: set the environment variable {variable}."


def _whole(reply: Mapping[str, Any] | str) -> ModelReply:
    if isinstance(reply, str):
        return ModelReply(message=reply, model="scripted")
    said = reply.get("message")
    text = said if isinstance(said, str) else json.dumps(reply, ensure_ascii=False)
    return ModelReply(message=text, structured=reply, model="scripted")
