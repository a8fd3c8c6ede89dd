"""Old places for the tests of `falai migrate`: the fixtures of 3.x and v4 as the databases of hosts hold them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from falai.session.codec import session_to_wire
from falai.session.dates import iso, to_ms
from falai.session.jsontext import json_equal
from falai.session.model import Session

__all__ = ["BAD", "CASES", "V4", "adapter_rows", "agrees", "flow_ids", "state_rows", "table_of_states"]

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
CASES: list[dict[str, Any]] = json.loads((FIXTURES / "migrate-expected.json").read_text("utf-8"))["cases"]
V4: dict[str, Any] = json.loads((FIXTURES / "v4-session.json").read_text("utf-8"))
BAD = "bad-row"
_STARTED = iso(to_ms(datetime.now(UTC)))  # noqa: TID251 - the command takes the system's clock


def state_rows() -> Iterator[tuple[str, dict[str, Any]]]:
    """The id and the state of each 3.x fixture, and one that holds nothing."""
    for case in CASES:
        yield case["sessionId"], json.loads((FIXTURES / case["file"]).read_text("utf-8"))
    yield BAD, {"nope": True}


def adapter_rows() -> Iterator[dict[str, Any]]:
    """The same as rows of the 3.x adapters: bare ids, the rest in one column (G-31)."""
    for id, state in state_rows():
        inside = state.get("collectedData") or {key: state[key] for key in _INSIDE if key in state}
        yield {"id": id, "current_flow": _bare(state, "currentFlow"), "current_step": _bare(state, "currentStep"),
               "collected_data": inside, "version": 7}  # fmt: skip


_INSIDE = ("data", "flowHistory", "signals", "history", "metadata")


def _bare(state: dict[str, Any], key: str) -> str | None:
    value = state.get(key)
    found: str | None = value.get("id") if isinstance(value, dict) else value
    return found


def flow_ids(folder: Path) -> Path:
    """The file of all maps of the fixtures: no two of them say different things."""
    file = folder / "flows.json"
    every: dict[str, str] = {}
    for case in CASES:
        assert all(every.get(old, new) == new for old, new in case["flowIdOf"].items())
        every |= case["flowIdOf"]
    file.write_text(json.dumps(every))
    return file


def agrees(session: Session, *, bare_ids: bool = False) -> bool:
    """Whether a stored session is the one that a fixture must become.

    What has no date of its own has that of the run. With bare ids a current flow has none either.
    """
    if session.id == V4["id"]:
        return json_equal(session_to_wire(session), {**V4, "version": 1})
    case = next(case for case in CASES if case["sessionId"] == session.id)
    wanted = _undated(case["session"] | {"version": 1}, case["now"], bare_ids=bare_ids)
    return json_equal(_undated(session_to_wire(session), _STARTED, bare_ids=bare_ids), wanted)


def _undated(wire: dict[str, Any], now: str, *, bare_ids: bool) -> dict[str, Any]:
    """The session without the dates that are `now` or later, and without those of a run that can have none."""
    of_runs = {run["dedupeKey"] for run in wire["runs"] if bare_ids}
    claims = {
        key: "now" if key in of_runs or claim["at"] >= now else claim["at"] for key, claim in wire["claims"].items()
    }
    runs = [
        {**run, "startedAt": "now" if bare_ids or run["startedAt"] >= now else run["startedAt"]} for run in wire["runs"]
    ]
    return {**wire, "claims": claims, "runs": runs}


def table_of_states(path: Path, table: str = "agent_sessions") -> Path:
    """A file of SQLite with a row for each fixture, the state as one column."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY, state TEXT)")
        db.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(id, json.dumps(state)) for id, state in state_rows()])
    return path
