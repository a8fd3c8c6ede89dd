"""The shipped clinic, talked to as a person would: the real program, line by line, with the lexical model."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.program import Finished, chat
from falai import Message, Session, ToolContext
from falai.examples.clinic import agent, chat_context
from falai.examples.clinic.actions import free_times
from falai.testing import Clock

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


class Lisbon:
    """A patient who writes at times of one's own, on the clinic's clock."""

    def __init__(self, folder: Path, now: str) -> None:
        self.clock = Clock(now)
        self.context = chat_context(folder)
        self._desk = copy.copy(agent)
        self._desk.clock = self.clock
        self._session: Session | None = None
        self._messages = 0

    def write(self, *texts: str) -> str:
        """All that comes back to the last of the texts."""
        said = ""
        for text in texts:
            self._messages += 1
            message = Message(text, id=f"m{self._messages}")
            result = self._desk.turn_sync("s1", message, session=self._session, context=self.context)
            self._session, said = result.session, " ".join(sent.text for sent in result.messages)
        return said


TO_THE_LAST_QUESTION = ["I need a cleaning", "today at 3pm", "my name is Ana Silva", "912 345 678", "no"]


def test_a_time_that_has_gone_by_cannot_be_had(tmp_path: Path) -> None:
    """At half past two in Lisbon the morning is over, and the afternoon begins at three."""
    said = Lisbon(tmp_path, "2026-07-06T13:30:00.000Z").write("I need a cleaning", "today at 9am")
    assert said.startswith("Monday, 6 July at 09:00 is over; still free that day: 15:00, 16:00, 17:00.")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("2026-07-06T14:00:00.000Z", "Monday, 6 July at 15:00 is over; still free that day: 16:00, 17:00."),
        ("2026-07-06T17:00:00.000Z", "Nothing is free on Monday, 6 July."),
        ("2026-07-06T23:30:00.000Z", "What is your name?"),
    ],
)
def test_today_is_the_clinic_s(tmp_path: Path, now: str, said: str) -> None:
    """A time that is just beginning is too late; in the evening nothing is left; after midnight in Lisbon it is morning."""
    patient = Lisbon(tmp_path, now)
    told = patient.write("I need a cleaning", "today at 3pm")
    assert told.startswith(said)


def test_a_time_that_goes_by_while_one_talks_is_not_booked(tmp_path: Path) -> None:
    """It was free when it was noted; the last yes comes an hour too late."""
    patient = Lisbon(tmp_path, "2026-07-06T13:30:00.000Z")
    assert patient.write(*TO_THE_LAST_QUESTION).endswith("Shall I book it?")
    patient.clock.advance("1h")
    told = patient.write("yes")
    assert "Monday, 6 July at 15:00 is over; still free that day: 16:00, 17:00." in told
    assert patient.context.calendar.visit("V001") is None


def test_a_visit_is_not_moved_to_a_time_that_has_gone_by(tmp_path: Path) -> None:
    """Neither to this morning nor to a day that is over."""
    patient = Lisbon(tmp_path, "2026-07-06T13:30:00.000Z")
    assert "Your code is V001" in patient.write(*TO_THE_LAST_QUESTION, "yes")
    assert patient.write("I need to move my visit", "2026-07-06 at 9am").startswith("Monday, 6 July at 09:00 is over;")
    visit = patient.context.calendar.visit("V001")
    assert visit is not None
    assert visit.time == "15:00"


def test_the_model_is_offered_no_time_that_has_gone_by(tmp_path: Path) -> None:
    """The tool looks at the clock, as the actions do."""
    now = datetime(2026, 7, 6, 13, 30, tzinfo=UTC)
    context: ToolContext[Any] = ToolContext(chat_context(tmp_path), {}, [], None, now)
    assert [free_times(context, date(2026, 7, day)).value["free"] for day in (5, 6, 7)] == [
        [],
        ["15:00", "16:00", "17:00"],
        ["09:00", "11:00", "14:00", "15:00", "16:00", "17:00"],
    ]


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


def test_who_only_asks_for_a_price_is_asked_nothing(talk) -> None:
    """The name of a treatment in a question about prices is no wish for one; with the wish it is."""
    done = talk(["how much is a whitening?", "/runs", "how much is a cleaning? I'd like to book one", "/runs"])
    asked, booked = done.out.split("/runs")[1:]
    assert any("a whitening 180 €" in text for text in done.said("Sofia"))
    assert "book /" not in asked.partition("you >")[0]
    assert "book /" in booked


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
