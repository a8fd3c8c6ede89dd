"""The channels' webhooks: what a vendor sends, proved by the vendor's own signature and by no token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from falai.channel.port import BadPayloadError, BadSignatureError, Channel
from falai.host import Host
from falai.web.api.contract import OPEN, HostOf, problems, refused
from falai.web.problems import ProblemError

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["channels"])

Name = Annotated[str, Path(description="The channel, as the host names it.", examples=["whatsapp"])]
_OPEN = (*OPEN, "no-channel", "bad-signature", "not-running")
_BODY: Mapping[str, Any] = {
    "requestBody": {"content": {"application/json": {"schema": {"description": "The vendor's own."}}}, "required": True}
}
_HANDSHAKE: dict[int | str, dict[str, Any]] = {
    200: {"description": "What the vendor asked to hear.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **problems(always=_OPEN),
}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "All of it is stored; the body is what the vendor expects, often nothing."},
    **problems(
        "bad-payload", "invalid", "too-slow", "too-large", "overloaded", "host-full", "store-away", always=_OPEN
    ),
}


@router.get("/channels/{name}/webhook", response_class=Response, responses=_HANDSHAKE)
async def verify_webhook(request: Request, name: Name, host: HostOf) -> Response:
    """The vendor asks whether this address is the host's; the secret word proves that it is the vendor."""
    try:
        answer = _way(host, name).answer_to_verification(dict(request.query_params))
    except BadSignatureError as error:
        raise _stranger() from error
    return Response(answer.encode("utf-8", "replace"), headers={"Content-Type": "text/plain; charset=utf-8"})


@router.post("/channels/{name}/webhook", response_class=Response, responses=_RESPONSES, openapi_extra=dict(_BODY))
async def take_webhook(request: Request, name: Name, host: HostOf) -> Response:
    """Messages and receipts of a vendor. The answer comes when all of it is stored; what came before is dropped."""
    way, headers, body = _way(host, name), dict(request.headers), await request.body()
    try:
        await host.take(name, headers, body)
    except BadSignatureError as error:
        raise _stranger() from error
    except BadPayloadError as error:
        raise ProblemError(400, "bad-payload", "The body is none of the vendor's.") from error
    except ValueError as error:
        raise refused(error) from error
    answer = way.acknowledgement(headers, body)
    return Response(answer, headers={"Content-Type": "application/json"} if answer else None)


def _way(host: Host[Any], name: str) -> Channel:
    try:
        return host.way(name)
    except KeyError as error:
        raise ProblemError(404, "no-channel", "The host has no channel of this name.") from error


def _stranger() -> ProblemError:
    return ProblemError(401, "bad-signature", "The request does not prove that it comes from the vendor.")
