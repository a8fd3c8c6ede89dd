"""What a conversation waits for: the timers that still count, and the events that somebody may report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from falai.host.ledger.port import WakeWrite
from falai.host.looking import Look
from falai.session.dates import read_date
from falai.session.keys import parse_silence_key
from falai.session.model import Run, Session

__all__ = ["Wait", "waits_of"]

_WORDS = {
    "silence": "begins if the customer stays silent until then",
    "start": "begins then",
    "timer": "goes on then",
    "event": "goes on when {event} is reported",
    "either": "goes on when {event} is reported, at the latest then",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One thing that is waited for; without an instant only an event ends it."""

    key: str
    at_ms: int | None
    flow: str
    step: str | None = None
    event: str | None = None
    words: str


def waits_of(look: Look | None) -> Sequence[Wait]:
    """All of them, the next first."""
    session = None if look is None else look.session
    if look is None or session is None:
        return ()
    timed = [wait for wake in look.wakes if (wait := _timed(session, wake)) is not None]
    return (*sorted(timed, key=lambda wait: wait.at_ms or 0), *_untimed(session))


def _timed(session: Session, wake: WakeWrite) -> Wait | None:
    """What a timer is for; `None` for one that would be ignored for certain (T-5.5, T-5.8)."""
    run = next((run for run in session.runs if run.waiting and run.waiting.key == wake.key), None)
    if run is not None:
        return _of_run(run, wake.key, wake.due_at)
    if wake.key.startswith("silence:"):
        flow, begun = parse_silence_key(wake.key, session.id)
        if begun == str(read_date(session.last_assistant_at)):
            return Wait(key=wake.key, at_ms=wake.due_at, flow=flow, words=_WORDS["silence"])
    return None


def _of_run(run: Run, key: str, at_ms: int | None) -> Wait:
    event = run.waiting.event if run.waiting else None
    kind: Literal["start", "timer", "event", "either"] = "timer" if run.step_id is not None else "start"
    if event is not None:
        kind = "event" if at_ms is None else "either"
    words = _WORDS[kind].format(event=event)
    return Wait(key=key, at_ms=at_ms, flow=run.flow_id, step=run.step_id, event=event, words=words)


def _untimed(session: Session) -> Iterator[Wait]:
    for run in session.runs:
        if run.waiting is not None and run.waiting.key is None:
            yield _of_run(run, f"event:{run.id}", None)
