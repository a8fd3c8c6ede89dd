"""`create_agent`: the options of an agent, by name (D-1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Required, TypedDict, Unpack

from falai.classic.agent import ClassicAgent
from falai.classic.templates import Template
from falai.flow.definition import Flow, Instruction
from falai.session.model import Session

__all__ = ["AgentOptions", "create_agent"]


class AgentOptions(TypedDict, total=False):
    """The options of `create_agent`. Wire names (`maxToolLoops`) are taken as well."""

    name: Required[str]
    provider: Required[Any]
    goal: str
    persona: Template
    schema: Mapping[str, Any]
    initial_data: Mapping[str, Any]
    flows: Sequence[Flow | Mapping[str, Any]]
    tools: Sequence[Any]
    instructions: Sequence[Instruction | Mapping[str, Any]]
    terms: Sequence[Mapping[str, Any]]
    knowledge_base: Mapping[str, Any]
    signals: Sequence[Mapping[str, Any]]
    signal_batch_size: int
    context: Any
    context_provider: Callable[[], Any]
    hooks: Mapping[str, Callable[..., Any]]
    persistence: Mapping[str, Any]
    flow_switch_margin: float
    max_history_messages: int
    max_auto_steps_per_turn: int
    max_directive_chain: int
    max_tool_loops: int
    compaction: Mapping[str, Any]
    debug: bool
    router_mode: Literal["ai"]
    session_id: str
    session: Session | Mapping[str, Any]


def create_agent(**options: Unpack[AgentOptions]) -> ClassicAgent:
    """Builds an agent of the 3.x form; everything is checked at once, and no provider is called (D-1).

    Raises `FlowConfigurationError` with every problem (D-4), `ValueError` for a compaction option out of
    its range (D-7) or a default `session` that is none, `InvalidSessionError` for a stored one that is
    broken, and `UnsupportedOptionError` for a router mode other than `"ai"` (D-9).
    """
    return ClassicAgent(options)
