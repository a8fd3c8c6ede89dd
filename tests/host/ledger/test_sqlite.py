"""What is so in SQLite only: one host for a file, readers beside it, and no statement that reads a whole table."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import falai.host.ledger
from falai.host.errors import HostBusyError
from falai.host.ledger import sending
from falai.host.ledger.dialect import SQLITE, in_dialect
from falai.host.ledger.erasing import erase
from falai.host.ledger.looking import session
from falai.host.ledger.migrating import SchemaError, migrations
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.taking import take_in
from host.ledger.ledgers import MANY, NOW, PLACE, arrival, ask, dump, play, receive


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "falai.db"


async def test_of_what_is_erased_no_byte_is_left(path: Path) -> None:
    """Whatever SQLite does by itself with the place of a row that is gone."""
    ledger = SQLiteLedger(path)
    await ledger.open()
    assert [tuple(row) for row in await ledger.run(ask("PRAGMA secure_delete"))] == [(1,)]
    await receive(ledger, "a-secret-that-was-told")
    await ledger.run(erase(PLACE))
    await ledger.close()
    assert b"a-secret" not in path.read_bytes()
    assert not path.with_name("falai.db-wal").exists()


# --- one host ------------------------------------------------------------------------------------

HOLDS = """
import asyncio, sys
from falai.host.ledger.sqlite import SQLiteLedger
async def main():
    await SQLiteLedger(sys.argv[1]).open()
    print("open", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_second_host_is_refused(path: Path) -> None:
    """In the same process too; when the first is closed it may open."""
    first, second = SQLiteLedger(path), SQLiteLedger(path)
    await first.open()
    with pytest.raises(HostBusyError, match=re.escape(str(path))):
        await second.open()
    await receive(first, "m1")
    await first.close()
    await second.open()
    await second.close()


async def test_a_host_that_was_killed_leaves_no_lock(path: Path) -> None:
    """While it runs it is in the way; when it is gone, however it went, it is not."""
    host = subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    assert host.stdout.readline() == "open\n"
    ledger = SQLiteLedger(path)
    with pytest.raises(HostBusyError):
        await ledger.open()
    host.kill()
    host.wait()
    host.stdout.close()
    await ledger.open()
    await ledger.close()


async def test_a_reader_needs_no_lock(path: Path) -> None:
    """It sees what the host has committed, and can change nothing."""
    host, reader = SQLiteLedger(path), SQLiteLedger(path, read_only=True)
    await host.open()
    await reader.open()
    await receive(host, "m1", customer="c1")
    found = await reader.run(session(PLACE))
    assert found is not None
    assert found.customer == "c1"
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await reader.run(take_in(PLACE, [arrival("m2")], now_ms=NOW, limits=MANY))
    assert (await reader.run(session(PLACE))) == found
    await reader.close()
    await host.close()


async def test_a_reader_makes_no_file(path: Path) -> None:
    """It is the driver's error."""
    reader = SQLiteLedger(path, read_only=True)
    with pytest.raises(sqlite3.OperationalError):
        await reader.open()
    assert not path.exists()


async def test_a_ledger_that_is_not_open(path: Path) -> None:
    """It says so."""
    with pytest.raises(RuntimeError, match="not open"):
        await SQLiteLedger(path).run(session(PLACE))


async def test_a_ledger_in_memory() -> None:
    """Any number of them, and no file."""
    first, second = SQLiteLedger(":memory:"), SQLiteLedger(":memory:")
    for ledger in (first, second):
        await ledger.open()
        await receive(ledger, "m1")
    await first.close()
    await second.close()
    assert not Path(":memory:.lock").exists()


# --- tables --------------------------------------------------------------------------------------


async def test_the_tables_are_made_once(path: Path) -> None:
    """What was kept is there when the ledger opens again."""
    for key in ("m1", "m2"):
        ledger = SQLiteLedger(path)
        await ledger.open()
        await receive(ledger, key)
        await play(ledger)
        await ledger.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT key, state FROM falai_inbox").fetchall() == [("m1", "done"), ("m2", "done")]
        known = db.execute("SELECT value FROM falai_meta WHERE name = 'schema'").fetchone()
    assert known == (str(len(migrations())),)


async def test_tables_of_a_newer_release(path: Path) -> None:
    """They are not touched; the error says both numbers; the lock is given back."""
    ledger = SQLiteLedger(path)
    await ledger.open()
    await ledger.run(ask("UPDATE falai_meta SET value = '999' RETURNING value"))
    await ledger.close()
    for _ in range(2):
        with pytest.raises(SchemaError, match=rf"999.*{len(migrations())}"):
            await ledger.open()


async def test_a_full_disk(path: Path) -> None:
    """The transaction fails as a whole, and the next one that fits goes through."""
    ledger = SQLiteLedger(path)
    await ledger.open()
    await receive(ledger, "m1")
    before = await dump(ledger)
    ((pages,),) = await ledger.run(ask("PRAGMA page_count"))
    await ledger.run(ask(f"PRAGMA max_page_count = {pages + 4}"))
    large = [arrival("m2", attachments="x" * 2_000_000)]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        await ledger.run(take_in(PLACE, large, now_ms=NOW, limits=MANY))
    assert await dump(ledger) == before
    await receive(ledger, "m3")
    await ledger.close()


# --- cost ----------------------------------------------------------------------------------------

# What may read more than it gives: the rows that wait, are due or are set aside, never those that are done.
BOUNDED = {"falai_inbox_ready", "falai_inbox_queue", "falai_inbox_dead", "falai_outbox_ready", "falai_outbox_queue",
           "falai_outbox_dead", "falai_outbox_dead_key", "falai_inbox_said", "falai_inbox_known", "falai_outbox_old",
           "falai_tokens_expired", "falai_tokens_revoked"}  # fmt: skip
WHOLE = re.compile(
    r"SCAN (?!waiting|CONSTANT|falai_meta|falai_starts|falai_tokens|\w+ USING INDEX falai_(?:in|out)box_queue)"
)


def _statements() -> Iterator[tuple[str, str]]:
    """Every statement of every work, by its name."""
    for module in pkgutil.iter_modules(falai.host.ledger.__path__):
        for name, value in vars(importlib.import_module(f"falai.host.ledger.{module.name}")).items():
            for number, sql in enumerate(value if isinstance(value, tuple) else (value,)):
                if isinstance(sql, str) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\s", sql):
                    yield f"{module.name}.{name}{number or ''}", sql


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    folder = tmp_path_factory.mktemp("plans")
    with closing(sqlite3.connect(folder / "falai.db")) as db:
        for migration in migrations():
            for statement in migration:
                db.execute(in_dialect(statement, SQLITE))
        yield db
    shutil.rmtree(folder)


@pytest.mark.parametrize(("name", "sql"), [pytest.param(*found, id=found[0]) for found in _statements()])
def test_no_statement_reads_a_whole_table(tables: sqlite3.Connection, name: str, sql: str) -> None:
    """Each finds its rows by an index: by their key, or by one that has only what waits, is due or is old."""
    native = in_dialect(sql, SQLITE)
    for row in tables.execute(f"EXPLAIN QUERY PLAN {native}", [None] * native.count("?")):
        plan = row[3]
        assert not WHOLE.match(plan), plan
        if found := re.match(r"SEARCH \w+ (?:AS \w+ )?USING (?:COVERING )?(?:INDEX (\w+)|PRIMARY KEY) \((.*)\)", plan):
            index, terms = found[1] or "", found[2]
            assert index in BOUNDED or "session=" in terms or _is_narrow(index, terms), plan


def test_a_receipt_that_fits_nothing_walks_over_nothing_that_is_set_aside(tables: sqlite3.Connection) -> None:
    """Which is kept for ever, unless somebody says otherwise."""
    native = in_dialect(vars(sending)["_WAS_SENT_THOUGH_DEAD"], SQLITE)
    (row,) = tables.execute(f"EXPLAIN QUERY PLAN {native}", [None] * native.count("?"))
    assert row[3].endswith("(agent=? AND key=?)")


def _is_narrow(index: str, terms: str) -> bool:
    """Other keys by which few rows are found."""
    by_key = ("key=", "customer=", "flow=", "id=", "provider_id=", "rule=", "name=", "due_at<", "session>",
              "bucket=", "campaign=", "agent>")  # fmt: skip
    return index in {"falai_wakes_due", "falai_starts_due"} or any(term in terms for term in by_key)
