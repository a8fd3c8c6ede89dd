"""Small agents of the 3.x form at random: flows, steps of every shape, hooks and signals that redirect, tools that do."""

from __future__ import annotations

from typing import Any

from falai.classic import ClassicAgent, Directive, create_agent
from strategies import Dice

__all__ = ["DeliberateError", "random_agent"]

FIELDS = {"name": {"type": "string"}, "age": {"type": "integer"}, "fit": {"type": "boolean"}, "tags": {"type": "array"}}
FLOWS = ("a", "b", "c")
STEPS = ("s0", "s1", "s2", "s3")


class DeliberateError(Exception):
    """Raised by a handler on purpose."""


def random_agent(dice: Dice, model: Any, heard: list[tuple[str, str]] | None = None, **options: Any) -> ClassicAgent:
    """An agent whose handlers throw these dice each time that they are called.

    `heard` gets what is entered and left: the hook, and the flow, or the step as `flow.step`.
    """
    flows = [_flow(dice, id) for id in FLOWS[: dice.number(1, 3)]]
    for flow in flows if heard is not None else ():
        _overhear(heard, flow["id"], flow)
        for step in flow["steps"]:
            _overhear(heard, f"{flow['id']}.{step['id']}", step)
    given: dict[str, Any] = {
        "schema": {"type": "object", "properties": FIELDS},
        "flows": flows,
        "signals": [_signal(dice, f"signal {n}") for n in range(dice.number(0, 2))],
        "tools": [{"id": "act", "handler": lambda ctx, _: _tool_result(dice, ctx)}],
        "instructions": [{"prompt": "Be {{data.name}}.", "if": _predicate(dice)}],
        "context": {"tier": 1},
        "max_auto_steps_per_turn": 4,
        "max_directive_chain": 4,
        "max_history_messages": dice.pick([0, 5, 400]),
        "persona": dice.pick(["Kind.", lambda scene: f"Kind to {scene.data.get('name')}."]),
    }
    return create_agent(name="Ana", provider=model, **given, **options)


def _flow(dice: Dice, id: str) -> dict[str, Any]:
    count = dice.number(0, 4)
    flow: dict[str, Any] = {"id": id, "title": id.upper(), "steps": [_step(dice, n, count) for n in range(count)]}
    some = {
        "when": "a wish", "if": _predicate(dice), "required_fields": ["name"], "optional_fields": ["age"],
        "initial_data": {"fit": True}, "on_complete": dice.pick(FLOWS[:1]), "reentrant": True,
        "tools": ["act"], "instructions": [{"prompt": "Never shout.", "kind": "never"}],
    }  # fmt: skip
    flow |= {name: value for name, value in some.items() if dice.chance(0.3)}
    hooks = {name: _hook(dice) for name in ("onEnter", "onExit", "onComplete") if dice.chance(0.15)}
    if "on_complete" in flow:
        hooks.pop("onComplete", None)
    return {**flow, "hooks": hooks} if hooks else flow


def _overhear(heard: list[tuple[str, str]] | None, name: str, owner: dict[str, Any]) -> None:
    hooks = owner["hooks"] = dict(owner.get("hooks", {}))

    def overheard(kind: str, hook: Any) -> Any:
        def call(*given: Any) -> Any:
            assert heard is not None
            heard.append((kind, name))
            return hook and hook(*given)

        return call

    for kind in ("onEnter", "onExit"):
        hooks[kind] = overheard(kind, hooks.get(kind))


def _step(dice: Dice, place: int, count: int) -> dict[str, Any]:
    kind = dice.weighted({"talk": 4, "collect": 4, "reply": 2, "auto": 3})
    step: dict[str, Any] = {"id": STEPS[place]}
    match kind:
        case "talk":
            step["prompt"] = dice.pick(["Speak.", "Hello {{data.name}}", lambda _: "Speak now."])
        case "collect":
            step["collect"] = dice.pick([["name"], ["age", "fit"], ["tags"]])
        case "reply":
            step["reply"] = dice.pick(["Well, {{data.name}}.", lambda _: "So."])
        case _:
            step["auto"] = True
    some: dict[str, Any] = {"if": _predicate(dice), "skip": _predicate(dice)}
    if kind != "auto":
        some["requires"] = ["name"]
    step |= {name: value for name, value in some.items() if dice.chance(0.12)}
    if dice.chance(0.35):
        step["prepare"] = lambda *_: _directive(dice)
    if kind in ("talk", "collect") and dice.chance(0.25):
        step["finalize"] = lambda *_: _directive(dice)
    if dice.chance(0.35):
        step["branches"] = [_branch(dice, count) for _ in range(dice.number(1, 2))] + [{"then": _target(dice, count)}]
    hooks = {name: _hook(dice) for name in ("onEnter", "onExit") if dice.chance(0.1)}
    return {**step, "hooks": hooks} if hooks else step


def _branch(dice: Dice, count: int) -> dict[str, Any]:
    entry = {"then": _target(dice, count)}
    return {**entry, "if": _predicate(dice)} if dice.chance(0.5) else {**entry, "when": "a wish"}


def _target(dice: Dice, count: int) -> Any:
    return dice.pick([*STEPS[:count], *FLOWS[:1], {"goToStep": STEPS[0]}, {"reset": True}, {"reply": "From a branch."}])


def _signal(dice: Dice, id: str) -> dict[str, Any]:
    signal: dict[str, Any] = {"id": id, "phase": dice.pick(["pre", "post", "both"]), "handler": _handler(dice)}
    some = {
        "when": ["a wish", "!a threat"], "if": _predicate(dice),
        "extract": {"type": "object", "properties": {"what": {"type": "string"}}},
        "behavior": dice.pick(["once", "always", "cooldown"]), "cooldown_ms": 1000, "priority": dice.number(0, 3),
    }  # fmt: skip
    return signal | {name: value for name, value in some.items() if dice.chance(0.5)}


def _handler(dice: Dice) -> Any:
    def handle(_: Any) -> Any:
        wanted = _directive(dice)
        extra = dice.pick([{}, {}, {"stopOtherSignals": True}, {"replyWith": lambda _: "By a signal."}])
        if "replyWith" in extra and wanted is not None and wanted.abort:
            extra = {}
        return None if wanted is None else {**wanted.to_wire(), **extra}

    return handle


def _hook(dice: Dice) -> Any:
    return lambda *_: _directive(dice)


def _predicate(dice: Dice) -> Any:
    def holds(_: Any) -> bool:
        if dice.chance(0.05):
            raise DeliberateError("a predicate")
        return dice.chance(0.7)

    async def holds_later(given: Any) -> bool:
        return holds(given)

    return dice.pick([holds, holds_later])


def _tool_result(dice: Dice, ctx: Any) -> Any:
    if dice.chance(0.2):
        raise DeliberateError("a tool")
    if dice.chance(0.3):
        ctx.set_field("age", dice.pick([3, "three"]))
    return {"data": "done", "directive": _directive(dice)}


def _directive(dice: Dice) -> Directive | None:
    """Mostly nothing; else something of everything."""
    if dice.chance(0.55):
        return None
    if dice.chance(0.03):
        raise DeliberateError("a handler")
    position: dict[str, Any] = dice.pick(
        [
            {}, {}, {}, {"go_to": dice.pick(FLOWS[:1])}, {"go_to": {"flow": "a", "carry": "reset", "data": {"age": 1}}},
            {"go_to_step": dice.pick(STEPS[:2])}, {"complete": True}, {"complete": {"next": {"goTo": "a"}}},
            {"abort": "enough"}, {"abort": {"reason": "enough", "clearSession": True}}, {"reset": True},
            {"reset": {"clearData": True}}, {"go_to": "gone"},
        ]
    )  # fmt: skip
    some: dict[str, Any] = {
        "data_update": dice.pick([{"age": 7}, {"name": None}, {"age": "seven"}]),
        "context_update": {"tier": 2},
        "append_prompt": ["Be brief."],
        "inject_tools": [{"id": "more", "handler": lambda *_: "more"}],
        "halt": True,
    }
    if "abort" not in position:
        some["reply"] = "As a handler says."
    return Directive(**position, **{name: value for name, value in some.items() if dice.chance(0.15)})
