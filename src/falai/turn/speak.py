"""Phase 6: who speaks, and with what (T-14, T-16.3)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, cast

from falai.flow.definition import Instruction
from falai.flow.plan import ToolPlan
from falai.model.inputs import Deferred, SpeakInput, Spoken
from falai.model.speak import speak
from falai.model.tasks import Said
from falai.session.inputs import Message
from falai.session.model import Run
from falai.turn.effects import Cue, Effect, Reached
from falai.turn.history import compacted_history
from falai.turn.lines import failed_attempts, key_of, kind_of, run_line
from falai.turn.run import hand_down
from falai.turn.state import Talk, Turn
from falai.turn.talk import pending, question_due, send_question

__all__ = ["Reply", "speak_phase"]

_UNCUED = Cue()


class Reply:
    """What came of the speaking call, and for whom it was made. Without `talk`, the idle speaker."""

    __slots__ = ("answers_first", "outcome", "talk")

    def __init__(self, talk: Talk | None, outcome: Spoken | Deferred, *, answers_first: bool) -> None:
        self.talk = talk
        self.outcome = outcome
        self.answers_first = answers_first
        """The reply only answers; the step's fixed question follows it (`fixedAfter`)."""


def speak_phase(turn: Turn) -> Generator[Effect, Any, Reply | None]:
    """Lets the one speaker of this turn phrase its reply, if there is one (T-14.1 to T-14.6)."""
    if turn.gate is not None:
        return None
    cue = _UNCUED if turn.plan.listener is None else (yield from _cue(turn))
    if cue.silent:
        return None
    talk = turn.talk
    if cue.say is not None:
        return Reply(talk, _verbatim(cue.say), answers_first=False)
    if talk is None:
        return (yield from _idle(turn, cue)) if _idle_speaks(turn) else None
    if turn.is_message and any(run is not talk.run for run in turn.spoke_by):
        run_line(turn, talk.run, kind_of(talk.step), "skipped", "another-reply", key=key_of(talk.run))
        return None
    due = question_due(turn, talk.run, talk.step)
    if due and not _answers_first(turn, talk):
        send_question(turn, talk.run, talk.step)
        return None
    return (yield from _reply(turn, talk, cue, answers_first=due))


def _cue(turn: Turn) -> Generator[Effect, Any, Cue]:
    """What the listener says of the speaker; it may move runs, and then somebody else may speak."""
    while True:
        cue: Cue = yield Reached("speaking", turn)
        if not cue.again:
            return cue
        yield from hand_down(turn)


def _verbatim(text: str) -> Spoken:
    return Spoken(message=text, values={}, data={}, llm_calls=0, usage=None, verbatim=True)


def _call(turn: Turn, given: SpeakInput) -> Generator[Effect, Any, Spoken | Deferred | None]:
    return speak(turn.plan, given) if turn.plan.listener is None else _ask_heard(turn, given)


def _ask_heard(turn: Turn, given: SpeakInput) -> Generator[Effect, Any, Spoken | Deferred | None]:
    """The speaking call, and what the listener makes of its outcome."""
    outcome = yield from speak(turn.plan, given)
    heard: Spoken | Deferred | None = yield Reached("spoken", turn, outcome=outcome)
    if heard is None:
        turn.spend(outcome.llm_calls, outcome.usage)  # nothing is applied, and it was paid for
    return heard


def _answers_first(turn: Turn, talk: Talk) -> bool:
    """Whether a reply comes before the fixed question (T-16.3)."""
    return turn.judged.asks is not False if turn.is_message else _is_retry(turn, talk)


def _is_retry(turn: Turn, talk: Talk) -> bool:
    return not turn.is_message and failed_attempts(talk.run, talk.step.id) > 0


def _reply(turn: Turn, talk: Talk, cue: Cue, *, answers_first: bool) -> Generator[Effect, Any, Reply | None]:
    run, flow, step = talk
    given = yield from _given(
        turn,
        talk,
        cue,
        instructions=[*turn.plan.instructions, *(flow.flow.instructions or ()), *(step.instructions or ())],
        tools=step.tools if step.tools is not None else flow.flow.tools,
        pending=() if answers_first else pending(run, step, turn.session.data),
        fixed_after=turn.render(getattr(step, "question", None) or "", run) if answers_first else None,
    )
    outcome = yield from _call(turn, given)
    return None if outcome is None else Reply(talk, outcome, answers_first=answers_first)


# --- the idle speaker ---------------------------------------------------------------------------


def _idle_speaks(turn: Turn) -> bool:
    """T-14.4."""
    return turn.is_message and turn.plan.idle is not None and turn.asking() is None and not turn.spoke_by


def _idle(turn: Turn, cue: Cue) -> Generator[Effect, Any, Reply | None]:
    idle = turn.plan.idle
    assert idle is not None
    instructions = [*turn.plan.instructions, *idle.instructions]
    given = yield from _given(
        turn, None, cue, instructions=instructions, tools=idle.tools, pending=(), fixed_after=None
    )
    outcome = yield from _call(turn, given)
    return None if outcome is None else Reply(None, outcome, answers_first=False)


# --- what the speaker is told -------------------------------------------------------------------


def _given(
    turn: Turn,
    talk: Talk | None,
    cue: Cue,
    *,
    instructions: Sequence[Any],
    tools: Sequence[str] | None,
    pending: tuple[str, ...],
    fixed_after: str | None,
) -> Generator[Effect, Any, SpeakInput]:
    history = yield from compacted_history(turn)
    instructions = instructions if cue.instructions is None else cue.instructions
    run = None if talk is None else talk.run
    return SpeakInput(
        run=run,
        flow=None if talk is None else talk.flow,
        step=None if talk is None else talk.step,
        pending=pending,
        fixed_after=fixed_after,
        kind=turn.kind,
        text=turn.input.text if isinstance(turn.input, Message) else None,
        retry=talk is not None and _is_retry(turn, talk),
        context=turn.given.context,
        data=turn.session.data,
        history=history,
        now_ms=turn.now_ms,
        said=tuple(Said(m.text, (m.media or {}).get("slug")) for m in turn.messages),
        instructions=_in_force(turn, run, cast(Sequence[Instruction], instructions)),
        tools=_allowed(turn.plan.tools, tools) if cue.tools is None else cue.tools,
        refused=tuple(turn.refused),
        corrected=tuple(turn.corrected),
        acted=tuple(turn.acted),
        sentences=cue.sentences,
    )


def _in_force(turn: Turn, run: Run | None, instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Those whose `if` holds (F-15.4)."""
    return tuple(rule for rule in instructions if turn.holds(rule.if_, run))


def _allowed(tools: tuple[ToolPlan, ...], ids: Sequence[str] | None) -> tuple[ToolPlan, ...]:
    """The agent's tools, in its order, restricted to a list (F-14.5)."""
    return tools if ids is None else tuple(tool for tool in tools if tool.id in ids)
