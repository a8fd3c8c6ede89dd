from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.codec import (
    _stamped_slow,
    copy_session,
    session_from_json,
    session_to_json,
    session_to_wire,
    stamped,
    stamped_fast,
)
from falai.session.jsontext import json_equal, json_text, parse_json
from falai.session.model import Claim, Run, Session, TriggerRef
from session.blobs import (
    A_DAY,
    A_MOMENT,
    FIXTURES,
    Colour,
    broken_blobs,
    full_blob,
    host_values,
    replaced,
    run,
    sessions,
)  # fmt: skip


@pytest.mark.property
@given(sessions)
def test_a_session_survives_text(session: Session) -> None:
    """Encode and decode give an equal session; text, wire form and copy agree (B-2.1)."""
    text = session_to_json(session)
    assert session_from_json(text, session.id) == session_from_json(text.encode()) == copy_session(session)
    assert json_equal(json.loads(text), session_to_wire(session))
    assert Session.from_json(session.to_json()) == copy_session(session)


@pytest.mark.property
@given(sessions)
def test_the_wire_form_holds_no_null_for_an_unset_key(session: Session) -> None:
    """An optional key that is not set is absent (B-2.3), and every wire form passes the check (G-34)."""
    wire = session_to_wire(session)
    optional = {"lastUserAt", "lastAssistantAt", "history", "input", "suspendedAt", "staying", "waiting"}
    assert not {key for key in optional & wire.keys() if wire[key] is None}
    assert not {key for one in wire["runs"] for key in optional & one.keys() if one[key] is None}
    assert session_to_wire(assert_session(wire, session.id)) == wire


def test_a_fresh_session() -> None:
    """Exactly the eight keys of B-3.1."""
    assert session_to_wire(Session.fresh("s1")) == {
        "id": "s1", "v": 4, "version": 0, "data": {}, "runs": [], "claims": {}, "inputs": [], "metadata": {},
    }  # fmt: skip


@pytest.mark.property
@given(broken_blobs, st.booleans())
def test_the_fast_way_and_the_slow_way_agree(blob: dict[str, Any], spaced: bool) -> None:
    """Reading text gives what checking the parsed text gives, be it a session or an error."""
    text = json.dumps(blob, indent=1) if spaced else json_text(blob)
    fast = _outcome(lambda: session_from_json(text, "s1"))
    assert fast == _outcome(lambda: assert_session(parse_json(text), "s1"))


def _outcome(read: Callable[[], Session]) -> Session | str:
    try:
        return read()
    except InvalidSessionError as error:
        return str(error)


def test_a_key_with_null_that_is_written_in_escapes() -> None:
    """`waiting: null` is refused however its key is spelled (B-14.3)."""
    text = json_text(replaced(full_blob(), ("runs", 0, "waiting"), None)).replace(
        '"waiting":null', '"\\u0077aiting":null'
    )
    with pytest.raises(InvalidSessionError, match="waiting"):
        session_from_json(text, "s1")


@pytest.mark.parametrize("text", ["", "{", "null", "[]", b"\xff", "[" * 100_000, '{"v": NaN}', "x" * 99])
def test_what_is_no_session_text(text: str | bytes) -> None:
    """A text that is no JSON, or no session, is an `InvalidSessionError` that names the session (B-14.8)."""
    with pytest.raises(InvalidSessionError) as caught:
        session_from_json(text, "s1")
    assert '"s1"' in str(caught.value)
    assert len(str(caught.value)) < 400


def test_another_sessions_text() -> None:
    """The id of the text must be the one that was asked for; without one, its own is taken."""
    text = Session.fresh("s1").to_json()
    assert session_from_json(text).id == "s1"
    with pytest.raises(InvalidSessionError, match='id is "s1", and "s2"'):
        session_from_json(text, "s2")
    with pytest.raises(InvalidSessionError, match='id is "s1", and ""'):
        session_from_json(text, "")
    with pytest.raises(InvalidSessionError, match="id is missing"):
        session_from_json('{"v": 4}')


def test_fixture_of_the_other_package() -> None:
    """The blob of the TypeScript package comes back unchanged (G-41)."""
    text = (FIXTURES / "v4-session.json").read_text(encoding="utf-8")
    assert json_equal(json.loads(session_to_json(session_from_json(text, "conv-9"))), json.loads(text))


def _holding(value: Any) -> Session:
    session = Session.fresh("s1")
    session.data, session.metadata, session.history = {"v": value}, {"v": [value]}, [value]
    session.runs = [run(input={"v": value}, trigger=TriggerRef(kind="event", key="e", payload=[value]))]
    return session


@pytest.mark.property
@given(host_values)
def test_what_a_host_put_in_is_normalised_everywhere(value: Any) -> None:
    """Text, wire form and copy hold the same plain data, or all three raise `TypeError` (P-16, P-17)."""
    session = _holding(value)
    try:
        fresh = copy_session(session)
    except TypeError:
        for write in (session_to_wire, session_to_json):
            with pytest.raises(TypeError):
                write(session)
        return
    text = session_to_json(session)
    assert session_to_wire(session) == session_to_wire(fresh)
    assert json_equal(json.loads(text), session_to_wire(session))
    assert session_from_json(text) == fresh


@pytest.mark.property
@given(host_values)
def test_the_fast_way_and_the_slow_way_write_the_same(value: Any) -> None:
    """A session of plain data that is read back from its text is that which is made value by value, to the types."""
    session = _holding(value)
    fast = stamped_fast(session, 3)
    if fast is not None:
        slow = _stamped_slow(session, 3)
        assert fast[1] == slow[1]
        assert repr(fast[0]) == repr(slow[0])


@pytest.mark.parametrize("value", [1.0, -0.0, 1e15, float("nan"), (1,), b"x", {1}, {1: 2}, date(2026, 9, 20), 1 + 0j])
def test_what_is_no_plain_data_takes_the_slow_way(value: Any) -> None:
    """Also where the text that the encoder would write reads back as something equal."""
    for one in (value, [value], {"x": value}):
        assert stamped_fast(_holding(one), 3) is None


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ({"data": {"budget": {1}}}, "data.budget"),
        ({"metadata": {"a": [b"x"]}}, "metadata.a[0]"),
        ({"history": [{"at": object()}]}, "history[0].at"),
        ({"runs": [run(), run(input={"when": {2}})]}, "runs[1].input.when"),
        ({"runs": [run(trigger=TriggerRef(kind="event", key="e", payload=1j))]}, "runs[0].trigger.payload"),
    ],
)
def test_what_has_no_json_form_is_named(place: dict[str, Any], path: str) -> None:
    """The path of the value is in the error (P-16)."""
    session = Session.fresh("s1")
    for name, value in place.items():
        setattr(session, name, value)
    for write in (copy_session, session_to_wire, session_to_json):
        with pytest.raises(TypeError) as caught:
            write(session)
        assert path in str(caught.value)


def test_values_of_a_host_are_written_as_the_rules_say() -> None:
    """One of each line of P-16."""
    session = Session.fresh("s1")
    session.data = {
        "n": 1.0,
        "nan": float("nan"),
        "t": (1,),
        "at": A_MOMENT,
        "day": A_DAY,
        "e": Colour.RED,
        "big": 2**70,
    }
    assert json.loads(session_to_json(session))["data"] == {
        "n": 1, "nan": None, "t": [1], "at": "2026-09-20T10:00:00.123Z", "day": "2026-09-20", "e": "red", "big": 2**70,
    }  # fmt: skip
    assert '"n":1,' in session_to_json(session)


def test_whole_numbers_of_any_length() -> None:
    """A number beyond 64 bits, and one beyond what `int` reads, come back exactly (G-43)."""
    session = Session.fresh("s1")
    session.data = {"big": -(2**70), "giant": 7**6000}
    assert session_from_json(session_to_json(session)).data == session.data


def test_ids_of_odd_text() -> None:
    """Subclasses of text and lone surrogates in ids are written as plain text (P-17), and the copy shows it."""

    class Markup(str):
        __slots__ = ()

    session = Session.fresh("s1")
    session.inputs = [Markup("m1"), "a\ud800"]
    session.claims = {"f:s1:\udc00": Claim(at=Markup("x"))}
    fresh, text = stamped(session, 7)
    assert fresh.inputs == ["m1", "a\ufffd"]
    assert fresh.claims == {"f:s1:\ufffd": Claim(at="x")}
    assert session_from_json(text) == fresh
    assert (fresh.version, session.version) == (7, 0)


@pytest.mark.property
@given(sessions)
def test_a_copy_shares_nothing(session: Session) -> None:
    """Whatever is done to a copy, the session stays as it was (B-3.3)."""
    before = session_to_json(session)
    fresh = copy_session(session)
    for part in _structs_and_containers(fresh):
        _spoil(part)
    assert session_to_json(session) == before


def _structs_and_containers(value: Any) -> list[Any]:
    if isinstance(value, msgspec.Struct):
        members: list[Any] = [getattr(value, name) for name in value.__struct_fields__]
    elif isinstance(value, dict):
        members = list(value.values())
    elif isinstance(value, list):
        members = list(value)
    else:
        return []
    return [value, *(part for member in members for part in _structs_and_containers(member))]


def _spoil(part: Any) -> None:
    if isinstance(part, dict | list):
        part.clear()
    else:
        for name in part.__struct_fields__:
            setattr(part, name, "spoilt")


def test_the_sizes_that_count() -> None:
    """A session of six messages and one of fifty ids stay small."""
    session = Session.fresh("5511999999999@wa")
    session.inputs = [f"wamid.HBgMNTUxMTk5OTk5OTk5FQIAEhgUM0E{number:05}" for number in range(50)]
    assert len(session_to_json(session)) < 2_600
    assert isinstance(run(), Run)
