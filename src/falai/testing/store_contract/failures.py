"""A backend that fails: C-16."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from falai.errors import FalaiError
from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import changed, full_session

__all__ = ["FailureContract"]

CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "load": lambda store: store.load("s1"),
    "first save": lambda store: store.save(Session.fresh("s2"), 0),
    "save": lambda store: store.save(changed(full_session(), n=1), 1),
    "scan": lambda store: store.scan(),
    "delete": lambda store: store.delete("s1"),
}


class FailureContract(Backend, ABC):
    """For stores whose backend a test can make fail."""

    @abstractmethod
    def outage(self, store: Any) -> AbstractAsyncContextManager[type[Exception]]:
        """In the block the backend of `store` carries out nothing; gives the class of the driver's errors.

        After the block it works as before. It may be a server that was stopped, a connection that
        was cut, a table that was renamed.
        """

    @pytest.mark.parametrize("call", CALLS)
    async def test_c16_an_error_of_the_driver_passes_through(self, store: Store, call: str) -> None:
        """It comes unchanged (P-12), nothing was written, and the next call works."""
        saved = await store.save(full_session(), 0)
        async with self.outage(store) as failure:
            with pytest.raises(failure) as caught:
                await CALLS[call](store)
            assert not isinstance(caught.value, FalaiError)
        assert await store.load("s1") == saved
        assert await store.load("s2") is None
        assert (await store.save(saved, 1)).version == 2

    async def test_failure_after_failure(self, store: Store) -> None:
        """A store that was asked many times in vain works as soon as its backend does."""
        saved = await store.save(full_session(), 0)
        async with self.outage(store) as failure:
            for _ in range(6):
                with pytest.raises(failure):
                    await store.load("s1")
        assert await store.load("s1") == saved
