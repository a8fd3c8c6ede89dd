"""Why a conversation cannot be a scenario file; and what its conditions said, which can, as the context of each turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from falai.flow.hours import BusinessHours
from falai.flow.plan import AgentPlan
from falai.flow.spec import to_spec
from falai.session.jsontext import is_object, json_equal, json_text, quoted
from falai.web.playground.branch import Branch
from falai.web.playground.turns import Happened

__all__ = ["reasons_against", "verdicts"]


def reasons_against(branch: Branch, turns: Sequence[Happened]) -> Iterator[str]:
    """Everything that the format cannot say of these turns."""
    if not turns:
        yield "Nothing was said yet."
        return
    plans = list({id(one.agent.plan): one.agent.plan for one in turns}.values())
    yield from dict.fromkeys(why for plan in plans for why in _of_agent(plan, branch.context))
    for one in turns:
        for name in sorted(_undecided(one)):
            yield f"In turn {one.n} the condition {quoted(name)} both held and did not; the file can say one of the two."


def verdicts(context: Any, one: Happened) -> dict[str, Any]:
    """The context of a turn in which its conditions say what they said: for each the arguments with which it held."""
    found: dict[str, Any] = dict(context) if _is_plain(context) else {}
    for name, argument, held in one.recorded.conditions:
        known: list[Any] = found.setdefault(name, []) if not isinstance(found.get(name), list) else found[name]
        if held and not any(json_equal(argument, other) for other in known):
            known.append(argument)
    return found


def _of_agent(plan: AgentPlan, context: Any) -> Iterator[str]:
    if plan.listener is not None:
        yield "The agent has a layer of its own on top of its flows."
        return
    if plan.business_hours is not None and not isinstance(plan.business_hours, BusinessHours):
        yield "The agent's business hours are a function; the file can hold BusinessHours."
    for field in plan.fields.values():
        if field.schema is not None:
            yield f"The field {quoted(field.slug)} holds more than one value."
    if not _is_plain(context) and "{{context." in json_text([to_spec(flow.flow) for flow in plan.flows.values()]):
        yield "A flow writes what is in the context, and the context is no plain data."


def _undecided(one: Happened) -> set[str]:
    """The conditions that said two things of one argument in one turn."""
    said: dict[tuple[str, str], bool] = {}
    found: set[str] = set()
    for name, argument, held in one.recorded.conditions:
        if said.setdefault((name, json_text(argument)), held) is not held:
            found.add(name)
    return found


def _is_plain(context: Any) -> bool:
    if not is_object(context):
        return False
    try:
        json_text(context)
    except TypeError:
        return False
    return True
