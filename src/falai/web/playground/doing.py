"""The addresses that do something in a branch, or to the sandbox; each answers with how it stands then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from falai.host.watching import Withdrawn, Words
from falai.web.api.said import Frame
from falai.web.api.sse import EVENT_STREAM, EventStream
from falai.web.playground.asking import branch_of, played, refusing, sandbox_of, state_response, works_of
from falai.web.playground.bodies import (
    ClockBody,
    EventBody,
    GateBody,
    InBranch,
    MessageBody,
    ModelBody,
    NewBody,
    PersonBody,
    SpecBody,
    StartBody,
    TakeBackBody,
    read_body,
)
from falai.web.playground.branch import Branch
from falai.web.playground.sandbox import Sandbox
from falai.web.playground.specs import check, is_editable
from falai.web.playground.state import state_of
from falai.web.problems import Found, ProblemError, document, problem_of

__all__ = [
    "apply_spec", "clock", "event", "gate", "message", "model", "new", "person", "start", "take_back",
]  # fmt: skip

T = TypeVar("T", bound=InBranch)
Answering = Callable[[Request], Awaitable[Response]]
_HEARTBEAT_S: Final = 15.0
_HELD: Final = "a person has taken over"


async def message(request: Request) -> Response:
    """The customer writes; the reply comes as a stream of events, or, for who takes no stream, in one piece."""
    body, sandbox = await read_body(request, MessageBody), sandbox_of(request)
    branch = branch_of(sandbox, body.branch)
    if EVENT_STREAM not in request.headers.get("accept", EVENT_STREAM):
        return await _answered(request, branch, branch.message(body.text, body.id, _unheard))
    frames = asyncio.Queue[Frame | None]()
    works_of(request).begin(_streamed(sandbox, branch, body, frames))
    return EventStream(_until_none(frames), held=AsyncExitStack(), heartbeat_s=_HEARTBEAT_S)


def _does(kind: type[T], act: Callable[[Branch, T], Coroutine[Any, Any, None]]) -> Answering:
    """An address that does this in a branch."""

    async def answer(request: Request) -> Response:
        body = await read_body(request, kind)
        branch = branch_of(sandbox_of(request), body.branch)
        return await _answered(request, branch, act(branch, body))

    return answer


event = _does(EventBody, lambda branch, body: branch.report(body.name, body.payload))
start = _does(StartBody, lambda branch, body: branch.start(body.flow, body.input))
person = _does(PersonBody, lambda branch, body: branch.person(body.text, body.by))
gate = _does(GateBody, lambda branch, body: branch.gate(closed=body.closed, reason=body.reason or _HELD))
clock = _does(ClockBody, lambda branch, body: branch.move_clock(body.ms))


async def model(request: Request) -> Response:
    """Another model answers from now on, in all conversations."""
    body, sandbox = await read_body(request, ModelBody), sandbox_of(request)
    branch = branch_of(sandbox, body.branch)
    replies = [reply.as_reply() for reply in body.replies]
    try:
        sandbox.models.choose(body.id, replies, body.name)
    except ValueError as error:
        raise ProblemError(422, "invalid", str(error)) from error
    return state_response(sandbox, branch)


async def take_back(request: Request) -> Response:
    """Back to behind a turn, in a new conversation."""
    body, sandbox = await read_body(request, TakeBackBody), sandbox_of(request)
    found = await played(request, sandbox.take_back(branch_of(sandbox, body.branch), body.turn))
    return state_response(sandbox, found)


async def new(request: Request) -> Response:
    """A new conversation."""
    await read_body(request, NewBody)
    sandbox = sandbox_of(request)
    try:
        branch = sandbox.fresh()
    except ValueError as error:
        raise ProblemError(422, "invalid", str(error)) from error
    return state_response(sandbox, branch)


async def apply_spec(request: Request) -> Response:
    """These flows from now on, in all conversations of this playground; with mistakes, nothing changes."""
    body, sandbox = await read_body(request, SpecBody), sandbox_of(request)
    branch = branch_of(sandbox, body.branch)
    if not is_editable(sandbox.agent):
        raise ProblemError(422, "invalid", "The flows of this agent are no plain data, so they cannot be changed here.")
    checked = await asyncio.to_thread(check, body.text, sandbox.agent)
    if checked.problems:
        errors = [Found(one.path, one.code, f"{one.where}: {one.what}", one.fix) for one, _ in checked.problems]
        raise ProblemError(422, "invalid", "The flows have mistakes, so nothing was changed.", errors=errors)
    sandbox.deploy(checked.flows)
    return state_response(sandbox, branch)


async def _answered(request: Request, branch: Branch, work: Coroutine[Any, Any, None]) -> Response:
    await played(request, work)
    return state_response(sandbox_of(request), branch)


async def _streamed(sandbox: Sandbox, branch: Branch, body: MessageBody, frames: asyncio.Queue[Frame | None]) -> None:
    """Plays to the end; what the page is told goes into the queue."""

    def tell(one: Words | Withdrawn) -> None:
        frame = Frame("delta", {"text": one.text}) if isinstance(one, Words) else Frame("withdrawn", {})
        frames.put_nowait(frame)

    try:
        await refusing(branch.message(body.text, body.id, tell))
        frames.put_nowait(Frame("state", state_of(sandbox, branch)))
    except Exception as error:  # noqa: BLE001  # whatever it is, the page is told
        frames.put_nowait(Frame("problem", document(problem_of(error))))
    finally:
        frames.put_nowait(None)


async def _until_none(frames: asyncio.Queue[Frame | None]) -> AsyncGenerator[Frame, None]:
    while (frame := await frames.get()) is not None:
        yield frame


def _unheard(word: object) -> None:
    """Nobody listens to the words."""
