"""A site for each test, and an id for each test that schemathesis makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from web.api.stage import Site, site


def pytest_itemcollected(item: pytest.Item) -> None:
    """Pytest 9.2 gives all operations of a test of schemathesis one id, and a run on several cores plays one of them."""
    label = getattr(item, "operation_label", None)
    if label is not None and "[" not in item.nodeid:
        item._id = item.id.with_params(label)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Site]:
    """A host that runs, and its application."""
    async with site(tmp_path) as found:
        yield found
