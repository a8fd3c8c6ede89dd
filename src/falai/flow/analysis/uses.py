"""Where a flow's templates name fields (F-10.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from falai.flow.analysis.spots import at_flow, at_step
from falai.flow.definition import Collect, Do, Instruction, Prompt, Say, Step
from falai.flow.exits import exits
from falai.flow.places import Place, is_list, is_object
from falai.flow.plan import FlowPlan
from falai.flow.templates import placeholders

__all__ = ["Use", "flow_uses", "step_uses"]


@dataclass(frozen=True, slots=True)
class Use:
    """A field named by a template. `fixed`: what comes of it goes out as it is, to the customer or to an action."""

    slug: str
    place: Place
    fixed: bool = False


def step_uses(flow: FlowPlan, step: Step) -> Iterator[Use]:
    """The uses of a step, each field once in each property."""
    place = at_step(flow, step)
    if isinstance(step, Say):
        yield from _uses(step.say, place.key("say"), fixed=True)
    if isinstance(step, Do):
        yield from _uses(step.with_, place.key("with"), fixed=True)
    if isinstance(step, Collect):
        yield from _uses(step.question, place.key("question"), fixed=True)
    if isinstance(step, Collect | Prompt):
        yield from _uses(step.prompt, place.key("prompt"))
        for slug, text in (step.ask or {}).items():
            yield from _uses(text, place.key("ask").key(slug))
        yield from _in_instructions(step.instructions, place)
    for way in exits(flow, step):
        if way.flow is not None:
            yield from _uses(way.flow, place.key(way.path).key("flow"))


def flow_uses(flow: FlowPlan) -> Iterator[Use]:
    """The uses outside the steps."""
    place = at_flow(flow)
    yield from _uses(flow.flow.description, place.key("description"))
    yield from _in_instructions(flow.flow.instructions, place)


def _in_instructions(instructions: Any, place: Place) -> Iterator[Use]:
    rules: tuple[Instruction, ...] = tuple(instructions or ())
    for index, rule in enumerate(rules):
        yield from _uses(rule.prompt, place.key("instructions").item(index).key("prompt"))


def _uses(value: Any, place: Place, *, fixed: bool = False) -> Iterator[Use]:
    paths = (path for text in _texts(value) for path in placeholders(text))
    for slug in dict.fromkeys(path[1] for path in paths if path[0] == "data" and len(path) > 1):
        yield Use(slug, place, fixed)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value) or is_list(value):
        for part in value.values() if is_object(value) else value:
            yield from _texts(part)
