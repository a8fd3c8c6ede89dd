"""The journal: what the model said in a turn, kept before anything is done because of it.

An action runs before the turn is saved, so a turn that is lost has acted. Its repetition must make
the same choices: the model's replies are kept, by the name of the call and their place among those,
before an action, a tool or a hook runs, and a repetition reads them instead of asking. A turn that has done
nothing yet keeps nothing: its repetition asks anew, on the newer session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from falai.driving import Drive
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.session.jsontext import json_text, parse_json
from falai.turn.effects import Act, Reached, UseTools

__all__ = ["Answer", "JournaledDrive", "JournaledModel", "from_text", "to_text"]

_ENCODER: Final = msgspec.json.Encoder()


class Answer(msgspec.Struct, frozen=True):
    """A reply of the model: the `position`-th (from 0) of the calls of this name."""

    name: str
    position: int
    reply: ModelReply


def to_text(reply: ModelReply) -> str:
    """The reply as JSON text; a vendor's thoughts in a form of its own are left out."""
    try:
        return _ENCODER.encode(reply).decode()
    except (OverflowError, TypeError, ValueError):  # a lone surrogate, a number of many digits, no JSON
        return json_text(msgspec.to_builtins(replace(reply, reasoning_details=None)))


def from_text(text: str) -> ModelReply:
    """The reply of a text of `to_text`."""
    return msgspec.convert(parse_json(text), ModelReply)


class JournaledModel:
    """A model that first looks into the journal of this input; what it had to ask for is `fresh`."""

    def __init__(self, model: Model, known: Mapping[tuple[str, int], str]) -> None:
        self._model = model
        self._known = known
        self._asked: Counter[str] = Counter()
        self.fresh: list[Answer] = []

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply of the journal, else the model's. A failure is not kept: another try may go well."""
        name, position = request.schema_name, self._asked[request.schema_name]
        if (kept := self._known.get((name, position))) is not None:
            reply = from_text(kept)
        else:
            reply = await self._model.complete(request)
            self.fresh.append(Answer(name, position, reply))
        self._asked[name] += 1
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply as one piece: a host sends whole messages."""
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


class JournaledDrive(Drive):
    """The driver of a host: keeps the fresh answers of the journal before anything is done because of them."""

    def __init__(
        self, *turn: Any, journal: JournaledModel, keep: Callable[[Sequence[Answer]], Awaitable[None]]
    ) -> None:
        self._journal = journal
        self._keep = keep
        super().__init__(*turn)

    async def perform(self) -> None:
        """As any driver, once the journal is safe. What `keep` raises goes out of the turn."""
        if isinstance(self.effect, Act | Reached | UseTools) and self._journal.fresh:
            fresh, self._journal.fresh = self._journal.fresh, []
            await self._keep(fresh)
        await super().perform()
