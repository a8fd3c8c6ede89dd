"""What the tests of the host share: a channel that remembers, a model that can be held up, hosts on a fresh file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from falai import Agent, Flow, OnAnyMessage, OnMessage, Prompt
from falai.channel import Channel, Outgoing, Sent
from falai.host import Host
from falai.host.ledger.port import Ledger
from falai.model import ModelChunk, ModelReply, ModelRequest
from falai.testing import Clock
from falai.testing.scripted import whole_reply
from host.ledger.ledgers import dump

__all__ = ["FLOWS", "JUDGED", "SMALL", "Echo", "Home", "Wire", "alone", "echo", "homes", "hosted", "until"]

SMALL = {"retries": ("1s", "2s"), "send_retries": ("1s", "2s")}
"""Settings with few tries."""


FLOWS = [Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")])]
"""Every message is answered by the model."""

JUDGED = [Flow("book", on=[OnMessage("books something")], steps=[Prompt("reply", "Answer.")]), *FLOWS]
"""Every message is judged first; whatever comes of that, it is answered."""


class Wire(Channel):
    """A channel that remembers what it was given; `next` raises or waits before it takes a message."""

    def __init__(self, name: str = "wire") -> None:
        self.name = name
        self.sent: list[Outgoing] = []
        self.tried: list[Outgoing] = []
        self.next: list[BaseException | asyncio.Event] = []
        self.lost: list[BaseException] = []
        """Raised after the message was delivered."""

    async def send(self, out: Outgoing) -> Sent:
        self.tried.append(out)
        match self.next.pop(0) if self.next else None:
            case asyncio.Event() as gate:
                await gate.wait()
            case BaseException() as error:
                raise error
            case None:
                pass
        self.sent.append(out)
        if self.lost:
            raise self.lost.pop(0)
        return Sent(f"vendor-{len(self.sent)}")

    @property
    def texts(self) -> list[str]:
        return [out.text for out in self.sent]

    def said(self, session: str) -> list[str]:
        return [out.text for out in self.sent if out.session == session]


class Echo:
    """A model that says `re: <what was written>`; `before` is called first and may wait or raise."""

    name = "echo"

    def __init__(self, before: Callable[[ModelRequest], Awaitable[None]] | None = None) -> None:
        self.before = before
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if self.before is not None:
            await self.before(request)
        if request.schema_name == "understand":
            return whole_reply({})
        return whole_reply({"message": f"re: {getattr(request.task, 'text', None)}"})

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


def echo(
    model: Any = None, *, clock: Clock | None = None, flows: Sequence[Flow] | None = None, **more: Any
) -> Agent[Any]:
    """An agent that answers each message with its words."""
    return Agent(name="Ana", model=model or Echo(), clock=clock, flows=flows or FLOWS, **more)


@dataclass(frozen=True)
class Home:
    """Where a host keeps everything: an empty database, opened anew by each host; and how many share the work."""

    ledger: Callable[[], Ledger]
    hosts: int = 1

    async def words(self) -> str:
        """Every value of every table, while no host runs."""
        ledger = self.ledger()
        await ledger.open()
        try:
            return repr(await dump(ledger))
        finally:
            await ledger.close()


def homes(*counts: int) -> list[Any]:
    """The parameters of the fixture `home`: 0 is a file of SQLite, else so many hosts share a database of PostgreSQL."""
    return [
        pytest.param(count, id=f"postgres-{count}", marks=pytest.mark.servers)
        if count
        else pytest.param(0, id="sqlite")
        for count in counts
    ]


alone = pytest.mark.parametrize("home", homes(0, 1), indirect=True)
"""For a test that is about one host: how much it does at once, or what it leaves when it ends."""


@asynccontextmanager
async def hosted(
    agent: Agent[Any], home: Home, *, kind: type[Host[Any]] = Host, **options: Any
) -> AsyncIterator[Host[Any]]:
    """A host that runs, and those that share its work."""
    async with AsyncExitStack() as stack:
        hosts = [await stack.enter_async_context(kind(agent, home.ledger(), **options)) for _ in range(home.hosts)]
        yield hosts[0]


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what another task does."""
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)
