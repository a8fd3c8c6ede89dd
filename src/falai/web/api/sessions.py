"""Sessions to read: which there are, how one stands, what was said in it, what its inputs led to; and to erase."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from falai.flow.values import is_known
from falai.host import Host
from falai.host.ledger import looking
from falai.host.ledger.port import LogRow, SessionRow, TranscriptRow
from falai.session.dates import iso
from falai.session.jsontext import parse_json
from falai.session.model import Run
from falai.web.api.contract import (
    HostOf,
    Limit,
    OperateCaller,
    ReadCaller,
    SessionId,
    answered,
    place_of,
    problems,
)
from falai.web.mistakes import Wire
from falai.web.problems import ProblemError

__all__ = ["Erased", "Line", "LogLine", "Logged", "SessionHead", "SessionOut", "Sessions", "Transcript", "router"]

router = APIRouter(prefix="/v1", tags=["sessions"])

Instant = Annotated[str, Field(examples=["2026-09-20T10:00:00.000Z"])]
Number = Annotated[
    int | None, Query(ge=0, le=2**53, description="The `next` of the page before; without it, the newest.")
]


class SessionHead(Wire):
    """A session and whom it is with. `held` says why the assistant is silent; without it, it may speak."""

    id: str
    customer: str | None
    channel: str | None
    address: str | None
    held: str | None
    opted_out: Annotated[bool, Field(description="The customer wants no follow-ups.")]
    version: int
    created_at: Instant
    updated_at: Instant


class Sessions(Wire):
    """A page of sessions, by id. `next` is the `after` of the next page; `null` with the last."""

    sessions: list[SessionHead]
    next: str | None


class FieldOut(Wire):
    """A field of the agent's, and whether it is known here."""

    name: str
    type: str
    description: str | None
    known: bool
    value: Any


class WaitingOut(Wire):
    """Why a run is parked: until an instant, or for an event."""

    kind: Literal["timer", "event"]
    until: str | None = None
    event: str | None = None


class RunOut(Wire):
    """A flow that runs."""

    id: str
    flow: str
    name: str
    step: str | None
    status: Literal["running", "asking", "waiting", "suspended"]
    anchor: str
    started_at: str
    waiting: WaitingOut | None = None


class WaitOut(Wire):
    """A timer that is set."""

    key: str
    at: Instant


class CountsOut(Wire):
    """How much there is: inputs that wait for their turn, timers, dead letters (at most 1000 of each are counted)."""

    waiting: int
    timers: int
    dead: int


class SessionOut(SessionHead):
    """A session as it stands."""

    data: Annotated[dict[str, Any], Field(description="What is known, by field.")]
    fields: list[FieldOut]
    runs: list[RunOut]
    waits: list[WaitOut]
    counts: CountsOut


class Line(Wire):
    """A line of the conversation. `data` is a person's name, or the attachments of a message."""

    seq: int
    role: Literal["user", "assistant", "person", "note"]
    text: str
    at: Instant
    id: str | None
    data: Any


class Transcript(Wire):
    """The newest lines first. `next` is the `before` of the next page; `null` with the last."""

    lines: list[Line]
    next: int | None


class LogLine(Wire):
    """What an input led to: outcome lines, starts, ends and skips, and what it cost."""

    model_config = ConfigDict(extra="allow")

    seq: int
    key: str
    at: Instant
    kind: str
    attempts: int


class Logged(Wire):
    """The newest inputs first. `next` is the `before` of the next page; `null` with the last."""

    inputs: list[LogLine]
    next: int | None


class Erased(Wire):
    """Whether there was anything to erase."""

    erased: bool


@router.get("/sessions", response_model=Sessions, responses=problems())
async def list_sessions(
    *,
    caller: ReadCaller,
    host: HostOf,
    customer: Annotated[str | None, Query(description="Those of this customer.")] = None,
    channel: Annotated[str | None, Query(description="Those of this channel.")] = None,
    held: Annotated[bool | None, Query(description="Those where the assistant is silent, or may speak.")] = None,
    after: Annotated[str | None, Query(description="The `next` of the page before.")] = None,
    limit: Limit = 100,
) -> Response:
    """List sessions, page by page."""
    rows = await host.sessions(
        tenant=caller.tenant, customer=customer, channel=channel, held=held, after=after, limit=limit
    )
    following = rows[-1].place.session if len(rows) == limit else None
    return answered({"sessions": [_head(row) for row in rows], "next": following})


@router.get("/sessions/{session_id}", response_model=SessionOut, responses=problems("no-session", "damaged-session"))
async def read_session(session_id: SessionId, caller: ReadCaller, host: HostOf) -> Response:
    """Read how a session stands: its data, its runs, its timers, its gate."""
    look = await host.look(session_id, limit=1000, tenant=caller.tenant)
    if look is None:
        raise _no_session()
    data = look.session.data if look.session else {}
    return answered(
        {
            **_head(look.row),
            "data": data,
            "fields": _fields(host, data),
            "runs": [_run(host, run) for run in look.runs],
            "waits": [{"key": wake.key, "at": iso(wake.due_at)} for wake in look.wakes],
            "counts": {"waiting": len(look.waiting), "timers": len(look.wakes), "dead": len(look.dead)},
        }
    )


@router.get("/sessions/{session_id}/transcript", response_model=Transcript, responses=problems())
async def read_transcript(
    session_id: SessionId, caller: ReadCaller, host: HostOf, before: Number = None, limit: Limit = 100
) -> Response:
    """Read what was said, page by page. What was withheld was not said."""
    place = place_of(host, caller, session_id)
    rows = await host.ledger.run(looking.transcript(place, before=before, limit=limit))
    return answered({"lines": [_line(row) for row in rows], "next": rows[-1].seq if len(rows) == limit else None})


@router.get("/sessions/{session_id}/outcomes", response_model=Logged, responses=problems())
async def read_outcomes(
    session_id: SessionId, caller: ReadCaller, host: HostOf, before: Number = None, limit: Limit = 100
) -> Response:
    """Read what each input led to, page by page."""
    place = place_of(host, caller, session_id)
    rows = await host.ledger.run(looking.run_log(place, before=before, limit=limit))
    return answered({"inputs": [_logged(row) for row in rows], "next": rows[-1].seq if len(rows) == limit else None})


@router.delete("/sessions/{session_id}", response_model=Erased, responses=problems())
async def erase_session(session_id: SessionId, caller: OperateCaller, host: HostOf) -> Response:
    """Erase all that is kept of a session; a turn that is under way will not count."""
    return answered({"erased": await host.erase(session_id, tenant=caller.tenant)})


def _no_session() -> ProblemError:
    return ProblemError(404, "no-session", "Nothing ever came in for this session, or it was erased.")


def _head(row: SessionRow) -> dict[str, Any]:
    return {
        "id": row.place.session, "customer": row.customer, "channel": row.channel, "address": row.address,
        "held": row.gate.reason, "optedOut": row.opted_out, "version": row.version, "createdAt": iso(row.created_at),
        "updatedAt": iso(row.updated_at),
    }  # fmt: skip


def _fields(host: Host[Any], data: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name, "type": field.kind, "description": field.description, "known": is_known(data.get(name)),
            "value": data.get(name),
        }
        for name, field in host.agent.plan.fields.items()
    ]  # fmt: skip


def _run(host: Host[Any], run: Run) -> dict[str, Any]:
    flow, waiting = host.agent.plan.flows.get(run.flow_id), run.waiting
    found: dict[str, Any] = {
        "id": run.id, "flow": run.flow_id, "name": flow.name if flow else run.flow_id, "step": run.step_id,
        "status": run.status, "anchor": run.anchor, "startedAt": run.started_at,
    }  # fmt: skip
    if waiting is not None:
        found["waiting"] = {"kind": waiting.kind, "until": waiting.until, "event": waiting.event}
    return found


def _line(row: TranscriptRow) -> dict[str, Any]:
    data = parse_json(row.data) if row.data is not None and row.role != "person" else row.data
    return {"seq": row.seq, "role": row.role, "text": row.text, "at": iso(row.at), "id": row.id, "data": data}


def _logged(row: LogRow) -> dict[str, Any]:
    return {**parse_json(row.log), "seq": row.seq, "key": row.key, "at": iso(row.at)}
