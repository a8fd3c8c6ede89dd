"""What was set aside: inputs that failed for good, messages that no channel took. People retry or drop it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from falai.host.ledger.port import DeadRow, Place
from falai.session.dates import iso
from falai.session.jsontext import parse_json
from falai.web.access import Caller
from falai.web.api.contract import LONGEST, READING, HostOf, Limit, OperateCaller, answered, problems
from falai.web.mistakes import Body, Wire
from falai.web.problems import ProblemError

__all__ = ["Dead", "DeadIn", "DeadOut", "Done", "router"]

router = APIRouter(prefix="/v1", tags=["dead letters"])

_RESPONSES = problems("no-dead-letter", *READING)


class DeadOut(Wire):
    """A dead letter: an input that failed, or a message that could not be sent. `error` is for the operator."""

    what: Literal["input", "message"]
    session: str
    key: str
    kind: str
    body: Any
    attempts: int
    error: str | None
    at: str


class Dead(Wire):
    """The oldest dead letters of the tenant."""

    dead: list[DeadOut]


class DeadIn(Body):
    """Which dead letter, as the list names it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"what": "input", "session": "s1", "key": "message:m1"}]})

    what: Literal["input", "message"]
    session: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    key: Annotated[str, Field(min_length=1, max_length=512)]


class Done(Wire):
    """It was still there."""

    done: Literal[True]


@router.get("/dead", response_model=Dead, responses=problems())
async def list_dead(
    caller: OperateCaller,
    host: HostOf,
    session: Annotated[str | None, Query(description="Those of this session.")] = None,
    limit: Limit = 100,
) -> Response:
    """List what was set aside, the oldest first."""
    rows = await host.dead(session, limit=limit, tenant=caller.tenant)
    return answered({"dead": [_dead(row) for row in rows]})


@router.post("/dead/retry", response_model=Done, responses=_RESPONSES)
async def retry_dead(body: DeadIn, caller: OperateCaller, host: HostOf) -> Response:
    """Try it again, from where it stood."""
    return _done(await host.retry(_row(body, caller, host.agent.plan.name)))


@router.post("/dead/drop", response_model=Done, responses=_RESPONSES)
async def drop_dead(body: DeadIn, caller: OperateCaller, host: HostOf) -> Response:
    """Let it go for good."""
    return _done(await host.drop(_row(body, caller, host.agent.plan.name)))


def _row(body: DeadIn, caller: Caller, agent: str) -> DeadRow:
    """It is found by its place and its key."""
    place = Place(caller.tenant, agent, body.session)
    return DeadRow(what=body.what, place=place, key=body.key, kind="", body="", attempts=0, error=None, at=0)


def _done(found: bool) -> Response:
    if not found:
        raise ProblemError(404, "no-dead-letter", "It is not set aside: it was retried or dropped, or never was.")
    return answered({"done": True})


def _dead(row: DeadRow) -> dict[str, Any]:
    return {
        "what": row.what, "session": row.place.session, "key": row.key, "kind": row.kind, "body": parse_json(row.body),
        "attempts": row.attempts, "error": row.error, "at": iso(row.at),
    }  # fmt: skip
