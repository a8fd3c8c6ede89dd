"""One message to its response: the way around a turn of the core (D-19 to D-35, D-95).

A turn succeeds as a whole or has no effect: the session is kept and the context stored at the very end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from falai.agent import Delta, Done
from falai.classic.ambient import Ambient, Loaded
from falai.classic.core import Core
from falai.classic.errors import Phase
from falai.classic.flows import ids_of
from falai.classic.history import Item, bounded, compacted, continued
from falai.classic.keeping import Keeper, Opened
from falai.classic.options import LIMITS
from falai.classic.requests import Request, failing
from falai.classic.response import AgentResponse
from falai.classic.sessions import as_classic
from falai.classic.state import CURRENT, TurnState
from falai.classic.telling import message_of, response_of
from falai.session.inputs import Message
from falai.turn.result import TurnResult

__all__ = ["Loop"]


@dataclass(slots=True)
class _Work:
    """One `respond` under way. `phase` is where an error would come from."""

    core: Core
    request: Request
    state: TurnState | None = None
    loaded: Loaded | None = None
    before: Sequence[Item] = ()

    @property
    def phase(self) -> Phase:
        return "preparation" if self.state is None else self.state.phase


class Loop:
    """Answers messages for one agent; what lasts between them is the sessions' keeper and the context (D-24)."""

    def __init__(self, keeper: Keeper, options: Mapping[str, Any]) -> None:
        self._keeper = keeper
        self._ambient = Ambient(options)
        self._compaction: Any = options.get("compaction")
        self._most: int = options.get("maxHistoryMessages", LIMITS["maxHistoryMessages"])

    async def respond(self, core: Core, request: Request) -> AgentResponse:
        """The whole response. Raises what D-83 names."""
        work = _Work(core, request)
        with failing(work):
            async with self._keeper.opened(request.session, request.session_id) as opened:
                state = await self._begun(work, opened)
                token = CURRENT.set(state)
                try:
                    result = await core.turn(opened.session.id, _message(request), **_given(work, opened))
                finally:
                    CURRENT.reset(token)
                return await self._finished(work, state, opened, result)

    async def stream(self, core: Core, request: Request) -> AsyncGenerator[str | AgentResponse, None]:
        """The words as they arrive, then the response, when the session is free again. Raises likewise."""
        work, response = _Work(core, request), None
        with failing(work):
            async with self._keeper.opened(request.session, request.session_id) as opened:
                state = await self._begun(work, opened)
                items = core.turn_stream(opened.session.id, _message(request), **_given(work, opened))
                async with aclosing(_within(state, items)) as steps:
                    async for item in steps:
                        if isinstance(item, Done):
                            response = await self._finished(work, state, opened, item.result)
                            continue
                        try:
                            yield item.text
                        except GeneratorExit:  # what is closed now may take a while: the model is called off
                            self._keeper.lock(opened.session.id).let_go()
                            raise
        if response is not None:
            yield response

    async def _begun(self, work: _Work, opened: Opened) -> TurnState:
        request, named = work.request, work.core.compiled.named
        allowed = None if request.allowed is None else ids_of(request.allowed, named, "allowedFlows")
        is_repeated = request.message_id is not None and request.message_id in opened.session.inputs
        work.loaded = None if is_repeated else await self._ambient.loaded(request.override)
        context = None if work.loaded is None else work.loaded.context
        work.before = (opened.session.history or []) if request.before is None else request.before
        history = [*work.before, {"role": "user", "content": request.text}]
        work.state = TurnState(work.core.compiled, context=context, history=history, allowed=allowed)
        return work.state

    async def _finished(self, work: _Work, state: TurnState, opened: Opened, result: TurnResult) -> AgentResponse:
        """What a turn leaves behind: the history, the session, the context; a repeated message leaves nothing."""
        if not result.changed:
            return AgentResponse(message="", session=opened.session, turn=result)
        state.phase = "completion"
        session = as_classic(result.session)
        if not state.is_cleared:
            history = continued(work.before, work.request.text, message_of(result))
            session.history = bounded(await compacted(work.core.model, history, self._compaction), self._most)
        kept = await self._keeper.keep(opened, session)
        if work.loaded is not None:
            self._ambient.keep(work.loaded)
        return response_of(state, result, kept)


def _message(request: Request) -> Message:
    return Message(request.text, request.message_id)


def _given(work: _Work, opened: Opened) -> dict[str, Any]:
    assert work.state is not None
    return {"session": opened.session, "context": work.state.context, "history": list(work.before)}


async def _within(state: TurnState, items: AsyncIterator[Delta | Done]) -> AsyncGenerator[Delta | Done, None]:
    """The items of a turn, each found with its state in place: what the consumer does in between is not this turn."""
    async with aclosing(cast("AsyncGenerator[Delta | Done, None]", items)) as steps:  # which ends with its use
        while True:
            token = CURRENT.set(state)
            try:
                item = await anext(steps)
            except StopAsyncIteration:
                return
            finally:
                CURRENT.reset(token)
            yield item
