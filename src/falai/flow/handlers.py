"""What an author's functions get and give back: contexts and results, one frozen class each.

A handler's first parameter is its context. `context` is the host's data of this turn, passed
through untouched; it is `None` when the host gave none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from falai.session.model import Run

if TYPE_CHECKING:
    from falai.flow.definition import Move  # which needs the contexts of this file

__all__ = ["ActionContext", "ActionResult", "ToolContext", "ToolResult", "View", "defer", "failed", "ok", "skipped"]

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class View(Generic[C]):
    """What a predicate sees (F-9.2). `silenced` is the host's reason, `None` while the gate is open."""

    context: C
    data: Mapping[str, Any]
    input: Any
    speaking_run: Run | None
    silenced: str | None
    now: datetime

    @property
    def run(self) -> Run:
        """The run that is judged. Raises `LookupError` for the idle speaker, which has none."""
        if self.speaking_run is None:
            raise LookupError("there is no run while the idle speaker answers; look at view.speaking_run first")
        return self.speaking_run


@dataclass(frozen=True, slots=True)
class ActionContext(Generic[C]):
    """What an action gets beside its parameters (F-12.4).

    `key` names this very execution: it is the same on a repetition of the turn, and unique within
    the session; use it as an idempotency key together with `session_id` (B-17.2). `data` is live.
    """

    context: C
    data: Mapping[str, Any]
    input: Any
    run: Run
    session_id: str
    key: str
    dedupe_key: str
    silenced: str | None
    now: datetime
    set: Callable[[Mapping[str, Any]], None]
    """Writes fields at once, unchecked; `None` makes a field unknown (F-12.9)."""


@dataclass(frozen=True, slots=True)
class ToolContext(Generic[C]):
    """What a tool gets beside its arguments (F-14.2); `run` is `None` for the idle speaker."""

    context: C
    data: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    run: Run | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What came of an action (F-12.5). Made by `ok`, `skipped`, `failed` and `defer`.

    `move` sends the run somewhere else than the step's `then` or `on_fail` would; the action declares
    where it may lead (`@action(moves=[...])`). `say` is a text for the customer, sent as it is. A wrong
    one of these, or a move beside `defer`, makes the result a failure that says why.
    """

    ok: bool | None = None
    skipped: str | None = None
    failed: str | None = None
    defer: str | None = None
    detail: str | None = None
    spoke: bool | None = None
    move: Move | Mapping[str, Any] | None = None
    say: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool found: `value` for the model to read, `data` to store unchecked (F-14.3, F-14.4).

    `move` sends the run somewhere once the reply is out; the tool declares where it may lead
    (`@tool(moves=[...])`). `say` takes the place of the model's reply: no further round is asked for.
    Of several in one reply the last one counts. A wrong one of these is told to the model as a failure.
    """

    value: Any = None
    data: Mapping[str, Any] | None = None
    move: Move | Mapping[str, Any] | None = None
    say: str | None = None


def ok(
    detail: str | None = None, *, spoke: bool | None = None, move: Move | None = None, say: str | None = None
) -> ActionResult:
    """It worked. `detail` reaches the outcome line and the model; `spoke` says that the action
    itself wrote to the customer (F-12.8). `move` takes the place of `then`; `say` is sent first."""
    return ActionResult(ok=True, detail=detail, spoke=spoke, move=move, say=say)


def skipped(why: str, *, move: Move | None = None, say: str | None = None) -> ActionResult:
    """Nothing was to be done; the run goes on along `then`, or makes the `move`. The words reach the model (M-24.4)."""
    return ActionResult(skipped=why, move=move, say=say)


def failed(why: str, *, move: Move | None = None, say: str | None = None) -> ActionResult:
    """It did not work; the run goes on along `on_fail`, or makes the `move`. The words reach the model (M-24.4)."""
    return ActionResult(failed=why, move=move, say=say)


def defer(duration: str, detail: str | None = None, *, say: str | None = None) -> ActionResult:
    """Try the same step again, under the same key, after `duration` (T-11.19). `detail` reaches the model (M-24.4)."""
    return ActionResult(defer=duration, detail=detail, say=say)
