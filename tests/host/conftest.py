"""Every promise of the host is tested on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.ledger.ledgers import postgres_ledger, sqlite_ledger
from host.stage import Home


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def home(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> Home:
    """Where a host keeps everything."""
    if request.param == "sqlite":
        return Home(lambda: sqlite_ledger(tmp_path))
    server = request.getfixturevalue("postgres_server")
    return Home(lambda: postgres_ledger(server, place))
