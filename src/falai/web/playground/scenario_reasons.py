"""Why a conversation cannot be a scenario file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from falai.flow.hours import BusinessHours
from falai.flow.plan import AgentPlan
from falai.flow.spec import to_spec
from falai.session.jsontext import json_text, quoted
from falai.web.playground.branch import Branch
from falai.web.playground.scenario_conditions import is_plain
from falai.web.playground.turns import Happened

__all__ = ["reasons_against"]


def reasons_against(branch: Branch, turns: Sequence[Happened]) -> Iterator[str]:
    """Everything that the format cannot say of these turns."""
    if not turns:
        yield "Nothing was said yet."
        return
    plans = list({id(one.agent.plan): one.agent.plan for one in turns}.values())
    yield from dict.fromkeys(why for plan in plans for why in _of_agent(plan, branch.context))


def _of_agent(plan: AgentPlan, context: Any) -> Iterator[str]:
    if plan.listener is not None:
        yield "The agent has a layer of its own on top of its flows."
        return
    if plan.business_hours is not None and not isinstance(plan.business_hours, BusinessHours):
        yield "The agent's business hours are a function; the file can hold BusinessHours."
    for field in plan.fields.values():
        if field.schema is not None:
            yield f"The field {quoted(field.slug)} holds more than one value."
    if not is_plain(context) and "{{context." in json_text([to_spec(flow.flow) for flow in plan.flows.values()]):
        yield "A flow writes what is in the context, and the context is no plain data."
