"""The history that both calls read: compacted once, before the turn's first call (T-4.1)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from falai.model.compaction import compact
from falai.turn.effects import Effect
from falai.turn.state import Turn

__all__ = ["compacted_history"]


def compacted_history(turn: Turn) -> Generator[Effect, Any, Sequence[Mapping[str, Any]]]:
    """The history, within the agent's limits. The session's own is never touched."""
    options = turn.plan.compaction
    if options is not None and turn.history and not turn.compacted:
        turn.compacted = True
        done = yield from compact(turn.history, options)
        turn.history = done.history
        turn.spend(done.llm_calls, done.usage)
    return turn.history
