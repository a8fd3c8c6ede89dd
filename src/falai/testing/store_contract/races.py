"""Many writers at once: C-7 and C-8, lost updates, and saves that are given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import changed, full_session

__all__ = ["Races", "race", "save_until_it_counts"]

WRITERS = 20


async def race(stores: Sequence[Store], session: Session, expected: int) -> None:
    """Many saves from one version: one succeeds, the others learn what won, and the row is the winner's (C-7)."""
    tries = [stores[n % len(stores)].save(changed(session, n=n), expected) for n in range(WRITERS)]
    results = await asyncio.gather(*tries, return_exceptions=True)
    won = [result for result in results if isinstance(result, Session)]
    lost = [result for result in results if isinstance(result, SessionConflictError)]
    assert len(won) + len(lost) == WRITERS, results
    assert [session.version for session in won] == [expected + 1]
    assert {(error.expected_version, error.actual_version) for error in lost} == {(expected, expected + 1)}
    assert await stores[0].load(session.id) == won[0]


async def save_until_it_counts(store: Store, id: str) -> None:
    """Adds one to `n`, again after each conflict, as a host replays its input."""
    while True:
        session = await store.load(id) or Session.fresh(id)
        try:
            await store.save(changed(session, n=session.data.get("n", 0) + 1), session.version)
        except SessionConflictError:
            continue
        return


class Races(Backend):
    """Part of `StoreContract`."""

    async def test_c7_writers_at_once(self, store: Store) -> None:
        """Of twenty saves from one version one succeeds."""
        await race([store], await store.save(full_session(), 0), 1)

    async def test_c8_first_writers_at_once(self, store: Store) -> None:
        """Of twenty first saves one succeeds."""
        await race([store], full_session(), 0)

    async def test_race_after_race(self, store: Store) -> None:
        """Each version is won once."""
        session = full_session()
        for version in range(5):
            await race([store], session, version)

    async def test_no_update_is_lost(self, store: Store) -> None:
        """Writers that load and save again after a conflict all count."""
        await asyncio.gather(*(save_until_it_counts(store, "s1") for _ in range(8)))
        loaded = await store.load("s1")
        assert loaded is not None
        assert (loaded.version, loaded.data) == (8, {"n": 8})

    async def test_sessions_do_not_meet(self, store: Store) -> None:
        """Saves of different sessions at once all succeed."""
        ids = [f"s{n}" for n in range(WRITERS)]
        saved = await asyncio.gather(*(store.save(changed(Session.fresh(id), id=id), 0) for id in ids))
        assert list(await asyncio.gather(*map(store.load, ids))) == list(saved)

    async def test_a_save_that_is_cancelled(self, store: Store) -> None:
        """Whenever a save is cancelled, the row is that of before or of after, and the next save goes through."""
        before = await store.save(changed(full_session(), n=-1), 0)
        for number in range(24):
            saving = asyncio.ensure_future(store.save(changed(before, n=number), before.version))
            await _some_time(number)
            saving.cancel()
            await asyncio.wait([saving])
            loaded = await store.load("s1")
            assert loaded is not None
            assert (loaded.version - before.version, loaded.data["n"]) in [(0, before.data["n"]), (1, number)]
            # What was sent may still be on its way (P-13): the next writer meets it, as any other writer's save.
            await save_until_it_counts(store, "s1")
            after = await store.load("s1")
            assert after is not None
            assert after.runs == before.runs
            before = after


async def _some_time(number: int) -> None:
    """A few steps of the event loop, or a part of a millisecond."""
    if number % 2:
        await asyncio.sleep(number / 10_000)
        return
    for _ in range(number // 2):
        await asyncio.sleep(0)
