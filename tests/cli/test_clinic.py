"""The shipped clinic, talked to as a person would: the real program, line by line, with the lexical model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.program import Finished, chat

BOOKING = [
    "I'd like to book a cleaning",
    "on 2099-03-02 at 3pm",
    "Ana Silva",
    "912 345 678",
    "yes",
]


@pytest.fixture
def talk(tmp_path: Path):
    """Goes on with one conversation in a file of its own."""

    def go_on(lines: Sequence[str]) -> Finished:
        return chat(tmp_path / "chat.sqlite", lines)

    return go_on


def test_a_visit_is_booked(talk) -> None:
    """From the first word to the code: what is said is noted, confirmed, and stands in the calendar."""
    done = talk([*BOOKING, "yes", "/data"])
    assert done.code == 0
    assert "I have noted a cleaning on 2099-03-02 at 15:00 for Ana Silva. Shall I book it?" in done.said("Sofia")
    assert "It is booked, Ana Silva: cleaning on Monday, 2 March at 15:00. Your code is V001." in done.said("Sofia")
    assert "As it is your first visit, please come ten minutes early." in done.said("Sofia")
    assert "  appointment  V001" in done.out
    assert done.err == ""


def test_a_refused_confirmation_gives_up_in_good_order(talk) -> None:
    """Whoever refuses is asked for another time, a bounded number of times; then a person takes over."""
    done = talk([*BOOKING, "no", "2099-03-03 at 9am", "no", "2099-03-04 at 9am", "no", "/runs"])
    said = done.said("Sofia")
    assert sum("Shall I book it?" in text for text in said) == 3
    assert any("desk" in text for text in said[-2:])
    assert not any("It is booked" in text for text in said)
    assert "book /" not in done.out.rpartition("/runs")[2]


def test_a_confirmation_that_is_never_answered_ends_too(talk) -> None:
    """Neither yes nor no: the question is asked twice, and the flow goes on without an answer."""
    done = talk([*BOOKING, *["hm"] * 12, "/runs"])
    assert any("desk" in text for text in done.said("Sofia"))
    assert "book /" not in done.out.rpartition("/runs")[2]


def test_a_taken_time_is_no_dead_end(talk) -> None:
    """The action fails, the patient hears why and what is free, and names another time."""
    done = talk(["book a cleaning", "2099-03-02 at 10am", "11am", "Ana Silva", "912 345 678", "no", "yes"])
    assert any("at 10:00 is taken; still free that day: 09:00, 11:00" in text for text in done.said("Sofia"))
    assert any("at 11:00. Your code is" in text for text in done.said("Sofia"))


def test_a_closed_day_is_told_and_asked_for_again(talk) -> None:
    """A value that its type refuses is not noted; the reason reaches the patient, and the rest is kept."""
    done = talk(["I have a toothache, can I come on 2099-03-01 at 3pm?", "2099-03-02"])
    assert "(the clinic is closed on Sundays) Which day suits you?" in done.said("Sofia")[0]
    assert done.said("Sofia")[1] == "What is your name?"


def test_a_visit_is_moved_and_cancelled(talk) -> None:
    """What was booked before the program ended can be moved and cancelled after it."""
    talk([*BOOKING, "yes"])
    done = talk(["I need to move my visit", "2099-03-05 at 4pm", "please cancel my visit", "yes", "/data"])
    assert "It is moved: cleaning on Thursday, 5 March at 16:00. See you then!" in done.said("Sofia")
    assert "It is cancelled. I hope to see you another time." in done.said("Sofia")
    assert "appointment" not in done.out.rpartition("/data")[2]


def test_a_question_in_between_is_answered_and_the_booking_goes_on(talk) -> None:
    """A mention answers beside the flow; the next message is the flow's again."""
    done = talk(["book a cleaning", "how much is a whitening?", "2099-03-02 at 3pm", "/data"])
    assert any("a whitening 180 €" in text for text in done.said("Sofia"))
    assert "  time     15:00" in done.out


def test_a_first_word_with_a_value_in_it_is_greeted(talk) -> None:
    """The greeting is for a conversation of which nothing was known before this message."""
    assert talk(["good morning, this is Rui"]).said("Sofia")[0].startswith("Hello, this is Sofia")


def test_a_surname_is_no_question(talk) -> None:
    """Costa is a name, whatever else its stem may mean."""
    done = talk(["book a cleaning for 2099-03-02 at 3pm", "my name is Rui Costa"])
    assert done.said("Sofia")[-1] == "And a phone number, in case something comes up?"


def test_a_person_can_be_asked_for(talk) -> None:
    """At any moment; whether somebody is there depends on the hour."""
    assert any("desk" in text for text in talk(["I want to talk to a person"]).said("Sofia"))


def test_silence_is_followed_up(talk) -> None:
    """After some hours without a word the open subject is taken up, and a day later let go."""
    done = talk(["book a cleaning", "/skip 2d", "/why"])
    assert "Hello, it is me again. Shall we go on?" in done.said("Sofia")
    assert "I will leave it at that for now. Write to me whenever you like." in done.said("Sofia")
    assert "The timer ended without a word from the customer." in done.out


def test_who_answers_is_not_followed_up_again(talk) -> None:
    """A word from the customer ends the follow-up, and the booking goes on."""
    done = talk(["book a cleaning", "/skip 1d", "2099-03-02 at 3pm", "/runs"])
    assert done.said("Sofia").count("Hello, it is me again. Shall we go on?") == 1
    assert "nudge /" not in done.out.rpartition("/runs")[2]
    assert "book / who" in done.out


def test_a_visit_is_remembered_the_day_before(talk) -> None:
    """The reminder waits for the day before the visit, also when the visit was moved meanwhile."""
    talk([*BOOKING, "yes"])
    talk(["I need to move my visit", "2099-03-05 at 4pm"])
    done = talk(["/skip 40000d"])
    assert "A reminder: you have a cleaning on Thursday, 5 March at 16:00. If you cannot come, just write to me." in (
        done.said("Sofia")
    )


@pytest.mark.parametrize(
    ("rating", "reply"),
    [("5", "Thank you, that is good to hear!"), ("2", "I am sorry to hear that. What went wrong?")],
)
def test_after_a_visit_it_asks_how_it_was(talk, rating: str, reply: str) -> None:
    """The host reports the visit; the question comes later, by day."""
    done = talk(["hi", "/event visit_done", "/skip 1d", rating])
    assert "How was your visit, from 1 (bad) to 5 (very good)?" in done.said("Sofia")
    assert done.said("Sofia")[-1] == reply
