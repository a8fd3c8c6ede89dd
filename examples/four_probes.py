"""Four mishaps that every channel brings sooner or later, and what a host makes of them.

Run it with `python examples/four_probes.py`: it needs no key and no network, and prints a table.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Field,
    Flow,
    Message,
    OnAnyMessage,
    Prompt,
    ProviderError,
    ok,
)
from falai.channel import Channel, Outgoing, Sent
from falai.host import Host
from falai.model import LexicalModel, ModelChunk, ModelReply, ModelRequest
from falai.testing import Clock


class Wire(Channel):
    """Keeps what would have been sent."""

    name = "wire"

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def send(self, out: Outgoing) -> Sent:
        self.texts.append(out.text)
        return Sent()


class Slow:
    """The lexical model, a little later; its first `failing` replies fail."""

    name = "slow"

    def __init__(self, failing: int = 0) -> None:
        self._lexical = LexicalModel()
        self._failing = failing

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.05)
        if request.schema_name == "speak" and self._failing > 0:
            self._failing -= 1
            raise ProviderError("the provider is down", kind="overload")
        return await self._lexical.complete(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


BOOKED: list[str] = []
FIELDS = {"name": Field(str, ask="Ask for the name.", question="What is your name?")}


def book(ctx: ActionContext[Any]) -> ActionResult:
    """Book the visit."""
    BOOKED.append(ctx.key)
    return ok("booked")


def agent(*flows: Flow, model: Any = None, clock: Clock | None = None) -> Agent[Any]:
    """An agent of these flows."""
    return Agent(name="Ana", model=model or Slow(), clock=clock, fields=FIELDS, actions=[book], flows=flows)


def echo() -> Flow:
    """Every message is answered by the model."""
    return Flow("echo", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")])


async def close_together(file: Path) -> tuple[bool, str]:
    """Two messages 20 ms apart, while the model thinks about the first."""
    async with Host(agent(echo()), file, channel=(wire := Wire())) as host:
        await host.receive("s1", Message("a haircut", id="m1"))
        await asyncio.sleep(0.02)
        await host.receive("s1", Message("tomorrow at 3", id="m2"))
        await host.drained()
        look = await host.look("s1")
    heard = [row.text for row in reversed(look.transcript) if row.role == "user"] if look else []
    return heard == ["a haircut", "tomorrow at 3"] and len(wire.texts) == 2, f"heard {heard}, {len(wire.texts)} answers"


async def delivered_twice(file: Path) -> tuple[bool, str]:
    """The same message twice, also at the same time."""
    async with Host(agent(echo()), file, channel=(wire := Wire())) as host:
        both = [host.receive("s1", Message("hello", id="m1")) for _ in range(2)]
        await asyncio.gather(*both)
        await host.drained()
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
    return len(wire.texts) == 1, f"{len(wire.texts)} answer to 3 deliveries"


async def speech_fails(file: Path) -> tuple[bool, str]:
    """The speaking call fails after an action ran."""
    clock, before = Clock(), len(BOOKED)
    flow = Flow("visit", on=[OnAnyMessage()], steps=[Do("book", book), Prompt("told", "Say that it is booked.")])
    async with Host(agent(flow, model=Slow(failing=1), clock=clock), file, channel=(wire := Wire())) as host:
        await host.receive("s1", Message("book me in", id="m1"))
        await host.drained()
        at_first = len(wire.texts)
        clock.advance("1m")
        await host.drained()
    acted = len(BOOKED) - before
    return (acted, at_first, len(wire.texts)) == (
        1,
        0,
        1,
    ), f"acted {acted} time, {len(wire.texts)} answer, a minute later"


async def step_renamed(file: Path) -> tuple[bool, str]:
    """A step is renamed while a session waits in it."""
    wire, log = Wire(), ""
    for step, texts in (("ask", ["hello"]), ("ask_name", ["My name is Rui", "hello again"])):
        flow = Flow("lead", on=[OnAnyMessage(repeat="always")], steps=[Collect(step, ["name"])])
        async with Host(agent(flow), file, channel=wire) as host:
            for text in texts:
                await host.receive("s1", Message(text, id=text))
            await host.drained()
            look, dead = await host.look("s1"), await host.dead()
            log = "".join(row.log for row in look.log) if look else ""
    told = "the log says so" if "step-gone" in log else "nobody is told"
    return "step-gone" in log and len(wire.texts) == 3 and not dead, f"{told}; each of 3 messages was answered"


async def main() -> None:
    """Plays each on a fresh file."""
    for probe in (close_together, delivered_twice, speech_fails, step_renamed):
        with TemporaryDirectory() as folder:
            good, seen = await probe(Path(folder) / "falai.db")
        print(f"{'ok  ' if good else 'FAIL'} | {probe.__doc__} | {seen}")  # noqa: T201 - it is what the script is for


if __name__ == "__main__":
    asyncio.run(main())
