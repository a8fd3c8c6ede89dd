"""Outcome lines: how one is written, and what it says about the step (05-outcomes, B-8)."""

from __future__ import annotations

from typing import Any

from falai.flow.definition import Collect, Do, If, Move, Prompt, Reset, Say, Step, To, ToFlow
from falai.session.keys import step_key
from falai.session.model import OutcomeKind, OutcomeStatus, Run, StepOutcome
from falai.session.outcomes import ADDED_MESSAGES, LAYER_MESSAGES, OUTCOME_MESSAGES
from falai.turn.state import Turn

__all__ = ["failed_attempts", "key_of", "kind_of", "label", "run_line", "sentence", "turn_line"]

MAX_RUN_LINES = 50


def sentence(code: str) -> str:
    """The sentence of a code (O-8, O-10)."""
    return OUTCOME_MESSAGES.get(code) or ADDED_MESSAGES.get(code) or LAYER_MESSAGES[code]


def kind_of(step: Step | None) -> OutcomeKind:
    """The kind that lines about this step have; `if` when there is none (B-8, O-5.8)."""
    match step:
        case Collect():
            return "collect" if step.collect else "prompt"
        case Prompt():
            return "prompt"
        case Say():
            return "say"
        case Do():
            return "do"
        case If() | None:
            return "if"
        case _:
            return "wait"


def label(target: Move | None, own: str = "") -> str | None:
    """How a line names the target that is followed (B-8.2); a reset leads to the run's own flow."""
    match target:
        case None | str():
            return target
        case To():
            return target.step
        case ToFlow():
            return f"flow:{target.flow}"
        case Reset():
            return f"flow:{own}"


def key_of(run: Run) -> str:
    """The step key of a run at its current step and visit (B-9.1)."""
    step_id = run.step_id or ""
    return step_key(run.id, step_id, run.visits.get(step_id, 0))


def turn_line(turn: Turn, kind: OutcomeKind, status: OutcomeStatus, code: str | None = None, **rest: Any) -> None:
    """Writes a line of no run."""
    turn.outcomes.append(_line(turn, kind, status, code, rest))


def run_line(
    turn: Turn,
    run: Run,
    kind: OutcomeKind,
    status: OutcomeStatus,
    code: str | None = None,
    **rest: Any,
) -> None:
    """Writes a line of a run, also onto the run itself, which keeps the last 50 (B-8.1)."""
    line = _line(turn, kind, status, code, rest)
    line.run_id, line.flow_id, line.step_id = run.id, run.flow_id, run.step_id
    turn.outcomes.append(line)
    run.outcomes.append(line)
    del run.outcomes[:-MAX_RUN_LINES]


def failed_attempts(run: Run, step_id: str) -> int:
    """How many of the run's newest lines, without a gap, are `deferred` at this step (T-15.14)."""
    count = 0
    for line in reversed(run.outcomes):
        if line.status != "deferred" or line.step_id != step_id:
            break
        count += 1
    return count


def _line(turn: Turn, kind: OutcomeKind, status: OutcomeStatus, code: str | None, rest: dict[str, Any]) -> StepOutcome:
    message = None if code is None else sentence(code)
    return StepOutcome(kind=kind, status=status, code=code, message=message, at=turn.now, **rest)
