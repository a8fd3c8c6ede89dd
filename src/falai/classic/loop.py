"""One message to its response: the way around a turn of the core (D-19 to D-35, D-95).

A turn succeeds as a whole or has no effect: the session is kept and the context stored at the very end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from falai.agent import Delta, Done
from falai.classic.core import Core
from falai.classic.errors import Phase
from falai.classic.flows import ids_of
from falai.classic.history import Item, bounded, compacted, continued
from falai.classic.hooks import settled
from falai.classic.keeping import Keeper, Opened
from falai.classic.options import LIMITS
from falai.classic.requests import Request, failing
from falai.classic.response import AgentResponse
from falai.classic.sessions import as_classic
from falai.classic.state import CURRENT, TurnState
from falai.classic.telling import message_of, response_of
from falai.flow.places import is_object
from falai.session.inputs import Message
from falai.turn.result import TurnResult

__all__ = ["Loop"]


@dataclass(slots=True)
class _Work:
    """One `respond` under way. `phase` is where an error would come from."""

    core: Core
    request: Request
    state: TurnState | None = None
    found: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the agent's context held at first; that context as the hook left it; and with the override on it."""
    ambient: Any = None
    shown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    before: Sequence[Item] = ()

    @property
    def phase(self) -> Phase:
        return "preparation" if self.state is None else self.state.phase


class Loop:
    """Answers messages for one agent; what lasts between them is the sessions' keeper and the context (D-24)."""

    def __init__(self, keeper: Keeper, options: Mapping[str, Any]) -> None:
        self._keeper = keeper
        self._stored: Any = options.get("context")
        self._provider: Any = options.get("contextProvider")
        self._before_respond: Any = options.get("hooks", {}).get("beforeRespond")
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
                        else:
                            yield item.text
        if response is not None:
            yield response

    async def _begun(self, work: _Work, opened: Opened) -> TurnState:
        request, named = work.request, work.core.compiled.named
        allowed = None if request.allowed is None else ids_of(request.allowed, named, "allowedFlows")
        is_repeated = request.message_id is not None and request.message_id in opened.session.inputs
        work.found = dict(self._stored) if is_object(self._stored) else {}
        work.ambient = None if is_repeated else await self._ambient()
        context = _laid_over(work.ambient, request.override)
        work.shown = dict(context) if is_object(context) else {}
        work.before = (opened.session.history or []) if request.before is None else request.before
        history = [*work.before, {"role": "user", "content": request.text}]
        work.state = TurnState(work.core.compiled, context=context, history=history, allowed=allowed)
        return work.state

    async def _ambient(self) -> Any:
        """The context before this turn's override."""
        context = self._stored if self._provider is None else await settled(self._provider())
        if context is None or self._before_respond is None:
            return context
        return await settled(self._before_respond(context))

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
        if self._provider is None:
            written = _written(work.ambient, work.shown, state.context)
            self._stored = _brought_over(self._stored, work.found, written)
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


def _laid_over(context: Any, override: Mapping[str, Any]) -> Any:
    """The context of one turn, fresh when it is a mapping, so that a turn that fails leaves no trace (D-24)."""
    if context is None or is_object(context):
        own: Mapping[str, Any] = context or {}
        return {**own, **override}
    if override:
        raise TypeError(f"contextOverride is laid over a mapping, and the context is a {type(context).__name__}")
    return context


def _written(ambient: Any, shown: Mapping[str, Any], context: Any) -> Any:
    """The agent's context with what the turn has written; the override is not kept."""
    if not is_object(context):
        return ambient
    patch = {key: value for key, value in context.items() if key not in shown or shown[key] is not value}
    kept: Mapping[str, Any] = ambient or {}
    return {**kept, **patch} if patch else ambient


def _brought_over(now: Any, before: Mapping[str, Any], after: Any) -> Any:
    """The agent's context as it is now, with what a turn made of it: turns of other sessions may have written meanwhile."""
    if not is_object(now) or not is_object(after):
        return after
    kept = {key: value for key, value in now.items() if key in after or key not in before}
    return kept | {key: value for key, value in after.items() if key not in before or before[key] is not value}
