"""The agent: fields, flows and everything that they name, and the context in which it is talked to."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field as Bounds

from falai import Agent, BusinessHours, Field, Instruction
from falai.examples.clinic.actions import (
    ZONE,
    Clinic,
    book_visit,
    call_person,
    cancel_visit,
    free_times,
    hold_on,
    look_up,
    move_visit,
)
from falai.examples.clinic.calendar import SqliteCalendar
from falai.examples.clinic.flows import FLOWS
from falai.examples.clinic.values import Phone, VisitDay, VisitTime

__all__ = ["NoteBook", "agent", "chat_context"]

FIELDS = {
    "service": Field(
        Literal["check-up", "cleaning", "whitening", "filling"],
        description="what the visit is for (check-up: examination; filling: toothache, pain, a hole)",
        ask="Ask what they need.",
        question="What do you need: a check-up, a cleaning, a whitening or a filling?",
        correct=True,
    ),
    "day": Field(
        VisitDay,
        description="the day of the visit",
        ask="Ask which day suits them.",
        question="Which day suits you?",
        correct=True,
    ),
    "time": Field(
        VisitTime,
        description="the time at which the visit begins, such as 15:00",
        ask="Ask what time suits them; look up the free ones of the day first.",
        question="What time suits you?",
        correct=True,
    ),
    "name": Field(str, ask="Ask for their name.", question="What is your name?", correct=True),
    "phone": Field(
        Phone,
        ask="Ask for a phone number, in case something comes up.",
        question="And a phone number, in case something comes up?",
        correct=True,
    ),
    "first_visit": Field(
        bool,
        ask="Ask whether they have been here before.",
        description="whether it is the patient's first visit here",
        question="Is it your first visit to us?",
    ),
    "agreed": Field(
        bool,
        description="whether the patient wants the visit booked as it is noted",
        ask="Sum up the visit and ask whether to book it.",
        question="Shall I book it?",
    ),
    "sure": Field(bool, ask="Ask whether to cancel the visit.", question="Shall I cancel it?"),
    "rating": Field(
        Annotated[int, Bounds(ge=1, le=5)],
        description="how the visit was, from 1 to 5",
        ask="Ask how the visit was, from 1 to 5.",
        question="How was your visit, from 1 (bad) to 5 (very good)?",
    ),
    "comment": Field(str, ask="Ask what went wrong.", question="What went wrong?"),
    "appointment": Field(str, label="The code of the booked visit", extract="asked"),
    "visit": Field(str, label="The booked visit in words", extract="asked"),
    "slot_note": Field(str, label="Why a time could not be had", extract="asked"),
}

agent = Agent[Clinic](
    name="Sofia",
    model="lexical",
    persona="You are the front desk of a dental clinic: warm, brief, precise about days and times.",
    goal="Every patient leaves with a visit booked, moved or cancelled, or with an answer.",
    knowledge_base={
        "clinic": "Sorriso, Rua das Flores 12, Lisbon; two minutes from the station; parking in the yard",
        "hours": "Monday to Saturday, 08:00 to 20:00",
        "prices in euros": {"check-up": 40, "cleaning": 60, "whitening": 180, "filling": "from 75"},
    },
    timezone=ZONE,
    business_hours=BusinessHours("08:00", "20:00", weekdays=(1, 2, 3, 4, 5, 6, 7)),  # when we may write to people
    fields=FIELDS,
    actions=[look_up, book_visit, move_visit, cancel_visit, hold_on, call_person],
    tools=[free_times],
    events={"visit_done": {}},
    instructions=[
        Instruction("name a price that is not in your knowledge base", kind="never"),
        Instruction("give medical advice beyond coming in", kind="never"),
        Instruction("offer the next free visit", when=["is in pain", "!asks for a price only"], kind="should"),
    ],
    idle={"prompt": "Answer briefly; say what you can do for them: book, move or cancel a visit."},
    flows=FLOWS,
)


class NoteBook:
    """The notes on the desk, in the file of the calendar."""

    def __init__(self, path: Path | str) -> None:
        self._db = sqlite3.connect(path, timeout=5, isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS notes (request TEXT PRIMARY KEY, message TEXT NOT NULL)")

    def tell(self, message: str, *, request: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO notes VALUES (?, ?)", (request, message))


def chat_context(folder: Path) -> Clinic:
    """What `falai chat` passes to every turn: a calendar and a notebook in the chat's folder."""
    path = folder / "clinic-calendar.sqlite"
    return Clinic(SqliteCalendar(path), NoteBook(path))
