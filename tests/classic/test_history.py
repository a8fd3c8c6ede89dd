"""What came before a message, what stays behind it, and how much (D-20 to D-23)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.talks import agent, model, used
from falai import ProviderError
from falai.classic.history import bounded

pytestmark = pytest.mark.anyio


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


async def test_the_history_grows_by_what_was_said() -> None:
    """After a turn: what came before, the user's message, and the reply."""
    one = agent(model("Hello", "Fine"))
    await one.chat("Hi")
    response = await one.chat("How are you?")
    assert response.session.history == [user("Hi"), assistant("Hello"), user("How are you?"), assistant("Fine")]


async def test_a_given_history_takes_the_place_of_the_sessions_own() -> None:
    """The model sees it, and it is what is kept, with this turn behind it."""
    provider = model("Hello", "Fine")
    one = agent(provider)
    await one.chat("Hi")
    earlier = [user("Long ago"), assistant("Yes")]
    response = await one.respond("And now?", history=earlier)
    assert list(provider.calls[-1].request.history) == earlier
    assert response.session.history == [*earlier, user("And now?"), assistant("Fine")]


async def test_without_a_message_the_last_item_of_the_history_is_answered() -> None:
    """The rest of it is what came before."""
    provider = model("Fine")
    response = await agent(provider).respond(history=[user("Hi"), assistant("Hello"), user("How are you?")])
    assert list(provider.calls[0].request.history) == [user("Hi"), assistant("Hello")]
    assert "How are you?" in provider.calls[0].prompt
    assert response.session.history == [user("Hi"), assistant("Hello"), user("How are you?"), assistant("Fine")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "nothing to answer"),
        ({"history": []}, "nothing to answer"),
        ({"history": [assistant("Hi")]}, '"assistant"'),
        ({"history": [{"role": "user"}]}, "content"),
        ({"history": "Hi"}, "history"),
        ({"message": "Hi", "history": [user("a"), {"role": "boss", "content": ""}]}, r"history\[1\]"),
        ({"message": 5}, "message"),
        ({"message": "Hi", "session_id": " "}, "sessionId"),
        ({"message": "Hi", "session_id": "a", "session": {}}, "sessionId"),
        ({"message": "Hi", "session": 5}, "session"),
        ({"message": "Hi", "context_override": 5}, "contextOverride"),
        ({"message": "Hi", "allowed_flows": "a"}, "allowedFlows"),
        ({"message": "Hi", "message_id": 5}, "messageId"),
    ],
)
async def test_wrong_arguments_are_told_of_by_their_name(arguments: dict[str, Any], words: str) -> None:
    """A plain ValueError, before anything is looked at; no model is asked."""
    provider = model("Hello")
    with pytest.raises(ValueError, match=words):
        await agent(provider).respond(**arguments)
    assert provider.calls == []


async def test_the_oldest_items_go_when_there_are_too_many(caplog: pytest.LogCaptureFixture) -> None:
    """The bound is applied at the end of the turn, with a warning that names what would keep a summary."""
    one = agent(model("Hello"), max_history_messages=3)
    response = await one.respond("Hi", history=[user("a"), assistant("b"), user("c")])
    assert response.session.history == [user("c"), user("Hi"), assistant("Hello")]
    assert [(r.levelname, "compaction" in r.message) for r in caplog.records if "history" in r.message] == [
        ("WARNING", True)
    ]


async def test_a_tool_result_is_not_parted_from_its_call() -> None:
    """DT-22: 500 items, a bound of 100, the cut inside a pair: the pair stays, and no tool item is first."""
    before: list[dict[str, Any]] = [user(f"{n}") for n in range(500)]
    before[401] = {"role": "assistant", "content": None, "tool_calls": []}
    before[402] = {"role": "tool", "content": "4"}
    response = await agent(model("Hello"), max_history_messages=100).respond("Hi", history=before)
    history = response.session.history or []
    assert [len(history), history[:2]] == [101, before[401:403]]


@pytest.mark.property
@given(st.lists(st.sampled_from(["user", "assistant", "tool"])), st.integers(0, 12))
def test_a_bound_history_is_the_end_of_the_history(roles: list[str], most: int) -> None:
    """At least the newest `most` items are kept; more only in front of a tool's result; 0 keeps all."""
    history = [{"role": role, "content": str(n)} for n, role in enumerate(roles)]
    kept = bounded(list(history), most)
    cut = len(history) - len(kept)
    assert kept == history[cut:]
    assert cut == 0 or kept[0]["role"] != "tool"
    if most == 0 or len(history) <= most:
        assert cut == 0
    else:
        assert len(kept) >= min(most, len(history))
        assert all(item["role"] == "tool" for item in history[cut + 1 : max(len(history) - most, 0) + 1])


async def test_compaction_keeps_a_summary_in_the_session() -> None:
    """It runs at the end of the turn, and its result is what is stored; the bound comes after it (D-23)."""
    provider = model("Hello", summary=["They spoke of cats."])
    compaction = {"max_tokens": 60, "preserve_recent_count": 2}
    response = await agent(provider, compaction=compaction).respond("Hi", history=[user("cats " * 60)] * 3)
    history = response.session.history or []
    assert used(provider) == ["speak", "summary"]
    assert ("They spoke of cats." in history[0]["content"], history[1:]) == (True, [user("Hi"), assistant("Hello")])


async def test_a_summary_that_fails_keeps_the_newest_items() -> None:
    """The turn stands."""
    provider = model("Hello", summary=[ProviderError("down", kind="overload")])
    compaction = {"max_tokens": 60, "preserve_recent_count": 2}
    response = await agent(provider, compaction=compaction).respond("Hi", history=[user("cats " * 60)] * 3)
    assert response.session.history == [user("Hi"), assistant("Hello")]


async def test_compaction_can_be_switched_off() -> None:
    """`enabled: false` asks for no summary."""
    provider = model("Hello")
    compaction = {"max_tokens": 60, "enabled": False}
    response = await agent(provider, compaction=compaction).respond("Hi", history=[user("cats " * 60)] * 3)
    assert len(response.session.history or []) == 5
