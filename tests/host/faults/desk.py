"""What is hosted: an agent with an action, timers and a flow per customer, a model that never says the same
twice, and a channel to the world. All of them fail as the dice fall.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, get_args

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Do,
    Flow,
    Message,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnSilence,
    Prompt,
    ProviderError,
    Say,
    Tool,
    ToolContext,
    Wait,
    failed,
    ok,
)
from falai.channel.port import Channel, ChannelError, Outgoing, Sent
from falai.errors import ProviderErrorKind
from falai.flow.functions import Action
from falai.host import Turning
from falai.model.port import ModelChunk, ModelReply, ModelRequest, ToolCall
from falai.session.dates import from_ms
from host.faults.death import Death
from host.faults.world import World
from strategies import Dice

__all__ = ["Desk", "JumpingClock", "Pace"]

LOOKED = "looked up"
_ITEM = {"item": {"type": "string"}}


class JumpingClock:
    """The host's clock: the loop's time, and what it has jumped."""

    def __init__(self, now_ms: int) -> None:
        self.ms = now_ms

    def now_ms(self) -> int:
        return self.ms + int(asyncio.get_running_loop().time() * 1000)

    def __call__(self) -> datetime:
        return from_ms(self.now_ms())


@dataclass(frozen=True)
class Pace:
    """How long things take: hours where time jumps."""

    wait: str = "30m"
    silence: str = "2h"
    call_s: Sequence[float] = (0, 0.05, 0.5)
    model_ms: int = 90_000
    """A provider that asks for a pause."""
    channel_ms: int = 20_000


JUMPING = Pace()


class Desk:
    """Everything of a life that is not the host. `faults`: whether anything fails. With `changed` its flows have
    changed, as those of a new release have.
    """

    def __init__(
        self,
        world: World,
        death: Death,
        dice: Dice,
        clock: Callable[[], datetime],
        pace: Pace = JUMPING,
        *,
        changed: bool = False,
    ) -> None:
        self.world = world
        self.death = death
        self.dice = dice
        self.pace = pace
        self.faults = True
        self.model = _Model(self)
        self.channel = _Line(self)
        flows = _flows(pace, changed=changed)
        self.agent: Agent[Any] = _agent(self.model, clock, flows, self._book, self._look_up)

    def fails(self, probability: float) -> bool:
        return self.faults and self.dice.chance(probability)

    def write(self, what: str, **more: Any) -> None:
        """To the outside, unless the process is dead."""
        self.death.point(f"before {what}")
        self.world.write(what, **more)
        self.death.point(f"after {what}")

    async def lasts(self) -> None:
        """A call takes its time, sometimes too long."""
        if self.fails(0.3):
            await asyncio.sleep(self.dice.pick(self.pace.call_s))
        if self.fails(0.03):
            await asyncio.sleep(3600)

    async def context(self, turning: Turning) -> Mapping[str, str]:
        """Which session and which input a turn is about."""
        self.death.point("asked for the context")
        await self.lasts()
        given: Any = turning.input
        name = given.id if isinstance(given, Message) else given.key
        return {"session": turning.session_id, "key": f"{type(given).__name__}:{name}"}

    async def _look_up(self, ctx: ToolContext[Any], what: str) -> str:
        self.write("looked", what_for=what, **ctx.context)
        await self.lasts()
        return LOOKED

    async def _book(self, ctx: ActionContext[Any], item: str) -> ActionResult:
        await self.lasts()
        self.write("acted", session=ctx.session_id, key=ctx.key, item=item)
        await self.lasts()
        if self.fails(0.08):
            raise ConnectionResetError("gone")
        return failed("it is sold out") if self.fails(0.08) else ok("booked")


class _Model:
    """Orders whatever is written, under a number of its own each time."""

    name = "dice"

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._numbers = count(desk.dice.number(1, 10**9))

    async def complete(self, request: ModelRequest) -> ModelReply:
        desk, task = self._desk, request.task
        desk.death.point("asked")
        await desk.lasts()
        if desk.fails(0.08):
            raise _provider_error(desk)
        said = f"{'+'.join((getattr(task, 'text', None) or '-').split())}/{next(self._numbers)}"
        if request.tools and LOOKED not in str(request.history) and desk.dice.chance(0.5):
            return ModelReply(tool_calls=(ToolCall("look", {"what": said}),))
        if request.schema_name == "speak":
            return ModelReply(structured={"message": f"re {said}"})
        wants = desk.dice.chance(0.8)
        return ModelReply(structured={"mentions": {"order": wants}, "extract": {"order": {"item": said}}})

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same, letter by letter; it may break off anywhere."""
        desk, reply, so_far = self._desk, await self.complete(request), ""
        for letter in json.dumps(reply.structured) if reply.structured else "":
            desk.death.point("writes")
            if desk.fails(0.01):
                raise _provider_error(desk)
            if desk.fails(0.01):
                await desk.lasts()
            so_far += letter
            yield ModelChunk(letter, so_far)
        if not desk.fails(0.1):
            yield ModelChunk("", so_far, reply)


class _Line(Channel):
    """Writes down when a sending begins, and when it has reached the customer."""

    name = "line"

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def send(self, out: Outgoing) -> Sent:
        desk = self._desk
        what = {"session": out.session, "key": out.idempotency_key, "text": out.text, "by": out.kind}
        desk.write("sending", **what)
        await desk.lasts()
        if desk.fails(0.08):
            raise self._error(maybe=False)
        desk.write("sent", **what)
        await desk.lasts()
        if desk.fails(0.05):
            raise self._error(maybe=True)
        return Sent(out.idempotency_key)

    def _error(self, *, maybe: bool) -> Exception:
        dice = self._desk.dice
        if dice.chance(0.1):
            return OSError("the line is dead")
        pause = dice.pick([None, 10, self._desk.pace.channel_ms])
        final = dice.chance(0.2) and not maybe
        return ChannelError(self.name, "no", retryable=not final, retry_after_ms=pause, maybe_delivered=maybe)


def _provider_error(desk: Desk) -> Exception:
    dice = desk.dice
    if dice.chance(0.1):
        return RuntimeError("a fault of the provider's library")
    kind = dice.pick(get_args(ProviderErrorKind))
    return ProviderError("it failed", kind=kind, retry_after_ms=dice.pick([None, None, desk.pace.model_ms]))


def _agent(
    model: Any, clock: Callable[[], datetime], flows: Sequence[Flow], book: Callable[..., Any], look: Callable[..., Any]
) -> Agent[Any]:
    what = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    return Agent(
        name="desk",
        model=model,
        clock=clock,
        actions=[Action("book", book, parameters=_ITEM)],
        tools=[Tool("look", look, parameters=what, description="Looks it up.")],
        events={"booked": {"direction": "outbound"}, "paid": {"direction": "outbound"}},
        flows=flows,
    )


def _flows(pace: Pace, *, changed: bool) -> Sequence[Flow]:
    more = [Say("more", "And one thing more.")] if changed else []
    return [
        Flow(
            "order",
            on=[OnMention("orders something", extract=_ITEM, repeat="always")],
            steps=[
                Do("do", "book", {"item": "{{input.item}}"}, on_fail="sorry"),
                Say("noted", "noted {{input.item}}", then="more" if changed else "end"),
                Say("sorry", "sorry {{input.item}}"),
                *more,
            ],
        ),
        Flow("chat", on=[OnAnyMessage(repeat="always")], steps=[Prompt("talk", "Answer.", tools=["look"])]),
        Flow(
            "remind",
            on=[OnEvent("booked", repeat="always")],
            steps=[Wait("pause", pace.wait), Wait("moment", "1s"), Say("again", "reminder {{input.n}}"), *more],
        ),
        Flow("vip", anchor="customer", on=[OnEvent("paid", repeat="once")], steps=[Say("thanks", "thanks")]),
        Flow("nudge", on=[OnSilence(pace.silence)], steps=[Say("still", "still there?")]),
    ]
