"""What is kept of each thing that happened in a branch, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from falai.agent import Agent
from falai.host.ledger.port import Gate
from falai.host.looking import Look
from falai.session.codec import session_from_json
from falai.session.model import Session
from falai.turn.result import TurnResult
from falai.web.playground.keeping import Kept
from falai.web.playground.recording import NOTHING, Recorded

__all__ = ["SESSION", "Happened", "Kind", "Standing"]

SESSION = "s1"
"""The session of every branch: each has a ledger of its own, so that the keys of all are those of the first."""

Kind = Literal["message", "event", "start", "wake", "person", "gate", "clock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a branch stands: its clock, its files, and what the ledger shows of them."""

    now_ms: int
    kept: Kept
    look: Look | None = None

    @property
    def session(self) -> Session | None:
        """The session, `None` before the first turn."""
        blob = None if self.look is None else self.look.row.blob
        return None if blob is None else session_from_json(blob, SESSION)

    @property
    def gate(self) -> Gate:
        return Gate() if self.look is None else self.look.row.gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One thing that happened, and how the branch stood behind it.

    `input` is in wire form, with its `kind`. A turn has its `result`; what failed, or could not go on, has its
    `problem`. `agent` is the one that played it, as data.
    """

    n: int
    at: str
    kind: Kind
    input: Mapping[str, Any]
    agent: Agent[Any]
    gate: Gate
    """As it was when it was played."""
    standing: Standing
    result: TurnResult | None = None
    recorded: Recorded = NOTHING
    problem: str | None = None
