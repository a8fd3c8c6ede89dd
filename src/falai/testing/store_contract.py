"""The contract tests of stores (07-stores section 15), for every store of falai and for your own.

A test module makes a subclass and says how a store is made:

    class TestMine(StoreContract):
        @pytest.fixture
        async def store(self):
            async with MyStore(...) as store:
                yield store

A store whose rows a test can write past it takes `RowContract` instead, and implements `put_row`
too. Each test gets a store without rows. The tests are asynchronous: they need a plugin such as
anyio's (`anyio_mode = "auto"`).
"""

from __future__ import annotations

import asyncio
import copy
import json
from abc import ABC, abstractmethod
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.codec import session_to_json, session_to_wire
from falai.session.inputs import Message
from falai.session.model import Claim, Run, Session, StepOutcome, TriggerRef, Waiting
from falai.store.contract import Store

__all__ = ["RowContract", "StoreContract", "full_session"]

_NOW = "2026-09-20T10:00:00.000Z"


class _Size(Enum):
    SMALL = "small"


def full_session(id: str = "s1") -> Session:
    """A session in which every optional key is set and every kind of text occurs (C-10)."""
    payload: dict[str, Any] = {"menu": [1, None, {"x": [[], {}]}], "note": None}
    line = StepOutcome(run_id="f#1", flow_id="f", step_id="w", kind="wait", status="waiting", until=_NOW, at=_NOW)
    waiting = Waiting(kind="event", key="f#1:w:1789898400000", until=_NOW, set_at=_NOW, event="paid")
    parked = _run("f#1", id, status="waiting", input=payload, waiting=waiting, outcomes=[line])
    parked.trigger = TriggerRef(kind="event", key="1", payload=payload)
    stays = _run("g#2", id, suspended_at=_NOW, staying=True, status="suspended")
    session = Session.fresh(id)
    session.data = {
        "name": "Ágnes",
        "wish": '🌿 \u2028 \x00 \\ "',
        "seats": 4,
        "terrace": False,
        "price": 1.5,
        "n": None,
    }
    session.runs = [parked, stays]
    session.claims = {f"f:{id}:wamid.HBgM/7a.b\"c'$": Claim(at=_NOW), f"f:{id}:": Claim(at="unreadable")}
    session.inputs = ["wamid.HBgM.7a", "m 2"]
    session.metadata = {"nested": {"deep": [True, {}]}}
    session.last_user_at = session.last_assistant_at = _NOW
    session.history = [{"role": "user", "content": "olá"}, {"role": "assistant", "content": None}]
    return session


def _run(id: str, session_id: str, **rest: Any) -> Run:
    flow_id = id.partition("#")[0]
    common: dict[str, Any] = {
        "anchor": session_id,
        "dedupe_key": f"{flow_id}:{session_id}:",
        "step_id": "w",
        "trigger": TriggerRef(kind="message", key="m1"),
        "hop": 0,
        "started_at": _NOW,
        "asked": {"name": 2},
        "visits": {"w": 1},
        "outcomes": [],
    }
    return Run(id=id, flow_id=flow_id, **common | rest)


def _changed(session: Session, **data: Any) -> Session:
    fresh = copy.deepcopy(session)
    fresh.data.update(data)
    return fresh


async def _lose(store: Store, session: Session, expected: int, actual: int | None) -> None:
    with pytest.raises(SessionConflictError) as caught:
        await store.save(session, expected)
    error = caught.value
    assert (error.session_id, error.expected_version, error.actual_version) == (session.id, expected, actual)
    assert str(error).startswith(f'[SessionConflictError] session "{session.id}": ')
    assert str(expected) in str(error)


class StoreContract:
    """C-1 to C-11, C-14, C-15, C-17 and C-18; `store` is a fixture that gives a store without rows."""

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
        second = _changed(first, n=1)
        second.version = 77
        assert (await store.save(second, 1)).version == 2
        loaded = await store.load("s1")
        assert loaded is not None
        assert (loaded.version, loaded.data) == (2, {"n": 1})

    async def test_c4_a_late_save(self, store: Store) -> None:
        """A save from a version that is gone conflicts and leaves the row alone."""
        first = await store.save(Session.fresh("s1"), 0)
        second = await store.save(_changed(first, n=1), 1)
        await _lose(store, _changed(first, n=2), 1, 2)
        assert await store.load("s1") == second

    async def test_c5_a_second_first_save(self, store: Store) -> None:
        """Version 0 never overwrites a row."""
        first = await store.save(Session.fresh("s1"), 0)
        await _lose(store, _changed(Session.fresh("s1"), n=1), 0, 1)
        assert await store.load("s1") == first

    async def test_c6_a_row_that_is_gone(self, store: Store) -> None:
        """A version without a row conflicts with none, says that the session is gone, and writes nothing."""
        await _lose(store, Session.fresh("s1"), 3, None)
        assert await store.load("s1") is None

    async def test_c7_writers_at_once(self, store: Store) -> None:
        """Of five saves from one version one succeeds; the others learn what won."""
        first = await store.save(Session.fresh("s1"), 0)
        tries = [store.save(_changed(first, n=n), 1) for n in range(5)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        won = [result for result in results if isinstance(result, Session)]
        lost = [result for result in results if isinstance(result, SessionConflictError)]
        assert (len(won), [error.actual_version for error in lost]) == (1, [2] * 4)
        assert await store.load("s1") == won[0]

    async def test_c8_first_writers_at_once(self, store: Store) -> None:
        """Of two saves of a new session one succeeds."""
        tries = [store.save(Session.fresh("s1"), 0) for _ in range(2)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Session", "SessionConflictError"]

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

    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            (1.0, 1),
            (0.1, 0.1),
            (float("nan"), None),
            (float("-inf"), None),
            ((1, (2, "x")), [1, [2, "x"]]),
            (datetime(2026, 9, 20, 10, 0, 0, 999_999, tzinfo=UTC), "2026-09-20T10:00:00.999Z"),
            (datetime(2026, 9, 20, 10, tzinfo=timezone(timedelta(hours=-3))), "2026-09-20T13:00:00.000Z"),
            (datetime(2026, 9, 20, 10), _NOW),  # noqa: DTZ001 - one without a zone is the point
            (date(2026, 9, 20), "2026-09-20"),
            (_Size.SMALL, "small"),
            ("a\ud800b", "a\ufffdb"),
        ],
        ids=repr,
    )
    async def test_c14_what_a_host_put_in(self, store: Store, value: Any, stored: Any) -> None:
        """Values that are no JSON are written as P-16 and P-17 say, wherever they stand."""
        session = full_session()
        session.data = {"v": value}
        session.metadata = {"v": [value]}
        session.history = [value]
        session.runs[0].input = {"v": value}
        saved = await store.save(session, 0)
        for one in (saved, await store.load("s1")):
            assert one is not None
            assert (one.data, one.metadata, one.history) == ({"v": stored}, {"v": [stored]}, [stored])
            assert one.runs[0].input == {"v": stored}

    @pytest.mark.parametrize("value", [{1, 2}, b"x", 1j, Message("x"), {1: 2}], ids=repr)
    async def test_c14_what_has_no_json_form(self, store: Store, value: Any) -> None:
        """A `TypeError` names the path, and nothing is written."""
        session = full_session()
        session.runs[0].input = {"when": [value]}
        with pytest.raises(TypeError, match=r"runs\[0\]\.input\.when\[0\]"):
            await store.save(session, 0)
        assert await store.load("s1") is None

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
        ids = ["s1", "S1", " s1", "a b:c#d", "a b:c#D", "olá/🌿", "%", "s_"]
        for id in ids:
            await store.save(_changed(Session.fresh(id), id=id), 0)
        loaded = [await store.load(id) for id in ids]
        assert [session and session.data for session in loaded] == [{"id": id} for id in ids]

    async def test_an_id_with_half_a_character(self, store: Store) -> None:
        """A lone surrogate in an id is stored as U+FFFD, and found again (P-17)."""
        saved = await store.save(Session.fresh("s\ud800"), 0)
        assert saved.id == "s\ufffd"
        assert await store.load("s\ud800") == await store.load("s\ufffd") == saved

    def storable(self, session: Session) -> Session:
        """The session as this store keeps it: a place for what its backend cannot hold (P-40)."""
        return session


class RowContract(StoreContract, ABC):
    """C-12, C-13 and C-22 too: for stores whose rows a test can write past the store."""

    @abstractmethod
    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        """Writes a row as another program would, over the one that is there."""

    @pytest.mark.parametrize(
        "blob",
        ['{"nope": true}', '{"id": "s1", "data": {}, "currentFlow": "f"}', "no JSON", "", "null", "[]"],
    )
    async def test_c12_a_row_that_is_no_session(self, store: Store, blob: str) -> None:
        """It is an error that names the id, never a fresh session."""
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
        await self.put_row(store, "s1", 6, json.dumps({**wire, "createdAt": _NOW}, indent=2))
        loaded = await store.load("s1")
        assert loaded == session
        assert (await store.save(session, 6)).version == 7
