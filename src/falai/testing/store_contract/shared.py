"""Several stores over the same rows, as in several processes."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack

from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.races import race, save_until_it_counts
from falai.testing.store_contract.sessions import changed, full_session, lose

__all__ = ["SharedContract"]


class SharedContract(Backend, ABC):
    """For stores that share what they keep."""

    @abstractmethod
    def another(self) -> Store:
        """A further store over the rows of the fixture `store`, with a client of its own, not yet entered."""

    async def test_what_one_saves_the_other_loads(self, store: Store) -> None:
        """And each learns that it was late."""
        async with self.another() as other:
            first = await store.save(full_session(), 0)
            assert await other.load("s1") == first
            second = await other.save(changed(first, n=1), 1)
            await lose(store, first, 1, 2)
            assert await store.load("s1") == second
            assert (await store.scan()).sessions == (await other.scan()).sessions == [second]
            assert [await other.delete("s1"), await store.delete("s1")] == [True, False]

    async def test_stores_that_race(self, store: Store) -> None:
        """Of twenty saves through several stores one succeeds, first saves and later ones."""
        async with AsyncExitStack() as stack:
            stores = [store, *[await stack.enter_async_context(self.another()) for _ in range(3)]]
            for version in range(3):
                await race(stores, full_session(), version)
            await asyncio.gather(*(save_until_it_counts(stores[n % 4], "s2") for n in range(8)))
            loaded = await store.load("s2")
            assert loaded is not None
            assert loaded.data == {"n": 8}

    async def test_stores_that_begin_at_once(self, store: Store) -> None:
        """Each creates what is missing, none fails, and what is there stays (P-23, C-17)."""
        saved = await store.save(Session.fresh("s1"), 0)
        others = [self.another() for _ in range(4)]
        await asyncio.gather(*(other.initialize() for other in others))
        assert list(await asyncio.gather(*(other.load("s1") for other in others))) == [saved] * 4
        await asyncio.gather(*(other.disconnect() for other in others))

    async def test_sessions_outlive_a_store(self, store: Store) -> None:
        """What was saved is there when the store is gone."""
        async with self.another() as other:
            saved = await other.save(full_session(), 0)
        async with self.another() as other:
            assert await other.load("s1") == await store.load("s1") == saved

    async def test_one_event_loop_after_another(self, store: Store) -> None:
        """A script may run loop after loop, each with a store over the same rows."""
        for version in range(3):
            await asyncio.to_thread(asyncio.run, self._in_a_loop_of_its_own(version))
        loaded = await store.load("s1")
        assert loaded is not None
        assert (loaded.version, loaded.data) == (3, {"n": 3})

    async def _in_a_loop_of_its_own(self, version: int) -> None:
        async with self.another() as other:
            await save_until_it_counts(other, "s1")
            loaded = await other.load("s1")
            assert loaded is not None
            assert loaded.version == version + 1
