"""An empty database, workers on it, and a host that leaves the work to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from falai import Message
from falai.host import Host, Settings
from host.ledger.ledgers import postgres_url
from host.queue.fleet import Fleet
from host.stage import Echo, Wire, echo
from servers.process import Server


@pytest.fixture
def url(postgres_server: Server, place: str) -> str:
    return postgres_url(postgres_server, place)


@pytest.fixture
async def fleet(url: str, tmp_path: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(url, tmp_path)
    await fleet.ledger.open()
    try:
        yield fleet
    finally:
        fleet.close()
        await fleet.ledger.close()


class Busy:
    """A host that is at one turn and one message, and does no others at a time: whatever else comes in is done by others."""

    def __init__(self, url: str) -> None:
        self.never, self.begun = asyncio.Event(), asyncio.Event()
        self.wire = Wire()
        self.wire.next = [self.never]
        settings = Settings(at_once=1, grace="0s", send_limit="10m")
        self.host = Host(echo(Echo(self._wait)), url, channel=self.wire, settings=settings)

    async def _wait(self, _: object) -> None:
        self.begun.set()
        await self.never.wait()


@pytest.fixture
async def busy(url: str) -> AsyncIterator[Host[None]]:
    made = Busy(url)
    async with made.host as host:
        await host.receive("slow", Message("slow", id="m1"))
        await host.human_message("talk", "slow", id="h1")
        await made.begun.wait()
        while not made.wire.tried:
            await asyncio.sleep(0.01)
        yield host
