"""What happens to a customer beside messages: events that a system reports, and flows that it starts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.responses import Response

from falai.flow.nearest import meant
from falai.host import Host
from falai.host.ledger.port import Place
from falai.session.inputs import Event, Start
from falai.session.jsontext import quoted
from falai.web.access import Caller
from falai.web.api.contract import (
    TAKING,
    HostOf,
    InputId,
    OperateCaller,
    SessionId,
    Taken,
    answered,
    place_of,
    problems,
    refused,
)
from falai.web.api.messages import Whom
from falai.web.problems import Found, ProblemError

__all__ = ["EventIn", "StartIn", "router"]

router = APIRouter(prefix="/v1", tags=["inputs"])


class EventIn(Whom):
    """Something happened. The `key` names this very happening: one that comes again starts nothing twice."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "order.paid", "key": "order-17", "payload": {"total": 40}}]}
    )

    name: Annotated[str, Field(description="An event that the agent declares.")]
    key: InputId
    payload: Annotated[Any, Field(description="Any JSON; flows read it as `event`.")] = None


class StartIn(Whom):
    """A flow is to start. The `key` names this very start."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"flow": "reminder", "key": "reminder-17"}]})

    flow: Annotated[str, Field(description="The id of a flow; it needs no trigger.")]
    key: InputId
    input: Annotated[Any, Field(description="Any JSON; the flow reads it as `input`.")] = None


@router.post(
    "/sessions/{session_id}/events", status_code=202, response_model=Taken, responses=problems("no-event", *TAKING)
)
async def report_event(session_id: SessionId, body: EventIn, caller: OperateCaller, host: HostOf) -> Response:
    """Report an event. Flows that wait for it go on, flows that it triggers start."""
    _known(body.name, host.agent.plan.events, "name", "event")
    event = Event(body.name, body.key, body.payload)
    return await _take(host, place_of(host, caller, session_id), event, body, caller)


@router.post(
    "/sessions/{session_id}/starts", status_code=202, response_model=Taken, responses=problems("no-flow", *TAKING)
)
async def start_flow(session_id: SessionId, body: StartIn, caller: OperateCaller, host: HostOf) -> Response:
    """Start a flow."""
    _known(body.flow, host.agent.plan.flows, "flow", "flow")
    start = Start(body.flow, body.key, body.input)
    return await _take(host, place_of(host, caller, session_id), start, body, caller)


async def _take(host: Host[Any], place: Place, input: Event | Start, body: Whom, caller: Caller) -> Response:
    try:
        received = await host.receive(place.session, input, tenant=place.tenant, **body.whose(caller))
    except ValueError as error:
        raise refused(error) from error
    return answered({"key": received.key, "new": received.new}, 202)


def _known(name: str, names: Collection[str], path: str, what: str) -> None:
    """Raises `ProblemError` for a name that the agent does not have: it would do nothing, and nobody be told."""
    if name not in names:
        hint = f"{meant(name, names)}There is {', '.join(names) or 'none'}"
        found = Found(path, f"no-{what}", f"the agent has no {what} {quoted(name)}", hint)
        raise ProblemError(404, f"no-{what}", f"The agent has no {what} of this name.", errors=[found])
