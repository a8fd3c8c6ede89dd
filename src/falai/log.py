"""What every log line of falai has: a fixed `action`, and where it happened: `session`, `flow`, `step`.

A line is written by the standard library's `logging`, under the logger `falai` and those below it,
with `extra=line("…")`. It holds no text of a message, no value of a field, no prompt and no secret.
All lines stand in docs/reference/observability.md, and a test holds that page against the code.
Handlers are the program's matter: none is added here, so the warnings of a program that has
configured nothing appear on stderr, as Python has it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, Protocol

__all__ = ["SESSION", "line"]

SESSION: Final[ContextVar[str | None]] = ContextVar("falai_session", default=None)
"""The session whose turn is at work: lines far below the turn name it too."""


class _Run(Protocol):
    flow_id: str
    step_id: str | None


def line(action: str, run: _Run | None = None, **more: Any) -> dict[str, Any]:
    """The `extra` of a line. `session`, `flow` and `step` are always there, `None` when they are not known."""
    flow, step = (None, None) if run is None else (run.flow_id, run.step_id)
    return {"action": action, "session": SESSION.get(), "flow": flow, "step": step, **more}
