"""Every promise of the ledger is tested on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from falai.host.ledger.port import Ledger
from host.ledger.ledgers import postgres_ledger, sqlite_ledger


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
async def ledger(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> AsyncIterator[Ledger]:
    if request.param == "sqlite":
        made: Ledger = sqlite_ledger(tmp_path)
    else:
        made = postgres_ledger(request.getfixturevalue("postgres_server"), place)
    await made.open()
    yield made
    await made.close()
