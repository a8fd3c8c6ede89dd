"""Small random agents whose flows are full of faults, and random conversations with them.

The turn is the real one, the model answers at random. What a run did is read from its visits, its
lines and the messages that went out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from falai import Action, Agent, Event, Message, ProviderError, Session, Start, Tool, Wake
from falai.flow.analysis import analyse
from falai.flow.places import Notice
from falai.flow.registries import Registries
from falai.session.model import Run
from falai.testing import Clock
from falai.turn.result import OutMessage
from strategies import Dice
from turn.random_model import RandomModel

__all__ = ["Talks", "talk_with", "talks"]

FLOWS = ("f", "g", "h")
STEPS = ("a", "b", "c", "d", "e")
FIELDS: Mapping[str, Any] = {
    "name": {"type": "string"},
    "agreed": {"type": "boolean"},
    "plan": {"type": "string", "enum": ["basic", "pro"], "extract": "asked"},
    "note": {"type": "string", "extract": "asked"},
}
Spec = dict[str, Any]


@dataclass
class Talks:
    """What was found in an agent, and what its runs did in some conversations."""

    flows: Sequence[Spec]
    found: Sequence[Notice]
    runs: dict[tuple[int, str], Run] = field(default_factory=dict[tuple[int, str], Run])
    reasons: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    messages: list[tuple[str, OutMessage]] = field(default_factory=list[tuple[str, OutMessage]])
    """The messages of runs, each with its flow; without those of talks that began with data."""


async def talks(seed: int) -> Talks:
    """A random agent, analysed, and a few conversations with it."""
    dice = Dice((seed, "agent"))
    flows = [_flow(dice, flow_id) for flow_id in FLOWS[: dice.number(1, 3)]]
    actions: Spec = {"act": {}} if any("do" in step for flow in flows for step in flow["steps"]) else {}
    acting = [flow for flow in flows if any("do" in step for step in flow["steps"])]
    return await talk_with(
        seed,
        {
            "flows": flows,
            "fields": FIELDS,
            "actions": actions,
            "events": {"paid": {}},
            "moves": _moves(dice, acting) if actions and dice.chance(0.5) else [],
            "tool_moves": _moves(dice, flows) if dice.chance(0.1) else [],
        },
    )


async def talk_with(seed: int, options: Mapping[str, Any], count: int = 3) -> Talks:
    """Conversations with an agent; its actions, by name, each with its parameters, do what the dice say."""
    dice = Dice((seed, "host"))
    clock, model = Clock(), RandomModel()
    moves, tool_moves = options.get("moves", []), options.get("tool_moves", [])
    agent: Agent[Any] = Agent(
        name="Ana",
        model=model,
        clock=clock,
        actions=[
            Action(name, _Act(dice, moves), parameters=given, moves=moves) for name, given in options["actions"].items()
        ],
        tools=[Tool("look", _Look(dice, tool_moves), parameters={"type": "object"}, moves=tool_moves)]
        if tool_moves
        else [],
        conditions={"flag": lambda view, _argument: view.context["flag"]},
        idle=dice.pick(["silent", None]),
        **{key: options[key] for key in ("flows", "fields", "events")},
    )
    said = Talks(options["flows"], analyse(agent.plan.flows, Registries.of(agent.plan)))
    for number in range(count):
        await _talk(Dice((seed, number)), agent, (clock, model), said, number)
    return said


class _Act:
    """An action that writes what it likes."""

    def __init__(self, dice: Dice, moves: Sequence[Any]) -> None:
        self.dice = dice
        self.moves = moves

    def __call__(self, ctx: Any, **_parameters: Any) -> Any:
        if self.dice.chance(0.5):
            ctx.set({self.dice.pick(list(FIELDS)): self.dice.pick([None, "set", True, "pro"])})
        if self.moves and self.dice.chance(0.5):
            return {"ok": True, "move": _made(self.dice, self.moves)}
        return self.dice.pick(
            [{"ok": True}, {"ok": True}, {"failed": "no"}, {"skipped": "x"}, {"defer": "1h", "detail": "x"}]
        )


class _Look:
    """A tool that moves as often as not."""

    def __init__(self, dice: Dice, moves: Sequence[Any]) -> None:
        self.dice = dice
        self.moves = moves

    def __call__(self, _ctx: Any, **_arguments: Any) -> Any:
        return {"value": 1, "move": _made(self.dice, self.moves)} if self.dice.chance(0.5) else None


def _moves(dice: Dice, flows: Sequence[Spec]) -> list[Any]:
    """Moves that code may make: steps that each of these flows has, and what every flow allows."""
    shared = [step_id for step_id in STEPS if all(step_id in (s["id"] for s in flow["steps"]) for flow in flows)]
    steps: list[Any] = dice.some(shared)[:2]
    return steps + dice.some(["end", {"reset": True}, {"flow": flows[0]["id"]}])[:2]


def _made(dice: Dice, moves: Sequence[Any]) -> Any:
    move = dice.pick(moves)
    is_step = isinstance(move, str) and move != "end"
    return {"step": move, "clear": dice.some(list(FIELDS))[:2]} if is_step and dice.chance(0.5) else move


async def _talk(dice: Dice, agent: Agent[Any], around: tuple[Clock, RandomModel], said: Talks, number: int) -> None:
    clock, model = around
    session: Session | None = None
    seeded = dice.chance(0.3)
    if seeded:
        session = Session.fresh("s1")
        session.data = {slug: dice.pick(["x", "pro", True]) for slug in dice.some(list(FIELDS))}
    keys: list[str] = []
    for turn in range(dice.number(4, 16)):
        clock.advance(timedelta(minutes=dice.pick([0, 1, 90, 3000])))
        model.begin(Dice((dice.pick(range(10**9)), turn)))
        host: Spec = {"context": {"flag": dice.chance(0.5)}}
        if dice.chance(0.1):
            host["silenced"] = dice.pick(["held", {"reason": "held", "skip": True}])
        try:
            result = await agent.turn("s1", _input(dice, keys, turn), session=session, **host)
        except (ProviderError, OSError, ValueError):  # the model failed to understand: nothing has happened
            continue
        session = result.session
        keys += [wake.key for wake in result.schedule]
        for run in [*session.runs, *(ended.run for ended in result.ended)]:
            said.runs[number, run.id] = run
        said.reasons |= {(number, ended.run.id): ended.reason for ended in result.ended}
        flow_of = {run.id: run.flow_id for run in said.runs.values()}
        said.messages += [(flow_of[m.run_id], m) for m in result.messages if m.run_id is not None and not seeded]


def _input(dice: Dice, keys: list[str], turn: int) -> Any:
    match dice.weighted({"message": 8, "wake": 5 if keys else 0, "event": 2, "start": 4}):
        case "message":
            return Message("hello", f"m{turn}")
        case "wake":
            return Wake(dice.pick(keys[-4:]))
        case "event":
            return Event("paid", f"e{turn}")
        case _:
            return Start(dice.pick(FLOWS), f"k{turn}")


# --- flows ---------------------------------------------------------------------------------------


def _flow(dice: Dice, flow_id: str) -> Spec:
    ids = STEPS[: dice.number(1, 5)]
    flow: Spec = {"id": flow_id, "name": flow_id, "steps": [_step(dice, step_id, ids) for step_id in ids]}
    flow["on"] = [_trigger(dice) for _ in range(dice.number(0, 2))]
    flow["onEnd"] = dice.weighted({"end": 6, "stay": 1.5, "reset": 1.5})
    if dice.chance(0.3):
        flow["clearOnStart"] = dice.some(list(FIELDS))[:2]
    if dice.chance(0.1):
        flow["while"] = {"known": [dice.pick(flow.get("clearOnStart") or list(FIELDS))]}
    if dice.chance(0.1):
        flow["anchor"] = "deal"
    return flow


def _trigger(dice: Dice) -> Spec:
    kinds: list[Spec] = [{"message": ["x"]}, {"message": []}, {"mention": ["x"]}, {"event": "paid"}, {"silence": "1h"}]
    trigger = dict(dice.pick(kinds))
    if dice.chance(0.5):
        trigger["repeat"] = "always"
    return trigger | ({"if": _condition(dice)} if dice.chance(0.2) else {})


def _condition(dice: Dice) -> Spec:
    slug = dice.pick(list(FIELDS))
    values = {"name": "Ana", "agreed": dice.chance(0.5), "plan": dice.pick(["basic", "pro"]), "note": "set"}
    if dice.chance(0.5):  # one field again and again: that decides forks
        return {"known": ["name"]}
    match dice.weighted({"known": 5, "equals": 4, "both": 1, "flag": 1, "always": 0.5, "gate": 0.5}):
        case "known":
            return {"known": dice.some(list(FIELDS), 1)[:2]}
        case "equals":
            return {"equals": {slug: values[slug]}}
        case "both":
            return {"known": [dice.pick(list(FIELDS))], "equals": {slug: values[slug]}}
        case "flag":
            return {"flag": True}
        case "gate":
            return {"silenced": dice.chance(0.5)}
        case _:
            return {}


def _step(dice: Dice, step_id: str, ids: Sequence[str]) -> Spec:
    step: Spec = {"id": step_id, **_body(dice, ids)}
    if dice.chance(0.5):
        step["then"] = _target(dice, ids)
    if "if" in step:
        step["else"] = _target(dice, ids)
    return step


def _body(dice: Dice, ids: Sequence[str]) -> Spec:
    named = f"{{{{data.{dice.pick([*FIELDS, 'ghost'])}}}}}"
    match dice.weighted({"collect": 5, "if": 6, "say": 5, "prompt": 2, "wait": 2, "event": 1, "do": 0.7}):
        case "collect":
            step: Spec = {"collect": dice.some(list(FIELDS), 1)[:2], "prompt": "Ask.", "maxAsks": dice.number(1, 2)}
            step |= {"question": f"What, {named}?"} if dice.chance(0.3) else {}
            return step | ({"branches": list(_branches(dice, ids))} if dice.chance(0.4) else {})
        case "if":
            return {"if": _condition(dice)}
        case "say":
            return {"say": f"So {named}.", "once": dice.chance(0.2)}
        case "prompt":
            return {"prompt": "Talk."}
        case "wait":
            step = {"wait": dice.pick(["5s", "1h"])} | ({"else": _target(dice, ids)} if dice.chance(0.5) else {})
            return step | (
                {"branches": [{"if": _condition(dice), "then": _target(dice, ids)}]} if dice.chance(0.3) else {}
            )
        case "event":
            return {"wait": {"event": "paid", "upTo": "1h"}, "else": _target(dice, ids)}
        case _:
            return {"do": "act", **({"onFail": _target(dice, ids)} if dice.chance(0.5) else {})}


def _branches(dice: Dice, ids: Sequence[str]) -> Iterator[Spec]:
    for _ in range(dice.number(1, 2)):
        tests: Spec = dice.pick([{"when": "out"}, {"if": _condition(dice)}, {"when": "out", "if": _condition(dice)}])
        yield {**tests, "then": _target(dice, ids)}


def _target(dice: Dice, ids: Sequence[str]) -> Any:
    match dice.weighted({"step": 6, "clear": 2, "end": 1.5, "flow": 1}):
        case "step":
            return dice.pick(ids)
        case "clear":
            return {"step": dice.pick(ids), "clear": dice.some(list(FIELDS))[:2]}
        case "flow":
            return {"flow": dice.pick(FLOWS)}
        case _:
            return "end"
