"""What an author's functions get and give back: contexts and results, one frozen class each.

A handler's first parameter is its context. `context` is the host's data of this turn, passed
through untouched; it is `None` when the host gave none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from falai.session.model import Run

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
    """What came of an action (F-12.5). Made by `ok`, `skipped`, `failed` and `defer`."""

    ok: bool | None = None
    skipped: str | None = None
    failed: str | None = None
    defer: str | None = None
    detail: str | None = None
    spoke: bool | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool found: `value` for the model to read, `data` to store unchecked (F-14.3, F-14.4)."""

    value: Any = None
    data: Mapping[str, Any] | None = None


def ok(detail: str | None = None, *, spoke: bool | None = None) -> ActionResult:
    """It worked. `detail` reaches the outcome line and the model; `spoke` says that the action
    itself wrote to the customer (F-12.8)."""
    return ActionResult(ok=True, detail=detail, spoke=spoke)


def skipped(why: str) -> ActionResult:
    """Nothing was to be done; the run goes on along `then`. The words reach the model (M-24.4)."""
    return ActionResult(skipped=why)


def failed(why: str) -> ActionResult:
    """It did not work; the run goes on along `on_fail`. The words reach the model (M-24.4)."""
    return ActionResult(failed=why)


def defer(duration: str, detail: str | None = None) -> ActionResult:
    """Try the same step again, under the same key, after `duration` (T-11.19). `detail` reaches the model (M-24.4)."""
    return ActionResult(defer=duration, detail=detail)
