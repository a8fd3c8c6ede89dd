"""One row, played: a real turn of its agent at the floor that the row names, with one real call.

Only the understanding is asked of the model under test; whatever would be said gets a stock reply.
What was understood is what the turn made of it: the runs it started, the values it wrote.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from benchmarks.understanding.agents import NOW, context_for, with_model
from benchmarks.understanding.rows import Row
from falai import Message, Session
from falai.errors import ProviderError
from falai.flow.values import to_boolean
from falai.model import Model, ModelChunk, ModelReply, ModelRequest, salvage_json
from falai.model.envelopes import SECTIONS
from falai.model.tasks import UnderstandTask
from falai.session.model import Run, TriggerRef
from falai.turn.result import TurnResult

__all__ = ["Seen", "play"]

_BEFORE = NOW.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a model made of a row. `offered` are the fields it was asked for, known ones included."""

    failure: str | None = None
    unreadable: bool = False
    route: str | None = None
    mentions: frozenset[str] = frozenset()
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    branch: bool = False
    asks: bool | None = None
    offered: frozenset[str] = frozenset()
    seconds: float = 0.0


class _OnlyUnderstands:
    """A model of which only the understanding is real."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.task: UnderstandTask | None = None

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.schema_name != "understand":
            return ModelReply(structured={"message": "Noted."})
        self.task = cast(UnderstandTask, request.task)
        return await self._model.complete(request)

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        return self._model.stream(request)  # the port has two methods; a turn that is not streamed uses one


async def play(row: Row, model: Model) -> Seen:
    """The row's turn. A failure of the provider is part of what was seen."""
    judge = _OnlyUnderstands(model)
    agent = with_model(row.agent, judge)
    history = [{"role": role, "content": text} for role, text in row.history]
    try:
        result = await agent.turn(
            row.id, Message(row.text, id="m2"), session=_session(row), context=context_for(row.agent), history=history
        )
    except ProviderError as error:
        return Seen(failure=f"{error.kind}: {error}")
    if judge.task is None:
        raise ValueError(f"{row.id}: this message is understood without a call, so it measures nothing")
    return _seen(result, judge.task)


def _session(row: Row) -> Session:
    session = Session.fresh(row.id)
    session.data.update(row.data)
    if row.floor is None:
        return session
    flow, _, step = row.floor.partition("/")
    session.last_user_at = session.last_assistant_at = _BEFORE
    session.runs.append(
        Run(
            id=f"{flow}#m1", flow_id=flow, anchor=row.id, dedupe_key=f"{flow}:{row.id}:m1", step_id=step,
            status="asking", trigger=TriggerRef(kind="message", key="m1"), hop=0, started_at=_BEFORE,
            asked={}, visits={step: 1}, outcomes=[],
        )
    )  # fmt: skip
    return session


def _seen(result: TurnResult, task: UnderstandTask) -> Seen:
    runs = {run.id: run for run in (*result.session.runs, *(end.run for end in result.ended))}
    started = [runs[start.run_id] for start in result.started]
    mentioned = [run for run in started if run.trigger.kind == "mention"]
    read = {change.field: change.new for change in result.changes if change.source == "understand"}
    for run in mentioned:
        read |= {f"{run.flow_id}.{name}": value for name, value in (run.trigger.payload or {}).items()}
    call = result.calls[0]
    verdict = salvage_json(call.reply or "") or {}
    return Seen(
        unreadable=not any(section in verdict for section in SECTIONS),
        route=next((run.flow_id for run in started if run.trigger.kind == "message"), None),
        mentions=frozenset(run.flow_id for run in mentioned),
        values=read,
        branch=any(line.code == "branch" for line in result.outcomes),
        asks=to_boolean(verdict.get("asks")),
        offered=frozenset(field.slug for field in task.fields),
        seconds=call.duration_ms / 1000,
    )
