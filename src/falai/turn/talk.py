"""What a talk step still has to ask, and whether its fixed question is due (T-11.1, T-16.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from falai.flow.definition import Collect, TalkStep
from falai.flow.plan import DEFAULT_MAX_ASKS
from falai.flow.values import is_known
from falai.session.model import Run
from falai.turn.lines import key_of, run_line
from falai.turn.state import Turn

__all__ = ["collects", "count_asks", "max_asks", "pending", "question_due", "report_given_up", "send_question"]


def collects(step: TalkStep) -> tuple[str, ...]:
    """The fields that the step asks for, each once, in order."""
    return tuple(dict.fromkeys(step.collect)) if isinstance(step, Collect) else ()


def max_asks(step: TalkStep) -> int:
    """How often the step may ask for a field (F-8.10)."""
    return DEFAULT_MAX_ASKS if step.max_asks is None else step.max_asks


def pending(run: Run, step: TalkStep, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that are neither known nor given up (T-11.1)."""
    limit = max_asks(step)
    return tuple(f for f in collects(step) if not is_known(data.get(f)) and run.asked.get(f, 0) < limit)


def given_up(run: Run, step: TalkStep, data: Mapping[str, Any]) -> Iterator[str]:
    """The unknown fields that have been asked for as often as they may be."""
    limit = max_asks(step)
    return (f for f in collects(step) if not is_known(data.get(f)) and run.asked.get(f, 0) >= limit)


def report_given_up(turn: Turn, run: Run, step: TalkStep) -> None:
    """A line for each field that the step stops asking for (T-11.2, T-15.10)."""
    for field in given_up(run, step, turn.session.data):
        run_line(turn, run, "collect", "skipped", "max-asks", key=key_of(run), detail=field)


def question_due(turn: Turn, run: Run, step: TalkStep) -> bool:
    """Whether the step's fixed question is its next ask (T-16.2)."""
    if not isinstance(step, Collect) or not step.question or run.staying:
        return False
    fields = collects(step)
    unasked = not any(run.asked.get(field) for field in fields)
    return bool(fields) and unasked and pending(run, step, turn.session.data) == fields


def send_question(turn: Turn, run: Run, step: TalkStep) -> None:
    """Sends the fixed question, as one ask of each field (T-16.4)."""
    assert isinstance(step, Collect)
    turn.send(turn.render(step.question or "", run), "verbatim", key_of(run), run)
    count_asks(run, collects(step))
    run_line(turn, run, "collect", "ok", "asked-fixed", key=key_of(run))


def count_asks(run: Run, fields: Iterable[str]) -> None:
    """One more ask of each of these fields (T-15.7, T-16.4)."""
    for field in fields:
        run.asked[field] = run.asked.get(field, 0) + 1
