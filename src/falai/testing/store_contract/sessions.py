"""Sessions to save, and how a save is lost."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from falai.errors import SessionConflictError
from falai.session.model import Claim, Run, Session, StepOutcome, TriggerRef, Waiting
from falai.store.contract import Store

__all__ = ["NOW", "changed", "full_session", "lose"]

NOW = "2026-09-20T10:00:00.000Z"


def full_session(id: str = "s1") -> Session:
    """A session in which every optional key is set and every kind of text occurs (C-10)."""
    payload: dict[str, Any] = {"menu": [1, None, {"x": [[], {}]}], "note": None}
    line = StepOutcome(run_id="f#1", flow_id="f", step_id="w", kind="wait", status="waiting", until=NOW, at=NOW)
    waiting = Waiting(kind="event", key="f#1:w:1789898400000", until=NOW, set_at=NOW, event="paid")
    parked = _run("f#1", id, status="waiting", input=payload, waiting=waiting, outcomes=[line])
    parked.trigger = TriggerRef(kind="event", key="1", payload=payload)
    stays = _run("g#2", id, suspended_at=NOW, staying=True, status="suspended")
    session = Session.fresh(id)
    session.data = {
        "name": "Ágnes",
        "wish": '🌿 \u2028 \x00 \\ "',
        "seats": 4,
        "terrace": False,
        "price": 1.5,
        "n": None,
    }
    session.runs = [parked, stays]
    session.claims = {f"f:{id}:wamid.HBgM/7a.b\"c'$": Claim(at=NOW), f"f:{id}:": Claim(at="unreadable")}
    session.inputs = ["wamid.HBgM.7a", "m 2"]
    session.metadata = {"nested": {"deep": [True, {}]}}
    session.last_user_at = session.last_assistant_at = NOW
    session.history = [{"role": "user", "content": "olá"}, {"role": "assistant", "content": None}]
    return session


def _run(id: str, session_id: str, **rest: Any) -> Run:
    flow_id = id.partition("#")[0]
    common: dict[str, Any] = {
        "anchor": session_id,
        "dedupe_key": f"{flow_id}:{session_id}:",
        "step_id": "w",
        "trigger": TriggerRef(kind="message", key="m1"),
        "hop": 0,
        "started_at": NOW,
        "asked": {"name": 2},
        "visits": {"w": 1},
        "outcomes": [],
    }
    return Run(id=id, flow_id=flow_id, **common | rest)


def changed(session: Session, **data: Any) -> Session:
    """A copy of the session with more data."""
    fresh = copy.deepcopy(session)
    fresh.data.update(data)
    return fresh


async def lose(store: Store, session: Session, expected: int, actual: int | None) -> None:
    """Saves, and sees the conflict with all that it says (P-7, P-8)."""
    with pytest.raises(SessionConflictError) as caught:
        await store.save(session, expected)
    error = caught.value
    assert (error.session_id, error.expected_version, error.actual_version) == (session.id, expected, actual)
    assert str(error).startswith(f'[SessionConflictError] session "{session.id}": ')
    assert str(expected) in str(error)
    assert (str(actual) if actual is not None else "no row") in str(error)
