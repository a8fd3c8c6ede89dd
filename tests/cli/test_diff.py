"""`falai diff`: what changed between two versions of flows, and what becomes of the conversations in a store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.program import command
from falai import Session
from falai.session.model import Run, TriggerRef, Waiting
from falai.store import SQLiteStore

OLD: dict[str, Any] = {
    "id": "lead",
    "on": [{"message": []}],
    "steps": [
        {"id": "who", "collect": ["name"]},
        {"id": "pause", "wait": "2d"},
        {"id": "bye", "say": "Thank you."},
    ],
}
OTHER = {"id": "other", "steps": [{"id": "a", "prompt": "Talk."}]}


def _file(folder: Path, name: str, *flows: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(flows), encoding="utf-8")
    return path


def _new(**changed: Any) -> dict[str, Any]:
    """The flow with its step `who` renamed and its wait longer."""
    who, pause, bye = OLD["steps"]
    return {**OLD, "steps": [{**who, "id": "name"}, {**pause, "wait": "3d"}, bye], **changed}


def _run(number: int, flow_id: str, step_id: str, status: Any, **more: Any) -> Run:
    given: dict[str, Any] = {
        "id": f"{flow_id}#m{number}", "flow_id": flow_id, "anchor": f"s{number}",
        "dedupe_key": f"{flow_id}:s{number}:m{number}", "step_id": step_id, "status": status,
        "trigger": TriggerRef(kind="message", key=f"m{number}"), "hop": 0, "started_at": "2026-09-20T10:00:00.000Z",
        "asked": {}, "visits": {step_id: 1}, "outcomes": [],
    }  # fmt: skip
    return Run(**(given | more))


def _store(path: Path, *runs: Run) -> Path:
    """A store with one session for each run."""
    asyncio.run(_fill(path, runs))
    return path


async def _fill(path: Path, runs: Sequence[Run]) -> None:
    async with SQLiteStore(path) as store:
        for number, run in enumerate(runs):
            session = Session.fresh(f"s{number}")
            session.runs = [run]
            await store.save(session, 0)


WAITING = Waiting(kind="timer", key="k", until="2026-09-22T10:00:00.000Z", set_at="2026-09-20T10:00:00.000Z")


def test_changes_are_told_in_words(tmp_path: Path):
    """Flow by flow, step by step; exit code 0 without a store."""
    done = command("diff", _file(tmp_path, "old.json", OLD), _file(tmp_path, "new.json", _new(), OTHER))
    assert done.code == 0
    assert done.out == (
        'flow "lead", step "name"\n'
        '  before, it was called "who", it seems\n'
        'flow "lead", step "pause"\n'
        '  its wait is "3d" instead of "2d"\n'
        'flow "other"\n'
        "  it is new, with 1 step\n"
    )


def test_the_same_flows(tmp_path: Path):
    """That nothing changed is said."""
    path = _file(tmp_path, "old.json", OLD)
    assert command("diff", path, path).out == "The flows are the same.\n"


def test_runs_that_would_be_lost(tmp_path: Path):
    """Exit code 1; each lost run with its session, its place, when it is noticed and what would keep it."""
    waiting = _run(1, "lead", "pause", "waiting", waiting=WAITING)
    store = _store(tmp_path / "s.db", _run(0, "lead", "who", "asking"), waiting, _run(2, "lead", "bye", "running"))
    old, new = _file(tmp_path, "old.json", OLD), _file(tmp_path, "new.json", _new())
    done = command("diff", old, new, "--store", store)
    assert done.code == 1
    assert done.out.partition("\n\n")[2] == (
        "1 run: lost\n"
        '  s0: lead / who, when the customer writes next: the step "who" is gone; it seems to be "name" now: '
        "keep the id, and change the label instead (step-gone)\n"
        "1 run: will go on at a step that is different\n"
        '  s1: lead / pause, at 2026-09-22T10:00:00.000Z: it goes on at "pause", which is different now\n'
        '    its wait is "3d" instead of "2d"\n'
        "    it still waits until 2026-09-22T10:00:00.000Z, as when the wait began\n"
        "1 run: will go on as now\n"
        "3 live runs in 3 sessions\n"
    )


def test_nothing_is_lost(tmp_path: Path):
    """Exit code 0 when every run goes on."""
    store = _store(tmp_path / "s.db", _run(0, "lead", "who", "asking"))
    path = _file(tmp_path, "old.json", OLD)
    assert command("diff", path, path, "--store", f"sqlite:///{store}").code == 0


def test_many_runs_stay_readable(tmp_path: Path):
    """Of 250 lost ones, over several pages of the store, the first are listed and the rest is counted by place."""
    store = _store(tmp_path / "s.db", *(_run(n, "lead", "who", "asking") for n in range(250)))
    done = command("diff", _file(tmp_path, "old.json", OLD), _file(tmp_path, "new.json", _new()), "--store", store)
    assert "250 runs: lost\n" in done.out
    assert "  and 230 more: 230 at lead / who\n" in done.out
    assert len(done.out.splitlines()) < 35


def test_runs_of_flows_that_neither_version_has(tmp_path: Path):
    """Nothing is claimed of them; with the agent named, its other flows are on both sides."""
    store = _store(tmp_path / "s.db", _run(0, "other", "a", "asking"))
    old, new = _file(tmp_path, "old.json", OLD), _file(tmp_path, "new.json", _new())
    done = command("diff", old, new, "--store", store)
    assert (done.code, "1 of the flow other, which neither version has" in done.out) == (0, True)
    agent = tmp_path / "agent.json"
    agent.write_text(json.dumps({"name": "Ana", "fields": {"name": {"type": "string"}}, "flows": [OLD, OTHER]}))
    done = command("diff", old, new, "--agent", agent, "--store", store)
    assert (done.code, "1 run: will go on as now" in done.out) == (0, True)


def test_json(tmp_path: Path):
    """Everything that is printed, for a program."""
    store = _store(tmp_path / "s.db", _run(0, "lead", "who", "asking"), _run(1, "gone", "x", "asking"))
    old, new = _file(tmp_path, "old.json", OLD), _file(tmp_path, "new.json", _new())
    done = command("diff", old, new, "--store", store, "--json")
    said = json.loads(done.out)
    assert done.code == 1
    assert said["changes"][1] == {
        "kind": "wait", "flow": "lead", "step": "pause", "message": 'its wait is "3d" instead of "2d"',
    }  # fmt: skip
    assert said["counts"] == {"lost": 1, "restarts": 0, "ends": 0, "changed": 0, "goes-on": 0}
    assert (said["sessions"], said["elsewhere"], said["unreadable"]) == (2, {"gone": 1}, [])
    assert {key: said["runs"][0][key] for key in ("session", "run", "flow", "step", "status", "fate", "code")} == {
        "session": "s0", "run": "lead#m0", "flow": "lead", "step": "who", "status": "asking", "fate": "lost",
        "code": "step-gone",
    }  # fmt: skip


@pytest.mark.parametrize("url", ["nowhere.db", "sqlite:///nowhere.db", "nonsense://x", "what.txt"])
def test_a_store_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str):
    """Exit code 2, in words, and no file is made."""
    monkeypatch.chdir(tmp_path)
    path = _file(tmp_path, "old.json", OLD)
    done = command("diff", path, path, "--store", url)
    assert (done.code, "Error: " in done.err) == (2, True)
    assert [one.name for one in tmp_path.iterdir()] == ["old.json"]


def test_a_file_that_is_no_store(tmp_path: Path):
    """What the database says is passed on in words."""
    path = _file(tmp_path, "old.json", OLD)
    broken = tmp_path / "s.db"
    broken.write_text("hello")
    done = command("diff", path, path, "--store", broken)
    assert (done.code, "the store cannot be read" in done.err) == (2, True)


def test_two_flows_of_one_id_cannot_be_compared(tmp_path: Path):
    """In one file or in two: exit code 2, since nobody knows which of them would run."""
    one, both = _file(tmp_path, "one.json", OLD), _file(tmp_path, "both.json", OLD, OLD)
    for old in (both, tmp_path):
        done = command("diff", old, one)
        assert (done.code, "flows with the id lead" in done.err) == (2, True)


def test_a_store_is_only_read(tmp_path: Path):
    """No byte of the file changes, also where it was never a store of ours, and no file is left beside it."""
    path = _file(tmp_path, "old.json", OLD)
    empty, kept = tmp_path / "empty.db", _store(tmp_path / "s.db", _run(0, "lead", "who", "asking"))
    empty.touch()
    before = kept.read_bytes()
    assert [command("diff", path, path, "--store", store).code for store in (empty, kept)] == [2, 0]
    assert (empty.read_bytes(), kept.read_bytes()) == (b"", before)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["empty.db", "old.json", "s.db"]


def test_flows_that_cannot_be_compared(tmp_path: Path):
    """A flow whose shape is wrong, or a file that is broken: exit code 2, with every problem."""
    good, wrong = _file(tmp_path, "a.json", OLD), _file(tmp_path, "b.json", {"id": "x", "steps": [{"id": "a"}]})
    done = command("diff", good, wrong)
    assert (done.code, "this step does nothing" in done.err) == (2, True)
    wrong.write_text("{")
    assert command("diff", wrong, good).code == 2


def test_versions_in_code(tmp_path: Path):
    """Two agents of a module, or lists of flows, are compared as files are."""
    path = tmp_path / "two_versions.py"
    path.write_text(
        "from falai import Flow, Say\n"
        "old = [Flow('x', steps=[Say('a', 'A')])]\n"
        "new = [Flow('x', steps=[Say('a', 'B')])]\n"
    )
    done = command("diff", f"{path}:old", f"{path}:new")
    assert (done.code, done.out) == (0, 'flow "x", step "a"\n  its text is "B" instead of "A"\n')
