"""A save as part of a transaction of the host, with its outbox: C-19, P-77."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import changed, full_session, lose

__all__ = ["TransactionContract"]


class _TakenBackError(Exception):
    pass


class TransactionContract(Backend, ABC):
    """For stores that take part in a transaction of the host."""

    @abstractmethod
    def transaction(self, store: Any) -> AbstractAsyncContextManager[Store]:
        """Begins a transaction of the host and gives a store that takes part in it, over the rows of `store`.

        It is committed at the end of the block, and rolled back when an error leaves it.
        """

    @asynccontextmanager
    async def _taken_back(self, store: Store) -> AsyncGenerator[Store]:
        """A transaction that an error of the host ends."""
        with pytest.raises(_TakenBackError):  # noqa: PT012 - the block is the test's
            async with self.transaction(store) as inside:
                yield inside
                raise _TakenBackError

    async def test_c19_a_transaction_that_is_rolled_back(self, store: Store) -> None:
        """Nothing of it was saved."""
        async with self._taken_back(store) as inside:
            await inside.save(full_session(), 0)
            await inside.save(full_session(), 1)
        assert await store.load("s1") is None
        first = await store.save(full_session(), 0)
        async with self._taken_back(store) as inside:
            await inside.save(changed(first, n=1), 1)
            await inside.save(Session.fresh("s2"), 0)
        assert (await store.scan()).sessions == [first]

    async def test_a_transaction_that_is_committed(self, store: Store) -> None:
        """All of it was saved; inside, the store sees what it has written."""
        async with self.transaction(store) as inside:
            first = await inside.save(full_session(), 0)
            assert await inside.load("s1") == first
            second = await inside.save(changed(first, n=1), 1)
            assert (await inside.scan()).sessions == [second]
        assert await store.load("s1") == second

    async def test_a_conflict_leaves_the_transaction_usable(self, store: Store) -> None:
        """The host decides what becomes of it, and what was saved before the conflict counts (P-35, P-41, P-69)."""
        await store.save(Session.fresh("s1"), 0)
        async with self.transaction(store) as inside:
            await inside.save(Session.fresh("s2"), 0)
            await lose(inside, Session.fresh("s1"), 0, 1)
            await lose(inside, Session.fresh("s3"), 4, None)
            await lose(inside, Session.fresh("s1"), 7, 1)
            await inside.save(Session.fresh("s4"), 0)
        assert {session.id for session in (await store.scan()).sessions} == {"s1", "s2", "s4"}

    async def test_a_delete_that_is_taken_back(self, store: Store) -> None:
        """It is part of the transaction too."""
        saved = await store.save(Session.fresh("s1"), 0)
        async with self._taken_back(store) as inside:
            assert await inside.delete("s1") is True
            assert await inside.load("s1") is None
        assert await store.load("s1") == saved
