"""What is said to become of a run is what a real turn on the new flows does with it."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Agent, Message, Session, Wake
from falai.flow.comparing import Comparison, Fate, compare, fate
from falai.flow.definition import Collect, Prompt
from falai.flow.functions import Action, Tool
from falai.flow.handlers import ok
from falai.flow.plan import branches_of
from falai.model.port import ModelChunk, ModelReply, ModelRequest
from falai.session.dates import iso
from falai.session.model import Run
from falai.testing import Clock
from falai.turn.result import TurnResult
from strategies import ACTIONS, CONDITIONS, EVENTS, Dice, edited
from turn.conversation import DAY, Played, play


class QuietModel:
    """Judges nothing and says one sentence: what happens is the flows' doing."""

    name = "quiet"

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(structured={"message": "So be it."} if request.schema_name == "speak" else {})

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk("", "", reply)


def _agent(options: dict[str, Any], clock: Clock) -> Agent[Any]:
    return Agent(
        **options,
        model=QuietModel(),
        clock=clock,
        conditions=CONDITIONS,
        events=EVENTS,
        actions={
            name: Action(name, lambda _ctx, **_: ok(), parameters={"text": {"type": "string"}}) for name in ACTIONS
        },
        tools=[Tool("look", lambda _ctx: None), Tool("fetch", lambda _ctx: None)],
    )


def _edited(dice: Dice, options: dict[str, Any]) -> dict[str, Any]:
    """Several edits: what is taken out, what is worded anew, what is renamed, moved or made something else."""
    for _ in range(dice.number(1, 3)):
        if len(options["flows"]) > 1 or not dice.chance(0.3):
            options = edited(dice, options)
        if not options["flows"]:
            return options
        flow = dice.pick(options["flows"])
        step = dice.pick(flow["steps"]) if flow["steps"] else {}
        match dice.pick(["text", "move", "kind", "while", "wait", "nothing", "nothing"]):
            case "text" if "prompt" in step:
                step["prompt"] = "In other words."
            case "kind" if step:
                kept = {key: step[key] for key in ("id", "then") if key in step}
                step.clear()
                step.update(kept, say="Something else.")
            case "wait" if isinstance(step.get("wait"), str):
                step["wait"] = "3d"
            case "while":
                flow["while"] = {"known": [dice.pick(list(options["fields"]))]}
            case "move" if step:
                _move(dice, flow["steps"], step)
            case _:
                pass
    return options


def _move(dice: Dice, steps: list[dict[str, Any]], step: dict[str, Any]) -> None:
    """Puts the step elsewhere; a condition that leads back then has to say what else."""
    steps.remove(step)
    steps.insert(dice.number(0, len(steps)), step)
    for one in steps:
        if "if" in one:
            one.setdefault("else", "end")


def _alone(session: Session, run: Run) -> Session:
    """The session with this run only, so that the next turn is about it."""
    alone = copy.deepcopy(session)
    alone.runs = [next(one for one in alone.runs if one.id == run.id)]
    return alone


async def _moved(agent: Agent[Any], clock: Clock, session: Session, run: Run, at_ms: int) -> TurnResult:
    """The turn that moves the run: its wake, or a message."""
    clock.set(iso(at_ms))
    waits = run.status == "waiting" and run.waiting is not None and run.waiting.key is not None
    what = Wake(run.waiting.key or "") if waits and run.waiting else Message("hello", id="the next one")
    return await agent.turn(session.id, what, session=_alone(session, run), context={"vip": True, "who": "Bo"})


def _first_line(result: TurnResult, run: Run) -> Any:
    line = next((line for line in result.outcomes if line.run_id == run.id), None)
    return line and (line.kind, line.status, line.code, line.step_id, line.next)


def _code_of_end(result: TurnResult, run: Run) -> tuple[str | None, str | None]:
    """Why the run ended, and the code of its last line, if it did."""
    end = next((one.reason for one in result.ended if one.run.id == run.id), None)
    lines = [line.code for line in result.outcomes if line.run_id == run.id]
    return end, lines[-1] if lines and end else None


def _branches_by_code(run: Run, comparison: Comparison) -> bool:
    """Whether a branch may move the run before anything else is looked at."""
    flow = comparison.new.plans.get(run.flow_id)
    step = None if flow is None else flow.step(run.step_id)
    return isinstance(step, Collect | Prompt) and any(branch.when is None for branch in branches_of(step))


def _judge(told: Fate, run: Run, comparison: Comparison, result: TurnResult) -> None:
    end, code = _code_of_end(result, run)
    match told.kind:
        case "lost" if told.code == "premise-changed":
            assert end is not None
        case "lost":
            assert end == "skipped"
            # What code decides, and a silence that is broken, may end it before anybody looks for its step.
            assert code in {told.code, "premise-changed", "customer-replied"}
        case "ends":
            assert end is not None or _branches_by_code(run, comparison)
        case "restarts":
            assert end == "reset" or _branches_by_code(run, comparison)
        case _:
            assert code not in {"flow-gone", "step-gone"}


async def _check(played: Played, seed: int) -> int:
    """Judges what is said of each run of the session; gives how many there were."""
    options = copy.deepcopy(dict(played.options))
    changed = _edited(Dice((seed, "edits")), copy.deepcopy(options))
    clock = Clock()
    old, new = _agent(options, clock), _agent(changed, clock)
    comparison = compare(old.plan.flows.values(), new.plan.flows.values())
    at_ms = played.given.now_ms + 3 * DAY
    for run in played.after.runs:
        told = fate(run, comparison, played.after.data)
        result = await _moved(new, clock, played.after, run, at_ms)
        _judge(told, run, comparison, result)
        before, after = comparison.old.wire.get(run.flow_id), comparison.new.wire.get(run.flow_id)
        same_start = before and after and all(before.get(key) == after.get(key) for key in ("on", "while", "onEnd"))
        if told.kind == "goes-on" and same_start and run.step_id is not None:
            was = _first_line(await _moved(old, clock, played.after, run, at_ms), run)
            now = _first_line(result, run)
            assert was is None or now is None or was == now or "inline-delay" in {was[2], now[2]}
    return len(played.after.runs)


@pytest.mark.property
@given(st.integers(0, 10**9))
async def test_a_fate_is_what_the_turn_does(seed: int):
    """For random flows, edits and sessions: a run that is said to be lost, to end, to restart or to go on does so."""
    async for played in play(seed):
        if played.result is not None and played.options is played.world.options:
            await _check(replace(played), seed)
