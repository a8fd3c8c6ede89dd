"""Calls of an author's functions: predicates and hooks (D-12, D-80).

Here is what they get, and what becomes of what they raise (D-81).
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from falai.classic.sessions import ClassicSession
from falai.classic.state import TurnState
from falai.errors import FlowConfigurationError
from falai.log import line
from falai.session.jsontext import is_list

__all__ = [
    "HookContext",
    "all_hold",
    "any_holds",
    "call_finalizer",
    "call_hook",
    "call_quietly",
    "settled",
    "tell_raised",
]

_LOG: Final = logging.getLogger(__name__)

Caller = Callable[[TurnState, str, Any], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class HookContext:
    """What a hook gets (D-80). `dispatch(directive)` comes before what the hook returns."""

    context: Any
    data: Mapping[str, Any]
    session: ClassicSession
    history: Sequence[Mapping[str, Any]]
    dispatch: Callable[[Any], None]


async def settled(value: Any) -> Any:
    """The value, awaited if it is an awaitable one: an author's functions may be synchronous."""
    return await value if inspect.isawaitable(value) else value


def tell_raised(what: str, error: Exception) -> None:
    """Logs that an author's function raised, where that changes nothing but its own effect (D-12, D-75, D-81)."""
    detail = error if _LOG.isEnabledFor(logging.DEBUG) else None  # its words may be a customer's
    _LOG.error("%s raised %s", what, type(error).__name__, exc_info=detail, extra=line("handler.raised", handler=what))


async def all_hold(state: TurnState, predicates: Any, owner: str) -> bool:
    """Whether every predicate holds; none holds always (D-12)."""
    for predicate in _listed(predicates):
        if not await _holds(state, predicate, owner):
            return False
    return True


async def any_holds(state: TurnState, predicates: Any, owner: str) -> bool:
    """Whether one of them holds, as `skip` asks (D-12)."""
    for predicate in _listed(predicates):
        if await _holds(state, predicate, owner):
            return True
    return False


async def call_hook(state: TurnState, emitter: str, hook: Any) -> None:
    """Calls a hook, if there is one; what it dispatches and then what it returns is emitted."""
    if hook is not None:
        state.emit(emitter, await settled(hook(_context(state, emitter))))


async def call_finalizer(state: TurnState, emitter: str, call: Caller, given: Any) -> None:
    """Calls a `finalize`, which is too late to stop anything: what it raises is logged.

    Raises FlowConfigurationError for an invalid directive.
    """
    try:
        await call(state, emitter, given)
    except FlowConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001  what an author's function raises is known to nobody
        state.marks.add("finalize_error")
        tell_raised(emitter, error)


async def call_quietly(state: TurnState, where: str, hook: Any, reason: str) -> None:
    """Calls an `onExit`; what it raises is logged and changes nothing (D-81)."""
    if hook is None:
        return
    try:
        await settled(hook(_context(state, where), reason))
    except Exception as error:  # noqa: BLE001  what an author's function raises is known to nobody
        tell_raised(where, error)


def _context(state: TurnState, emitter: str) -> HookContext:
    return HookContext(
        state.context, state.turn.session.data, state.session, state.history, partial(state.emit, emitter)
    )


async def _holds(state: TurnState, predicate: Callable[[Any], Any], owner: str) -> bool:
    """One that raises counts as false (D-12)."""
    try:
        return bool(await settled(predicate(state.scene())))
    except Exception as error:  # noqa: BLE001  what an author's function raises is known to nobody
        tell_raised(f"a predicate of {owner}", error)
        return False


def _listed(predicates: Any) -> Sequence[Callable[[Any], Any]]:
    if predicates is None:
        return ()
    return predicates if is_list(predicates) else (predicates,)
