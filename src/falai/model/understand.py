"""The understand call: what is asked about a customer's message, and how the verdict is read (M-3 to M-5).

`understand_request` makes the task (plain data) and puts it into words; `read_judgement` takes
whatever came back and keeps what has the right shape. Nothing here decides: the turn does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from falai.flow.definition import Collect, Prompt
from falai.flow.phrases import Phrases
from falai.flow.plan import AgentPlan, FlowPlan
from falai.flow.templates import Roots, render, roots
from falai.flow.values import is_number, to_boolean, to_number
from falai.log import line
from falai.model.envelopes import SECTIONS, understand_keys, understand_schema
from falai.model.inputs import Judgement, UnderstandInput
from falai.model.jsontext import as_object, salvage_json
from falai.model.port import ModelReply, ModelRequest
from falai.model.quoting import written, written_line
from falai.model.sections import identity, known_facts, prefix, today
from falai.model.tasks import BranchTask, FieldTask, FloorTask, FlowTask, ParamTask, UnderstandTask
from falai.model.understand_prompt import understand_prompt

__all__ = ["read_judgement", "understand_request"]

_LOG: Final = logging.getLogger(__name__)
_SHOWN = 200


def understand_request(plan: AgentPlan, given: UnderstandInput) -> ModelRequest:
    """The call that judges the customer's message (M-2.9, M-3, M-4)."""
    task = _task(plan, given)
    return ModelRequest(
        schema_name="understand",
        prompt=understand_prompt(task),
        system=prefix(plan).system,
        history=given.history,
        context=given.context,
        schema=understand_schema(
            flows=[flow.key for flow in task.flows],
            mentions=[flow.key for flow in task.mentions],
            extract={m.key: flow.extract for m, flow in zip(task.mentions, given.mentions, strict=True) if m.extract},
            branches=[branch.key for branch in task.branches],
            fields={field.key: plan.fields[field.slug] for field in task.fields},
            asks=task.asks,
        ),
        task=task,
    )


def read_judgement(task: UnderstandTask, reply: ModelReply) -> Judgement:
    """What the reply says, under real ids (M-5). Raises nothing: what cannot be read is not judged."""
    verdict = _verdict(reply)
    if verdict is None:
        begins, floor = str(reply.message)[:_SHOWN], task.floor
        extra = line("understand.unreadable", flow=floor and floor.id, step=floor and floor.step_id)
        _LOG.warning("the understand reply holds no verdict; it begins: %r", begins, extra=extra)
        return Judgement()
    real = {flow.key: flow.id for flow in (*task.flows, *task.mentions)}
    real |= {branch.key: branch.id for branch in task.branches} | {field.key: field.slug for field in task.fields}

    def entries(section: str) -> Iterable[tuple[str, Any]]:
        return ((real.get(key, key), value) for key, value in as_object(verdict.get(section)).items())

    compared = {flow.id for flow in task.flows}
    asked = {branch.id for branch in task.branches}
    declared = {flow.id: {param.name for param in flow.extract} for flow in task.mentions if flow.extract}
    return Judgement(
        flows={id: s for id, raw in entries("flows") if id in compared and (s := _score(raw)) is not None},
        mentions={id: b for id, raw in entries("mentions") if (b := to_boolean(raw)) is not None},
        extract={id: _values(raw, declared[id]) for id, raw in entries("extract") if id in declared},
        branches={id: b for id, raw in entries("branches") if id in asked and (b := to_boolean(raw)) is not None},
        fields={slug: raw for slug, raw in entries("fields") if raw is not None and raw != ""},
        asks=to_boolean(verdict.get("asks")),
    )


def _verdict(reply: ModelReply) -> Mapping[str, Any] | None:
    if _is_usable(reply.structured):
        return reply.structured
    found = salvage_json(reply.message)
    return found if _is_usable(found) else None


def _is_usable(found: Any) -> bool:
    return isinstance(found, Mapping) and any(section in found for section in SECTIONS)


def _score(raw: Any) -> float | None:
    number: Any = to_number(raw) if isinstance(raw, str) else raw
    return min(100, max(0, number)) if is_number(number) else None


def _values(raw: Any, declared: set[str]) -> dict[str, Any]:
    return {
        name: value for name, value in as_object(raw).items() if name in declared and value is not None and value != ""
    }


# --- the task ---------------------------------------------------------------------------------


def _task(plan: AgentPlan, given: UnderstandInput) -> UnderstandTask:
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
        flows=tuple(_flow(flow, keys[flow.id], flow.wants, scope) for flow in given.compared),
        mentions=tuple(_mention(flow, keys[flow.id], scope) for flow in given.mentions),
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


def _flow(flow: FlowPlan, key: str, phrases: Phrases, scope: Roots, extract: tuple[ParamTask, ...] = ()) -> FlowTask:
    return FlowTask(
        key=key,
        id=flow.id,
        name=flow.name,
        description=_description(flow, scope),
        matches=_written(phrases.matches, scope),
        exclusions=_written(phrases.exclusions, scope),
        extract=extract,
    )


def _mention(flow: FlowPlan, key: str, scope: Roots) -> FlowTask:
    extract = tuple(_param(name, definition) for name, definition in flow.extract.items())
    return _flow(flow, key, flow.touches, scope, extract)


def _param(name: str, definition: Mapping[str, Any]) -> ParamTask:
    items = definition.get("items")
    enum = definition.get("enum")
    return ParamTask(
        name=name,
        type=definition["type"],
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
        type=field.type,
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
    return tuple(text for phrase in phrases if (text := written_line(phrase, scope)))
