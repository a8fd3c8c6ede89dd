"""A lock, a full disk, a crash: the driver's error passes through, nothing is half-written, the next call works."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from falai.session.model import Session
from falai.store import SQLiteStore
from falai.testing.store_contract import full_session

pytestmark = pytest.mark.faults


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    async with SQLiteStore(path) as store:
        yield store


def _large(id: str = "s1") -> Session:
    session = Session.fresh(id)
    session.data = {"text": "x" * 2_000_000}
    return session


# --- locks --------------------------------------------------------------------------------------


async def test_a_lock_that_goes_away(path: Path, store: SQLiteStore) -> None:
    """A save waits for another process, and the event loop does not wait with it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saving = asyncio.ensure_future(store.save(full_session(), 0))
        await asyncio.sleep(0.1)
        assert not saving.done()
        other.execute("ROLLBACK")
    assert (await saving).version == 1


async def test_a_lock_that_stays(path: Path, store: SQLiteStore, *, full: bool) -> None:
    """After five seconds it is the driver's error; a load goes on meanwhile, and a save does later (P-36)."""
    if not full:
        pytest.skip("waits for five seconds: --full")
    saved = await store.save(full_session(), 0)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            await store.save(saved, 1)
        assert await store.load("s1") == saved
        other.execute("ROLLBACK")
    assert (await store.save(saved, 1)).version == 2


async def test_a_save_that_is_given_up_while_it_waits(path: Path, store: SQLiteStore) -> None:
    """It is applied when the lock goes, or never; the store is usable at once after that (P-13)."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saving = [asyncio.ensure_future(store.save(full_session(id), 0)) for id in ("s1", "s2")]
        await asyncio.sleep(0.05)
        for task in saving:
            task.cancel()
        await asyncio.wait(saving)
        other.execute("ROLLBACK")
    assert (await store.save(full_session("s3"), 0)).version == 1
    assert {session.id for session in (await store.scan()).sessions} <= {"s1", "s3"}  # s2 had not begun


# --- a full disk --------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [False, True])
async def test_a_database_that_may_not_grow(path: Path, *, inside: bool) -> None:
    """The save fails as a whole, what was there stays, and a save that fits goes through."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        store = SQLiteStore(db)
        await store.initialize()
        saved = await store.save(full_session(), 0)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages + 4}")
        if inside:
            db.execute("BEGIN")
        for session, version in ((_large("s1"), 1), (_large("s2"), 0)):
            with pytest.raises(sqlite3.OperationalError, match="full"):
                await store.save(session, version)
            if inside and not db.in_transaction:
                db.execute("BEGIN")  # SQLite itself may end a transaction for which there is no room
        assert db.in_transaction is inside
        assert await store.load("s1") == saved
        assert await store.load("s2") is None
        assert (await store.save(saved, 1)).version == 2


FULL_DISK = """
import asyncio, resource, sqlite3, sys
from falai.session.model import Session
from falai.store import SQLiteStore

async def main(path):
    async with SQLiteStore(path) as store:
        saved = await store.save(Session.fresh("s1"), 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        large = Session.fresh("s1")
        large.data = {"text": "x" * 2_000_000}
        for _ in range(3):
            try:
                await store.save(large, 1)
            except sqlite3.OperationalError:
                continue
            sys.exit("there was room")
        assert await store.load("s1") == saved
        assert (await store.save(saved, 1)).version == 2

asyncio.run(main(sys.argv[1]))
"""


async def test_a_disk_that_is_full(path: Path) -> None:
    """The same with a file that the system does not let grow."""
    subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], check=True)
    async with SQLiteStore(path) as store:
        loaded = await store.load("s1")
    assert loaded is not None
    assert (loaded.version, loaded.data) == (2, {})


# --- a crash ------------------------------------------------------------------------------------

SAVER = """
import asyncio, sys
from falai.session.model import Session
from falai.store import SQLiteStore

async def main(path):
    async with SQLiteStore(path) as store:
        session = await store.load("s1") or Session.fresh("s1")
        while True:
            session.data = {"n": [session.version] * 2000}
            session = await store.save(session, session.version)
            print(session.version, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_a_process_that_is_killed(path: Path, *, full: bool) -> None:
    """What was reported as saved is there afterwards, whole, and the next process goes on."""
    reported = 0
    for number in range(20 if full else 3):
        with subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(5 + number):
                reported = int(process.stdout.readline())
            process.kill()
            said = process.stdout.read().split("\n")[:-1]  # the last line may be cut
        reported = max([reported, *map(int, said)])
        async with SQLiteStore(path) as store:
            loaded = await store.load("s1")
        assert loaded is not None
        assert loaded.version in (reported, reported + 1)
        assert loaded.data == {"n": [loaded.version - 1] * 2000}
