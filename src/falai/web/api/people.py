"""People of the team take over: they close the gate, write to the customer, and open it again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.responses import Response

from falai.web.api.contract import (
    ID,
    READING,
    HostOf,
    InputId,
    PeopleCaller,
    SessionId,
    Taken,
    answered,
    place_of,
    problems,
    refused,
)
from falai.web.mistakes import Body, Wire

__all__ = ["Gate", "HoldIn", "PersonIn", "Released", "router"]

router = APIRouter(prefix="/v1", tags=["people"])

_RESPONSES = problems(*READING)


class HoldIn(Body):
    """Why the assistant is to be silent, and what becomes of messages meanwhile."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "Maria answers"}]})

    reason: Annotated[str, Field(min_length=1, max_length=1000, pattern=ID)] = "held"
    understand: Annotated[bool, Field(strict=True, description="Messages are still understood: fields are filled.")] = (
        False
    )
    skip: Annotated[bool, Field(strict=True, description="Messages are passed over, and end no run.")] = False


class Gate(Wire):
    """Whether the assistant is silent, and why."""

    held: str | None


class Released(Wire):
    """Whether the gate was closed before."""

    released: bool


class PersonIn(Body):
    """What a person of the team writes to the customer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "I will call you.", "id": "p1", "by": "Maria"}]})

    text: Annotated[str, Field(min_length=1)]
    id: InputId
    by: Annotated[str | None, Field(max_length=1000, description="Who writes.")] = None


@router.post("/sessions/{session_id}/hold", response_model=Gate, responses=_RESPONSES)
async def hold(session_id: SessionId, body: HoldIn, caller: PeopleCaller, host: HostOf) -> Response:
    """Close the gate: the assistant is silent until `release`, and what it has under way is not sent."""
    place = place_of(host, caller, session_id)
    try:
        await host.hold(place.session, body.reason, understand=body.understand, skip=body.skip, tenant=place.tenant)
    except ValueError as error:
        raise refused(error) from error
    return answered({"held": body.reason})


@router.post("/sessions/{session_id}/release", response_model=Released, responses=problems())
async def release(session_id: SessionId, caller: PeopleCaller, host: HostOf) -> Response:
    """Open the gate."""
    place = place_of(host, caller, session_id)
    return answered({"released": await host.release(place.session, tenant=place.tenant)})


@router.post("/sessions/{session_id}/people", response_model=Taken, responses=_RESPONSES)
async def write_as_person(session_id: SessionId, body: PersonIn, caller: PeopleCaller, host: HostOf) -> Response:
    """Send what a person wrote; the gate closes if it is open. The same `id` again sends nothing."""
    place = place_of(host, caller, session_id)
    try:
        received = await host.human_message(place.session, body.text, id=body.id, by=body.by, tenant=place.tenant)
    except ValueError as error:
        raise refused(error) from error
    return answered({"key": received.key, "new": received.new})
