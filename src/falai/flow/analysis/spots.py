"""Where findings stand: the places of a flow's parts."""

from __future__ import annotations

from falai.flow.definition import Step
from falai.flow.places import Place, flow_place, step_place, trigger_place
from falai.flow.plan import FlowPlan

__all__ = ["at_flow", "at_step", "at_trigger"]


def at_flow(flow: FlowPlan) -> Place:
    """The flow itself; paths are those below it."""
    return flow_place({"id": flow.id}, "")


def at_step(flow: FlowPlan, step: Step) -> Place:
    """One of its steps."""
    return step_place(at_flow(flow), {"id": step.id}, flow.positions[step.id])


def at_trigger(flow: FlowPlan, index: int) -> Place:
    """Its trigger of that index."""
    return trigger_place(at_flow(flow), index)
