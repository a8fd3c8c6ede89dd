"""`falai migrate`: rows of an old place become sessions of a new one, each once, whatever the other rows hold."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from cli.old_rows import BAD, CASES, V4, adapter_rows, agrees, flow_ids, state_rows, table_of_states
from cli.program import PATIENCE, Finished, command, falai
from cli.stores import EARLY, filled, ids, loaded, session
from falai.cli.migrating.places import same_place
from falai.cli.migrating.progress import progress_words
from falai.cli.migrating.rows import OldRow, blob_of, id_column

GOOD = [case["sessionId"] for case in CASES]


def _migrate(source: str | Path, target: str | Path, *arguments: str | Path) -> Finished:
    return command("migrate", "--from", source, "--to", target, *arguments)


def _check(new: Path, good: Sequence[str] = GOOD, *, bare_ids: bool = False) -> None:
    assert sorted(ids(new)) == sorted(good)
    for id in good:
        found = loaded(new, id)
        assert found is not None
        assert agrees(found, bare_ids=bare_ids), id


def _counts(done: Finished) -> dict[str, int]:
    """What the program counted, by kind."""
    lines = [line.strip().split("  ", 1) for line in done.out.splitlines() if line.startswith("    ")]
    return {kind: int(count.replace(",", "")) for count, kind in lines}


# --- what is read -------------------------------------------------------------------------------


def test_states_in_a_table(tmp_path: Path) -> None:
    """Every fixture of 3.x becomes the session that it must become, and the bad row is told of."""
    old, new = table_of_states(tmp_path / "old.db"), tmp_path / "new.db"
    done = falai("migrate", "--from", old, "--to", new, "--flow-ids", flow_ids(tmp_path))
    assert done.code == 1, done.err
    assert f'session "{BAD}": data is missing' in done.err
    counts = _counts(done)
    assert (counts["rows"], counts["no session"]) == (len(GOOD) + 1, 1)
    assert counts["3.x, a flow under way"] + counts["3.x, at rest"] == len(GOOD)
    _check(new)


def test_rows_of_the_adapters(tmp_path: Path) -> None:
    """Columns in snake case, or folded by the database, with JSON text in them (G-31)."""
    for spelling in (str, lambda name: name.replace("_", "")):
        old, new = tmp_path / f"old{len(spelling('a_'))}.db", tmp_path / f"new{len(spelling('a_'))}.db"
        with closing(sqlite3.connect(old)) as db, db:
            names = [spelling(name) for name in ("id", "current_flow", "current_step", "collected_data", "version")]
            db.execute(f"CREATE TABLE agent_sessions ({', '.join(names)})")
            for row in adapter_rows():
                row["collected_data"] = json.dumps(row["collected_data"])
                db.execute("INSERT INTO agent_sessions VALUES (?, ?, ?, ?, ?)", list(row.values()))
        done = _migrate(old, new, "--flow-ids", flow_ids(tmp_path))
        assert done.code == 1
        _check(new, bare_ids=True)


def test_json_lines(tmp_path: Path) -> None:
    """Rows of any database, an object a line; what is none is told of by its place."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.db"
    lines = [json.dumps({"session_id": id, "state": state}) for id, state in state_rows()]
    old.write_text("\n".join([*lines[:2], "", "no json", *lines[2:], json.dumps({"n": 1})]))
    done = _migrate(old, new, "--flow-ids", flow_ids(tmp_path))
    assert (done.code, _counts(done)["no session"]) == (1, 3)
    assert "the line that ends at byte" in done.err
    _check(new)


def test_v4_rows_pass_as_they_are(tmp_path: Path) -> None:
    """From one v4 store into another; only the version counts anew."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    filled(old, session("s1"))
    row = (V4["id"], V4["version"], json.dumps(V4), EARLY, EARLY)
    damaged = ("s9", 2, session("s9").to_json(), EARLY, EARLY)
    with closing(sqlite3.connect(old)) as db, db:
        db.executemany("INSERT INTO agent_sessions VALUES (?, ?, ?, ?, ?)", [row, damaged])
    done = _migrate(old, new)
    assert (done.code, _counts(done)) == (1, {"v4": 2, "no session": 1, "rows": 3})
    assert "the row has the version 2, the blob 0" in done.err
    assert loaded(new, "s1") == loaded(old, "s1")
    found = loaded(new, V4["id"])
    assert found is not None
    assert agrees(found)


def test_a_row_is_found_by_its_columns() -> None:
    """The id stands in `id`, else `session_id` in any spelling, else `_id`; without one the place is refused."""
    assert id_column(["x", "session_id", "id"], "t") == "id"
    assert id_column(["_id", "sessionid"], "t") == "sessionid"
    assert id_column(["_id", "x"], "t") == "_id"
    with pytest.raises(ValueError, match="the table t has no column id or session_id; it has x, y"):
        id_column(["x", "y"], "the table t")


@pytest.mark.parametrize(
    ("values", "blob"),
    [
        ('{"data": {}}', {"data": {}}),
        ({"blob": '{"data": {}}', "id": "s1"}, {"data": {}}),
        ({"State": {"data": {}}}, {"data": {}}),
        ({"data": '{"n": 1}', "flow_history": "[]", "current_flow": "f"}, {"data": {"n": 1}, "flowHistory": [], "currentFlow": "f"}),
        ({"data": "{}", "currentFlow": '{"id": "f"}'}, {"data": {}, "currentFlow": {"id": "f"}}),
        ({"data": "{", "currentflow": "[f"}, {"data": "{", "currentFlow": "[f"}),
        ({"data": None, "collected_data": b'{"data": {}}'}, {"collectedData": '{"data": {}}'}),
        ({"data": "{}", "metadata": "null"}, {"data": {}, "metadata": None}),
    ],
)  # fmt: skip
def test_what_a_row_holds(values: Any, blob: Any) -> None:
    """Columns in any spelling, JSON text or objects, one column for all or one for each part."""
    assert blob_of(OldRow("s1", values)) == blob


def test_a_row_without_an_id_gets_none(tmp_path: Path) -> None:
    """What is no text is told of as no session: made up, two ids could become one, and a session be lost."""
    lines = [b'{"id": null, "data": {}}', b'{"id": true, "data": {}}', b'{"id": ["s"], "data": {}}', b'{"data": {}}',
             b'{"id": 7, "data": {}}']  # fmt: skip
    old, new = tmp_path / "old.jsonl", tmp_path / "new.db"
    old.write_bytes(b"\n".join(lines))
    done = _migrate(old, new)
    assert (done.code, ids(new), _counts(done)["no session"]) == (1, ["7"], 4)
    assert "it has no column id or session_id; it has data" in done.err


def test_rows_of_a_table_without_an_id(tmp_path: Path) -> None:
    """They are counted, and the exit code says that not all were moved."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with closing(sqlite3.connect(old)) as db, db:
        db.execute("CREATE TABLE agent_sessions (id TEXT PRIMARY KEY, data)")
        db.executemany("INSERT INTO agent_sessions VALUES (?, '{}')", [("s1",), (None,), (None,), (b"s2",)])
    done = _migrate(old, new)
    assert (done.code, ids(new)) == (1, ["s1"])
    assert "rows that have no text as their id are not moved; there are 3 of them" in done.err


def test_text_that_is_no_utf_8_is_never_mended(tmp_path: Path) -> None:
    """Such a row is told of: with another character in its place the id or a field would be another one."""
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with closing(sqlite3.connect(old)) as db, db:
        db.execute("CREATE TABLE agent_sessions (id TEXT, state TEXT)")
        put = "INSERT INTO agent_sessions VALUES (CAST(? AS TEXT), CAST(? AS TEXT))"
        rows = [(b"s1", b'{"data": {"a": "\xff"}}'), (b"s\xfe", b'{"data": {}}'), (b"s3", b'{"data": {}}')]
        db.executemany(put, rows)
    done = _migrate(old, new)
    assert (done.code, ids(new), _counts(done)["no session"]) == (1, ["s3"], 2)


# --- once, and no more --------------------------------------------------------------------------


def test_running_it_again_changes_nothing(tmp_path: Path) -> None:
    """A session that the new system has touched stays as it is."""
    old, new = table_of_states(tmp_path / "old.db"), tmp_path / "new.db"
    _migrate(old, new)
    with closing(sqlite3.connect(new)) as db, db:
        db.execute("UPDATE agent_sessions SET updated_at = 'touched'")
    done = _migrate(old, new)
    assert _counts(done) == {"there already": len(GOOD), "no session": 1, "rows": len(GOOD) + 1}
    with closing(sqlite3.connect(new)) as db, db:
        assert db.execute("SELECT DISTINCT updated_at FROM agent_sessions").fetchall() == [("touched",)]


def test_a_conversation_that_began_in_the_new_place_wins(tmp_path: Path) -> None:
    """Though the old place has one of the same id."""
    old, new = table_of_states(tmp_path / "old.db"), filled(tmp_path / "new.db", session(GOOD[0]))
    assert _counts(_migrate(old, new))["there already"] == 1
    assert loaded(new, GOOD[0]) == loaded(filled(tmp_path / "same.db", session(GOOD[0])), GOOD[0])


def test_the_old_place_is_not_changed(tmp_path: Path) -> None:
    """Not a byte of it, and no file beside it."""
    old = table_of_states(tmp_path / "old.db")
    before = old.read_bytes()
    _migrate(old, tmp_path / "new.db")
    assert old.read_bytes() == before
    assert sorted(file.name for file in tmp_path.glob("old*")) == ["old.db"]


def _many(path: Path, count: int) -> Path:
    state = json.dumps({"data": {"note": "words " * 400}, "currentFlow": {"id": "lead"}})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE agent_sessions (id TEXT PRIMARY KEY, state TEXT)")
        db.executemany("INSERT INTO agent_sessions VALUES (?, ?)", ((f"s{n:05}", state) for n in range(count)))
    return path


def test_ctrl_c_says_where_to_go_on(tmp_path: Path) -> None:
    """The program ends with 130; with the position that it prints the rest is moved, and nothing twice."""
    old, new = _many(tmp_path / "old.db", 6_000), filled(tmp_path / "new.db")
    with subprocess.Popen(
        [sys.executable, "-m", "falai.cli", "migrate", "--from", str(old), "--to", str(new)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    ) as process:  # fmt: skip
        while len(ids(new)) < 300 and process.poll() is None:
            sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.startswith("Stopped:")) == (130, True), err
    after = err.split("--after ")[1].split()[0]
    moved = len(ids(new))
    done = _migrate(old, new, "--after", after)
    assert done.code == 0
    assert 0 < moved < 6_000
    assert len(ids(new)) == 6_000
    assert _counts(done)["rows"] <= 6_000 - moved + 100


def test_a_new_place_that_fails_says_where_to_go_on(tmp_path: Path) -> None:
    """The driver's words, exit code 2, what was moved, and the position; nothing is lost by going on."""
    old, new = _many(tmp_path / "old.db", 300), filled(tmp_path / "new.db")
    full = "WHEN (SELECT count(*) FROM agent_sessions) >= 250 BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    with closing(sqlite3.connect(new)) as db, db:
        db.execute(f"CREATE TRIGGER full BEFORE INSERT ON agent_sessions {full}")
    done = _migrate(old, new)
    assert (done.code, len(ids(new))) == (2, 250)
    assert "the disk is full" in done.err
    assert "--after s00199 leaves out what was read" in done.err
    with closing(sqlite3.connect(new)) as db, db:
        db.execute("DROP TRIGGER full")
    assert _counts(_migrate(old, new, "--after", "s00199")) == {
        "3.x, a flow under way": 50, "there already": 50, "rows": 100,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("postgresql://localhost/x", "psycopg", "postgres"),
        ("redis://localhost", "redis", "redis"),
        ("mongodb://localhost/x", "pymongo", "mongo"),
        ("opensearch://localhost", "opensearchpy", "opensearch"),
        ("mysql+asyncmy://localhost/x", "sqlalchemy", "sqlalchemy"),
        ("mysql+asyncmy://localhost/x", "asyncmy", "sqlalchemy"),
    ],
)
def test_a_missing_driver_says_what_to_install(url: str, module: str, extra: str) -> None:
    """In words, with the command; no traceback."""
    code = f"import sys; sys.modules['{module}'] = None; from falai.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "migrate", "--from", url, "--to", "memory:"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    driver = " asyncmy" if module == "asyncmy" else ""
    assert f'need {module}: pip install "falai[{extra}]"{driver}\n' in done.stderr


def test_ten_thousand_rows_take_no_more_memory_than_a_page(tmp_path: Path) -> None:
    """Rows are read, moved and forgotten; these have more than 24 MB of text."""
    old, new = _many(tmp_path / "old.db", 10_000), tmp_path / "new.db"
    tracemalloc.start()
    try:
        done = _migrate(old, new)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (done.code, _counts(done)["rows"]) == (0, 10_000)
    assert peak < 10_000_000


# --- a dry run ----------------------------------------------------------------------------------


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """It counts by kind, and says which flows there are and what becomes of their ids."""
    old, new, flows = table_of_states(tmp_path / "old.db"), tmp_path / "new.db", tmp_path / "flows.json"
    flows.write_text(json.dumps({"join": "lead", "gone": "x"}))
    done = _migrate(old, new, "--dry-run", "--flow-ids", flows)
    assert done.code == 1
    assert not new.exists()
    assert done.out.startswith("What would happen, nothing was written:\n")
    assert "of the flow join, which becomes lead" in done.out
    assert "of the flow welcome, which keeps its id" in done.out
    assert "the map has gone, which no row names" in done.out


def test_a_dry_run_looks_at_the_new_place(tmp_path: Path) -> None:
    """What is there already is counted; a place that cannot be looked at is told of, and not changed."""
    old, new = table_of_states(tmp_path / "old.db"), filled(tmp_path / "new.db", session(GOOD[0]))
    assert _counts(_migrate(old, new, "--dry-run"))["there already"] == 1
    assert ids(new) == [GOOD[0]]
    with closing(sqlite3.connect(tmp_path / "empty.db")) as db, db:
        db.execute("CREATE TABLE other (id)")
    done = _migrate(old, tmp_path / "empty.db", "--dry-run")
    assert done.err.count("no such table: agent_sessions") == 1
    assert "there already" not in done.out


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a.db", "sqlite:///a.db", True),
        ("a.db", "./a.db", True),
        ("sqlite:///a.db?table=old", "a.db", False),
        ("sqlite:///a.db?table=Agent_Sessions", "a.db", True),
        ("sqlite+aiosqlite:///a.db", "a.db", True),
        ("postgresql://u:p@localhost/x", "postgres://v@127.0.0.1:5432/x?sslmode=disable", True),
        ("postgresql+asyncpg://localhost/x", "postgresql://localhost/x", True),
        ("postgresql://localhost/x?table=a.b", "postgresql://localhost/x", False),
        ("postgresql://localhost/x", "postgresql://localhost:5433/x", False),
        ("redis://localhost", "redis://localhost:6379/0", True),
        ("redis://localhost", "redis://localhost/1", False),
        ("redis://localhost?prefix=a:", "redis://localhost", False),
        ("redis://localhost?ttl=0", "rediss://localhost", True),
        ("mongodb://localhost/x", "mongodb://localhost/x?collection=agent_sessions", True),
        ("mongodb://h1:27017,h2/x", "mongodb://u:p@h2,h1/x", True),
        ("postgresql://h1:1,h2:2/x", "postgresql://h1:1,h2:3/x", False),
        ("a.db", "a.jsonl", False),
    ],
)
def test_two_urls_of_one_place(one: str, other: str, same: bool) -> None:
    """Spellings, credentials, drivers and default ports make no other place; table, prefix and database do."""
    assert same_place(one, other) is same


def test_one_place_is_refused(tmp_path: Path) -> None:
    """A migration needs two (P-72)."""
    old = table_of_states(tmp_path / "old.db")
    done = _migrate(old, f"sqlite:///{old}")
    assert (done.code, "the same place" in done.err) == (2, True)
    assert _migrate(old, f"sqlite:///{old}?table=new", "--flow-ids", flow_ids(tmp_path)).code == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "an object of old ids and new ids"),
        ('{"a": "", "b": "x", "c": 5}', '"c" leads to 5'),
    ],
)
def test_a_map_that_is_none(tmp_path: Path, text: str, words: str) -> None:
    """It is refused before anything is moved, with all that is wrong (G-27)."""
    old, flows = table_of_states(tmp_path / "old.db"), tmp_path / "flows.json"
    flows.write_text(text)
    done = _migrate(old, tmp_path / "new.db", "--flow-ids", flows)
    assert (done.code, words in done.err) == (2, True), done.err
    assert not (tmp_path / "new.db").exists()


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    """Each is named in words, and the exit code is 2."""
    old = table_of_states(tmp_path / "old.db", table="sessions")
    new = tmp_path / "new.db"
    for source, words in [
        (tmp_path / "none.db", "there is no file"),
        (old, "no such table: agent_sessions"),
        (f"sqlite:///{old}?table=a-b", "a table's name"),
        ("memory:", "rows are read from"),
        ("ftp://u:secret@host/x", "rows are read from"),
    ]:
        done = _migrate(source, new)
        assert (done.code, words in done.err) == (2, True), done.err
        assert "secret" not in done.err
        assert not new.exists()
    assert _migrate(f"sqlite:///{old}?table=sessions", "ftp://u:secret@host/x").code == 2


@pytest.mark.parametrize("url", ["postgresql://[::1", "postgresql://u:sec/ret@host/x", "redis://u:sec#ret@host"])
def test_what_is_no_url(tmp_path: Path, url: str) -> None:
    """It is refused in words that show no piece of a password in which a character was not encoded."""
    old = table_of_states(tmp_path / "old.db")
    for done in (_migrate(url, tmp_path / "new.db"), _migrate(old, url), command("sessions", "list", "--store", url)):
        assert (done.code, "the URL cannot be understood" in done.err) == (2, True), done.err
        assert "sec" not in done.err


def test_a_position_that_is_none(tmp_path: Path) -> None:
    """Where positions are numbers, another text is refused in words."""
    old = tmp_path / "old.jsonl"
    old.write_text('{"id": "s1", "data": {}}\n')
    for after in ("abc", "-5"):
        done = _migrate(old, tmp_path / "new.db", "--after", after)
        assert (done.code, f'"{after}" is no position of this place' in done.err) == (2, True), done.err


def test_an_output_that_is_full(tmp_path: Path) -> None:
    """The driver's words and exit code 2, as with any other failure."""
    with Path("/dev/full").open("w") as full:
        arguments = ["migrate", "--from", str(table_of_states(tmp_path / "old.db")), "--to", str(tmp_path / "new.db")]
        run = [sys.executable, "-m", "falai.cli", *arguments]
        done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, "Traceback" in done.stderr, "No space left" in done.stderr) == (2, False, True)


def test_an_old_file_where_nothing_can_be_written(tmp_path: Path) -> None:
    """In WAL mode too, and no file is left beside it."""
    old = filled(tmp_path / "old.db", session("s1"))
    Path(f"{old}-shm").mkdir()
    assert _migrate(old, tmp_path / "new.db").code == 0
    assert ids(tmp_path / "new.db") == ["s1"]


def test_a_blank_id_of_a_signal_is_a_bad_row(tmp_path: Path) -> None:
    """Without a map such an id leads to itself, which is the id of no flow: the row is told of, the others move."""
    old = tmp_path / "old.jsonl"
    bad = {"id": "s1", "data": {}, "signals": {"triggers": {" ": {}}}}
    old.write_text(f'{json.dumps(bad)}\n{{"id": "s2", "data": {{}}}}\n{{"id": " ", "data": {{}}}}\n')
    done = _migrate(old, tmp_path / "new.db")
    assert (done.code, ids(tmp_path / "new.db")) == (1, ["s2"])
    dry = _migrate(old, tmp_path / "other.db", "--dry-run")
    assert _counts(done).items() <= _counts(dry).items()
    assert 'session "s1": flow_id_of(" ")' in done.err


def test_progress_in_words() -> None:
    """How many, how fast, and how long it will take when that can be told."""
    assert progress_words(1200, 10_000, 3.0) == "1,200 of 10,000 rows, 400 a second, 0:00:22 left"
    assert progress_words(1200, None, 3.0) == "1,200 rows, 400 a second"
    assert progress_words(0, 10, 0.0) == "0 of 10 rows, 0 a second"
    assert progress_words(12, 10, 1.0) == "12 of 10 rows, 12 a second, 0:00:00 left"
