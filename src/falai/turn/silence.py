"""The wakes that a silence would need: armed by a turn, or listed for a saved session (T-15.13, B-18)."""

from __future__ import annotations

from collections.abc import Iterator

from falai.flow.definition import OnSilence
from falai.flow.durations import parse_duration
from falai.flow.plan import FlowPlan
from falai.session import keys
from falai.session.dates import from_ms, read_date
from falai.turn.result import ScheduledWake
from falai.turn.state import Turn

__all__ = ["arm_silences", "pending_wakes"]


def arm_silences(turn: Turn) -> None:
    """Arms them anew when the assistant's last word moved in this turn (T-15.12)."""
    if turn.session.last_assistant_at != turn.spoken_before:
        turn.schedule.extend(_silences(turn, turn.spoken_before))


def pending_wakes(turn: Turn) -> list[ScheduledWake]:
    """Every wake that the session is waiting for: its parked runs, then the silences (B-18)."""
    waits = [run.waiting for run in turn.session.runs if run.status == "waiting" and run.waiting]
    due = [(wait.key, read_date(wait.until)) for wait in waits]
    parked = [ScheduledWake(key, from_ms(at)) for key, at in due if key is not None and at is not None]
    return [*parked, *_silences(turn, None)]


def _silences(turn: Turn, replaces: str | None) -> Iterator[ScheduledWake]:
    flows = [(flow, flow.silence) for flow in turn.plan.flows.values() if flow.silence is not None]
    if not flows:
        return
    spoken = read_date(turn.session.last_assistant_at)
    written = read_date(turn.session.last_user_at)
    if spoken is None or (written is not None and written > spoken):
        return
    for flow, trigger in flows:
        if _would_start(turn, flow, trigger, str(spoken)):
            yield _wake(turn, flow, trigger, spoken, read_date(replaces))


def _would_start(turn: Turn, flow: FlowPlan, trigger: OnSilence, trigger_key: str) -> bool:
    if not turn.may_start(flow, trigger, "silence", trigger_key):
        return False
    return trigger.if_ is None or turn.holds(trigger.if_, turn.draft(flow, "silence", trigger_key))


def _wake(turn: Turn, flow: FlowPlan, trigger: OnSilence, spoken: int, replaces_ms: int | None) -> ScheduledWake:
    session_id = turn.session.id
    at_ms = turn.due(spoken + parse_duration(trigger.silence), business_hours=trigger.business_hours)
    replaces = None if replaces_ms is None else keys.silence_key(flow.id, session_id, replaces_ms)
    return ScheduledWake(keys.silence_key(flow.id, session_id, spoken), from_ms(at_ms), replaces)
