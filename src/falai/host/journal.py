"""The journal: what the model said in a turn, kept before anything is done because of it.

An action runs before the turn is saved, so a turn that is lost has acted. Its repetition must make
the same choices: the model's replies are kept, by the name of the call and their place among those,
before an action, a tool or a hook runs, and a repetition reads them instead of asking. A turn that has done
nothing yet keeps nothing: its repetition asks anew, on the newer session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

import msgspec

from falai.driving import Drive
from falai.host.watching import Telling
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.session.jsontext import json_text, parse_json
from falai.turn.effects import Act, Reached, Speak, UseTools

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
    """A model that first looks into the journal of this input; what it had to ask for is `fresh`.

    `withdraw` is called when the pieces of a stream so far do not count: it failed, or begins anew.
    """

    def __init__(
        self, model: Model, known: Mapping[tuple[str, int], str], *, withdraw: Callable[[], None] = lambda: None
    ) -> None:
        self._model = model
        self._known = known
        self._withdraw = withdraw
        self._asked: Counter[str] = Counter()
        self.fresh: list[Answer] = []

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply of the journal, else the model's. A failure is not kept: another try may go well."""
        if (reply := self._kept(request)) is None:
            reply = await self._model.complete(request)
            self._note(request, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same in pieces, as the model gives them; a reply of the journal is one piece."""
        if (reply := self._kept(request)) is not None:
            yield ModelChunk(reply.message, reply.message, reply)
            return
        try:
            async with aclosing(_in_order(self._model.stream(request), self._withdraw)) as chunks:
                async for chunk in chunks:
                    reply = chunk.reply
                    yield chunk
        except Exception:
            self._withdraw()
            raise
        if reply is None:  # it was cut, which the driver tells
            self._withdraw()
        else:
            self._note(request, reply)

    def _kept(self, request: ModelRequest) -> ModelReply | None:
        name = request.schema_name
        kept = self._known.get((name, self._asked[name]))
        if kept is None:
            return None
        self._asked[name] += 1
        return from_text(kept)

    def _note(self, request: ModelRequest, reply: ModelReply) -> None:
        name = request.schema_name
        self.fresh.append(Answer(name, self._asked[name], reply))
        self._asked[name] += 1


class JournaledDrive(Drive):
    """The driver of a host: keeps the fresh answers of the journal before anything is done because of them.

    Where somebody listens (`telling`), the reply is streamed.
    """

    def __init__(
        self,
        *turn: Any,
        journal: JournaledModel,
        keep: Callable[[Sequence[Answer]], Awaitable[None]],
        telling: Telling,
    ) -> None:
        self._journal = journal
        self._keep = keep
        self._telling = telling
        super().__init__(*turn)

    async def perform(self) -> None:
        """As any driver, once the journal is safe. What `keep` raises goes out of the turn."""
        match self.effect:
            case Act() | Reached() | UseTools() if self._journal.fresh:
                fresh, self._journal.fresh = self._journal.fresh, []
                await self._keep(fresh)
                await super().perform()
            case Speak() as speak if self._telling.is_heard:
                await self._speak_up(speak)
            case _:
                await super().perform()

    async def _speak_up(self, speak: Speak) -> None:
        async with aclosing(self.stream(speak)) as words:
            async for text in words:
                self._telling.words(text)
        if isinstance(self.effect, UseTools):  # words beside a tool call are no part of the reply (T-20.4)
            self._telling.withdraw()


async def _in_order(
    chunks: AsyncIterator[ModelChunk], begins_anew: Callable[[], None]
) -> AsyncGenerator[ModelChunk, None]:
    """The chunks, each of which goes on from the one before it; a provider that starts over is told of first."""
    so_far = ""
    try:
        async for chunk in chunks:
            if not chunk.accumulated.startswith(so_far):
                begins_anew()
            so_far = chunk.accumulated
            yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):  # a consumer that stops early stops the provider
            await chunks.aclose()
