"""A model over HTTP, from the command line: a real small server on loopback, right and failing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.program import chat, command
from model.loopback import ChatServer, chat_server, cuts, fails, says

pytestmark = pytest.mark.servers

LATER = {"retry-after": "60"}  # no attempt waits that long
UNDERSTOOD = says(json.dumps({"flows": {"book": 95}, "fields": {"service": "cleaning"}, "asks": False}))


def _talk(server: ChatServer, store: Path, *lines: str):
    arguments = ("--model", "openai:any", "--base-url", server.base_url, "--store", store)
    typed = "".join(f"{line}\n" for line in lines)
    return command("chat", *arguments, typed=typed, env={"OPENAI_API_KEY": "made-up"})


def test_a_server_of_ones_own_is_asked(tmp_path: Path) -> None:
    """`--base-url` reaches any OpenAI-compatible server; what was said before travels as history."""
    welcome = says(json.dumps({"flows": {}, "asks": False}))
    with chat_server([welcome, UNDERSTOOD]) as server:
        done = _talk(server, tmp_path / "chat.sqlite", "hello", "a cleaning please")
        assert done.said("Sofia")[-1].startswith("Which day suits you, and what time?")
        assert "Sofia speaks through the model openai:any." in done.out
        history = [(m["role"], m["content"]) for m in server.requests[1]["messages"] if m["role"] != "system"]
        assert history[0] == ("user", "hello")
        assert history[1][0] == "assistant"
        assert history[1][1].startswith("Hello, this is Sofia")


def test_a_failed_call_is_told_and_the_message_waits(tmp_path: Path) -> None:
    """The person hears in plain words what happened; the same message is tried again and lost nowhere."""
    failures = [fails(401, "no such key"), fails(429, "slow down", LATER), fails(500, "oops", LATER), cuts()]
    again = [cuts()] * 3  # a connection that is lost is tried four times before anybody hears of it
    with chat_server([*failures, *again, UNDERSTOOD]) as server:
        done = _talk(server, tmp_path / "chat.sqlite", "a cleaning please", *[""] * len(failures))
    words = ["did not accept the key", "wants fewer calls for a while", "overloaded or down", "could not be reached"]
    answers = done.out.split("you > ")[1:]
    assert [text for text, answer in zip(words, answers, strict=False) if text not in answer] == []
    assert "Which day suits you" in answers[-1]


def test_a_waiting_message_is_played_at_the_next_start(tmp_path: Path) -> None:
    """Whoever leaves after a failure finds the answer when the model is back, another model too."""
    store = tmp_path / "chat.sqlite"
    with chat_server([fails(500, "oops", LATER)]) as server:
        _talk(server, store, "I'd like to book a cleaning")
    done = chat(store, [])
    assert done.said("Sofia")[-1].startswith("Which day suits you")


def test_a_reply_that_fails_for_good_is_no_turn(tmp_path: Path) -> None:
    """A wrong key ends no flow: nothing of the turn is kept, and the message waits for another try."""
    idle = says(json.dumps({"flows": {}, "asks": False}))
    store = tmp_path / "chat.sqlite"
    chat(store, ["hi"])
    with chat_server([idle, fails(401, "no such key")]) as server:
        done = _talk(server, store, "good day", "/runs")
        assert "did not accept the key" in done.out
    again = chat(store, [])
    assert "I am Sofia." in again.said("Sofia")[-1]


def test_a_reply_that_can_wait_has_a_timer_of_its_own(tmp_path: Path) -> None:
    """The turn is kept; its own wake tries again, and that is told."""
    store = tmp_path / "chat.sqlite"
    asked = says(json.dumps({"flows": {"book": 95}, "fields": {}, "asks": False}))
    with chat_server([asked, fails(503, "oops", LATER), says(json.dumps({"message": "What do you need?"}))]) as server:
        done = _talk(server, store, "I need an appointment", "/skip 1m")
        assert "Another try:" in done.out
        assert done.said("Sofia") == ["What do you need?"]
