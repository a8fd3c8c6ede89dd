"""History items and events (M-14)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from falai.model.history import (
    assistant_item,
    events_to_history,
    history_to_events,
    system_item,
    tool_item,
    user_item,
)

CALL = {"id": "call-0-0", "name": "slots", "arguments": {"day": "mon"}}


def _at() -> str:
    return "2026-09-20T10:00:00.000Z"


def test_items_hold_only_what_was_given() -> None:
    """The helpers leave out what is not given (M-14.3)."""
    assert user_item("hi") == {"role": "user", "content": "hi"}
    assert user_item("hi", name="Bia") == {"role": "user", "content": "hi", "name": "Bia"}
    assert assistant_item(None, tool_calls=[CALL]) == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert system_item("note") == {"role": "system", "content": "note"}
    assert tool_item("c", "slots", [1])["content"] == [1]


def test_items_become_events() -> None:
    """The table of M-14.4, left to right."""
    items = [
        user_item("oi"), user_item("oi", name="Bia"), assistant_item("Olá", tool_calls=[CALL]), assistant_item(None),
        system_item("note"), tool_item("call-0-0", "slots", {"free": 3}),
    ]  # fmt: skip
    events = history_to_events(items, timestamp=_at)
    assert {event["timestamp"] for event in events} == {_at()}
    assert [(e["kind"], e["source"]) for e in events] == [
        ("message", "user"), ("message", "user"), ("message", "assistant"), ("message", "assistant"),
        ("message", "system"), ("tool", "agent"),
    ]  # fmt: skip
    names = [event["data"]["participant"]["display_name"] for event in events[:5]]
    assert names == ["User", "Bia", "Assistant", "Assistant", "System"]
    assert events[2]["data"]["toolCalls"] == [CALL]
    assert events[3]["data"]["message"] == ""
    assert events[5]["data"] == {
        "tool_calls": [{"tool_id": "call-0-0", "arguments": {}, "result": {"data": {"free": 3}}}]
    }


def test_the_time_of_conversion_is_the_system_s() -> None:
    """ISO 8601, where nobody gives another (M-14.5)."""
    (event,) = history_to_events([user_item("oi")])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])


def test_events_become_items_again() -> None:
    """All but a tool's name and reasoning survives the round trip (M-14.4)."""
    items = [
        user_item("oi"), user_item("oi", name="Bia"), assistant_item("Olá", tool_calls=[CALL]), assistant_item(None),
        system_item("note"), tool_item("call-0-0", "call-0-0", {"free": 3}),
    ]  # fmt: skip
    assert events_to_history(history_to_events(items, timestamp=_at)) == items
    status = {"kind": "status", "source": "system", "timestamp": "", "data": {"status": "handed over"}}
    assert events_to_history([status]) == [system_item("handed over")]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("text", "an item must be an object"),
        ({"content": "x"}, "role"),
        ({"role": 7}, "role"),
        ({"role": "robot"}, '"robot"'),
        ({"role": "user"}, "content of a user item must be text"),
        ({"role": "assistant", "content": 7}, "text or null"),
        ({"role": "assistant", "content": None, "tool_calls": [{"name": "a", "arguments": {}}]}, "id must be text"),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "a", "arguments": {}}]}, "name must be text"),
        (
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "name": "b", "arguments": "{}"}]},
            "arguments",
        ),
        ({"role": "assistant", "content": None, "tool_calls": ["a"]}, "a tool call must be an object"),
        ({"role": "assistant", "content": None, "tool_calls": 7}, "tool_calls must be a list"),
        ({"role": "assistant", "content": None, "tool_calls": {"id": "a"}}, "tool_calls must be a list"),
        ({"role": "tool", "name": "a", "content": "x"}, "tool_call_id"),
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, "name"),
    ],
)
def test_a_bad_item_is_named(item: Any, why: str) -> None:
    """The message names the index and the reason (M-14.6)."""
    with pytest.raises(ValueError, match=r"history\[1\]") as caught:
        history_to_events([user_item("oi"), item], timestamp=_at)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (None, "an event must be an object"),
        ({"source": "user", "data": {}}, "kind"),
        ({"kind": "message", "data": {"message": "x"}}, "source"),
        ({"kind": "message", "source": "user"}, "data"),
        ({"kind": "message", "source": "user", "data": {}}, "message must be text"),
        ({"kind": "message", "source": "agent", "data": {"message": "x"}}, '"agent"'),
        ({"kind": "tool", "source": "agent", "data": {"tool_calls": []}}, "at least one"),
        ({"kind": "tool", "source": "agent", "data": {"tool_calls": [{}]}}, "tool_id"),
        ({"kind": "dance", "source": "user", "data": {}}, '"dance"'),
    ],
)
def test_a_bad_event_is_named(event: Any, why: str) -> None:
    """The message names the index and the reason (M-14.6)."""
    with pytest.raises(ValueError, match=r"events\[0\]") as caught:
        events_to_history([event])
    assert why in str(caught.value)


def test_what_is_no_list_is_refused() -> None:
    """So is a lone item (M-14.6)."""
    with pytest.raises(ValueError, match="must be a list"):
        history_to_events(user_item("oi"), timestamp=_at)
    with pytest.raises(ValueError, match="must be a list"):
        events_to_history("oi")
