"""T-1: what a turn is given, and what is refused before anything happens."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from falai import Anchor, Claims, Event, Flow, Message, OnAnyMessage, Prompt, Silenced, Start, Wake
from falai.session.model import Session
from falai.turn.given import read_given
from turn.chat import Chat

HELLO = {"message": "hello"}


def _read(given: Any = HELLO, **around: Any) -> Any:
    return read_given(around.pop("session_id", "s1"), given, **around)


@pytest.mark.parametrize(
    ("wire", "struct"),
    [
        ({"message": "hi", "id": "m1", "at": "2026-09-20"}, Message("hi", "m1", "2026-09-20")),
        ({"message": ""}, Message("")),
        ({"message": "hi", "wake": None, "id": None}, Message("hi")),
        ({"wake": "k"}, Wake("k")),
        ({"wake": ""}, Wake("")),
        ({"event": "paid", "key": "e", "payload": {"a": 1}, "hop": 2}, Event("paid", "e", {"a": 1}, 2)),
        ({"event": "", "key": "e"}, Event("", "e")),
        ({"event": "paid", "key": "e", "hop": None}, Event("paid", "e")),
        ({"start": {"flow": "lead", "key": "k", "input": [1], "hop": 0}}, Start("lead", "k", [1])),
    ],
)
def test_the_wire_form_and_the_structs_are_the_same_input(wire: Any, struct: Any):
    """T-1.2: each kind of input can come as a mapping or as its struct."""
    assert _read(wire).input == struct
    assert _read(struct).input == struct


NOT_BLANK = "a text that is not blank"
WHOLE = "a whole number, 0 or more"
DATE = "a date text or a datetime"


def _refusal(path: str, found: str, expected: str) -> str:
    return f"{path}: {found} was given, {expected} is expected"


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ({"message": 5}, _refusal("message", "5", "a text")),
        ({"message": "hi", "id": 5}, _refusal("id", "5", "a text")),
        ({"message": "hi", "at": 5}, _refusal("at", "5", DATE)),
        ({"wake": 5}, _refusal("wake", "5", "a text")),
        ({"event": 5, "key": "k"}, _refusal("event", "5", "a text")),
        ({"event": "paid"}, _refusal("key", "null", NOT_BLANK)),
        ({"event": "paid", "key": " "}, _refusal("key", '" "', NOT_BLANK)),
        ({"event": "paid", "key": "k", "hop": -1}, _refusal("hop", "-1", WHOLE)),
        ({"event": "paid", "key": "k", "hop": 1.5}, _refusal("hop", "1.5", WHOLE)),
        ({"event": "paid", "key": "k", "hop": True}, _refusal("hop", "true", WHOLE)),
        ({"start": "lead"}, _refusal("start", '"lead"', "an object with flow and key")),
        ({"start": {"key": "k"}}, _refusal("start.flow", "null", NOT_BLANK)),
        ({"start": {"flow": "", "key": "k"}}, _refusal("start.flow", '""', NOT_BLANK)),
        ({"start": {"flow": "lead"}}, _refusal("start.key", "null", NOT_BLANK)),
        ({"start": {"flow": "lead", "key": 7}}, _refusal("start.key", "7", NOT_BLANK)),
        ({"start": {"flow": "lead", "key": "k", "hop": "1"}}, _refusal("start.hop", '"1"', WHOLE)),
        ("hello", _refusal("input", '"hello"', "a Message, Wake, Event or Start, or their wire form")),
    ],
)
def test_a_wrong_input_is_refused_by_name(wire: Any, message: str):
    """T-1.3: a `ValueError` names the key, by its path inside `start`, what was given and what is expected."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _read(wire)


@pytest.mark.parametrize(
    ("wire", "has"),
    [({}, "none of them"), ({"message": None}, "none of them"), ({"message": "hi", "wake": "k"}, "message and wake")],
)
def test_an_input_is_of_exactly_one_kind(wire: Any, has: str):
    """T-1.3: the message names the four kinds, and those that are there."""
    message = f"an input has exactly one of message, wake, event and start; this one has {has}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        _read(wire)


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"event": "paid", "key": "k", "payload": object()}, "payload"),
        ({"start": {"flow": "lead", "key": "k", "input": object()}}, "start.input"),
        ({"event": "paid", "key": "k", "payload": {"a": [object()]}}, "payload.a[0]"),
    ],
)
def test_a_payload_must_be_json(wire: Any, path: str):
    """T-1.3: what a session could not hold is refused by its path."""
    with pytest.raises(ValueError, match=f"^{re.escape(path)} "):
        _read(wire)


@pytest.mark.parametrize(
    ("around", "message"),
    [
        ({"session_id": 5}, _refusal("sessionId", "5", NOT_BLANK)),
        ({"session_id": " "}, _refusal("sessionId", '" "', NOT_BLANK)),
        ({"session": {}}, _refusal("session", "an object", "a Session (Session.from_json makes one)")),
        ({"history": "hi"}, _refusal("history", '"hi"', "a list of history items")),
        ({"history": {}}, _refusal("history", "an object", "a list of history items")),
        ({"history": ["hi"]}, _refusal("history[0]", '"hi"', "a history item, which is an object")),
        ({"silenced": 5}, _refusal("silenced", "5", "a reason, or an object with a reason")),
        ({"silenced": {}}, _refusal("silenced.reason", "null", "a text")),
        ({"silenced": {"reason": 5}}, _refusal("silenced.reason", "5", "a text")),
        ({"anchors": []}, _refusal("anchors", "a list", "an object")),
        ({"anchors": {"deal": 5}}, _refusal("anchors.deal", "5", "an object")),
        ({"anchors": {"deal": {}}}, _refusal("anchors.deal.key", "null", "a text")),
        ({"anchors": {"deal": {"key": "d", "lastInboundAt": 5}}}, _refusal("anchors.deal.lastInboundAt", "5", DATE)),
        ({"claims": []}, _refusal("claims", "a list", "an object")),
        ({"claims": {"held": []}}, _refusal("claims.held", "a list", "an object")),
        ({"claims": {"held": {"k": 5}}}, _refusal("claims.held.k", "5", DATE)),
        ({"claims": {"active": "k"}}, _refusal("claims.active", '"k"', "a list of texts")),
        ({"claims": {"active": [5]}}, _refusal("claims.active", "a list", "a list of texts")),
    ],
)
def test_what_comes_with_an_input_is_refused_by_its_path(around: dict[str, Any], message: str):
    """T-1.3: any value of another kind than its key takes raises `ValueError` with the path."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _read(**around)


def test_null_counts_as_absent():
    """T-1.3: a key that is null is as good as left out."""
    given = _read(history=None, silenced=None, anchors={"deal": None}, claims={"held": {"k": None}, "active": None})
    assert (given.history, given.silenced, given.anchors) == (None, None, {})
    assert given.claims == Claims()


@pytest.mark.parametrize(
    ("silenced", "gate"),
    [
        ("held", Silenced("held")),
        ("", Silenced("")),
        ({"reason": "held"}, Silenced("held")),
        ({"reason": "", "understand": True, "skip": True}, Silenced("", understand=True, skip=True)),
        ({"reason": "held", "understand": 1, "skip": "yes"}, Silenced("held")),
        (Silenced("held", skip=True), Silenced("held", skip=True)),
        (Silenced("held", understand=True), Silenced("held", understand=True)),
    ],
)
def test_the_gate(silenced: Any, gate: Silenced):
    """T-1.4: a text closes the gate, also an empty one; a flag is on only when it is true."""
    assert _read(silenced=silenced).silenced == gate


def test_a_datetime_is_turned_into_date_text():
    """T-1.2: `at` and `lastInboundAt` may be datetimes; a naive one is UTC, cut to milliseconds (B-2.6)."""
    moment = datetime(2026, 9, 20, 12, 0, 0, 1999, tzinfo=timezone(timedelta(hours=2)))
    given = _read({"message": "hi", "at": moment}, anchors={"deal": {"key": "d", "lastInboundAt": moment}})
    assert given.input.at == "2026-09-20T10:00:00.001Z"
    assert given.anchors == {"deal": Anchor("d", "2026-09-20T10:00:00.001Z")}
    assert _read({"message": "hi", "at": moment.astimezone(UTC).replace(tzinfo=None)}).input.at == given.input.at


def test_anchors_and_claims_come_as_structs_too():
    """T-1.1: the structs are taken like their wire form."""
    claims = Claims(held={"k": "2026-09-20"}, active=["lead:s1"])
    given = _read(
        anchors={"deal": Anchor("d", "2026-09-20")}, claims=claims, history=[{"role": "user", "content": "x"}]
    )
    assert given.anchors == {"deal": Anchor("d", "2026-09-20")}
    assert given.claims == claims
    assert given.history == [{"role": "user", "content": "x"}]
    assert _read(claims={"active": ("lead:s1",)}).claims.active == ["lead:s1"]


def test_bad_input_is_refused_before_the_clock_is_read():
    """T-1.3: nothing has happened when a turn refuses its input."""
    read: list[str] = []

    def clock() -> datetime:
        read.append("clock")
        return datetime(2026, 9, 20, tzinfo=UTC)

    chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[Prompt("p", "Greet.")]), clock=clock)
    with pytest.raises(ValueError, match="sessionId"):
        chat.agent.turn_sync("", Message("hello"))
    assert not read


def test_the_session_is_used_under_its_own_id():
    """B-3.4: a session whose id differs from the input's is used as it is."""
    chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[Prompt("p", "Greet.")]))
    result = chat.message(session=Session.fresh("other"), speak="Hi")
    assert result.session.id == "other"
    assert result.started[0].anchor == "other"


def test_a_refusal_shows_what_was_found():
    """S-21: the value as error messages show it, and what is expected."""
    with pytest.raises(ValueError, match=r"^at: 5 was given, a date text or a datetime is expected$"):
        _read({"message": "hi", "at": 5})
