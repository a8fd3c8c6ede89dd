"""Starting a run: the one road that every start takes, and where it is refused (T-6)."""

from __future__ import annotations

from functools import partial
from typing import Any

from falai.flow.definition import OnEvent, Say, Trigger
from falai.flow.durations import parse_duration
from falai.flow.plan import FlowPlan
from falai.session import keys
from falai.session.claims import cut_always_claims, write_claim
from falai.session.model import Run, TriggerKind
from falai.turn.advance import end_run, park
from falai.turn.lines import run_line, sentence
from falai.turn.result import SkippedStart, StartedRun
from falai.turn.state import Turn

__all__ = ["refuse", "start_run"]

MAX_HOP = 5


def start_run(
    turn: Turn,
    flow: FlowPlan,
    kind: TriggerKind,
    trigger_key: str,
    *,
    trigger: Trigger | None = None,
    payload: Any = None,
    hop: int = 0,
    max_hop: int = MAX_HOP,
    clear: bool = True,
) -> Run | None:
    """Starts a run, or refuses to (T-6). A refusal is in `skipped`, unless the trigger's `if` fails.

    `max_hop` is another limit for who counts by itself how often it redirects (D-93).
    """
    repeat = (trigger and trigger.repeat) or keys.default_repeat(kind)
    run = turn.draft(flow, kind, trigger_key, keys.nonce(repeat, trigger_key), payload=payload, hop=hop)
    if trigger is not None and not turn.holds(trigger.if_, run):
        return None
    code = turn.blocked(run.dedupe_key, repeat) or _too_deep(hop, max_hop) or _already_running(turn, run)
    if code is not None:
        refuse(turn, flow.id, run.anchor, trigger_key, code)
        return None
    _claim(turn, run, always=repeat == "always")
    if clear:
        turn.forget(flow.flow.clear_on_start or ())
    turn.session.runs.append(run)
    turn.started.append(StartedRun(run.id, flow.id, run.anchor, run.dedupe_key))
    if isinstance(trigger, OnEvent):
        _delay(turn, run, trigger)
    return run


def refuse(turn: Turn, flow_id: str, anchor: str, trigger_key: str, code: str) -> None:
    """Notes a refused start (O-7.2)."""
    turn.skipped.append(SkippedStart(flow_id, anchor, trigger_key, code, sentence(code)))


def _too_deep(hop: int, max_hop: int) -> str | None:
    return "hop-limit" if hop >= max_hop else None


def _already_running(turn: Turn, run: Run) -> str | None:
    """T-6.5. A run that still waits for its delayed start gives way to the new one."""
    runs = turn.session.runs
    if any(live.id == run.id for live in runs):
        return "already-running"
    rival = next((live for live in runs if (live.flow_id, live.anchor) == (run.flow_id, run.anchor)), None)
    if rival is None:
        elsewhere = f"{run.flow_id}:{run.anchor}" in turn.given.claims.active
        return "already-running" if elsewhere else None
    if rival.status != "waiting" or rival.step_id is not None:
        return "already-running"
    end_run(turn, rival, "replaced")
    return None


def _claim(turn: Turn, run: Run, *, always: bool) -> None:
    """Writes the run's claim, and cuts those of an `always` flow (T-6.6, B-10.5)."""
    write_claim(turn.session, run.dedupe_key, turn.now)
    if not always:
        return
    says = [(flow.id, s.id) for flow in turn.plan.flows.values() for s in flow.steps if isinstance(s, Say)]
    anchors = [turn.session.id, *(anchor.key for anchor in turn.given.anchors.values())]
    anchors += [live.anchor for live in turn.session.runs]
    cut_always_claims(
        turn.session,
        run.flow_id,
        run.anchor,
        flow_ids=turn.plan.flows,
        say_steps=says,
        anchors=anchors,
    )


def _delay(turn: Turn, run: Run, trigger: OnEvent) -> None:
    """Parks a run that is to begin later (T-6.8)."""
    after = 0 if trigger.after is None else parse_duration(trigger.after)
    at_ms = turn.due(turn.now_ms + after, business_hours=trigger.business_hours)
    if trigger.after is None and at_ms <= turn.now_ms:
        return
    until = park(turn, run, at_ms, partial(keys.start_wake_key, run.id))
    run_line(turn, run, "wait", "waiting", "awaiting-trigger", until=until)
