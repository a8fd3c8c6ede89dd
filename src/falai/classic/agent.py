"""The agent of 3.x: what is built once, and answers messages (D-1, D-8, D-18, D-36, D-68).

There is one engine, an agent of the core (`agent.core`) that is compiled from the options. The agent holds
what lasts between turns: the sessions' keeper and the ambient context.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Final

from falai.classic.checking import checked_options
from falai.classic.compiling import compiled
from falai.classic.core import Core
from falai.classic.directive import Directive
from falai.classic.flows import ClassicFlow, flow_of
from falai.classic.keeping import Keeper
from falai.classic.loop import Loop
from falai.classic.options import wire_flow
from falai.classic.pending import pending_of, with_pending
from falai.classic.requests import read_request
from falai.classic.response import AgentResponse, Chunk
from falai.classic.sessions import ClassicSession
from falai.classic.streaming import chunks_of
from falai.log import line
from falai.session.model import Session
from falai.store.contract import Store

__all__ = ["ClassicAgent"]

_LOG: Final = logging.getLogger("falai.agent")

AnySession = Session | Mapping[str, Any]


class ClassicAgent:
    """An agent with the front of version 3. `create_agent` makes one."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._given = options
        self._core = _core(options)
        self._keeper = Keeper(self._core.compiled.options)
        self._loop = Loop(self._keeper, self._core.compiled.options)

    @property
    def core(self) -> Core:
        """The agent of the core below (D-85): a host that runs flows of the core calls its `turn` for wakes
        and events, with sessions from `store` and under `lock`."""
        return self._core

    @property
    def store(self) -> Store:
        """Where the sessions are kept: the adapter, or a store in memory that is this agent's own."""
        return self._keeper.store

    @property
    def flows(self) -> tuple[ClassicFlow, ...]:
        """The agent's flows."""
        return self._core.compiled.named

    def flow(self, name: str) -> ClassicFlow | None:
        """The flow with this id, else the one with this title; `None` when there is none (D-3)."""
        return flow_of(name, self.flows)

    def lock(self, session_id: str) -> AbstractAsyncContextManager[Any]:
        """The lock of a session, which `respond` holds from loading to saving (D-32): `async with agent.lock(id):`."""
        return self._keeper.lock(session_id)

    def create_flow(self, **options: Any) -> ClassicFlow:
        """Adds a flow, checked as all are; a turn that is under way is not touched (D-8).

        Raises FlowConfigurationError with every problem; the agent is as before then.
        """
        before: Sequence[Any] = self._core.compiled.options.get("flows", ())
        flows = [*before, wire_flow(options, len(before))]
        self._core = _core({**self._given, "provider": self._core.model, "flows": flows})
        return self.flows[-1]

    async def respond(
        self,
        message: str | None = None,
        *,
        history: Sequence[Mapping[str, Any]] | None = None,
        session: AnySession | None = None,
        session_id: str | None = None,
        context_override: Mapping[str, Any] | None = None,
        allowed_flows: Sequence[str] | None = None,
        message_id: str | None = None,
    ) -> AgentResponse:
        """Answers one message of the user (D-18).

        `history` is the conversation before the message; without a message, its last item is what is
        answered (D-20). `session` is a session or a stored blob, of 3.x too; `session_id` names one in the
        store, which begins with this message if it is not there; without either it is the agent's default
        session (D-19). `context_override` is laid over the context for this turn. Of `allowed_flows`, by id
        or title, one is chosen (D-29). A `message_id` that was seen before is answered by nothing (D-31).

        A turn that fails has no effect (D-30). Raises `ValueError` for wrong arguments,
        `FlowConfigurationError`, `DataValidationError`, `ProviderError`, `SessionConflictError` and
        `InvalidSessionError`, and `ResponseGenerationError` for anything else (D-83).
        """
        request = read_request(
            message=message, history=history, session=session, session_id=session_id,
            context_override=context_override, allowed_flows=allowed_flows, message_id=message_id,
        )  # fmt: skip
        return await self._loop.respond(self._core, request)

    async def respond_stream(
        self,
        message: str | None = None,
        *,
        history: Sequence[Mapping[str, Any]] | None = None,
        session: AnySession | None = None,
        session_id: str | None = None,
        context_override: Mapping[str, Any] | None = None,
        allowed_flows: Sequence[str] | None = None,
        message_id: str | None = None,
    ) -> AsyncGenerator[Chunk, None]:
        """`respond` with the words as they arrive; the last chunk is `done` (D-36).

        Raises nothing: an error is the last chunk. Closing the generator earlier ends the turn without
        effect, and the call to the provider (D-39).
        """
        core = self._core  # a flow that is added later is none of this turn's (D-8)

        def answer() -> AsyncGenerator[str | AgentResponse, None]:
            request = read_request(
                message=message, history=history, session=session, session_id=session_id,
                context_override=context_override, allowed_flows=allowed_flows, message_id=message_id,
            )  # fmt: skip
            return self._loop.stream(core, request)

        async with aclosing(chunks_of(answer)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def chat(self, message: str) -> AgentResponse:
        """`respond` on the default session (D-35)."""
        return await self.respond(message)

    def stream(self, message: str) -> AsyncGenerator[Chunk, None]:
        """`respond_stream` on the default session (D-35)."""
        return self.respond_stream(message)

    async def dispatch(
        self, target: str | Directive | Mapping[str, Any], session: AnySession | None = None
    ) -> ClassicSession:
        """Redirects a conversation from outside a turn; gives the session that knows of it (D-68).

        `target` is a flow's id or title, or a directive. Nothing moves yet: the next turn begins with it, and
        uses it up. A second one takes the place of the first. The session that was given is not changed.

        Raises FlowConfigurationError for an invalid directive or an unknown flow, `TypeError` for a target
        that is neither a text nor a directive, `ValueError` when no session is given and there is no default
        one, and what the store raises.
        """
        directive = pending_of(target, self.flows)
        if session is None and not self._keeper.has_default:
            raise ValueError("there is no session to redirect: give one, or create the agent with a default session")
        async with self._keeper.opened(session, None) as opened:
            return await self._keeper.keep(opened, with_pending(opened.session, directive))


def _core(options: Mapping[str, Any]) -> Core:
    made = compiled(checked_options(options))
    for warning in made.warnings:
        _LOG.warning("[Agent] %s", warning, extra=line("classic.warning"))
    return Core(made)
