"""A flow has completed: the claim, `onComplete`, and then `complete.next` (D-13, D-14, D-63, D-87)."""

from __future__ import annotations

from typing import Any

from falai.classic.hooks import call_hook
from falai.classic.phases import act_on, merged
from falai.classic.positions import leave
from falai.classic.state import TurnState
from falai.session.claims import write_claim
from falai.session.model import Run
from falai.turn.advance import end_run

__all__ = ["complete"]


async def complete(state: TurnState, run: Run, after: Any = None) -> None:
    """Ends a run whose flow is done, and does at once what follows from that."""
    turn, flow = state.turn, state.compiled.flows.get(run.flow_id)
    await leave(state, run, "completed")
    end_run(turn, run, "end")
    outer = state.taken()
    if flow is not None:
        write_claim(turn.session, flow.claim(turn.session.id), turn.now)
        emitter = f"hook:onComplete:{flow.id}"
        if "onComplete" in flow.wire:
            state.emit(emitter, {"goTo": flow.wire["onComplete"]})
        await call_hook(state, emitter, flow.hooks.get("onComplete"))
    state.emit("complete.next", after)
    found = merged(state.taken())
    state.emissions = outer
    await act_on(state, found, run)
