"""Before and after the speaking call: the hooks of the step that speaks, the merges, what the model is told (D-95).

A text that stands for the utterance, a reply step's or a directive's `reply`, goes to the core as what
was said; after a `halt` it is said beside the step, which stays as it is (D-55, D-96).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from falai.classic.compiling import StepPart
from falai.classic.directive import BEFORE_MODEL, Directive, members_of
from falai.classic.hooks import all_hold, call_finalizer, call_hook
from falai.classic.phases import act_on, merged, without
from falai.classic.positions import apply_position
from falai.classic.response import ExecutedStep
from falai.classic.state import Emission, TurnState
from falai.classic.stepping import enter_flow, enter_hooks, freeze, stop_at
from falai.classic.templates import prepare, text_of
from falai.classic.toolcalls import bound, call_shorthand
from falai.classic.writing import notice_data, write
from falai.errors import ProviderError
from falai.flow.definition import Instruction
from falai.flow.plan import ToolPlan
from falai.model.inputs import Deferred, Spoken
from falai.session.jsontext import quoted
from falai.session.keys import idle_key
from falai.session.model import Run
from falai.turn.decide import write_values
from falai.turn.effects import Cue
from falai.turn.lines import key_of, kind_of, run_line
from falai.turn.state import Talk

__all__ = ["on_speaking", "on_spoken"]

_SILENT = Cue(silent=True)


async def on_speaking(state: TurnState) -> Cue:
    """How the speaker is to speak, after the second merge (D-63, D-95)."""
    turn = state.turn
    if state.silent:
        return _SILENT
    if turn.halted or state.left.halt is True:
        return _hush(state)
    state.phase = "step_preparation"
    talk = turn.talk
    state.acting = None if talk is None else talk.run
    if talk is not None:
        await _prepare_step(state, talk)
    found = merged([Emission("the first merge", state.left), *state.taken()])
    state.left, halted = Directive(), found.members.get("halt") is True
    moved = await act_on(state, found, state.current())
    if "aborted" in state.marks:
        return _SILENT
    if halted:
        if moved:
            freeze(state)
        elif talk is not None:
            stop_at(state, talk.run, kind_of(talk.step))
        return _hush(state)
    return Cue(again=True) if moved else await _cue(state, talk)


def _hush(state: TurnState) -> Cue:
    """Nobody speaks; a reply is said all the same (D-55)."""
    turn, reply = state.turn, members_of(state.left).get("reply")
    run = turn.asking()
    state.utterance = idle_key(turn.trigger_key) if run is None else key_of(run)
    state.silent = True
    state.marks.add("reply" if reply else "halt")
    if reply:
        turn.send(reply, "verbatim", state.utterance, run)
    return _SILENT


async def _prepare_step(state: TurnState, talk: Talk) -> None:
    part, flow = state.compiled.part(talk.run), state.compiled.flows.get(talk.run.flow_id)
    if part is None or flow is None:
        return
    if part.kind == "requires":
        await enter_flow(state, talk.run, flow)
    else:
        await enter_hooks(state, talk.run, flow, part)


# --- what the speaker is told -------------------------------------------------------------------


async def _cue(state: TurnState, talk: Talk | None) -> Cue:
    turn, left = state.turn, members_of(state.left)
    run = None if talk is None else talk.run
    part = None if run is None else state.compiled.part(run)
    state.utterance = idle_key(turn.trigger_key) if run is None else key_of(run)
    reply = left.get("reply")
    if reply is None and part is not None and part.kind == "reply" and run is not None:
        reply = await text_of(part.wire["reply"], state.scene(), run.input)
    if reply is not None:
        state.marks.add("reply")
        _note_speaker(state, run, part)
        return Cue(say=reply) if reply.strip() or talk is None else _say_nothing(state, talk)
    state.phase = "response_generation"
    instructions = await _instructions(state, talk, part)
    await prepare(
        [turn.plan.persona, talk and talk.step.prompt, *(rule.prompt for rule in instructions)], state.scene()
    )
    return Cue(
        sentences=tuple(left.get("appendPrompt", ())),
        tools=_tools(state, talk, part, left.get("injectTools", ())),
        instructions=instructions,
    )


def _say_nothing(state: TurnState, talk: Talk) -> Cue:
    """A blank reply counts as having spoken, and no message goes out."""
    run_line(state.turn, talk.run, kind_of(talk.step), "ok", key=key_of(talk.run), detail="blank")
    state.turn.finished.append(talk.run)
    return _SILENT


def _note_speaker(state: TurnState, run: Run | None, part: StepPart | None) -> None:
    if run is not None and run.step_id is not None:
        state.executed.append(ExecutedStep(part.own if part else run.step_id, run.flow_id))


async def _instructions(state: TurnState, talk: Talk | None, part: StepPart | None) -> tuple[Instruction, ...]:
    """The instructions of the scopes whose `if` holds; those of a flow in the core's form are the core's (D-40)."""
    found: list[Instruction] = []
    for scoped in state.compiled.instructions_for(talk and talk.flow.id, part.own if part else None):
        owner = f"the instruction {quoted(scoped.applied.id)}"
        if scoped.wire.get("enabled", True) and await all_hold(state, scoped.wire.get("if"), owner):
            found.append(scoped.instruction)
            state.applied.append(scoped.applied)
    if talk is not None and part is None:
        given: Any = [*(talk.flow.flow.instructions or ()), *(talk.step.instructions or ())]
        found += given
    return tuple(found)


def _tools(state: TurnState, talk: Talk | None, part: StepPart | None, injected: Any) -> tuple[ToolPlan, ...] | None:
    """The tools of the scopes, inner over outer, and the injected ones over all (D-47, D-54)."""
    if talk is not None and part is None and not injected:
        return None
    own = None if part is None or part.kind == "requires" else part.own
    tools = dict(state.compiled.tools_for(talk and talk.flow.id, own))
    tools |= {tool.plan.id: tool for tool in map(bound, injected)}
    return tuple(tool.plan for tool in tools.values())


# --- after the call -----------------------------------------------------------------------------


async def on_spoken(state: TurnState, outcome: Spoken | Deferred) -> Spoken | None:
    """What was said as it is to be applied: `finalize`, and the merge after the model; nothing after an `abort`.

    Raises ProviderError for a call that brought nothing (D-97), and what an invalid directive of a tool raised.
    """
    turn = state.turn
    if isinstance(outcome, Deferred):
        raise ProviderError("the model gave no words to say", kind="unknown")
    if state.wrong is not None:
        raise state.wrong
    state.phase = "finalize"
    write_values(turn, outcome.values, "speak")
    for slug, value in outcome.data.items():
        turn.write(slug, value, "tool")
    await notice_data(state)
    talk = turn.talk
    part = None if talk is None else state.compiled.part(talk.run)
    _note_speaker(state, talk and talk.run, part)
    if part is not None and part.kind != "requires":
        await _finalize(state, part)
    return await _after_model(state, outcome)


async def _finalize(state: TurnState, part: StepPart) -> None:
    """What a `finalize` raises is logged; the turn stands (D-81)."""
    emitter = f"hook:finalize:{part.own}"
    for call, given in ((call_shorthand, part.wire.get("finalize")), (call_hook, part.hooks.get("finalize"))):
        await call_finalizer(state, emitter, call, given)


async def _after_model(state: TurnState, outcome: Spoken) -> Spoken | None:
    found = merged(state.taken())
    without(found, BEFORE_MODEL)
    await write(state, found.members, found.emitters("dataUpdate"))
    if found.position is not None and "abort" in found.members:
        await apply_position(state, found.position, state.current())
        return None
    state.after_model = found.position
    reply = found.members.get("reply")
    if reply is None and not outcome.verbatim:
        return replace(outcome, values={}, data={})
    state.marks.add("reply")
    return replace(outcome, message=reply or outcome.message, verbatim=True, values={}, data={})
