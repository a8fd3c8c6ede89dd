"""`falai sessions list`, `show`, `export`, `import`: what a store holds, out of it and back into one."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tracemalloc
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from cli.program import Finished, command, falai
from cli.stores import EARLY, LATE, filled, ids, loaded, run, session
from falai.cli.sessions.importing import _import
from falai.session.model import Session
from falai.store import MemoryStore, SQLiteStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Four sessions: one asks, one is parked, one is idle and old, one has no date but that of its claim."""
    return filled(
        tmp_path / "s.sqlite",
        session("s1", run("lead")),
        session("s2", run("lead", "waiting", "s2"), run("tour", "suspended", "s2")),
        session("s3", said=EARLY),
        session("s4", said=None, claims=["lead:s4:"]),
    )


def _sessions(action: str, *arguments: str | Path, store: Path, typed: str = "") -> Finished:
    return command("sessions", action, *arguments, "--store", store, typed=typed)


def _listed(*arguments: str, store: Path) -> list[str]:
    done = _sessions("list", "--json", *arguments, store=store)
    assert done.code == 0, done.err
    return [json.loads(line)["id"] for line in done.out.splitlines()]


def _spoil(store: Path, id: str) -> None:
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE agent_sessions SET blob = '{\"nope\": true}' WHERE id = ?", (id,))


def test_a_list_for_people(store: Path) -> None:
    """A line for each session: its id, when something happened last, and what is under way."""
    done = falai("sessions", "list", "--store", store)
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "4 sessions\n")
    assert lines[0].split("  ")[0] == "session"
    assert lines[1].split() == ["s1", "2026-09-20", "10:00:00", "lead/ask", "asking"]
    assert "lead/ask waiting, tour/ask suspended" in lines[2]
    assert lines[4].split() == ["s4", "2020-01-01", "00:00:00", "-"]


def test_a_list_for_programs(store: Path) -> None:
    """One JSON object a line, with everything that the filters go by."""
    done = _sessions("list", "--json", "--limit", "1", store=store)
    assert json.loads(done.out) == {
        "id": "s1", "version": 1, "lastActivity": LATE, "lastUserAt": LATE, "lastAssistantAt": None,
        "runs": [{"id": "lead#m1", "flow": "lead", "step": "ask", "status": "asking"}], "claims": 1,
    }  # fmt: skip


def test_filters_by_flow_and_status(store: Path) -> None:
    """Each by itself, and both for one and the same run."""
    assert _listed("--flow", "lead", store=store) == ["s1", "s2"]
    assert _listed("--status", "waiting", store=store) == ["s2"]
    assert _listed("--flow", "tour", "--status", "suspended", store=store) == ["s2"]
    assert _listed("--flow", "tour", "--status", "waiting", store=store) == []
    assert _listed("--flow", "lead", "--limit", "1", store=store) == ["s1"]


def test_filters_by_age(store: Path) -> None:
    """The age counts from what was said last; where nobody has spoken, from the newest claim."""
    assert _listed("--older-than", "1000d", store=store) == ["s3", "s4"]
    assert _listed("--newer-than", "1000d", store=store) == ["s1", "s2"]
    assert _listed("--newer-than", "20000d", "--older-than", "1000d", store=store) == ["s3", "s4"]
    undated = filled(store.with_name("undated.sqlite"), session("s9", said=None))
    assert _listed("--older-than", "1s", store=undated) == _listed("--newer-than", "20000d", store=undated) == []


def test_a_duration_that_is_none(store: Path) -> None:
    """The text is named, with what may stand there."""
    done = _sessions("list", "--older-than", "a month", store=store)
    assert done.code == 2
    assert '"a month" is not a duration' in done.err


def test_a_bad_row_is_told_of_and_hides_none(store: Path) -> None:
    """The others are listed and exported, and the exit code says that something is wrong."""
    _spoil(store, "s2")
    for action in ("list", "export"):
        done = _sessions(action, store=store)
        assert done.code == 1
        assert 'session "s2"' in done.err
        assert [id for id in ("s1", "s2", "s3", "s4") if id in done.out] == ["s1", "s3", "s4"]


def test_show(store: Path) -> None:
    """Fields, runs, waits and claims in words; with --json the blob itself."""
    done = _sessions("show", "s2", store=store)
    assert done.code == 0
    for words in (
        'name  "Inês"',
        "lead#m1: flow lead, step ask, waiting",
        "waits for the event paid until",
        "tour:s2:",
    ):
        assert words in done.out
    session = loaded(store, "s2")
    assert session is not None
    assert _sessions("show", "s2", "--json", store=store).out == session.to_json() + "\n"


def test_show_what_is_not_there(store: Path) -> None:
    """It is said, and the exit code is 1; so it is for a row that holds no session."""
    done = _sessions("show", "s9", store=store)
    assert (done.code, done.out, done.err) == (1, "", "there is no session s9\n")
    _spoil(store, "s1")
    assert _sessions("show", "s1", store=store).code == 1


def test_texts_of_customers_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Control characters of a session are not printed."""
    made = session("s\x1b[2J1")
    made.data = {"name\x1b]0;x\x07": "\x1b[31m"}
    store = filled(tmp_path / "s.sqlite", made)
    out = _sessions("list", store=store).out + _sessions("show", made.id, store=store).out
    assert "\x1b" not in out


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    """Reading makes no file and no table, and the exit code is 2."""
    missing = tmp_path / "none.sqlite"
    for action in ("list", "export"):
        for url in (missing, f"sqlite:///{missing}", f"sqlite+aiosqlite:///{missing}?table=x"):
            assert command("sessions", action, "--store", url).code == 2
    assert not missing.exists()
    with closing(sqlite3.connect(missing)) as db, db:
        db.execute("CREATE TABLE other (id TEXT)")
    done = _sessions("list", store=missing)
    assert done.code == 2
    assert "no such table" in done.err


def test_the_store_may_stand_in_the_environment(store: Path) -> None:
    """So that no password is on a command line."""
    assert command("sessions", "show", "s1", env={"FALAI_STORE": str(store)}).code == 0


# --- export and import --------------------------------------------------------------------------


def test_export_and_import_are_inverse(store: Path, tmp_path: Path) -> None:
    """What was exported comes into another store as it was; the version counts anew."""
    out = tmp_path / "all.jsonl"
    assert _sessions("export", "--out", out, store=store).code == 0
    other = tmp_path / "other.sqlite"
    done = _sessions("import", out, store=other)
    assert (done.code, done.err) == (0, "4 imported, 0 replaced\n")
    for id in ids(store):
        assert loaded(other, id) == loaded(store, id)


def test_export_of_some(store: Path) -> None:
    """By ids or by filters; an id that is not there is told of."""
    done = _sessions("export", "s3", "s9", "s1", store=store)
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["s3", "s1"]
    assert (done.code, "there is no session s9" in done.err) == (1, True)
    assert json.loads(_sessions("export", "--status", "waiting", store=store).out)["id"] == "s2"


def test_export_writes_over_no_file(store: Path, tmp_path: Path) -> None:
    """A file that is there stays as it is."""
    out = tmp_path / "mine.txt"
    out.write_text("mine")
    assert _sessions("export", "--out", out, store=store).code == 2
    assert out.read_text() == "mine"


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    """So that the next try may have the name."""
    done = _sessions("export", "--out", tmp_path / "out.jsonl", store=tmp_path / "none.sqlite")
    assert (done.code, list(tmp_path.iterdir())) == (2, [])


def test_a_store_where_nothing_can_be_written(store: Path) -> None:
    """It is looked at all the same, and not changed."""
    Path(f"{store}-shm").mkdir()
    assert _listed(store=store) == ["s1", "s2", "s3", "s4"]
    assert _sessions("show", "s1", store=store).code == 0
    assert _sessions("export", store=store).code == 0


def test_import_refuses_what_is_there(store: Path) -> None:
    """Unless it is told to write over it, and then against the version that stands there."""
    changed = loaded(store, "s1")
    assert changed is not None
    changed.data = {"name": "Rui"}
    done = _sessions("import", "-", store=store, typed=changed.to_json())
    assert done.code == 1
    assert "line 1: session s1 is there already (version 1); --replace writes over it" in done.err
    done = _sessions("import", "-", "--replace", store=store, typed=changed.to_json())
    assert (done.code, done.err) == (0, "0 imported, 1 replaced\n")
    now = loaded(store, "s1")
    assert now is not None
    assert (now.data, now.version) == ({"name": "Rui"}, 2)


def test_a_session_that_goes_on_while_it_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """The import loses, and says so; nothing is written over."""

    class Busy(MemoryStore):
        async def load(self, id: str) -> Session | None:
            found = await super().load(id)
            if found is not None:
                await super().save(found, found.version)  # somebody writes just now
            return found

    async def replace() -> int:
        async with Busy() as store:
            await store.save(session("s1"), 0)
            return await _import(store, BytesIO(session("s1", run("lead")).to_json().encode()), replace=True)

    assert asyncio.run(replace()) == 1
    assert "was changed while it was to be replaced; import it again" in capsys.readouterr().err


def test_import_checks_each_line(tmp_path: Path) -> None:
    """What is no session is told of by its line, and the others come in."""
    store = tmp_path / "new.sqlite"
    lines = ["{", "", '{"nope": true}', session("s1").to_json(), '{"id": "s2", "v": 4}', session(" ").to_json(),
             '{"id": 5, "v": 4}']  # fmt: skip
    done = _sessions("import", "-", store=store, typed="\n".join(lines))
    assert (done.code, ids(store)) == (1, ["s1"])
    assert [f"line {n}:" in done.err for n in range(1, 8)] == [True, False, True, False, True, True, True]
    assert done.err.endswith("1 imported, 0 replaced, 5 refused\n")
    assert "id is 5, and text was expected" in done.err


def test_an_exported_line_of_any_text_is_one_line(tmp_path: Path) -> None:
    """Line breaks of every kind inside a value are no ends of lines."""
    made = session("s1")
    made.data = {"note": "a\nb\r\nc\u2028d\u0085e\x0bf"}
    store = filled(tmp_path / "s.sqlite", made)
    exported = _sessions("export", store=store).out
    done = _sessions("import", "-", store=tmp_path / "new.sqlite", typed=exported)
    assert done.code == 0, done.err
    assert loaded(tmp_path / "new.sqlite", "s1") == loaded(store, "s1")


def test_ten_thousand_sessions_take_no_more_memory_than_a_page(tmp_path: Path) -> None:
    """List and export hold some sessions at a time, never all: these have more than 40 MB of text."""
    store, out = tmp_path / "big.sqlite", tmp_path / "out.jsonl"
    made = session("s")
    made.data = {"note": "words " * 700}
    _many(store, made.to_json().replace('"version":0', '"version":1'), 10_000)
    for arguments in (("export", "--out", out), ("list", "--flow", "none")):
        tracemalloc.start()
        try:
            done = _sessions(*arguments, store=store)  # type: ignore[arg-type] # an action and its arguments
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert done.code == 0
        assert peak < 10_000_000
    with out.open("rb") as lines:
        assert sum(1 for _ in lines) == 10_000


def _many(store: Path, blob: str, count: int) -> None:
    async def make() -> None:
        async with SQLiteStore(store):
            pass

    asyncio.run(make())
    with closing(sqlite3.connect(store)) as db, db:
        rows = ((f"s{n:05}", 1, blob.replace('"id":"s"', f'"id":"s{n:05}"'), EARLY, EARLY) for n in range(count))
        db.executemany("INSERT INTO agent_sessions VALUES (?, ?, ?, ?, ?)", rows)
