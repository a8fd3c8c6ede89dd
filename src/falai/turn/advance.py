"""Where a run is, and how that changes: entering, staying, parking, leaving (T-12.1, T-11.27, T-12.12).

Nothing else in the turn sets `step_id`, `waiting` or `staying`. A line that reports a move is
written by the caller, before the move (T-12.4).
"""

from __future__ import annotations

from collections.abc import Callable

from falai.session.dates import from_ms, iso
from falai.session.model import Run, Waiting
from falai.turn.lines import kind_of, run_line
from falai.turn.result import EndedRun, EndReason, ScheduledWake
from falai.turn.state import Turn

__all__ = ["end_run", "enter", "park", "place", "stay_at", "unpark"]


def enter(run: Run, step_id: str) -> None:
    """Puts a run onto a step: a new visit (T-12.1)."""
    run.step_id = step_id
    run.visits[step_id] = run.visits.get(step_id, 0) + 1
    run.status = "running"
    run.waiting = run.staying = run.suspended_at = None


def place(run: Run, step_id: str) -> None:
    """Puts a run before a step that it is to enter when it moves again: no visit yet."""
    run.step_id, run.status = step_id, "asking"


def stay_at(run: Run, step_id: str) -> None:
    """Enters a step to stay there (T-12.10)."""
    enter(run, step_id)
    run.staying, run.status = True, "asking"


def unpark(run: Run) -> None:
    """Releases a parked run, which stays where it is."""
    run.status, run.waiting = "running", None


def park(
    turn: Turn,
    run: Run,
    at_ms: int,
    key: Callable[[int], str],
    *,
    event: str | None = None,
    keeps_staying: bool = False,
) -> str:
    """Parks a run until its wake, schedules the wake, and says when it is due (T-11.27).

    The wake that has just been used cannot fire again: a due time that would give its key once
    more is one millisecond later.
    """
    if key(at_ms) == turn.parked_on.get(id(run)):
        at_ms += 1
    until = iso(at_ms)
    run.status = "waiting"
    run.waiting = Waiting(
        kind="timer" if event is None else "event",
        key=key(at_ms),
        event=event,
        until=until,
        set_at=turn.now,
    )
    if not keeps_staying:
        run.staying = None
    turn.schedule.append(ScheduledWake(key(at_ms), from_ms(at_ms)))
    return until


def end_run(turn: Turn, run: Run, reason: EndReason, code: str | None = None, detail: str | None = None) -> None:
    """Takes a run out of the session; an early end writes its one line first (T-12.12, O-5.8)."""
    if code is not None:
        flow = turn.flow_of(run)
        step = None if flow is None else flow.step(run.step_id)
        run_line(turn, run, kind_of(step), "failed" if reason == "failed" else "skipped", code, detail=detail or None)
    turn.session.runs = [live for live in turn.session.runs if live is not run]
    if turn.talk and turn.talk.run is run:
        turn.talk = None
    turn.ended.append(EndedRun(run, reason))
