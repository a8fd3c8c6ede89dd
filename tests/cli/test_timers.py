"""Timers in a real program on a real clock."""

from __future__ import annotations

from pathlib import Path

from cli.program import AGENTS, chat, chatting

TIMERS = AGENTS / "timers.py"


def test_a_timer_goes_off_while_nobody_types(tmp_path: Path) -> None:
    """Standard input is idle and open; the flow's next text comes by itself."""
    with chatting(tmp_path / "chat.sqlite", TIMERS) as talk:
        talk.type("I want a reminder")
        talk.wait_for("Tick > I will come back.")
        talk.wait_for("a timer went off")
        talk.wait_for("Tick > Here I am again.")
        talk.type("/why")
        talk.wait_for("The timer ended without a word from the customer.")


def test_skipped_time_passes_in_order(tmp_path: Path) -> None:
    """Timers on the way go off one by one, each at its own time."""
    done = chat(tmp_path / "chat.sqlite", ["I want a reminder", "/skip 5d", "/runs"], TIMERS)
    assert done.said("Tick") == ["I will come back.", "Here I am again.", "Are you there?"]
    assert done.out.count("a timer went off") == 2
    assert "No flow is under way, and no timer is set." in done.out


def test_what_would_go_off_can_be_seen(tmp_path: Path) -> None:
    """`/runs` says what is parked until when, and what begins if nobody writes."""
    done = chat(tmp_path / "chat.sqlite", ["I want a reminder", "/runs"], TIMERS)
    shown = done.out.rpartition("/runs")[2]
    assert "wait / pause  parked until" in shown
    assert "if nobody writes until then" in shown
