"""Rows that another program wrote: C-12, C-13 and C-22."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

import pytest

from falai.errors import InvalidSessionError
from falai.session.codec import session_to_json, session_to_wire
from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.scans import all_pages, ids_of
from falai.testing.store_contract.sessions import NOW, changed, full_session, lose

__all__ = ["RowContract"]

_NO_JSON = ["no JSON", "", "{", "\ufeff{}"]


class RowContract(Backend, ABC):
    """For stores whose rows a test can write past the store."""

    @abstractmethod
    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        """Writes a row as another program would, over the one that is there."""

    @pytest.mark.parametrize(
        "blob", ['{"nope": true}', '{"id": "s1", "data": {}, "currentFlow": "f"}', "null", "[]", '"text"', *_NO_JSON]
    )
    async def test_c12_a_row_that_is_no_session(self, store: Store, blob: str) -> None:
        """It is an error that names the id, never a fresh session."""
        if self.knows_json and blob in _NO_JSON:
            pytest.skip("the backend refuses text that is not JSON")
        await store.save(Session.fresh("s1"), 0)
        await self.put_row(store, "s1", 1, blob)
        with pytest.raises(InvalidSessionError, match='"s1"') as caught:
            await store.load("s1")
        assert caught.value.session_id == "s1"

    async def test_c12_another_sessions_row(self, store: Store) -> None:
        """A blob under the wrong id is an error that names both."""
        other = Session.fresh("s2")
        other.version = 1
        await self.put_row(store, "s1", 1, session_to_json(other))
        with pytest.raises(InvalidSessionError, match=r'"s1".*"s2"'):
            await store.load("s1")

    async def test_c13_versions_that_differ(self, store: Store) -> None:
        """A row whose version is not its blob's could never be saved again: it is an error that names both."""
        session = Session.fresh("s1")
        session.version = 4
        await self.put_row(store, "s1", 5, session_to_json(session))
        with pytest.raises(InvalidSessionError, match=r"5.*4"):
            await store.load("s1")

    async def test_c22_a_row_of_the_other_package(self, store: Store) -> None:
        """Text with blanks, keys in another order and columns inside the blob loads, and can be saved again."""
        session = self.storable(full_session())
        session.version = 6
        wire = dict(reversed(session_to_wire(session).items()))
        await self.put_row(store, "s1", 6, json.dumps({**wire, "createdAt": NOW}, indent=2))
        loaded = await store.load("s1")
        assert loaded == session
        assert (await store.save(session, 6)).version == 7

    async def test_a_bad_row_hides_no_other(self, store: Store) -> None:
        """A scan tells of a row that holds no session, and gives the others; such a row can be deleted."""
        for id in ("s1", "s2", "s3", "s4", "s5"):
            await store.save(Session.fresh(id), 0)
        await self.put_row(store, "s2", 1, '{"nope": true}')
        await self.put_row(store, "s3", 7, session_to_json(changed(Session.fresh("s3"))))
        for limit in (1, 2, 100):
            pages = await all_pages(store, limit)
            assert set(ids_of(pages)) == {"s1", "s4", "s5"}
            bad = [error for page in pages for error in page.bad]
            assert {error.session_id for error in bad} == {"s2", "s3"}
            assert all(isinstance(error, InvalidSessionError) for error in bad)
        assert [await store.delete("s2"), await store.delete("s3")] == [True, True]
        assert [page.bad for page in await all_pages(store, 100)] == [[]]

    async def test_a_bad_row_is_never_replaced(self, store: Store) -> None:
        """A first save over it is a conflict like any other (P-19)."""
        await store.save(Session.fresh("s1"), 0)
        await self.put_row(store, "s1", 1, '{"nope": true}')
        await lose(store, Session.fresh("s1"), 0, 1)
