"""What a scenario file expects of a turn: what the customer saw, where the flows went, and what became of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from falai.turn.result import TurnResult

__all__ = ["expected"]

_KEYS: Mapping[str, Sequence[str]] = {
    "messages": ("text", "kind", "afterMs"),
    "outcomes": ("flowId", "stepId", "kind", "status", "code", "detail", "next", "until"),
    "started": ("flowId",),
    "ended": ("flowId", "reason"),
    "skipped": ("flowId", "code"),
    "schedule": ("at",),
}


def expected(result: TurnResult) -> dict[str, Any]:
    """The part of the result that is worth holding to; lists that are empty must stay empty."""
    wire = result.to_wire()
    lists = {key: [_some(entry, names) for entry in wire[key]] for key, names in _KEYS.items()}
    runs = [_some(run, ("flowId", "stepId", "status")) for run in wire["session"]["runs"]]
    session = {"data": wire["session"]["data"], "runs": runs}
    return {"changed": result.changed, "llmCalls": result.llm_calls, **lists, "session": session}


def _some(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: entry[name] for name in names if entry.get(name) is not None}
