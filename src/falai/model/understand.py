"""The understand call: what is asked about a customer's message, and how the verdict is read (M-3 to M-5).

`understand_request` puts the task (plain data) into words; `read_judgement` takes whatever came
back and keeps what has the right shape. Nothing here decides: the turn does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from falai.flow.plan import AgentPlan
from falai.flow.values import is_number, to_boolean, to_number
from falai.log import line
from falai.model.envelopes import SECTIONS, understand_schema
from falai.model.inputs import Judgement, UnderstandInput
from falai.model.lenient import as_object, salvage_json
from falai.model.port import ModelReply, ModelRequest
from falai.model.sections import prefix
from falai.model.tasks import UnderstandTask
from falai.model.understand_prompt import understand_prompt
from falai.model.understand_task import understand_task

__all__ = ["read_judgement", "understand_request"]

_LOG: Final = logging.getLogger(__name__)
_SHOWN = 200


def understand_request(plan: AgentPlan, given: UnderstandInput) -> ModelRequest:
    """The call that judges the customer's message (M-2.9, M-3, M-4)."""
    task = understand_task(plan, given)
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
        found = verdict.get(section)
        return ((real.get(key, key), value) for key, value in as_object(found).items()) if found else ()

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
