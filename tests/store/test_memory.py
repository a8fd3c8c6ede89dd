from __future__ import annotations

import pytest

from falai.session.model import Session
from falai.store import MemoryStore
from falai.testing.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    """The contract, over a dictionary."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


async def test_clear_drops_all_sessions() -> None:
    """After `clear` the store is as new (P-31)."""
    async with MemoryStore() as store:
        await store.save(Session.fresh("s1"), 0)
        store.clear()
        assert await store.load("s1") is None
        assert (await store.save(Session.fresh("s1"), 0)).version == 1


async def test_disconnect_keeps_the_sessions() -> None:
    """There is no client to close; the sessions stay until the process ends (P-24, P-29)."""
    store = MemoryStore()
    async with store:
        await store.save(Session.fresh("s1"), 0)
    assert await store.load("s1") is not None
