"""One writer after another: C-1 to C-6, C-9 to C-11, C-15, C-17 and C-18."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from falai.errors import FalaiError
from falai.session.codec import session_to_json, session_to_wire
from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import changed, full_session, lose

__all__ = ["Basics"]


class Basics(Backend):
    """Part of `StoreContract`."""

    async def test_c1_an_unknown_id(self, store: Store) -> None:
        """There is no session, and asking makes none."""
        assert await store.load("s1") is None
        assert await store.load("s1") is None

    async def test_c2_the_first_save(self, store: Store) -> None:
        """Version 0 inserts; the result has version 1, the argument stays as it was."""
        fresh = Session.fresh("s1")
        saved = await store.save(fresh, 0)
        assert (saved.version, fresh.version) == (1, 0)
        loaded = await store.load("s1")
        assert loaded == saved

    async def test_c3_the_next_save(self, store: Store) -> None:
        """A save from the stored version replaces it, whatever `session.version` says."""
        first = await store.save(Session.fresh("s1"), 0)
        second = changed(first, n=1)
        second.version = 77
        assert (await store.save(second, 1)).version == 2
        loaded = await store.load("s1")
        assert loaded is not None
        assert (loaded.version, loaded.data) == (2, {"n": 1})

    async def test_c4_a_late_save(self, store: Store) -> None:
        """A save from a version that is gone conflicts and leaves the row alone."""
        first = await store.save(Session.fresh("s1"), 0)
        second = await store.save(changed(first, n=1), 1)
        await lose(store, changed(first, n=2), 1, 2)
        assert await store.load("s1") == second

    async def test_c5_a_second_first_save(self, store: Store) -> None:
        """Version 0 never overwrites a row."""
        first = await store.save(Session.fresh("s1"), 0)
        await lose(store, changed(Session.fresh("s1"), n=1), 0, 1)
        assert await store.load("s1") == first

    async def test_c6_a_row_that_is_gone(self, store: Store) -> None:
        """A version without a row conflicts with none, says that the session is gone, and writes nothing."""
        await lose(store, Session.fresh("s1"), 3, None)
        assert await store.load("s1") is None

    async def test_c9_only_what_is_set(self, store: Store) -> None:
        """A session without optional keys comes back with exactly the eight that are always there."""
        await store.save(Session.fresh("s1"), 0)
        loaded = await store.load("s1")
        assert loaded is not None
        assert set(session_to_wire(loaded)) == {
            "id", "v", "version", "data", "runs", "claims", "inputs", "metadata",
        }  # fmt: skip

    async def test_c10_everything_set(self, store: Store) -> None:
        """Every optional key, nested payloads, odd claim keys and texts of all kinds come back."""
        session = self.storable(full_session())
        await store.save(session, 0)
        loaded = await store.load("s1")
        assert loaded is not None
        session.version = 1
        assert loaded == session

    async def test_c11_what_a_save_returns(self, store: Store) -> None:
        """It is what the next load gives, and shares nothing mutable with argument, row or load."""
        session = full_session()
        before = session_to_json(session)
        saved = await store.save(session, 0)
        loaded = await store.load("s1")
        assert loaded == saved
        assert loaded is not None
        for one in (saved, loaded):
            one.data["name"] = "spoilt"
            one.runs[0].input["menu"].clear()
            one.claims.clear()
        assert session_to_json(session) == before
        assert await store.load("s1") == await store.load("s1") != loaded

    @pytest.mark.parametrize("version", [-1, 1.5, True, False, None, "1"])
    async def test_c15_no_version(self, store: Store, version: Any) -> None:
        """What is no whole number of 0 or more is a `ValueError`, and nothing is written."""
        with pytest.raises(ValueError, match="expected_version"):
            await store.save(Session.fresh("s1"), version)
        assert await store.load("s1") is None

    @pytest.mark.parametrize("id", ["", "  ", None, 5, {"$ne": None}])
    async def test_c15_no_id(self, store: Store, id: Any) -> None:
        """What is not text, or is blank, is a `TypeError`."""
        session = Session.fresh("s1")
        session.id = id
        with pytest.raises(TypeError, match="session id"):
            await store.load(id)
        with pytest.raises(TypeError, match="session id"):
            await store.save(session, 0)

    async def test_c17_initialize_again(self, store: Store) -> None:
        """Twice, and twice at once, is no error and keeps the rows."""
        saved = await store.save(Session.fresh("s1"), 0)
        await store.initialize()
        await asyncio.gather(store.initialize(), store.initialize())
        assert await store.load("s1") == saved

    async def test_c18_ids_that_look_alike(self, store: Store) -> None:
        """Ids differ by case, and may hold blanks, colons and number signs."""
        ids = ["s1", "S1", " s1", "a b:c#d", "a b:c#D", "olá/🌿", "%", "s_", *(["s1 "] if self.keeps_blanks else [])]
        for id in ids:
            await store.save(changed(Session.fresh(id), id=id), 0)
        loaded = [await store.load(id) for id in ids]
        assert [session and session.data for session in loaded] == [{"id": id} for id in ids]

    async def test_an_id_with_half_a_character(self, store: Store) -> None:
        """A lone surrogate in an id is stored as U+FFFD, and found again (P-17)."""
        saved = await store.save(Session.fresh("s\ud800"), 0)
        assert saved.id == "s\ufffd"
        assert await store.load("s\ud800") == await store.load("s\ufffd") == saved

    @pytest.mark.parametrize("text", ["x", "0"])
    async def test_long_ids(self, store: Store, text: str) -> None:
        """255 characters always fit, many more where the backend sets no limit; ids that differ at the end differ."""
        for length in (255, self.longest_id or 2000):
            ids = [text * length, text * (length - 1) + "y"]
            saved = [await store.save(changed(Session.fresh(id), id=id), 0) for id in ids]
            assert [await store.load(id) for id in ids] == saved
            assert [await store.delete(id) for id in ids] == [True, True]

    async def test_an_id_that_is_too_long(self, store: Store) -> None:
        """Where there is a limit, one character more is an error: nothing is cut, and nothing is written."""
        if self.longest_id is not None:
            with pytest.raises(Exception) as caught:  # noqa: PT011 - the driver's, or a ValueError
                await store.save(Session.fresh("x" * (self.longest_id + 1)), 0)
            assert not isinstance(caught.value, FalaiError)
        assert (await store.scan()).sessions == []
