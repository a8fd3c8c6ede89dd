"""The schema is the sum of its migrations, and the code of the release before works on the tables of this one.

`releases/NNN.json` has what the code of a release whose last migration was NNN said to its database, and
what it heard: it is said again to the tables of today, and has to hear the same.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from falai.host.ledger.dialect import SQLITE, in_dialect
from falai.host.ledger.migrating import before_deploy, is_after, migrate, migration_names, migrations
from falai.host.ledger.port import Ledger, Statement, Undo, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.queue.installing import queue_migrations, queue_names
from host.ledger.ledgers import PLACE, keys_of, postgres_url, receive
from servers.process import Server

RELEASES = sorted((Path(__file__).parent / "releases").glob("*.json"))
ADDS = re.compile(
    r"CREATE (TABLE|INDEX|UNIQUE INDEX|TRIGGER|(OR REPLACE )?FUNCTION)\s"
    r"|ALTER TABLE \w+ ADD COLUMN \w+ \S+( NOT NULL DEFAULT .+)?$"
    r"|INSERT INTO",
    re.DOTALL,
)
NUMBERED = ("SELECT seq,", "SELECT max(seq)")
"""What gives numbers of rows, which PostgreSQL does not give out without gaps."""


def say_again(work: dict[str, Any], statements: Sequence[str], heard: list[Any]) -> Work[None]:
    steps: list[list[tuple[int, list[Any], bool, list[list[Any]]]]] = work["steps"]
    for step in steps:
        rows = yield tuple(Statement(statements[at], params, many) for at, params, many, _ in step)
        heard += [(statements[at], _plain(was), _plain(now)) for (at, _, _, was), now in zip(step, rows, strict=True)]
    if not work["kept"]:
        raise Undo(None)


def _plain(rows: Sequence[Sequence[Any]]) -> list[str]:
    return sorted(repr([int(value) if isinstance(value, bool) else value for value in row]) for row in rows)


@pytest.mark.parametrize("release", [pytest.param(path, id=path.stem) for path in RELEASES])
async def test_a_release_before_works_on_these_tables(ledger: Ledger, release: Path) -> None:
    """Every transaction of its host does what it did, while a newer release is there already."""
    recorded, heard = json.loads(release.read_text()), list[Any]()
    for work in recorded["works"]:
        await ledger.run(say_again(work, recorded["statements"], heard))
    differ = [one for one in heard if one[1] != one[2] and not one[0].startswith(NUMBERED)]
    assert differ == []
    assert len(heard) > 200


def test_what_comes_before_a_deploy_only_adds() -> None:
    """Tables, indexes, functions, and columns that need not be given: what the release before does not miss."""
    for name, statements in zip(migration_names(), migrations(), strict=True):
        assert is_after(name) or all(ADDS.match(_words(statement)) for statement in statements), name
    for name, script in zip(queue_names(), queue_migrations(), strict=True):
        without_bodies = re.sub(r"\$\$.*?\$\$", "", script, flags=re.DOTALL)
        lines = "\n".join(line for line in without_bodies.splitlines() if not line.startswith("--"))
        statements = [one.strip() for one in lines.split(";") if one.strip()]
        assert is_after(name) or [one for one in statements if not ADDS.match(_words(one))] == [], name


def _words(statement: str) -> str:
    return " ".join(line for line in statement.strip().splitlines() if not line.startswith("--"))


def test_what_runs_before_a_deploy() -> None:
    """All but the last ones that are for after it; those of an older deploy have others behind them."""
    assert before_deploy(["1.sql", "2.after.sql", "3.sql", "4.after.sql", "5.after.sql"]) == 3
    assert before_deploy(["1_pre_a.sql", "1_post_a.sql"]) == 1
    assert before_deploy([]) == 0


async def test_a_file_that_grew_up_is_like_a_new_one(tmp_path: Path) -> None:
    """Step by step, or at once: the same tables and indexes."""
    grown, new = tmp_path / "grown.db", tmp_path / "new.db"
    with closing(sqlite3.connect(grown)) as db:
        for number in range(1, len(migrations())):
            for statement in migrations()[number - 1]:
                db.execute(in_dialect(statement, SQLITE))
            db.execute("REPLACE INTO falai_meta (name, value) VALUES ('schema', ?)", (str(number),))
        db.commit()
    for path in (grown, new):
        ledger = SQLiteLedger(path)
        await ledger.open()
        await receive(ledger, "m1")
        assert await keys_of(ledger, PLACE) == ["m1"]
        await ledger.close()
    assert _tables(grown) == _tables(new)


def _tables(path: Path) -> set[tuple[str, str]]:
    """Their columns in no order: an added one is the last."""
    with closing(sqlite3.connect(path)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {(name, repr(row[1:])) for name in names for row in db.execute(f"PRAGMA table_info({name})")}
        return columns | {*db.execute("SELECT name, coalesce(sql, '') FROM sqlite_master WHERE type = 'index'")}


@pytest.mark.servers
async def test_a_database_that_grew_up_is_like_a_new_one(postgres_server: Server, place: str) -> None:
    """The same in PostgreSQL."""
    found: list[Any] = []
    for name, steps in ((f"{place}_grown", range(1, len(migrations()) + 1)), (f"{place}_new", (None,))):
        url = postgres_url(postgres_server, name)
        ledger = PostgresLedger(url, upgrade="never")
        await ledger.open()
        for upto in steps:
            await ledger.run(migrate(after=True, upto=upto))
        await ledger.close()
        with psycopg.connect(url) as db:
            columns = db.execute(
                "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name"
                " FROM information_schema.columns WHERE table_schema = %s",
                (name,),
            ).fetchall()
            indexes = db.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = %s", (name,)).fetchall()
        found.append(({*map(repr, columns)}, {repr(index).replace(name, "") for index in indexes}))
    assert found[0] == found[1]
