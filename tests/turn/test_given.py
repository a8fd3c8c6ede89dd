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


@pytest.mark.parametrize(
    ("wire", "named"),
    [
        ({}, "an input has exactly one of message, wake, event and start; this one has none of them"),
        ({"message": None}, "an input has exactly one of message, wake, event and start; this one has none of them"),
        (
            {"message": "hi", "wake": "k"},
            "an input has exactly one of message, wake, event and start; this one has message and wake",
        ),
        ({"message": 5}, "message"),
        ({"message": "hi", "id": 5}, "id"),
        ({"message": "hi", "at": 5}, "at"),
        ({"wake": 5}, "wake"),
        ({"event": 5, "key": "k"}, "event"),
        ({"event": "paid"}, "key"),
        ({"event": "paid", "key": " "}, "key"),
        ({"event": "paid", "key": "k", "hop": -1}, "hop"),
        ({"event": "paid", "key": "k", "hop": 1.5}, "hop"),
        ({"event": "paid", "key": "k", "hop": True}, "hop"),
        ({"event": "paid", "key": "k", "payload": object()}, "payload"),
        ({"start": "lead"}, 'start: "lead" was given, an object with flow and key is expected'),
        ({"start": {"key": "k"}}, "start.flow"),
        ({"start": {"flow": "", "key": "k"}}, "start.flow"),
        ({"start": {"flow": "lead"}}, "start.key"),
        ({"start": {"flow": "lead", "key": ""}}, "start.key"),
        ({"start": {"flow": "lead", "key": "k", "hop": "1"}}, "start.hop"),
        ({"start": {"flow": "lead", "key": "k", "input": object()}}, "start.input"),
        ("hello", "input"),
    ],
)
def test_a_wrong_input_is_refused_by_name(wire: Any, named: str):
    """T-1.3: a `ValueError` names the key, by its path inside `start`."""
    with pytest.raises(ValueError, match=f"^{re.escape(named)}\\b") as refused:
        _read(wire)
    assert "None is expected" not in str(refused.value)


@pytest.mark.parametrize(
    ("around", "named"),
    [
        ({"session_id": 5}, "sessionId"),
        ({"session_id": " "}, "sessionId"),
        ({"session": {}}, "session"),
        ({"history": "hi"}, "history"),
        ({"history": {}}, "history"),
        ({"silenced": 5}, "silenced"),
        ({"silenced": {}}, r"silenced\.reason"),
        ({"silenced": {"reason": 5}}, r"silenced\.reason"),
        ({"anchors": []}, "anchors"),
        ({"anchors": {"deal": 5}}, r"anchors\.deal"),
        ({"anchors": {"deal": {}}}, r"anchors\.deal\.key"),
        ({"anchors": {"deal": {"key": "d", "lastInboundAt": 5}}}, r"anchors\.deal\.lastInboundAt"),
        ({"claims": []}, "claims"),
        ({"claims": {"held": []}}, r"claims\.held"),
        ({"claims": {"held": {"k": 5}}}, r"claims\.held\.k"),
        ({"claims": {"active": "k"}}, r"claims\.active"),
        ({"claims": {"active": [5]}}, r"claims\.active"),
    ],
)
def test_what_comes_with_an_input_is_refused_by_its_path(around: dict[str, Any], named: str):
    """T-1.3: any value of another kind than its key takes raises `ValueError` with the path."""
    with pytest.raises(ValueError, match=f"^{named}: "):
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
