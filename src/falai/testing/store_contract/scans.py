"""Going through all rows, and deleting one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import changed, full_session, lose

__all__ = ["Scans", "all_pages"]

ODD_IDS = [
    "s1",
    "S1",
    " s1",
    "a b:c#d",
    "a.b",
    "$a",
    "%",
    "_",
    "s_",
    "0",
    "10",
    "9",
    "olá/\U0001f33f",
    "\U0010ffff",
    "x" * 255,
]


async def all_pages(store: Store, limit: int) -> list[Page]:
    """Every page, one after the other."""
    pages = [await store.scan(limit=limit)]
    while (after := pages[-1].after) is not None:
        pages.append(await store.scan(after, limit))
        assert len(pages) < 10_000, "the scan never ends"
    return pages


def ids_of(pages: list[Page]) -> list[str]:
    """The ids of the sessions, in the order in which they came."""
    return [session.id for page in pages for session in page.sessions]


class Scans(Backend):
    """Part of `StoreContract`."""

    async def test_nothing_to_go_through(self, store: Store) -> None:
        """A store without rows has one page, which is empty."""
        pages = await all_pages(store, 10)
        assert (ids_of(pages), pages[-1].bad) == ([], [])

    @pytest.mark.parametrize("limit", [1, 2, 4, 10_000])
    async def test_every_row_is_given(self, store: Store, limit: int) -> None:
        """Whatever the ids and the size of the pages: the sessions are those that `load` gives."""
        saved = [await store.save(changed(full_session(id), id=id), 0) for id in ODD_IDS]
        pages = await all_pages(store, limit)
        found = {session.id: session for page in pages for session in page.sessions}
        assert found == {session.id: session for session in saved}
        assert [page.bad for page in pages] == [[]] * len(pages)
        if self.ordered:
            assert sorted(ids_of(pages)) == sorted(ODD_IDS)
            assert all(len(page.sessions) <= limit for page in pages)

    async def test_the_order_of_a_scan(self, store: Store) -> None:
        """The order of the ids, where the backend has one."""
        ids = [f"{n:03}" for n in range(30)]
        for id in ids[::-1]:
            await store.save(Session.fresh(id), 0)
        found = ids_of(await all_pages(store, 7))
        assert found == ids if self.ordered else set(found) == set(ids)

    async def test_a_page_has_a_hundred(self, store: Store) -> None:
        """When nothing else is said."""
        await asyncio.gather(*(store.save(Session.fresh(f"s{n}"), 0) for n in range(101)))
        page = await store.scan()
        if self.ordered:
            assert len(page.sessions) == 100
        assert page.after is not None or len(page.sessions) == 101

    async def test_rows_that_come_and_go_meanwhile(self, store: Store) -> None:
        """A row that is there the whole time is given, whatever is saved and deleted beside it."""
        stay = {f"b{n}" for n in range(10)}
        for id in [*stay, *(f"a{n}" for n in range(5)), *(f"c{n}" for n in range(5))]:
            await store.save(Session.fresh(id), 0)
        found: list[str] = []
        page = await store.scan(limit=3)
        for number in range(1000):
            found += [session.id for session in page.sessions]
            if page.after is None:
                break
            await store.delete(f"a{number}")
            await store.delete(f"c{number}")
            await store.save(Session.fresh(f"d{number}"), 0)
            await store.save(Session.fresh("b0"), number + 1)
            page = await store.scan(page.after, 3)
        assert stay <= set(found)

    async def test_what_a_scan_gives_is_a_copy(self, store: Store) -> None:
        """Changing it changes nothing."""
        saved = await store.save(full_session(), 0)
        (await store.scan()).sessions[0].data.clear()
        assert (await store.scan()).sessions == [await store.load("s1")] == [saved]

    @pytest.mark.parametrize("limit", [0, -1, 10_001, 1.5, True, "1", None])
    async def test_what_is_no_limit(self, store: Store, limit: Any) -> None:
        """1 to 10,000 rows may be asked for."""
        with pytest.raises(ValueError, match="limit"):
            await store.scan(limit=limit)

    @pytest.mark.parametrize("after", [0, b"s1", {"$gt": ""}])
    async def test_what_is_no_position(self, store: Store, after: Any) -> None:
        """A position is the text that a page gave."""
        with pytest.raises(TypeError, match="after"):
            await store.scan(after)

    async def test_delete(self, store: Store) -> None:
        """The row is gone, and no other; whether there was one is said; the id may be used again."""
        first = await store.save(full_session("s1"), 0)
        other = await store.save(full_session("S1"), 0)
        assert [await store.delete("s1"), await store.delete("s1")] == [True, False]
        assert await store.load("s1") is None
        assert await store.load("S1") == other
        await lose(store, first, 1, None)
        assert (await store.save(Session.fresh("s1"), 0)).version == 1

    async def test_delete_at_once(self, store: Store) -> None:
        """Of many deletes of one row one finds it."""
        await store.save(Session.fresh("s1"), 0)
        assert sorted(await asyncio.gather(*(store.delete("s1") for _ in range(8)))) == [False] * 7 + [True]

    async def test_delete_an_id_with_half_a_character(self, store: Store) -> None:
        """The row is that which `load` finds (P-17)."""
        await store.save(Session.fresh("s\ud800"), 0)
        assert await store.delete("s\ud800") is True

    @pytest.mark.parametrize("id", ["", "  ", None, 5, {"$ne": None}])
    async def test_delete_no_id(self, store: Store, id: Any) -> None:
        """What is not text, or is blank, is a `TypeError`, and nothing is deleted."""
        await store.save(Session.fresh("s1"), 0)
        with pytest.raises(TypeError, match="session id"):
            await store.delete(id)
        assert await store.load("s1") is not None
