"""The program may be killed at any moment: nothing is lost, nothing is done twice."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.program import AGENTS, chat, chatting

SLOW = AGENTS / "slow.py"


@pytest.mark.faults
def test_a_killed_conversation_goes_on(tmp_path: Path) -> None:
    """After `kill -9` the last lines are shown again, fields and flow are where they were."""
    store = tmp_path / "chat.sqlite"
    with chatting(store) as first:
        first.type("book a cleaning")
        first.wait_for("Which day suits you")
        first.kill()
    done = chat(store, ["2099-03-02 at 3pm", "/data"])
    assert "It goes on from here:\nyou > book a cleaning\nSofia > Which day suits you" in done.out
    assert done.said("Sofia")[-1] == "What is your name?"
    assert "  service  cleaning" in done.out


@pytest.mark.faults
def test_a_turn_that_was_killed_is_played_again(tmp_path: Path) -> None:
    """Killed while an action runs: the message is played at the next start, with the same action key, once."""
    store = tmp_path / "chat.sqlite"
    (tmp_path / "busy").touch()
    with chatting(store, SLOW) as first:
        first.type("go")
        first.wait_for("WORKING")
        first.kill()
    (tmp_path / "busy").unlink()
    again = chat(store, [], SLOW)
    assert "It goes on from here:\nyou > go\nWORKING\nSlow > It is done." in again.out
    once, twice = (tmp_path / "keys.txt").read_text().splitlines()
    assert once == twice
    assert "played" not in chat(store, [], SLOW).out  # and nothing is left to play a third time
    assert len((tmp_path / "keys.txt").read_text().splitlines()) == 2


@pytest.mark.faults
def test_timers_survive_a_kill(tmp_path: Path) -> None:
    """A timer that came due while the program was gone goes off when it is back."""
    store, agent = tmp_path / "chat.sqlite", AGENTS / "timers.py"
    with chatting(store, agent) as first:
        first.type("I want a reminder")
        first.wait_for("I will come back.")
        first.kill()
    with chatting(store, agent) as second:
        second.wait_for("Tick > I will come back.")
        second.wait_for("Tick > Here I am again.")


def test_the_clock_stays_ahead(tmp_path: Path) -> None:
    """What was skipped stays skipped, in this conversation and in no other."""
    store = tmp_path / "chat.sqlite"
    chat(store, ["hi", "/skip 400d"])
    assert re.search(r"It is \w{3} \d\d \w{3} \d{4}, \d\d:\d\d now", chat(store, []).out)  # another year is named
    assert "It is " not in chat(store, [], "--new").out


def test_conversations_stand_beside_each_other(tmp_path: Path) -> None:
    """`--new` and `--session` choose; without them the last one goes on."""
    store = tmp_path / "chat.sqlite"
    chat(store, ["my name is Ana", "book a cleaning"])
    assert "The conversation is chat-2 in" in chat(store, ["hi"], "--new").out
    assert "The conversation is chat-2 in" in chat(store, []).out
    back = chat(store, ["/data"], "--session", "chat-1")
    assert "  service  cleaning" in back.out
    assert "No field is known." in chat(store, ["/new", "/data"]).out


def test_a_row_that_is_no_session_is_told(tmp_path: Path) -> None:
    """It is neither replaced nor hidden: the words name the session, and another one can be begun."""
    store = tmp_path / "chat.sqlite"
    chat(store, ["hi"])
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE agent_sessions SET blob = '{}'")
    done = chat(store, ["hello", "/runs", "/new", "hello"])
    assert done.out.count('[InvalidSessionError] session "chat-1"') == 3
    assert done.said("Sofia")[-1].startswith("Hello, this is Sofia")
