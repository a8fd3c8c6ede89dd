"""Every promise of the host is tested on both databases, and with several hosts that share the work of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.ledger.ledgers import postgres_ledger, sqlite_ledger
from host.stage import Home, homes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that names no homes of its own (`alone`) is run in all of them."""
    named = any("home" in mark.args for mark in metafunc.definition.iter_markers("parametrize"))
    if "home" in metafunc.fixturenames and not named:
        counts = (0, 1, 2, 4) if metafunc.config.getoption("--full") else (0, 1, 4)
        metafunc.parametrize("home", homes(*counts), indirect=True)


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> Home:
    """Where a host keeps everything."""
    if request.param == 0:
        return Home(lambda: sqlite_ledger(tmp_path))
    server = request.getfixturevalue("postgres_server")
    return Home(lambda: postgres_ledger(server, place), request.param)
