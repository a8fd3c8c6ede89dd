"""Tools and instructions by the scope in which they stand: the agent, a flow, a step (D-40, D-47)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falai.classic.instructions import Scope as InstructionScope
from falai.classic.instructions import core_instruction
from falai.classic.response import AppliedInstruction
from falai.classic.toolcalls import BoundTool, bound
from falai.classic.tools import tool_id
from falai.flow.definition import Instruction
from falai.flow.places import Wire

__all__ = ["Scope", "ScopedInstruction", "scoped_instructions", "scoped_tools"]

Scope = tuple[str | None, str | None]
"""The agent (`None, None`), a flow, or a step of a flow, by the ids that its author gave."""


@dataclass(frozen=True, slots=True)
class ScopedInstruction:
    """An instruction, the one of the core that stands for it, and how the response names it."""

    wire: Wire
    instruction: Instruction
    applied: AppliedInstruction


def scoped_tools(options: Wire, flows: Iterable[Wire]) -> dict[Scope, dict[str, BoundTool]]:
    """The tools of each scope by id; an inner tool replaces an outer one with its id (D-47)."""
    agent = _added({}, options.get("tools", ()))
    found: dict[Scope, dict[str, BoundTool]] = {(None, None): agent}
    for flow in flows:
        inner = found[flow["id"], None] = _added(agent, flow.get("tools", ()))
        for step in flow.get("steps", ()):
            found[flow["id"], step["id"]] = _added(inner, step.get("tools", ()))
    return found


def scoped_instructions(options: Wire, flows: Iterable[Wire]) -> dict[Scope, tuple[ScopedInstruction, ...]]:
    """The instructions that stand in each scope itself."""
    found: dict[Scope, tuple[ScopedInstruction, ...]] = {
        (None, None): tuple(_scoped(options.get("instructions", ()), "global", None))
    }
    for flow in flows:
        found[flow["id"], None] = tuple(_scoped(flow.get("instructions", ()), "flow", flow["title"]))
        for step in flow.get("steps", ()):
            found[flow["id"], step["id"]] = tuple(_scoped(step.get("instructions", ()), "step", step["id"]))
    return found


def _added(outer: Mapping[str, BoundTool], given: Sequence[Any]) -> dict[str, BoundTool]:
    """The outer tools, and those given; an id names one that is there already."""
    own = [tool for tool in given if not isinstance(tool, str)]
    return {**outer, **{str(tool_id(tool)): bound(tool) for tool in own}}


def _scoped(given: Sequence[Wire], scope: InstructionScope, ref: str | None) -> Iterator[ScopedInstruction]:
    for wire in given:
        made = core_instruction(wire, scope)
        yield ScopedInstruction(wire, made, AppliedInstruction(wire["id"], scope, ref))
