"""A site for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from web.api.stage import Site, site


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Site]:
    """A host that runs, and its application."""
    async with site(tmp_path) as found:
        yield found
