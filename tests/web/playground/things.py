"""What can happen in a conversation with the example agent, as (address, body): enough of each kind that flows,
timers, people and the gate meet one another."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from web.playground.stage import BOOKING

__all__ = ["FEW", "THINGS"]

_MESSAGES = [*BOOKING, "no", "I want to talk to a person", "how much is it?", "3", "2099-03-03 at 10am", "12", ""]
_REST: list[tuple[str, dict[str, Any]]] = [
    ("event", {"name": "visit_done"}),
    ("start", {"flow": "nudge"}),
    ("person", {"text": "This is Rita.", "by": "Rita"}),
    ("gate", {"closed": True, "reason": "busy"}),
    ("gate", {"closed": False}),
    ("clock", {"ms": 3_600_000}),
    ("clock", {"ms": 100_000_001}),
]

THINGS = st.one_of(st.sampled_from([("message", {"text": text}) for text in _MESSAGES]), st.sampled_from(_REST))
"""One thing that happens."""

FEW = settings(max_examples=12 if settings().max_examples < 1000 else 100)
"""Each example is conversations of many turns."""
