"""What hosts, providers and actions hand over in odd shapes: a turn stores plain data and raises nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from falai import Collect, Do, Flow, OnEvent, OnMention, OnSilence, Say, ToFlow, Tool, Wait, WaitEvent
from falai.errors import ProviderError
from falai.model.port import ModelReply, ToolCall
from falai.session.model import Session
from turn.chat import Chat, at, lines, scheduled

ENDLESS = "99999999d"
LAST_SECOND = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
PARKED = [Wait("w", "1d")]


def _round_trip(session: Session) -> Session:
    return Session.from_json(session.to_json())


# --- times that no date can name ----------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [Wait("x", ENDLESS), WaitEvent("x", "plain", up_to=ENDLESS), Do("x", "later")],
    ids=["wait", "event", "defer"],
)
def test_a_park_beyond_the_last_year_ends_with_it(step: Any):
    """V-46, B-2.7, T-11.19: a duration that leads out of the years is due at their end; nothing raises."""
    chat = Chat(Flow("a", steps=[step]), actions={"later": {"defer": ENDLESS, "detail": "not now"}})
    result = chat.start("a")
    [wake] = result.schedule
    assert wake.at == LAST_SECOND
    assert chat.agent.pending_wakes(_round_trip(result.session)) == [wake]


def test_a_silence_and_a_delayed_start_beyond_the_last_year():
    """V-46: so are the wakes of a silence and of a start."""
    flow = Flow("a", on=[OnSilence(ENDLESS), OnEvent("plain", after=ENDLESS)], steps=[Say("s", "x")])
    chat = Chat(flow)
    assert [wake.at for wake in chat.event("plain").schedule] == [LAST_SECOND]
    assert [wake.at for wake in chat.message(speak="Hi").schedule] == [LAST_SECOND]


@pytest.mark.parametrize(
    ("stated", "due"),
    [
        ({"reset_at_ms": at(7200) * 1000}, LAST_SECOND),
        ({"retry_after_ms": 10**18}, LAST_SECOND),
        ({"retry_after_ms": 90_000.5}, datetime(2026, 9, 20, 10, 1, 30, tzinfo=UTC)),
        ({"reset_at_ms": at(-3600)}, datetime(2026, 9, 20, 10, 1, tzinfo=UTC)),
        ({"reset_at_ms": at(60)}, datetime(2026, 9, 20, 10, 1, tzinfo=UTC)),
        ({"reset_at_ms": at(61), "retry_after_ms": 62_000}, datetime(2026, 9, 20, 10, 1, 2, tzinfo=UTC)),
        ({"reset_at_ms": at(63), "retry_after_ms": 62_000}, datetime(2026, 9, 20, 10, 1, 3, tzinfo=UTC)),
    ],
)
def test_the_time_that_a_provider_states(stated: dict[str, Any], due: datetime):
    """T-15.14, M-10.6: the latest of ladder, `retryAfterMs` and `resetAtMs` counts, in whole
    milliseconds (B-2.5), and never leads out of the years (V-46)."""
    chat = Chat(Flow("a", steps=[Collect("c", ["name"], prompt="Ask.")]))
    [wake] = chat.start("a", speak=ProviderError("busy", kind="rate", **stated)).schedule
    assert wake.at == due
    assert wake.key == f"a#k1:c:1:retry:{int(due.timestamp()) * 1000}"


# --- values that are no JSON --------------------------------------------------------------------


def _tool(data: Any) -> Tool:
    return Tool("look", lambda _context, **_arguments: {"value": "found", "data": data}, parameters={"type": "object"})


@pytest.mark.parametrize("data", [{"name": object()}, {1: 2}, {"name": {"deep": {1, 2}}}])
def test_a_tools_data_without_a_json_form_is_the_tools_failure(data: Any):
    """V-46, M-9.7: the model reads what is wrong, nothing is stored, and the turn goes on."""
    chat = Chat(Flow("a", steps=[Collect("c", ["name"], prompt="Ask.")]), tools=[_tool(data)])
    result = chat.start("a", speak=[ModelReply(tool_calls=(ToolCall("look", {}),)), "Your name?"])
    assert lines(result) == ["collect/ok"]
    assert result.session.data == {}
    assert '{"error":"data' in chat.model.calls[-1].request.history[-1]["content"]


def test_a_tools_data_is_stored_as_json():
    """B-2.1, P-16: a date becomes its text, what is no number null."""
    data = {"when": datetime(2026, 1, 1, tzinfo=UTC), "n": float("nan"), "pair": (1, 2)}
    chat = Chat(Flow("a", steps=[Collect("c", ["name"], prompt="Ask.")]), tools=[_tool(data)])
    result = chat.start("a", speak=[ModelReply(tool_calls=(ToolCall("look", {}),)), "Your name?"])
    assert result.session.data == {"when": "2026-01-01T00:00:00.000Z", "n": None, "pair": [1, 2]}
    assert _round_trip(result.session) == result.session


def test_the_input_of_a_chain_is_stored_as_json():
    """B-2.1, T-12.6: what an author hands on in Python is plain data in the child, and the child's own."""
    given = {"pair": (1, 2), "when": datetime(2026, 1, 1, tzinfo=UTC)}
    chat = Chat(Flow("a", steps=[Say("s", "x", then=ToFlow("b", input=given))]), Flow("b", steps=PARKED))
    result = chat.start("a")
    assert chat.run("b").input == {"pair": [1, 2], "when": "2026-01-01T00:00:00.000Z"}
    assert _round_trip(result.session) == result.session
    chat.run("b").input["pair"].append(3)
    chat.session = None
    chat.start("a")
    assert chat.run("b").input["pair"] == [1, 2]


def test_values_of_a_mention_are_stored_as_json():
    """B-2.1, F-7.10: raw values are stored raw, but as JSON has them."""
    mention = OnMention("names a dog", extract={"age": {"type": "number"}, "name": {"type": "string"}})
    chat = Chat(Flow("dog", on=[mention], steps=PARKED), idle="silent")
    values = {"age": float("inf"), "name": "Rex"}
    result = chat.message(understand={"mentions": {"dog": True}, "extract": {"dog": values}})
    assert chat.run("dog").input == {"age": None, "name": "Rex"}
    assert _round_trip(result.session) == result.session


# --- text that no JSON text can hold ------------------------------------------------------------

HALF = "\ud83d"  # half an emoji, as a client makes it that cuts text by UTF-16 units


def test_an_id_is_known_again_after_the_store():
    """B-11.1, P-17: a store writes U+FFFD for a lone surrogate; the same message is still a duplicate."""
    chat = Chat(idle="silent")
    saved = _round_trip(chat.message(id=f"m{HALF}").session)
    again = chat.message(id=f"m{HALF}", session=saved)
    assert lines(again) == ["wait/skipped/duplicate-input"]
    assert not again.changed


def test_a_wake_is_known_again_after_the_store():
    """T-5.5, P-17: the key that was scheduled wakes the run of the stored session."""
    chat = Chat(Flow("a", steps=PARKED))
    result = chat.start("a", f"k{HALF}")
    [(key, _)] = scheduled(result)
    for given in (key, f"a#k{HALF}:w:{at(86_400)}"):
        assert lines(chat.wake(given, session=_round_trip(result.session))) == ["wait/ok/no-reply"]


def test_half_a_character_reaches_no_model_and_no_customer():
    """P-17: the text of a message and of a reply can be sent as UTF-8."""
    chat = Chat()
    result = chat.message(f"hi {HALF}", speak=f"yes {HALF}")
    assert chat.asked.encode()
    assert result.messages[0].text == "yes \ufffd"


# --- input that is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("around", "named"),
    [
        ({"history": ["hello"]}, r"history\[0\]"),
        ({"history": [{"role": "user", "content": "a"}, None]}, r"history\[1\]"),
        ({"history": "hello"}, "history"),
        ({"anchors": {"deal": "d1"}}, "anchors.deal"),
        ({"anchors": {"deal": {"key": 1}}}, "anchors.deal.key"),
        ({"claims": {"held": {"a:s1:": 5}}}, "claims.held"),
        ({"claims": {"active": "a:s1"}}, "claims.active"),
        ({"silenced": {"understand": True}}, "silenced.reason"),
        ({"silenced": True}, "silenced"),
        ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))}, "at"),
        ({"at": 5}, "at"),
        ({"id": 5}, "id"),
    ],
)
def test_bad_input_is_refused_by_name(around: dict[str, Any], named: str):
    """T-1.3: a value of the wrong kind raises `ValueError` that names its key, before the clock is read."""
    readings: list[datetime] = []
    chat = Chat(clock=readings.pop)
    with pytest.raises(ValueError, match=named):
        chat.message(**around)
