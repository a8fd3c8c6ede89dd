"""The agents that messages are written to: the shipped clinic, and two that say what it lacks."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from benchmarks.understanding.agents.rental import agent as rental
from benchmarks.understanding.agents.sales import agent as sales
from falai import Agent
from falai.examples.clinic import agent as clinic
from falai.examples.clinic.actions import Clinic
from falai.examples.clinic.calendar import SqliteCalendar
from falai.examples.clinic.desk import NoteBook
from falai.model import Model

__all__ = ["AGENTS", "NOW", "context_for", "with_model"]

NOW = datetime(2026, 9, 16, 13, 0, tzinfo=UTC)
"""A Wednesday, in all three time zones: "today" in every row."""

AGENTS: dict[str, Agent[Any]] = {"clinic": clinic, "rental": rental, "sales": sales}


def context_for(agent: str) -> Any:
    """A fresh context: the clinic has a calendar in memory."""
    return Clinic(SqliteCalendar(":memory:"), NoteBook(":memory:")) if agent == "clinic" else None


def with_model(agent: str, model: Model) -> Agent[Any]:
    """That agent on another model, at the set's own moment."""
    twin = copy.copy(AGENTS[agent])
    twin.model = model
    twin.clock = lambda: NOW
    return twin
