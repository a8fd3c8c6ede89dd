"""Definitions as wire data and back: the one form that the checks, specs and agents look at.

`to_wire` takes objects and mappings alike and drops what is not set (F-1.2); functions stay where
they stand. `flow_from_wire` takes checked data and gives objects, with nothing shared and every
property dropped that has no meaning in its place (S-16). Between the two, nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar, cast

from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import (
    Branch,
    Collect,
    Do,
    EventDefinition,
    Field,
    Flow,
    Idle,
    If,
    Instruction,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    Step,
    Target,
    To,
    ToFlow,
    Trigger,
    Wait,
    WaitEvent,
)  # fmt: skip
from falai.flow.places import Wire, is_list, is_object
from falai.session.jsontext import show

__all__ = [
    "BRANCH", "FLOW", "INSTRUCTION", "STEP", "STEPS", "TARGET", "TARGETS", "TRIGGER", "TRIGGERS", "NoPhrases",
    "action_name", "body_kinds", "flow_from_wire", "instruction_from_wire", "to_wire", "wire_name",
]  # fmt: skip

T = TypeVar("T")

_COMMON = ("id", "kind", "label", "then", "ui")
_TALK = ("ask", "maxAsks", "branches", "tools", "instructions")
_STARTS = ("if", "repeat")

FLOW = (
    "id", "name", "description", "on", "anchor", "while", "collect", "clearOnStart", "steps", "onEnd",
    "instructions", "tools",
)  # fmt: skip
STEPS: Mapping[str, tuple[str, ...]] = {
    "collect": (*_COMMON, "collect", "prompt", "question", *_TALK),
    "prompt": (*_COMMON, "prompt", *_TALK),
    "say": (*_COMMON, "say", "media", "once"),
    "do": (*_COMMON, "do", "with", "onFail"),
    "wait": (*_COMMON, "wait", "businessHours", "else", "branches"),
    "waitEvent": (*_COMMON, "wait", "else"),
    "if": (*_COMMON, "if", "else"),
}
TRIGGERS: Mapping[str, tuple[str, ...]] = {
    "message": ("message", *_STARTS),
    "mention": ("mention", "extract", *_STARTS),
    "silence": ("silence", "businessHours", *_STARTS),
    "event": ("event", "after", "businessHours", *_STARTS),
}
TARGETS: Mapping[str, tuple[str, ...]] = {"step": ("step", "clear"), "flow": ("flow", "input")}
BRANCH = ("when", "if", "then")
STEP, TRIGGER, TARGET = ({key for keys in kinds.values() for key in keys} for kinds in (STEPS, TRIGGERS, TARGETS))
"""What any kind of these may have."""
INSTRUCTION = ("id", "kind", "when", "if", "prompt")

_GENERIC = (
    Branch, Collect, Do, EventDefinition, Field, Flow, Idle, If, Instruction, OnAnyMessage, OnEvent, OnMention,
    OnMessage, OnSilence, Prompt, Say, To, ToFlow, Wait, WaitEvent,
)  # fmt: skip
_STEP_CLASSES: Mapping[str, type[Step]] = {
    "collect": Collect, "prompt": Prompt, "say": Say, "do": Do, "wait": Wait, "if": If,
}  # fmt: skip


class NoPhrases(list[str]):
    """The phrases of `OnMessage()`: it is refused, while `{"message": []}` is the catch-all (F-7.7)."""


def to_wire(definition: Any) -> Any:
    """The wire form of an object, a mapping, a list or a value; `None` members are dropped.

    Fresh at every depth. Raises FlowConfigurationError for what holds itself.
    """
    try:
        return _wired(definition)
    except RecursionError:
        what = f"{show(definition)} holds itself, or is nested too deeply to be JSON"
        problem = Problem("not-an-object", "flow", what, "Write plain data")
        raise FlowConfigurationError(problem) from None


def body_kinds(step: Wire) -> list[str]:
    """Every kind that the step's body carries (S-4)."""
    kinds = [next((kind for kind in ("collect", "prompt") if kind in step), "")]
    kinds += [kind for kind in ("say", "do") if kind in step]
    kinds.append("" if "wait" not in step else "wait" if isinstance(step["wait"], str) else "waitEvent")
    kinds += ["if"] if "if" in step else []
    return [kind for kind in kinds if kind]


def action_name(function: Callable[..., Any]) -> str:
    """The wire name of an action's function: what `@action` says, else its own name."""
    mark = getattr(function, "__falai_action__", None)
    return getattr(mark, "name", None) or getattr(function, "__name__", "") or type(function).__name__


def flow_from_wire(wire: Wire) -> Flow:
    """The flow of checked wire data, made of objects only; lists become lists."""
    return _made(Flow, wire)


def instruction_from_wire(wire: Wire) -> Instruction:
    """The instruction of checked wire data."""
    return _made(Instruction, wire)


@lru_cache(maxsize=256)
def wire_name(attribute: str) -> str:
    """`max_asks` → `maxAsks`, `if_` → `if`."""
    head, *rest = attribute.rstrip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)


def _wired(definition: Any) -> Any:
    if is_object(definition):
        return {_key(key): _wired(value) for key, value in definition.items() if value is not None}
    if is_list(definition):
        return [_wired(value) for value in definition]
    if isinstance(definition, _GENERIC):
        return _reshaped(definition, _wired(_members(definition)))
    return definition


def _key(key: Any) -> str:
    """The keys of JSON are text; another one becomes the text by which messages show it."""
    return key if isinstance(key, str) else show(key)


def _members(definition: Any) -> dict[str, Any]:
    return {wire_name(field.name): getattr(definition, field.name) for field in fields(definition)}


def _reshaped(definition: Any, wire: dict[str, Any]) -> dict[str, Any]:
    """The few classes whose attributes are not the wire's members."""
    if isinstance(definition, OnAnyMessage):
        return {"message": [], **wire}
    if isinstance(definition, OnMessage):
        return {"message": wire.pop("phrases") or NoPhrases(), **wire}
    if isinstance(definition, OnMention):
        return {"mention": wire.pop("phrases"), **wire}
    if isinstance(definition, WaitEvent):
        names = {name: wire.pop(name) for name in ("event", "upTo") if name in wire}
        return {**wire, "wait": names} if names else wire
    if isinstance(definition, Flow) and _is_named_by_id(definition):
        wire.pop("name", None)
    return wire


def _is_named_by_id(flow: Any) -> bool:
    """Whether the id serves as the name (S-3), whatever an author passed as either."""
    texts = isinstance(flow.name, str) and isinstance(flow.id, str)
    return flow.name is flow.id or (texts and flow.name == flow.id)


def _made(kind: type[T], wire: Wire, **given: Any) -> T:
    """An object of that class; a member that is not there is `None`, which means the same (F-1.2)."""
    names = [field.name for field in fields(cast("Any", kind)) if field.name not in given]
    values = {name: _converted(name, wire[wire_name(name)]) for name in names if wire_name(name) in wire}
    return kind(**(dict.fromkeys(names) | values | given))


def _converted(name: str, value: Any) -> Any:
    if name in _PARTS:
        return [_PARTS[name](part) for part in value]
    if name in ("then", "else_", "on_fail"):
        return _target(value)
    return action_name(value) if name == "do" and callable(value) else to_wire(value)


def _target(value: Any) -> Target:
    if not is_object(value):
        return cast("str", value)
    return _made(To, value) if "step" in value else _made(ToFlow, value)


def _trigger(wire: Wire) -> Trigger | Wire:
    """Without exactly one kind it stays a mapping: no object can hold it, and a later check names it."""
    kinds = [kind for kind in TRIGGERS if kind in wire]
    if len(kinds) != 1:
        return cast("Wire", to_wire(wire))
    return _TRIGGER_MAKERS[kinds[0]](wire)


def _message(wire: Wire) -> OnMessage | OnAnyMessage:
    if not wire["message"]:
        return _made(OnAnyMessage, wire)
    return OnMessage(*wire["message"], if_=to_wire(wire.get("if")), repeat=to_wire(wire.get("repeat")))


def _mention(wire: Wire) -> OnMention:
    given = {name: to_wire(wire.get(name)) for name in ("extract", "repeat")}
    return OnMention(*wire["mention"], if_=to_wire(wire.get("if")), **given)


_TRIGGER_MAKERS: Mapping[str, Callable[[Wire], Trigger]] = {
    "message": _message,
    "mention": _mention,
    "silence": lambda wire: _made(OnSilence, wire),
    "event": lambda wire: _made(OnEvent, wire),
}


def _step(wire: Wire) -> Step:
    kind = body_kinds(wire)[0]
    if kind == "waitEvent":
        return _made(WaitEvent, wire, event=wire["wait"]["event"], up_to=wire["wait"].get("upTo"))
    return _made(_STEP_CLASSES[kind], wire)


_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "on": _trigger,
    "steps": _step,
    "branches": lambda wire: _made(Branch, wire),
    "instructions": instruction_from_wire,
}
