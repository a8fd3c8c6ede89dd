"""Where a run has been, read from what the run remembers: its visits, its place and its outcome lines.

Visits are counted for the whole run; the ways that it took are known as far back as its lines go (B-8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from falai.flow.definition import Step
from falai.flow.exits import Exit, exits
from falai.flow.plan import FlowPlan
from falai.session.model import Run, StepOutcome

__all__ = ["run_words", "started_by", "taken_ways"]

Way = tuple[str, str]
"""A step's id and the path of an exit: which way was taken."""

_TAKEN_BY_CODE = {"branch": "branch", "replied": "else", "no-event": "else", "action-failed": "onFail"}
_TRIGGERS = {
    "OnMessage": "message", "OnAnyMessage": "message", "OnMention": "mention", "OnSilence": "silence", "OnEvent": "event",
}  # fmt: skip
_STATUS = {
    "running": "it goes on",
    "asking": "it waits for the customer's answer",
    "waiting": "it is parked",
    "suspended": "it waits until another conversation is over",
}


def run_words(run: Run) -> str:
    """How the run is doing: `it is parked until 2026-09-20T…`."""
    place = "it has not begun" if run.step_id is None else f"it stands at {run.step_id}"
    until = f" until {run.waiting.until}" if run.waiting and run.waiting.until else ""
    event = f", for {run.waiting.event}" if run.waiting and run.waiting.event else ""
    return f"{place}; {_STATUS[run.status]}{until}{event}"


def started_by(flow: FlowPlan, run: Run) -> int | None:
    """Which trigger started the run, when that is certain: a run remembers of which kind it was (B-4).

    A flow without triggers has one drawn beginning, number 0.
    """
    kinds = [_TRIGGERS.get(type(trigger).__name__) for trigger in flow.triggers]
    if not kinds:
        return 0
    return kinds.index(run.trigger.kind) if kinds.count(run.trigger.kind) == 1 else None


def taken_ways(flow: FlowPlan, run: Run | None) -> Counter[Way]:
    """How often the run left each step by each of its exits."""
    return Counter(_taken(flow, run)) if run else Counter()


def _taken(flow: FlowPlan, run: Run) -> Iterator[Way]:
    lines = [line for line in run.outcomes if line.step_id is not None]
    places = [*(line.step_id for line in lines[1:]), run.step_id]
    for line, then_at in zip(lines, places, strict=False):
        step = flow.step(line.step_id)
        if step is None:
            continue
        way = _named(flow, step, line) if line.next else _unnamed(flow, step, then_at)
        if way is not None:
            yield step.id, way.path


def _named(flow: FlowPlan, step: Step, line: StepOutcome) -> Exit | None:
    """The exit whose target the line names; of several with that target, the one that the code speaks of."""
    ways = [way for way in exits(flow, step) if way.path and _shown(way) == line.next]
    wanted = _TAKEN_BY_CODE.get(line.code or "")
    return next((way for way in ways if way.kind == wanted), ways[0] if ways else None)


def _unnamed(flow: FlowPlan, step: Step, then_at: str | None) -> Exit | None:
    """A line names no target when the run goes on in the list, and when it stays (B-8.2): its next place tells."""
    behind = flow.after(step.id)
    on = next((way for way in exits(flow, step) if not way.path), None)
    stays = then_at in (None, step.id)
    return None if stays or (behind is not None and behind.id != then_at) else on


def _shown(way: Exit) -> str:
    return f"flow:{way.flow}" if way.flow is not None else way.step or "end"
