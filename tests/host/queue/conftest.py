"""An empty database, and workers on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from host.ledger.ledgers import postgres_url
from host.queue.fleet import Fleet
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
