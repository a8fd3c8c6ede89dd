"""How the host does: for people, for Prometheus, and for whoever starts and stops processes."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from falai.host import to_prometheus
from falai.host.ledger.port import Statement, Work
from falai.session.dates import iso
from falai.web.api.contract import OPEN, HostOf, OperateCaller, answered, problems
from falai.web.mistakes import Wire
from falai.web.problems import ProblemError

__all__ = ["Alive", "Ready", "StatusOut", "router"]

router = APIRouter(prefix="/v1", tags=["status"])

_PATIENCE_S: Final = 5.0
_FIGURES: Final = "text/plain; version=0.0.4; charset=utf-8"


class StatusOut(Wire):
    """How much waits of this agent, of all tenants and processes; `turns` and `deliveries` are of this process."""

    inputs: int
    oldest: Annotated[str | None, Field(description="When the oldest of them came in.")]
    messages: int
    wakes_due: int
    starts: int
    dead: int
    turns: int
    deliveries: int


class Alive(Wire):
    """The process answers."""

    alive: Literal[True]


class Ready(Wire):
    """The host runs, and reaches its store."""

    ready: Literal[True]


_METRICS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Figures in the text form of Prometheus.",
        "content": {
            "text/plain": {
                "schema": {"type": "string"},
                "example": '# TYPE falai_inputs gauge\nfalai_inputs{agent="Ana"} 0\n',
            }
        },
    },
    **problems(),
}


@router.get("/status", response_model=StatusOut, responses=problems())
async def read_status(caller: OperateCaller, host: HostOf) -> Response:  # noqa: ARG001  # the scope is what counts
    """Read how much waits, and how much is at work."""
    found = asdict(await host.status())
    oldest = found["oldest"]
    found["oldest"] = None if oldest is None else iso(oldest)
    return answered({_camel(name): value for name, value in found.items()})


@router.get("/metrics", response_class=Response, responses=_METRICS)
async def read_metrics(caller: OperateCaller, host: HostOf) -> Response:  # noqa: ARG001  # likewise
    """The same for Prometheus."""
    text = to_prometheus(await host.status(), agent=host.agent.plan.name)
    return Response(text, headers={"Content-Type": _FIGURES})


@router.get("/health/live", response_model=Alive, responses=problems(always=OPEN))
async def is_alive() -> Response:
    """Whether the process answers."""
    return answered({"alive": True})


@router.get("/health/ready", response_model=Ready, responses=problems("not-running", "store-away", always=OPEN))
async def is_ready(host: HostOf) -> Response:
    """Whether the host runs and reaches its store."""
    ledger = host.ledger
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await ledger.run(_nothing())
    except Exception as error:
        detail = f"The store did not answer: {type(error).__name__}."
        raise ProblemError(503, "store-away", detail, headers={"Retry-After": "5"}) from error
    return answered({"ready": True})


def _nothing() -> Work[None]:
    yield (Statement("SELECT 1", ()),)


def _camel(name: str) -> str:
    return "wakesDue" if name == "wakes_due" else name
