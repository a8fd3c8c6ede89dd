from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.codec import session_to_wire
from falai.session.jsontext import json_equal, json_text, parse_json
from falai.session.migrate import migrate_session
from falai.session.model import Session
from session.blobs import FIXTURES, broken_blobs, full_blob, json_values, paths, replaced

INVALID = json.loads((FIXTURES / "invalid-sessions.json").read_text(encoding="utf-8"))


def _blob(case: dict[str, Any]) -> Any:
    if "patch" in case:
        return _patched(INVALID["base"], case["patch"])
    if "run" in case:
        return {**INVALID["base"], "runs": [_patched(INVALID["base"]["runs"][0], case["run"])]}
    return case["blob"]


def _patched(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = {**base, **patch}
    return {key: value for key, value in merged.items() if value != {"$delete": True}}


@pytest.mark.parametrize("case", INVALID["cases"], ids=lambda case: case["name"])
def test_invalid_sessions(case: dict[str, Any]) -> None:
    """Each blob is refused; the message names the session, the place and what was found (G-1, G-2)."""
    read = {"assert": assert_session, "migrate": migrate_session}[case["fn"]]
    with pytest.raises(InvalidSessionError) as caught:
        read(_blob(case), "s1")
    message = str(caught.value)
    assert caught.value.session_id == "s1"
    assert message.startswith('[InvalidSessionError] session "s1": ')
    assert [text for text in case["contains"] if text not in message] == []


def _why(blob: Any) -> str:
    with pytest.raises(InvalidSessionError) as caught:
        assert_session(blob, "s1")
    return str(caught.value)


# In the order of B-14.1 and B-14.2, then G-6: with all of them wrong, the first is reported.
ORDER = [
    (("v",), 5, "v"),
    (("id",), "s2", "id"),
    (("version",), "x", "version"),
    (("data",), [], "data"),
    (("runs",), {}, "runs"),
    (("claims", "f:s1:1", "at"), 5, 'claims["f:s1:1"].at'),
    (("inputs", 0), 5, "inputs[0]"),
    (("metadata",), None, "metadata"),
    (("history",), None, "history"),
    (("lastUserAt",), None, "lastUserAt"),
    (("lastAssistantAt",), 5, "lastAssistantAt"),
    (("runs", 0, "status"), "done", "runs[0].status"),
    (("runs", 0, "stepId"), ..., "runs[0].stepId"),
    (("runs", 0, "hop"), True, "runs[0].hop"),
    (("runs", 0, "outcomes"), {}, "runs[0].outcomes"),
    (("runs", 0, "trigger"), "x", "runs[0].trigger"),
    (("runs", 0, "waiting"), None, "runs[0].waiting"),
    (("runs", 0, "id"), ..., "runs[0].id"),
    (("runs", 0, "flowId"), 5, "runs[0].flowId"),
    (("runs", 0, "anchor"), None, "runs[0].anchor"),
    (("runs", 0, "dedupeKey"), 5, "runs[0].dedupeKey"),
    (("runs", 0, "startedAt"), 5, "runs[0].startedAt"),
    (("runs", 0, "asked"), [], "runs[0].asked"),
    (("runs", 0, "visits"), None, "runs[0].visits"),
    (("runs", 1, "startedAt"), ..., "runs[1].startedAt"),
    (("runs", 0, "trigger", "kind"), "magic", "runs[0].trigger.kind"),
    (("runs", 0, "waiting", "kind"), ..., "runs[0].waiting.kind"),
    (("runs", 0, "waiting", "setAt"), 5, "runs[0].waiting.setAt"),
    (("runs", 0, "waiting", "key"), None, "runs[0].waiting.key"),
    (("runs", 0, "waiting", "until"), 5, "runs[0].waiting.until"),
    (("runs", 0, "waiting", "event"), 5, "runs[0].waiting.event"),
    (("runs", 0, "asked", "a"), -1, 'runs[0].asked["a"]'),
    (("runs", 0, "visits", "x"), "1", 'runs[0].visits["x"]'),
    (("runs", 0, "outcomes", 0, "kind"), ..., "runs[0].outcomes[0].kind"),
    (("runs", 0, "outcomes", 0, "status"), 5, "runs[0].outcomes[0].status"),
    (("runs", 0, "outcomes", 0, "at"), None, "runs[0].outcomes[0].at"),
    (("runs", 1, "trigger", "kind"), "magic", "runs[1].trigger.kind"),
]


def _holder_is_whole(broken: list[tuple[Any, ...]], path: tuple[Any, ...]) -> bool:
    return not any(path[: len(other)] == other for other in broken)


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[name for _, _, name in ORDER])
def test_the_first_failure_is_reported(first: int) -> None:
    """The order of the checks is fixed, so that both packages report the same one."""
    blob, broken = full_blob(), list[tuple[Any, ...]]()
    for path, value, _ in ORDER[first:]:
        if _holder_is_whole(broken, path):
            blob = replaced(blob, path, value)
            broken.append(path)
    assert f": {ORDER[first][2]} is " in _why(blob)


def test_a_full_blob_is_kept_whole() -> None:
    """Every key that a session has comes back (P-14, P-15)."""
    assert session_to_wire(assert_session(full_blob(), "s1")) == full_blob()


def test_both_packages_fixture() -> None:
    """A blob as the TypeScript package stores it passes (G-41)."""
    blob = json.loads((FIXTURES / "v4-session.json").read_text(encoding="utf-8"))
    assert json_equal(session_to_wire(assert_session(blob, "conv-9")), blob)


EXTRA_HOLDERS = [
    (), ("claims", "f:s1:1"), ("runs", 0), ("runs", 0, "trigger"), ("runs", 0, "waiting"), ("runs", 0, "outcomes", 0)
]  # fmt: skip


@pytest.mark.parametrize("holder", EXTRA_HOLDERS)
def test_foreign_keys_are_dropped(holder: tuple[Any, ...]) -> None:
    """Keys that a session does not have are no error and are not kept (G-9)."""
    assert session_to_wire(assert_session(replaced(full_blob(), (*holder, "extra"), 1), "s1")) == full_blob()


@pytest.mark.parametrize("path", [("runs", 1, "suspendedAt"), ("runs", 1, "staying")])
@pytest.mark.parametrize("value", [None, False, 1, 5, [], "true"])
def test_keys_that_are_kept_on_a_condition(path: tuple[Any, ...], value: Any) -> None:
    """`suspendedAt` is kept when it is text, `staying` when it is `true`; else they are dropped (G-7)."""
    made = session_to_wire(assert_session(replaced(full_blob(), path, value), "s1"))
    kept = path[-1] == "suspendedAt" and isinstance(value, str)
    assert made == replaced(full_blob(), path, value if kept else ...)


@pytest.mark.parametrize("path", [("runs", 0, "input"), ("runs", 0, "trigger", "payload")])
def test_null_inputs_are_none(path: tuple[Any, ...]) -> None:
    """A null input or payload reads as absent, other empty values do not (B-4.1, G-8)."""
    made = session_to_wire(assert_session(replaced(full_blob(), path, None), "s1"))
    assert made == replaced(full_blob(), path, ...)
    for value in (False, 0, "", [], {}):
        assert session_to_wire(assert_session(replaced(full_blob(), path, value), "s1"))["runs"] != made["runs"]


def test_whole_numbers_may_be_floats() -> None:
    """`3.0` is the version 3 (B-14.4)."""
    blob = replaced(replaced(full_blob(), ("version",), 3.0), ("v",), 4.0)
    version = assert_session(replaced(blob, ("runs", 0, "visits", "x"), 2.0), "s1").version
    assert (version, type(version)) == (3, int)


@pytest.mark.property
@given(broken_blobs | json_values)
def test_any_blob_is_a_session_or_an_error(blob: Any) -> None:
    """No JSON value makes `assert_session` raise anything but `InvalidSessionError`, and none is changed."""
    before = json_text(blob)
    try:
        session = assert_session(blob, "s1")
    except InvalidSessionError:
        return
    finally:
        assert json_text(blob) == before
    assert session.id == "s1"
    wire = session_to_wire(session)
    assert session_to_wire(assert_session(wire, "s1")) == wire


def test_nothing_mutable_is_shared() -> None:
    """A session can be changed without the blob noticing (G-11)."""
    blob = full_blob()
    session = assert_session(blob, "s1")
    session.data["tags"].append(1)
    session.metadata["channel"]["kind"] = "x"
    session.runs[0].input["n"].append(1)
    session.runs[0].trigger.payload["n"].clear()
    session.runs[0].asked["a"] = 9
    assert session.history is not None
    session.history[0]["role"] = "x"
    session.inputs.append("m2")
    assert blob == full_blob()


def test_read_only_blobs() -> None:
    """Any mapping and any tuple will do, as a database driver may give them."""
    blob = MappingProxyType({**full_blob(), "runs": tuple(map(MappingProxyType, full_blob()["runs"]))})
    assert session_to_wire(assert_session(blob, "s1")) == full_blob()


def test_a_bottomless_blob() -> None:
    """A blob that is nested without end is an invalid session, not a crash."""
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert "nested" in _why({**full_blob(), "data": {"deep": deep}})


def test_every_place_was_tried() -> None:
    """The drawn blobs break every place of a full one (a check on the test)."""
    assert len(paths(full_blob())) > 60
    assert isinstance(assert_session(parse_json(json_text(full_blob())), "s1"), Session)
    assert copy.deepcopy(full_blob()) == full_blob()
