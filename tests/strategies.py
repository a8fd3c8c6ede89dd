"""Random agents, drawn from a seed: the same seed gives the same agent on every machine.

An agent is drawn as the options that `Agent` takes, its flows in their wire form, because a
definition that is data can be edited: `edited` takes a flow or a step out of a drawn agent, as
authors do under live sessions (F-6.11). Only agents that the checks accept are drawn.

The names are few, so that flows chain into each other, share fields and meet each other's claims.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

__all__ = [
    "ACTIONS", "CONDITIONS", "EVENTS", "FLOW_IDS", "STEP_IDS", "Dice", "clock_bound", "draw_agent", "draw_fields", "edited",
    "fixed_truth",
]  # fmt: skip

T = TypeVar("T")
Spec = dict[str, Any]

FLOW_IDS = ("a", "b:x", "a:s1")
STEP_IDS = ("s1", "s2", "s3", "s4")
ACTIONS = ("book", "tell", "pay")
EVENTS = {"in": {"direction": "inbound"}, "out": {"direction": "outbound"}, "plain": {}}
TOOLS = ("look", "fetch")


class Dice:
    """A random number generator with the few throws that are needed here."""

    def __init__(self, seed: object) -> None:
        self._random = Random(repr(seed))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def some(self, options: Sequence[T], at_least: int = 0) -> list[T]:
        """Some of the options, in a random order."""
        return self._random.sample(options, self.number(min(at_least, len(options)), len(options)))

    def weighted(self, options: Mapping[T, float]) -> T:
        return self._random.choices(list(options), weights=list(options.values()))[0]


# --- conditions ---------------------------------------------------------------------------------


def _breaks(view: Any) -> bool:
    if (view.context or {}).get("boom"):
        raise ArithmeticError("a predicate broke")
    return True


CONDITIONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "never": lambda _view, _argument: False,
    "flag": lambda view, argument: bool((view.context or {}).get(argument)),
    "breaks": lambda view, _argument: _breaks(view),
}


def draw_condition(dice: Dice, fields: Sequence[str]) -> Any:
    kind = dice.weighted(
        {"true": 4, "never": 1.5, "flag": 4, "known": 3, "equals": 1, "silenced": 1, "function": 1, "breaks": 0.3}
    )
    match kind:
        case "known":
            return {"known": dice.some(fields, 1)[:2]}
        case "equals":
            return {"equals": {"plan": dice.pick(["basic", "pro"])}}
        case "function":
            return lambda view: bool(view.data.get("name"))
        case "true":
            return {}
        case "flag":
            return {"flag": "vip"}
        case "silenced":
            return {"silenced": dice.chance(0.5)}
        case _:
            return {kind: True}


def fixed_truth(condition: Any, context: Mapping[str, Any] | None, *, silenced: bool) -> bool | None:
    """Whether a drawn condition holds, when that cannot change within a turn; else `None`."""
    if callable(condition) or "known" in condition or "equals" in condition or "breaks" in condition:
        return None
    if "silenced" in condition:
        return bool(condition["silenced"] == silenced)
    if "flag" in condition:
        return bool((context or {}).get("vip"))
    return "never" not in condition


# --- fields -------------------------------------------------------------------------------------


def draw_fields(dice: Dice) -> Spec:
    fields: Spec = {
        "name": {"type": "string", "ask": "Ask for the name, {{context.who}}."},
        "size": {"type": "integer"},
        "price": {"type": "number"},
        "sure": {"type": "boolean"},
        "plan": {"type": "string", "enum": ["basic", "pro"]},
        "full note": {"type": "string"},
    }
    for field in fields.values():
        if dice.chance(0.25):
            field["extract"] = dice.pick(["anywhere", "asked"])
        if dice.chance(0.3):
            field["correct"] = True
    return fields


# --- flows --------------------------------------------------------------------------------------


class _Flows:
    """Draws flows that fit together: they know each other's names, and the fields."""

    def __init__(self, dice: Dice, fields: Sequence[str], ids: Sequence[str]) -> None:
        self.dice = dice
        self.fields = fields
        self.ids = ids

    def flow(self, flow_id: str) -> Spec:
        dice = self.dice
        flow: Spec = {"id": flow_id, "name": flow_id.upper()}
        steps = STEP_IDS[: dice.number(1, len(STEP_IDS))]
        flow["steps"] = [self.step(step_id, index, steps) for index, step_id in enumerate(steps)]
        triggers = dice.weighted({0: 1, 1: 6, 2: 3, 3: 1})
        flow["on"] = [self.trigger() for _ in range(triggers)]
        flow["onEnd"] = dice.weighted({"end": 4, "stay": 3, "reset": 2})
        if triggers == 0 and dice.chance(0.2):
            flow["steps"] = []
        self._maybe(flow, 0.2, "while", lambda: draw_condition(dice, self.fields))
        self._maybe(flow, 0.25, "anchor", lambda: dice.pick(["deal", "session"]))
        self._maybe(flow, 0.25, "clearOnStart", lambda: dice.some(self.fields)[:2])
        self._maybe(flow, 0.2, "collect", lambda: dice.some(self.fields)[:2])
        self._maybe(flow, 0.1, "tools", lambda: dice.some(TOOLS))
        return flow

    def _maybe(self, into: Spec, probability: float, key: str, value: Callable[[], Any]) -> None:
        if self.dice.chance(probability):
            into[key] = value()

    # --- triggers

    def trigger(self) -> Spec:
        dice = self.dice
        kind = dice.weighted({"message": 4, "any": 2, "mention": 2, "always mention": 0.7, "silence": 2, "event": 3})
        trigger = self._trigger_body(kind)
        self._maybe(trigger, 0.25, "if", lambda: draw_condition(dice, self.fields))
        self._maybe(trigger, 0.7, "repeat", lambda: dice.pick(["once", "always", "always", {"cooldown": "1h"}]))
        return trigger

    def _trigger_body(self, kind: str) -> Spec:
        dice = self.dice
        match kind:
            case "message":
                return {"message": ["wants this", "!only says thanks"]}
            case "any":
                return {"message": []}
            case "mention":
                extract = {"extract": {"what": {"type": "string"}}} if dice.chance(0.5) else {}
                return {"mention": ["touches on this"], **extract}
            case "silence":
                return {"silence": dice.pick(["30s", "1h", "1d"]), "businessHours": dice.chance(0.3)}
            case "event":
                trigger: Spec = {"event": dice.pick(list(EVENTS)), "businessHours": dice.chance(0.3)}
                self._maybe(trigger, 0.4, "after", lambda: dice.pick(["0s", "1h"]))
                return trigger
            case _:
                return {"mention": []}

    # --- steps

    def step(self, step_id: str, index: int, steps: Sequence[str]) -> Spec:
        kind = self.dice.weighted({"prompt": 3, "collect": 5, "say": 3, "do": 3, "wait": 3, "waitEvent": 1.5, "if": 2})
        step: Spec = {"id": step_id, **self._body(kind, steps)}
        self._maybe(step, 0.35, "then", lambda: self.target(steps))
        if kind == "if" and _is_back(step.get("then"), index, steps):
            step.setdefault("else", "end")
        return step

    def _body(self, kind: str, steps: Sequence[str]) -> Spec:
        match kind:
            case "prompt":
                return {"prompt": "Tell {{data.name}} about it.", **self._talk(steps)}
            case "collect":
                return self._collect(steps)
            case "say":
                return self._say()
            case "do":
                return self._do(steps)
            case "wait":
                return self._wait(steps)
            case "waitEvent":
                wait = {"event": self.dice.pick(list(EVENTS)), "upTo": self.dice.pick(["0s", "2h"])}
                return {"wait": wait, **self._else(steps)}
            case _:
                return {"if": draw_condition(self.dice, self.fields), **self._else(steps)}

    def _collect(self, steps: Sequence[str]) -> Spec:
        step: Spec = {"collect": self.dice.some(self.fields, 1)[:3], **self._talk(steps)}
        self._maybe(step, 0.3, "question", lambda: "What about it, {{data.name}}?")
        self._maybe(step, 0.4, "maxAsks", lambda: self.dice.number(1, 2))
        self._maybe(step, 0.1, "collect", list)
        if not step["collect"]:
            step.pop("question", None)
        return step

    def _talk(self, steps: Sequence[str]) -> Spec:
        talk: Spec = {}
        self._maybe(talk, 0.4, "branches", lambda: [self._branch(steps) for _ in range(self.dice.number(1, 3))])
        self._maybe(talk, 0.1, "tools", lambda: self.dice.some(TOOLS))
        rule = {"prompt": "Be brief.", "if": draw_condition(self.dice, self.fields)}
        self._maybe(talk, 0.15, "instructions", lambda: [rule])
        return talk

    def _branch(self, steps: Sequence[str]) -> Spec:
        branch: Spec = {"then": self.target(steps)}
        kind = self.dice.pick(["when", "if", "both"])
        if kind != "if":
            branch["when"] = "wants out"
        if kind != "when":
            branch["if"] = draw_condition(self.dice, self.fields)
        return branch

    def _say(self) -> Spec:
        step: Spec = {"say": self.dice.pick(["Hi {{data.name}}.", "Done.", ""])}
        self._maybe(step, 0.3, "once", lambda: True)
        self._maybe(step, 0.2, "media", lambda: {"slug": "map"})
        return step

    def _do(self, steps: Sequence[str]) -> Spec:
        step: Spec = {"do": self.dice.pick(ACTIONS), "with": {"text": "for {{data.name}}"}}
        self._maybe(step, 0.3, "onFail", lambda: self.target(steps))
        return step

    def _wait(self, steps: Sequence[str]) -> Spec:
        step: Spec = {"wait": self.dice.pick(["0s", "3s", "10s", "1h", "1d"]), **self._else(steps)}
        self._maybe(step, 0.2, "businessHours", lambda: True)
        code = {"if": draw_condition(self.dice, self.fields), "then": self.target(steps)}
        self._maybe(step, 0.2, "branches", lambda: [code])
        return step

    def _else(self, steps: Sequence[str]) -> Spec:
        return {"else": self.target(steps)} if self.dice.chance(0.5) else {}

    def target(self, steps: Sequence[str]) -> Any:
        dice = self.dice
        match dice.weighted({"step": 5, "clear": 2, "end": 2, "flow": 2, "template": 1}):
            case "step":
                return dice.pick(steps)
            case "clear":
                return {"step": dice.pick(steps), "clear": dice.some(self.fields)[:2]}
            case "flow":
                given = {"input": {"from": "the move"}} if dice.chance(0.3) else {}
                return {"flow": dice.pick([*self.ids, *self.ids, "gone"]), **given}
            case "template":
                return {"flow": "{{context.flow}}"}
            case _:
                return "end"


def _is_back(target: Any, index: int, steps: Sequence[str]) -> bool:
    """Whether a target leads to this step or one before it (S18)."""
    step = target.get("step") if isinstance(target, dict) else target
    return step in steps[: index + 1]


# --- agents -------------------------------------------------------------------------------------


def clock_bound(dice: Dice) -> Callable[[datetime, Any], datetime] | None:
    """Business hours: none, always open, an hour late, or answering earlier than it may (F-11.5)."""
    shift = dice.pick([None, None, 0, 1, -1])
    return None if shift is None else lambda at, _context: at + timedelta(hours=shift)


def draw_agent(dice: Dice) -> Spec:
    """The options of an agent, without its model, its clock and its handlers."""
    fields = draw_fields(dice)
    ids = FLOW_IDS[: dice.number(2, 3)]
    flows = _Flows(dice, list(fields), ids)
    options: Spec = {
        "name": "Ana",
        "persona": "Warm. Speaks with {{context.who}}.",
        "fields": fields,
        "flows": [flows.flow(flow_id) for flow_id in ids],
        "idle": dice.weighted({"silent": 2, None: 3}),
        "business_hours": clock_bound(dice),
        "max_tool_loops": dice.number(0, 2),
        "instructions": [{"prompt": "Never lie.", "kind": "must"}],
    }
    if dice.chance(0.15):
        options["compaction"] = {"maxTokens": 20, "preserveRecentCount": 2}
    return options


def edited(dice: Dice, options: Spec) -> Spec:
    """The agent after its author took something out: a flow, a step, or what comes at a flow's end."""
    changed = {**options, "flows": copy.deepcopy(options["flows"])}
    flows = changed["flows"]
    flow = dice.pick(flows)
    match dice.pick(["flow", "step", "onEnd", "triggers"]):
        case "flow":
            flows.remove(flow)
        case "step" if len(flow["steps"]) > 1:
            _take_out(flow, dice.pick(flow["steps"])["id"])
        case "triggers":
            flow["on"] = []
        case _:
            flow["onEnd"] = dice.pick(["end", "stay", "reset"])
    return changed


def _take_out(flow: Spec, step_id: str) -> None:
    """Removes a step; whatever led to it leads to the end now, as S1 demands."""
    flow["steps"] = [step for step in flow["steps"] if step["id"] != step_id]
    for step in flow["steps"]:
        for place in (step, *step.get("branches", ())):
            for key in ("then", "else", "onFail"):
                if _leads_to(place.get(key), step_id):
                    place[key] = "end"


def _leads_to(target: Any, step_id: str) -> bool:
    return step_id == (target.get("step") if isinstance(target, dict) else target)
