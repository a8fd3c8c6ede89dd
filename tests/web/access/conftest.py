"""A ledger for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from falai.host.ledger.sqlite import SQLiteLedger


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SQLiteLedger]:
    made = SQLiteLedger(tmp_path / "falai.db")
    await made.open()
    yield made
    await made.close()
