"""What the understand call is asked, as plain data: every template rendered, every name given out (M-3, M-4).

What is said of a flow that has no placeholders is the same in every turn: it is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from falai.flow.definition import Collect, Prompt
from falai.flow.phrases import Phrases
from falai.flow.plan import AgentPlan, FlowPlan, type_words
from falai.flow.templates import Roots, render, roots
from falai.model.envelopes import understand_keys
from falai.model.inputs import UnderstandInput
from falai.model.quoting import written, written_line
from falai.model.sections import identity, known_facts, today
from falai.model.tasks import BranchTask, FieldTask, FloorTask, FlowTask, ParamTask, UnderstandTask

__all__ = ["understand_task"]

_FLOWS: Final[WeakKeyDictionary[FlowPlan, FlowTask]] = WeakKeyDictionary()
_MENTIONS: Final[WeakKeyDictionary[FlowPlan, FlowTask]] = WeakKeyDictionary()


def understand_task(plan: AgentPlan, given: UnderstandInput) -> UnderstandTask:
    """The task of a message: what is compared, judged and read, under its keys (M-3.4, M-4)."""
    scope = roots(data=given.data, context=given.context)
    keys = understand_keys(
        [flow.id for flow in given.compared],
        [flow.id for flow in given.mentions],
        [branch.id for branch in given.branches],
        given.fields,
    )
    return UnderstandTask(
        agent=plan.name,
        identity=identity(plan, scope),
        today=today(plan, given.now_ms),
        text=given.text,
        floor=_floor(plan, given, keys, scope),
        known=known_facts(plan.fields, given.data),
        flows=tuple(_once(_FLOWS, _flow, flow, keys[flow.id], scope) for flow in given.compared),
        mentions=tuple(_once(_MENTIONS, _mention, flow, keys[flow.id], scope) for flow in given.mentions),
        branches=tuple(BranchTask(keys[b.id], b.id, written_line(b.when, scope)) for b in given.branches),
        fields=tuple(_field(plan, slug, keys[slug], given, scope) for slug in given.fields),
        asks=plan.asks_matter,
    )


def _floor(plan: AgentPlan, given: UnderstandInput, keys: Mapping[str, str], scope: Roots) -> FloorTask | None:
    flow = given.flow
    if flow is None:
        return None
    stands_at = flow.step(given.run.step_id) if given.run else None
    step = stands_at if isinstance(stands_at, Collect | Prompt) else None
    return FloorTask(
        key=keys.get(flow.id, flow.id),
        id=flow.id,
        name=flow.name,
        description=_description(flow, scope),
        step_id=step.id if step else None,
        prompt=written((step.prompt if step else None) or "", scope).strip(),
        pending=tuple(_field(plan, slug, keys.get(slug, slug), given, scope) for slug in given.pending),
    )


def _once(
    made: WeakKeyDictionary[FlowPlan, FlowTask],
    make: Callable[[FlowPlan, str, Roots], FlowTask],
    flow: FlowPlan,
    key: str,
    scope: Roots,
) -> FlowTask:
    """The task of a flow; the one from before, when nothing in it can have changed."""
    task = made.get(flow)
    if task is None or task.key != key:
        task = make(flow, key, scope)
        if not flow.varies:
            made[flow] = task
    return task


def _flow(flow: FlowPlan, key: str, scope: Roots) -> FlowTask:
    return _task(flow, key, flow.wants, scope, ())


def _mention(flow: FlowPlan, key: str, scope: Roots) -> FlowTask:
    return _task(flow, key, flow.touches, scope, tuple(_param(name, param) for name, param in flow.extract.items()))


def _task(flow: FlowPlan, key: str, phrases: Phrases, scope: Roots, extract: tuple[ParamTask, ...]) -> FlowTask:
    return FlowTask(
        key=key,
        id=flow.id,
        name=flow.name,
        description=_description(flow, scope),
        matches=_written(phrases.matches, scope),
        exclusions=_written(phrases.exclusions, scope),
        extract=extract,
    )


def _param(name: str, definition: Mapping[str, Any]) -> ParamTask:
    items = definition.get("items")
    enum = definition.get("enum")
    return ParamTask(
        name=name,
        type=definition["type"] if "schema" not in definition else type_words(definition["schema"]),
        enum=None if enum is None else tuple(enum),
        description=definition.get("description"),
        items=items["type"] if items else None,
    )


def _field(plan: AgentPlan, slug: str, key: str, given: UnderstandInput, scope: Roots) -> FieldTask:
    field = plan.fields.get(slug)
    if field is None:
        return FieldTask(key, slug, "")
    known = slug in given.correctable
    return FieldTask(
        key=key,
        slug=slug,
        type=field.kind,
        enum=field.enum,
        description=field.description,
        question=render(field.question, scope).strip() if field.question else None,
        known=known,
        value=given.data.get(slug) if known else None,
        format=field.format,
    )


def _description(flow: FlowPlan, scope: Roots) -> str:
    return written_line(flow.flow.description or "", scope)


def _written(phrases: Sequence[str], scope: Roots) -> tuple[str, ...]:
    return tuple([text for phrase in phrases if (text := written_line(phrase, scope))])
