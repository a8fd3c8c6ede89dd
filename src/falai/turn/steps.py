"""What each kind of step does when a run executes it (T-11)."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

from falai.flow.definition import Collect, Do, If, Prompt, Say, Step, TalkStep, To, ToFlow, Wait, WaitEvent
from falai.flow.durations import parse_duration
from falai.flow.plan import FlowPlan, target_of
from falai.session import keys
from falai.session.claims import held_at, write_claim
from falai.session.model import Run
from falai.turn.action import perform
from falai.turn.advance import end_run, park
from falai.turn.effects import Effect
from falai.turn.follow import follow
from falai.turn.lines import key_of, kind_of, label, run_line
from falai.turn.state import Talk, Turn
from falai.turn.talk import collects, pending, question_due, report_given_up, send_question

__all__ = ["execute"]

SHORT_WAIT_MS = 10_000
DEFAULT_EVENT_WAIT = "30d"


def execute(turn: Turn, run: Run, flow: FlowPlan, step: Step, *, resuming: bool) -> Generator[Effect, Any, None]:
    """Executes the step on which the run stands. `resuming`: it was asking here before."""
    match step:
        case Collect() | Prompt():
            _talk(turn, run, flow, step, resuming=resuming)
        case Say():
            _say(turn, run, flow, step)
        case Do():
            yield from perform(turn, run, flow, step)
        case Wait():
            _wait(turn, run, flow, step)
        case WaitEvent():
            _wait_event(turn, run, step)
        case If():
            _if(turn, run, flow, step)


# --- words --------------------------------------------------------------------------------------


def _talk(turn: Turn, run: Run, flow: FlowPlan, step: TalkStep, *, resuming: bool) -> None:
    if collects(step) and not run.staying and not pending(run, step, turn.session.data):
        _nothing_left(turn, run, flow, step, resuming=resuming)
    elif turn.gate is None:
        _take_the_floor(turn, run, flow, step)
    elif resuming:
        run.status = "asking"
    else:
        _silenced(turn, run, flow, step)


def _nothing_left(turn: Turn, run: Run, flow: FlowPlan, step: TalkStep, *, resuming: bool) -> None:
    """The step is passed without a word, also under a closed gate (T-11.2)."""
    report_given_up(turn, run, step)
    then = target_of(step.then)
    if resuming:
        run_line(turn, run, "collect", "ok", key=key_of(run), next=label(then))
    else:
        run_line(turn, run, "collect", "skipped", "already-known", key=key_of(run), next=label(then))
    follow(turn, run, flow, step, then)


def _take_the_floor(turn: Turn, run: Run, flow: FlowPlan, step: TalkStep) -> None:
    """The run asks; of several in one turn the last one speaks (T-11.4, T-11.5)."""
    turn.suspend(turn.others_asking(run))
    run.status = "asking"
    if not turn.speak_done:
        turn.talk = Talk(run, flow, step)
    elif question_due(turn, run, step):
        send_question(turn, run, step)


def _silenced(turn: Turn, run: Run, flow: FlowPlan, step: TalkStep | Say) -> None:
    """A step that would speak, under a closed gate: passed over, or the end of the run (T-17.3)."""
    assert turn.gate is not None
    if not turn.gate.skip:
        end_run(turn, run, "skipped", "silenced", turn.gate.reason)
        return
    then = target_of(step.then)
    run_line(
        turn, run, kind_of(step), "skipped", "silenced", key=key_of(run), detail=turn.gate.reason, next=label(then)
    )
    follow(turn, run, flow, step, then)


def _say(turn: Turn, run: Run, flow: FlowPlan, step: Say) -> None:
    if turn.gate is not None:
        _silenced(turn, run, flow, step)
        return
    then, key = target_of(step.then), key_of(run)
    if step.once and not _first_time(turn, flow, step):
        run_line(turn, run, "say", "skipped", "already-sent", key=key, next=label(then))
    else:
        turn.send(turn.render(step.say, run), "verbatim", key, run, media=step.media)
        run_line(turn, run, "say", "ok", key=key, next=label(then))
    follow(turn, run, flow, step, then)


def _first_time(turn: Turn, flow: FlowPlan, step: Say) -> bool:
    """Claims a text that goes out once per conversation (T-11.7, B-10.7)."""
    key = keys.say_claim_key(flow.id, step.id, turn.session.id)
    if held_at(turn.session, key, turn.given.claims.held) is not None:
        return False
    write_claim(turn.session, key, turn.now)
    return True


# --- time ---------------------------------------------------------------------------------------


def _wait(turn: Turn, run: Run, flow: FlowPlan, step: Wait) -> None:
    duration, key = parse_duration(step.wait), key_of(run)
    if duration <= SHORT_WAIT_MS and _leads_to_words(flow, step):
        turn.delay += duration
        then = target_of(step.then)
        run_line(turn, run, "wait", "ok", "inline-delay", key=key, detail=f"{duration}ms", next=label(then))
        follow(turn, run, flow, step, then)
        return
    at_ms = turn.due(turn.now_ms + duration, business_hours=step.business_hours)
    until = _park_at(turn, run, at_ms)
    run_line(turn, run, "wait", "waiting", key=key, until=until)


def _leads_to_words(flow: FlowPlan, step: Wait) -> bool:
    """Whether the very next step says something (T-11.21)."""
    match target_of(step.then):
        case None:
            next_step = flow.after(step.id)
        case To(step=step_id):
            next_step = flow.step(step_id)
        case ToFlow():
            next_step = None
        case str() as step_id:  # `end` is no step (T-12.3)
            next_step = flow.step(step_id)
    return isinstance(next_step, Say | Collect | Prompt)


def _wait_event(turn: Turn, run: Run, step: WaitEvent) -> None:
    at_ms = turn.due(turn.now_ms + parse_duration(step.up_to or DEFAULT_EVENT_WAIT))
    until = _park_at(turn, run, at_ms, event=step.event)
    run_line(turn, run, "wait", "waiting", "awaiting-event", key=key_of(run), detail=step.event, until=until)


def _park_at(turn: Turn, run: Run, at_ms: int, *, event: str | None = None) -> str:
    return park(turn, run, at_ms, partial(keys.wake_key, run.id, run.step_id or ""), event=event)


# --- code ---------------------------------------------------------------------------------------


def _if(turn: Turn, run: Run, flow: FlowPlan, step: If) -> None:
    target = target_of(step.then) if turn.holds(step.if_, run) else target_of(step.else_) or "end"
    run_line(turn, run, "if", "ok", key=key_of(run), next=label(target))
    follow(turn, run, flow, step, target)
