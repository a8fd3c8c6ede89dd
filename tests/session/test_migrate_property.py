"""Random blobs of 3.x, whole and broken in one place, and v4 sessions as the compatible package stores them."""

from __future__ import annotations

import copy
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.codec import session_from_json, session_to_json, session_to_wire
from falai.session.jsontext import json_text, parse_json
from falai.session.migrate import migrate_session
from falai.session.model import Session
from falai.store import MemoryStore, SQLiteStore, Store
from session.blobs import FIXTURES, NOW, clean_texts, json_values, paths, replaced, sessions

AT = datetime.fromisoformat(NOW)
LEGACY = {file.name: json.loads(file.read_text("utf-8")) for file in sorted(FIXTURES.glob("legacy-*.json"))}
V4 = (FIXTURES / "v4-session.json").read_text("utf-8")

dates = st.sampled_from([NOW, "2026-01-01", "2026-01-01 10:00+02", "24:00", 1772460000123, -1, 1e300, None, True])
ids = st.sampled_from(["a", "b:c", "a:s1", "Ünï code", "#1"]) | clean_texts.filter(str.strip)
objects = st.dictionaries(clean_texts, json_values, max_size=3)
references = ids | st.fixed_dictionaries({"id": ids}, optional={"title": clean_texts, "enteredAt": dates})
visits = st.fixed_dictionaries(
    {"flowId": ids, "completed": st.booleans()}, optional={"enteredAt": dates, "exitedAt": dates, "reason": json_values}
)
triggers = st.dictionaries(
    ids,
    st.fixed_dictionaries({}, optional={"firstTriggeredAt": dates, "lastTriggeredAt": dates, "count": st.integers()}),
    max_size=3,
)
collected = {
    "data": objects,
    "flowHistory": st.lists(visits, max_size=4),
    "signals": st.fixed_dictionaries({}, optional={"triggers": triggers, "pending": json_values}),
    "history": st.lists(objects, max_size=3),
    "metadata": objects,
}
pointers = {"currentFlow": references, "currentStep": references, "version": st.integers(), "pendingDirective": objects}


def _nullable(members: dict[str, Any]) -> dict[str, Any]:
    return {key: st.none() | value for key, value in members.items()}


def _states(parts: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    optional = {key: value for key, value in parts.items() if key != "data"}
    return st.fixed_dictionaries({"data": parts["data"]}, optional=_nullable(optional))


states = _states(collected | pointers)
rows = st.fixed_dictionaries(
    {"collectedData": _states(collected) | _states(collected).map(json_text)},
    optional=_nullable({**pointers, "userId": ids, "status": ids}),
)
legacy = states | rows | st.sampled_from(list(LEGACY.values()))


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """A valid blob with one place of it gone, or of another kind."""
    blob = draw(legacy | st.just(json.loads(V4)))
    place = draw(st.sampled_from(paths(blob)))
    other = st.sampled_from([None, True, 0, -1, 1.5, "", " ", "x", [], {}, [None], {"id": None}]) | json_values
    return replaced(blob, place, draw(other | st.just(...) if place else other))


def _migrated(blob: Any) -> Session:
    return migrate_session(blob, "s1", flow_id_of=lambda id: f"new-{id}", now=AT)


def _check_promises(blob: Any) -> Session:
    before = copy.deepcopy(blob)
    session = _migrated(blob)
    wire = session_to_wire(session)
    assert json_text(before) == json_text(blob)  # the argument is unchanged (G-35)
    assert session_to_wire(_migrated(blob)) == wire  # the same blob gives the same session (G-33)
    assert session_to_wire(_migrated(wire)) == wire  # once is enough (G-32)
    assert session_to_wire(assert_session(wire, "s1")) == wire  # it passes the check (G-34)
    assert session_to_wire(session_from_json(session_to_json(session), "s1")) == wire  # and survives text
    return session


def _check_promises_or_error(blob: Any) -> None:
    error: InvalidSessionError | None = None
    try:
        _check_promises(blob)
    except InvalidSessionError as caught:
        error = caught
    if error is not None:
        assert error.session_id == "s1"
        assert str(error).startswith('[InvalidSessionError] session "s1": ')


@pytest.mark.property
@given(legacy)
def test_every_blob_of_3x_is_migrated(blob: dict[str, Any]) -> None:
    """With every optional part there, null or absent, a 3.x blob becomes a session that keeps G-32 to G-35."""
    session = _check_promises(blob)
    assert (session.id, session.version, session.inputs) == ("s1", 0, [])
    assert (session.last_user_at, session.last_assistant_at) == (None, None)
    assert len(session.runs) <= 1
    for run in session.runs:
        assert session.claims[run.dedupe_key].at == run.started_at


@pytest.mark.property
@given(broken() | json_values)
def test_any_json_gives_a_session_or_an_invalid_session_error(blob: Any) -> None:
    """One wrong place, or any JSON at all: a session that keeps its promises, or the one error, which names it."""
    _check_promises_or_error(blob)


@pytest.mark.property
@given(legacy | broken(), st.sampled_from([None, "", "  ", 5, ["x"]]))
def test_only_an_id_that_is_none_is_a_type_error(blob: Any, new: Any) -> None:
    """`flow_id_of` that gives no id raises `TypeError` when it is asked, and whether it is asked is G-27's matter."""
    asked: list[str] = []

    def flow_id_of(id: str) -> Any:
        asked.append(id)
        return new

    try:
        migrate_session(blob, "s1", flow_id_of=flow_id_of, now=AT)
    except InvalidSessionError:
        assert not asked
    except TypeError:
        assert len(asked) == 1
    else:
        assert not asked


@pytest.mark.parametrize("name", LEGACY)
def test_every_place_of_a_fixture_may_be_wrong(name: str) -> None:
    """Each place of each fixture, replaced by each kind of JSON value or removed: a session, or the one error."""
    blob = LEGACY[name]
    for place in paths(blob)[1:]:
        for other in (..., None, True, 0, 1.5, "", "x", [], {}):
            _check_promises_or_error(replaced(blob, place, other))


# --- v4 -----------------------------------------------------------------------------------------


def _canonical(text: str) -> bytes:
    """Keys sorted, nothing between, UTF-8: the form in which two packages' texts can be compared."""
    return json.dumps(parse_json(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_the_compatible_packages_session_comes_back_byte_for_byte() -> None:
    """A stored v4 blob with every optional key is read and written without any change (G-41)."""
    assert _canonical(session_to_json(session_from_json(V4))) == _canonical(V4)
    assert _canonical(session_to_json(migrate_session(parse_json(V4), parse_json(V4)["id"]))) == _canonical(V4)


@pytest.mark.property
@given(sessions)
def test_any_v4_text_comes_back_byte_for_byte(session: Session) -> None:
    """Whatever a session holds, its text is read and written without any change (G-41)."""
    text = session_to_json(session)
    assert _canonical(session_to_json(session_from_json(text, session.id))) == _canonical(text)


async def _put(store: Store, text: str) -> str:
    session = session_from_json(text)
    await store.save(session, 0)
    loaded = await store.load(session.id)
    assert loaded is not None
    loaded.version = session.version  # a new place counts anew
    return session_to_json(loaded)


async def test_a_v4_session_comes_back_from_the_stores(tmp_path: Path) -> None:
    """A session of the compatible package is stored and loaded without any change but its version."""
    async with MemoryStore() as memory, SQLiteStore(tmp_path / "s.db") as sqlite:
        assert _canonical(await _put(memory, V4)) == _canonical(await _put(sqlite, V4)) == _canonical(V4)
