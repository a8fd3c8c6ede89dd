"""The invariants of a turn, by their numbers: V-1 to V-47.

Each is a small function of one turn that was played, named by its number, which raises
`AssertionError` when it does not hold. Words as in the invariants' own document: *before* is the
session given to the turn, *after* the one it returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from falai.session.model import Run, Session, StepOutcome
from turn.conversation import Played

__all__ = ["INVARIANTS", "Check", "by_id", "invariant", "last_states", "lines_of", "reborn", "survivors"]

Check = Callable[[Played], None]
INVARIANTS: dict[int, Check] = {}


def invariant(check: Check) -> Check:
    """Registers a checker under the number in its name: `v_12` is V-12."""
    INVARIANTS[int(check.__name__.removeprefix("v_"))] = check
    return check


def by_id(session: Session) -> dict[str, Run]:
    return {run.id: run for run in session.runs}


def lines_of(played: Played, run_id: str) -> list[StepOutcome]:
    """The lines that a run wrote in this turn."""
    return [line for line in played.done.outcomes if line.run_id == run_id]


def reborn(played: Played) -> set[str]:
    """Ids that came again: their run ended in this turn, and another started under the same id (B-9.6)."""
    started = {run.run_id for run in played.done.started}
    return {end.run.id for end in played.done.ended} & started & set(by_id(played.after))


def survivors(played: Played) -> Iterator[tuple[Run, Run]]:
    """The runs of *before* that are in *after*, as they were and as they are."""
    after, again = by_id(played.after), reborn(played)
    return ((run, after[run.id]) for run in played.before.runs if run.id in after and run.id not in again)


def last_states(played: Played) -> list[Run]:
    """Every run of the turn in its last state: those that ended, and those that live."""
    return [*(end.run for end in played.done.ended), *played.after.runs]
