"""`falai sessions delete`, and everything of a customer: exported and erased."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.program import Finished, command
from cli.stores import EARLY, answered, filled, ids, loaded, run, session
from falai.cli.sessions.customer import traces, without
from falai.cli.sessions.deleting import _take_out
from falai.cli.store_access import Troubles
from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import MemoryStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three sessions; the second holds a run and two claims of the customer `s1`, beside its own."""
    return filled(
        tmp_path / "s.sqlite",
        session("s1", run("lead")),
        session("s2", run("lead", anchor="s2"), run("deal", "waiting", "s1"), claims=["tour:s1:e7", "tour:s10:e7"]),
        session("s3", said=EARLY),
    )


def _sessions(action: str, *arguments: str | Path, store: Path) -> Finished:
    return command("sessions", action, *arguments, "--store", store)


def test_by_ids(store: Path) -> None:
    """Each is removed; one that is not there is told of."""
    done = _sessions("delete", "s1", "s9", "s1", "--yes", store=store)
    assert (done.code, done.err) == (1, "there is no session s9\n1 session deleted\n")
    assert ids(store) == ["s2", "s3"]


def test_by_filters(store: Path) -> None:
    """Only what passes them."""
    done = _sessions("delete", "--older-than", "1000d", "--yes", store=store)
    assert (done.code, done.err) == (0, "1 session deleted\n")
    assert ids(store) == ["s1", "s2"]
    assert _sessions("delete", "s1", "s2", "--status", "waiting", "--yes", store=store).code == 0
    assert ids(store) == ["s1"]


def test_a_bad_row_is_deleted_by_its_id_only(store: Path) -> None:
    """A filter cannot judge it, and says so."""
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE agent_sessions SET blob = 'x' WHERE id = 's3'")
    assert _sessions("delete", "--older-than", "1000d", "--yes", store=store).code == 1
    assert ids(store) == ["s1", "s2"]
    assert _sessions("delete", "s3", "--yes", store=store).code == 0
    assert _sessions("list", store=store).code == 0


def test_nothing_is_deleted_by_default(store: Path) -> None:
    """Without ids, filters or a customer the command refuses; where nobody can be asked it wants --yes."""
    assert _sessions("delete", "--yes", store=store).code == 2
    done = _sessions("delete", "s1", store=store)
    assert (done.code, "--yes" in done.err) == (2, True)
    assert ids(store) == ["s1", "s2", "s3"]


def test_a_question_at_the_terminal(store: Path) -> None:
    """It says how many, and deletes after a yes alone."""
    done = answered("n", "sessions", "delete", "--flow", "lead", "--store", store)
    assert (done.code, "Delete 2 sessions?" in done.err) == (1, True)
    assert ids(store) == ["s1", "s2", "s3"]
    done = answered("y", "sessions", "delete", "--flow", "lead", "--store", store)
    assert (done.code, ids(store)) == (0, ["s3"])
    done = answered("", "sessions", "delete", "--flow", "lead", "--store", store)
    assert (done.code, done.err) == (0, "0 sessions deleted\n")  # there is nothing to ask about


# --- a customer ---------------------------------------------------------------------------------


def test_everything_of_a_customer_is_exported(store: Path) -> None:
    """Their session, and what is anchored at them in the sessions of others."""
    done = _sessions("export", "--customer", "s1", store=store)
    own, elsewhere = map(json.loads, done.out.splitlines())
    assert done.code == 0
    assert own["id"] == "s1"
    assert elsewhere["elsewhere"] == "s2"
    assert [one["id"] for one in elsewhere["runs"]] == ["deal#m1"]
    assert list(elsewhere["claims"]) == ["deal:s1:", "tour:s1:e7"]


def test_everything_of_a_customer_is_erased(store: Path) -> None:
    """Afterwards the store holds nothing of them, and what is of others is as it was."""
    done = _sessions("delete", "--customer", "s1", "--yes", store=store)
    assert (done.code, ids(store)) == (0, ["s2", "s3"])
    assert _sessions("export", "--customer", "s1", store=store).out == ""
    left = loaded(store, "s2")
    assert left is not None
    assert (left.version, [one.anchor for one in left.runs]) == (2, ["s2"])
    assert list(left.claims) == ["lead:s2:", "tour:s10:e7"]
    assert (left.data, left.inputs) == (session("s2").data, session("s2").inputs)
    untouched = loaded(store, "s3")
    assert untouched is not None
    assert untouched.version == 1


def test_a_customer_of_several_ids(store: Path) -> None:
    """All that any of them has; even a row of theirs that holds no session."""
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE agent_sessions SET blob = 'x' WHERE id = 's3'")
    assert _sessions("delete", "--customer", "s3", "--customer", "s1", "--yes", store=store).code == 0
    assert ids(store) == ["s2"]


def test_a_row_that_cannot_be_looked_into_is_told_of(store: Path) -> None:
    """It may hold something of the customer, so the exit code is not 0."""
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE agent_sessions SET blob = 'x' WHERE id = 's2'")
    for action in (("export",), ("delete", "--yes")):
        done = _sessions(*action, "--customer", "s1", store=store)
        assert (done.code, 'session "s2"' in done.err) == (1, True)


def test_what_will_be_erased_is_shown_first(store: Path) -> None:
    """At a terminal each thing is named, and nothing is done without a yes."""
    done = answered("n", "sessions", "delete", "--customer", "s1", "--store", store)
    assert done.code == 1
    assert "session s1, 2 fields, 1 run" in done.err
    assert "in session s2: the run deal#m1" in done.err
    assert "in session s2: the claim tour:s1:e7" in done.err
    assert ids(store) == ["s1", "s2", "s3"]


def test_a_customer_is_taken_alone(store: Path) -> None:
    """Ids and filters beside --customer would leave out a part; a blank id would be everybody's."""
    assert _sessions("delete", "s1", "--customer", "s1", "--yes", store=store).code == 2
    assert _sessions("export", "--flow", "lead", "--customer", "s1", store=store).code == 2
    assert _sessions("delete", "--customer", " ", "--yes", store=store).code == 2
    assert ids(store) == ["s1", "s2", "s3"]


class _Busy(MemoryStore):
    """A store in which another writer is faster, so many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def save(self, session: Session, expected_version: int) -> Session:
        if expected_version and self.times:
            self.times -= 1
            raise SessionConflictError(session.id, expected_version, expected_version + 1)
        return await super().save(session, expected_version)


@pytest.mark.parametrize(("times", "taken"), [(0, True), (3, True), (99, False)])
def test_a_session_that_changes_meanwhile(times: int, taken: bool) -> None:
    """The newest version is taken, some times; what stays is told of and counted."""

    async def take() -> tuple[bool, int]:
        store, troubles = _Busy(times), Troubles()
        saved = await store.save(session("s2", run("deal", anchor="s1")), 0)
        return await _take_out(store, saved, ("s1",), troubles), troubles.exit_code

    assert asyncio.run(take()) == (taken, 0 if taken else 1)


def test_what_is_anchored_elsewhere_stays() -> None:
    """An id that is only a part of another one is somebody else's."""
    made = session("s2", run("a:s1", anchor="s2"), run("b", anchor="s11"), claims=["c:s1:s2:", "d:xs1:", "e:s1x:n"])
    assert traces(made, ["s1"]).runs == []
    assert list(traces(made, ["s1"]).claims) == ["a:s1:s2:", "c:s1:s2:"]  # ids may hold colons: such a one is taken
    assert without(made, ["s9"]) == made
