"""The gate: who may speak to the customer, the assistant or a person.

A person who takes over closes it (`Host.hold`), and the ledger judges it twice, before the turn and at
its commit, so that a reply that was under way is never sent. A flow closes it by the action `hand_over`:
what the turn still says goes out, and from then on a person speaks.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from falai.flow.functions import action
from falai.flow.handlers import ActionContext, ActionResult, failed, ok

__all__ = ["hand_over", "handing_over"]

_REASONS: Final[ContextVar[list[str] | None]] = ContextVar("falai_handing_over", default=None)


@action(name="handOver")
def hand_over(ctx: ActionContext[Any], reason: str = "handed over") -> ActionResult:  # noqa: ARG001  # an action has one
    """Hand the conversation over to a person: the assistant is silent from the next message on.

    A gate that is closed already stays as it is.
    """
    asked = _REASONS.get()
    if asked is None:
        return failed("no host plays this turn, so nobody can take over")
    asked.append(reason)
    return ok("a person takes over")


@contextmanager
def handing_over() -> Generator[list[str], None, None]:
    """Where a turn is played: the reasons that `hand_over` was given in it."""
    asked: list[str] = []
    token = _REASONS.set(asked)
    try:
        yield asked
    finally:
        _REASONS.reset(token)
