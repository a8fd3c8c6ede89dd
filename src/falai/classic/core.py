"""The agent of the core below an agent of 3.x: an `Agent` whose turn the layer listens to (D-85)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from falai.agent import Agent
from falai.classic.compiling import Compiled
from falai.classic.listening import listen
from falai.classic.state import CURRENT, TurnState
from falai.classic.toolcalls import missing_tool
from falai.flow.plan import FlowPlan
from falai.session.inputs import Message
from falai.turn.effects import Reached
from falai.turn.state import Turn

__all__ = ["Core"]


class Core(Agent[Any]):
    """The core's agent for compiled options.

    A turn takes its `TurnState` from `CURRENT`, where `respond` has put it; without one it makes one, so
    that a host may call `turn` itself for wakes and events. Raises what `Agent` raises.
    """

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(**compiled.core)
        self.compiled = compiled
        plan = self.plan
        self.plan = replace(
            plan,
            fields={slug: compiled.opaque.get(slug, field) for slug, field in plan.fields.items()},
            flows={**plan.flows, **{flow.id: FlowPlan(flow) for flow in compiled.signal_flows}},
            listener=self._reached,
            missing_tool=missing_tool,
            driven=compiled.driven,
            max_driven_steps=50 + 4 * int(compiled.limit("maxAutoStepsPerTurn")),
            tools=tuple(tool.plan for tool in compiled.tools_for(None, None).values()),
            start_score=0,
            switch_margin=compiled.limit("flowSwitchMargin"),
        )

    async def _reached(self, reached: Reached) -> Any:
        state = self._state(reached.turn)
        CURRENT.set(state)  # what runs until the next moment looks into it, whatever else this task does between
        return await listen(state, reached)

    def _state(self, turn: Turn) -> TurnState:
        if turn.layer is None:
            waiting = CURRENT.get()
            state = _new_state(self.compiled, turn) if waiting is None or waiting.is_bound else waiting
            state.bind(turn)
            turn.layer = state
        assert isinstance(turn.layer, TurnState)
        return turn.layer


def _new_state(compiled: Compiled, turn: Turn) -> TurnState:
    said = [{"role": "user", "content": turn.input.text}] if isinstance(turn.input, Message) else []
    return TurnState(compiled, context=turn.given.context, history=[*turn.history, *said])
