"""Phase 7: the reply is applied, the run moves on, silences are armed (T-15)."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, Literal

from falai.flow.definition import Move, ToFlow
from falai.flow.plan import target_of
from falai.model.inputs import Deferred, Spoken
from falai.session import keys
from falai.turn.advance import end_run, park, stay_at
from falai.turn.decide import write_values
from falai.turn.effects import Effect, Reached
from falai.turn.follow import begin, follow
from falai.turn.lines import failed_attempts, key_of, kind_of, label, run_line, turn_line
from falai.turn.run import drain, resume
from falai.turn.silence import arm_silences
from falai.turn.speak import Reply
from falai.turn.state import Talk, Turn
from falai.turn.talk import count_asks, max_asks, pending, question_due, report_given_up, send_question

__all__ = ["settle"]

RETRY_LADDER_MS = (60_000, 300_000, 900_000, 3_600_000, 21_600_000)


def settle(turn: Turn, reply: Reply | None) -> Generator[Effect, Any, None]:
    """Applies the reply, if anybody spoke; then what follows in every turn (T-15.11)."""
    turn.phase = "settle"
    turn.speak_done, turn.talk = True, None
    if reply is not None:
        turn.spend(reply.outcome.llm_calls, reply.outcome.usage)
        _apply(turn, reply)
        yield from drain(turn)
    while turn.plan.listener is not None and (yield Reached("settled", turn)):
        yield from drain(turn)
    if turn.spoke:
        turn.session.last_assistant_at = turn.now
    resume(turn)
    arm_silences(turn)


def _apply(turn: Turn, reply: Reply) -> None:
    match reply.talk, reply.outcome:
        case None, Spoken() as spoken:
            _idle_spoke(turn, spoken)
        case None, Deferred() as deferred:
            turn_line(turn, "idle", "deferred", deferred.code, llm_calls=deferred.llm_calls)
        case Talk() as talk, Spoken() as spoken:
            _step_spoke(turn, talk, spoken, answers_first=reply.answers_first)
        case Talk() as talk, Deferred() as deferred:
            _try_again_later(turn, talk, deferred)


def _idle_spoke(turn: Turn, spoken: Spoken) -> None:
    """T-15.16. A tool may start a flow, which goes on from here."""
    key = keys.idle_key(turn.trigger_key)
    turn.send(spoken.message, _kind(spoken), key)
    _store_tool_data(turn, spoken)
    next_ = label(spoken.move)
    turn_line(turn, "idle", "ok", key=key, detail=spoken.by, next=next_, llm_calls=spoken.llm_calls)
    if isinstance(spoken.move, ToFlow):
        begin(turn, spoken.move)


def _step_spoke(turn: Turn, talk: Talk, spoken: Spoken, *, answers_first: bool) -> None:
    """T-15.3 to T-15.10. A tool's move takes the place of what would come after the reply."""
    run, flow, step = talk
    key, move = key_of(run), spoken.move
    turn.send(spoken.message, _kind(spoken), key, run)
    write_values(turn, spoken.values, "speak")
    _store_tool_data(turn, spoken)
    next_ = label(move, flow.id)
    run_line(turn, run, kind_of(step), "ok", key=key, detail=spoken.by, next=next_, llm_calls=spoken.llm_calls)
    left = pending(run, step, turn.session.data)
    if not answers_first:
        count_asks(run, left)
    elif move is None and question_due(turn, run, step):
        send_question(turn, run, step)
    if move is not None:
        _go_on(turn, talk, move)
    elif run.staying:
        _stay_on(turn, talk, left)
    elif not left:
        report_given_up(turn, run, step)
        if flow.id in turn.plan.driven:
            turn.finished.append(run)
        else:
            _go_on(turn, talk, target_of(step.then))


def _kind(spoken: Spoken) -> Literal["ai", "verbatim"]:
    return "verbatim" if spoken.verbatim else "ai"


def _store_tool_data(turn: Turn, spoken: Spoken) -> None:
    for field, value in spoken.data.items():
        turn.write(field, value, "tool")


def _stay_on(turn: Turn, talk: Talk, asked: tuple[str, ...]) -> None:
    """A staying run answers every message anew (T-15.8)."""
    run, _, step = talk
    for field in asked:
        if run.asked[field] == max_asks(step):
            run_line(turn, run, "collect", "skipped", "max-asks", key=key_of(run), detail=field)
    stay_at(run, step.id)


def _go_on(turn: Turn, talk: Talk, target: Move | None) -> None:
    """Nothing is left to ask (T-15.10), or a tool moves the run."""
    run, flow, step = talk
    run.status = "running"
    follow(turn, run, flow, step, target)
    if turn.is_live(run) and run.status == "running":
        turn.queue.append(run)


def _try_again_later(turn: Turn, talk: Talk, deferred: Deferred) -> None:
    """The reply failed: the step is tried again, up to five times (T-15.14)."""
    run, _, step = talk
    attempt = failed_attempts(run, step.id)
    if not deferred.retryable or attempt >= len(RETRY_LADDER_MS):
        run_line(turn, run, kind_of(step), "failed", deferred.code, key=key_of(run))
        end_run(turn, run, "failed")
        return
    at_ms = turn.due(max(turn.now_ms + RETRY_LADDER_MS[attempt], deferred.reset_at_ms or 0))
    wake = partial(keys.retry_wake_key, run.id, step.id, run.visits.get(step.id, 0))
    until = park(turn, run, at_ms, wake, keeps_staying=True)
    run_line(turn, run, kind_of(step), "deferred", deferred.code, key=key_of(run), until=until)
