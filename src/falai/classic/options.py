"""The options of an agent in wire form: names, and ids where none are given (D-1, D-2, D-10, D-11).

Nothing is judged here. What is of the wrong kind stays as it is, for the checks to tell of it;
members that are `None` are not set and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from falai.classic.ids import Kind, derived_id, instruction_id
from falai.classic.named import named
from falai.flow.definition import Branch, Flow, Instruction
from falai.flow.places import Wire, is_list, is_object
from falai.flow.wire import FLOW as CORE_FLOW
from falai.flow.wire import to_wire
from falai.session.keys import is_blank_id

__all__ = [
    "AGENT", "BRANCH", "COMPACTION", "FLOW", "FLOW_HOOKS", "HOOKS", "INSTRUCTION", "LIMITS", "PERSISTENCE", "SIGNAL",
    "STEP", "STEP_HOOKS", "TERM", "TOOL", "is_core_flow", "wire_flow", "wire_options",
]  # fmt: skip

Shape = Callable[[Any], Any]

AGENT = (
    "name", "goal", "persona", "provider", "schema", "initialData", "flows", "tools", "instructions", "terms",
    "knowledgeBase", "signals", "signalBatchSize", "context", "contextProvider", "hooks", "persistence",
    "flowSwitchMargin", "maxHistoryMessages", "maxAutoStepsPerTurn", "maxDirectiveChain", "maxToolLoops",
    "compaction", "debug", "routerMode", "sessionId", "session",
)  # fmt: skip
LIMITS = {
    "flowSwitchMargin": 15, "maxHistoryMessages": 400, "maxAutoStepsPerTurn": 10, "maxDirectiveChain": 10,
    "maxToolLoops": 5,
}  # fmt: skip
"""What these are when they are not given."""
HOOKS = ("beforeRespond", "onContextUpdate", "onDataUpdate")
PERSISTENCE = ("adapter", "autoSave", "userId", "schemaVersion", "migrateSession")
COMPACTION = ("maxTokens", "compactionThreshold", "preserveRecentCount", "maxToolResultChars", "enabled")
FLOW = (
    "id", "title", "description", "when", "if", "steps", "requiredFields", "optionalFields", "initialData",
    "instructions", "tools", "onComplete", "reentrant", "hooks",
)  # fmt: skip
FLOW_HOOKS = ("onEnter", "onExit", "onComplete", "onDataUpdate", "onContextUpdate")
STEP = (
    "id", "description", "prompt", "collect", "tools", "instructions", "prepare", "finalize", "auto", "reply",
    "requires", "when", "if", "skip", "hooks", "branches",
)  # fmt: skip
STEP_HOOKS = ("onEnter", "prepare", "finalize", "onExit")
BRANCH = ("when", "if", "then", "label")
INSTRUCTION = ("prompt", "kind", "when", "if", "id", "enabled", "tags", "metadata")
TERM = ("name", "description", "synonyms")
TOOL = (
    "id", "description", "parameters", "handler", "isReadOnly", "isConcurrencySafe", "isDestructive",
    "maxResultSizeChars", "validateInput", "checkPermissions",
)  # fmt: skip
SIGNAL = (
    "id", "title", "description", "when", "if", "extract", "phase", "handler", "behavior", "cooldownMs", "enabled",
    "priority",
)  # fmt: skip

_ONLY_CLASSIC = frozenset(FLOW) - frozenset(CORE_FLOW)


def wire_options(options: Wire) -> dict[str, Any]:
    """The options of `create_agent` with wire names at every depth, and an id on all that has none (D-2).

    A flow of the core, an object or a spec, stays as it is (D-85), and so do tools that are objects
    or functions.
    """
    wired: dict[str, Any] = _agent(options)
    return wired


def wire_flow(flow: Any, place: int) -> Any:
    """The same of one flow, which has this place among the agent's (D-8)."""
    return _with_id("flow", "title", place, _flow(flow))


def is_core_flow(flow: Any) -> bool:
    """Whether this is a flow of the core: a `Flow`, or a mapping with nothing that only a 3.x flow has (D-85)."""
    return isinstance(flow, Flow) or (is_object(flow) and _ONLY_CLASSIC.isdisjoint(named(flow, FLOW)))


def _object(names: tuple[str, ...], **parts: Shape) -> Shape:
    """Of a mapping, the set members by their wire names, each part in its own shape."""

    def wired(value: Any) -> Any:
        if not is_object(value):
            return value
        members = named(value, names)
        return {key: parts.get(key, _same)(item) for key, item in members.items() if item is not None}

    return wired


def _list(part: Callable[[Any, int], Any]) -> Shape:
    return lambda value: [part(item, place) for place, item in enumerate(value)] if is_list(value) else value


def _same(value: Any) -> Any:
    return value


def _with_id(kind: Kind, text: str, place: int, value: Any) -> Any:
    if not is_object(value) or not is_blank_id(value.get("id")) or (kind == "flow" and is_core_flow(value)):
        return value
    return {"id": derived_id(kind, value.get(text), place)} | {k: v for k, v in value.items() if k != "id"}


def _numbered_instruction(value: Any, place: int) -> Any:
    wired = to_wire(value) if isinstance(value, Instruction) else _object(INSTRUCTION)(value)
    return {**wired, "id": instruction_id(place)} if is_object(wired) and is_blank_id(wired.get("id")) else wired


def _branch(value: Any, _: int) -> Any:
    return to_wire(value) if isinstance(value, Branch) else _object(BRANCH)(value)


def _tool(value: Any, _: int) -> Any:
    return _object(TOOL)(value)


_instructions = _list(_numbered_instruction)
_tools = _list(_tool)
_step = _object(
    STEP, tools=_tools, instructions=_instructions, hooks=_object(STEP_HOOKS), branches=_list(_branch),
    prepare=_object(TOOL), finalize=_object(TOOL),
)  # fmt: skip
_classic_flow = _object(
    FLOW,
    steps=_list(lambda step, place: _with_id("step", "description", place, _step(step))),
    tools=_tools,
    instructions=_instructions,
    hooks=_object(FLOW_HOOKS),
)
_signal = _object(SIGNAL)


def _flow(flow: Any) -> Any:
    return flow if is_core_flow(flow) else _classic_flow(flow)


_agent = _object(
    AGENT,
    flows=_list(wire_flow),
    tools=_tools,
    instructions=_instructions,
    terms=_list(lambda term, _: _object(TERM)(term)),
    signals=_list(lambda signal, place: _with_id("signal", "title", place, _signal(signal))),
    hooks=_object(HOOKS),
    persistence=_object(PERSISTENCE),
    compaction=_object(COMPACTION),
)
