"""The conversations of the desk.

Patients book, move and cancel visits; they ask about prices, hours and the way in between, and may
ask for a person at any time. Who falls silent is written to once more; who has been here is asked
how it was.
"""

from __future__ import annotations

from falai import (
    Branch,
    Collect,
    Do,
    Flow,
    If,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    To,
    ToFlow,
    View,
    Wait,
)
from falai.examples.clinic.actions import (
    Clinic,
    book_visit,
    call_person,
    cancel_visit,
    hold_on,
    look_up,
    move_visit,
)
from falai.examples.clinic.calendar import TIMES

__all__ = ["FLOWS"]

MOST_TRIES = 3
_ASK_WHEN = f"Which day suits you, and what time? Visits begin at {', '.join(TIMES[:-1])} and {TIMES[-1]}."
_ASK_OTHER = "What other time suits you that day?"
_OTHER_DAY = [Branch("wants another day", then=To("when", clear=["day", "time"]))]


def nothing_is_known(view: View[Clinic]) -> bool:
    return not view.data


def nothing_is_booked(view: View[Clinic]) -> bool:
    return not view.data.get("appointment")


def may_choose_again(view: View[Clinic]) -> bool:
    """Whether the patient may name another day and time, or a person should see to it."""
    visits = view.run.visits
    return visits.get("when", 0) + visits.get("another", 0) < MOST_TRIES


def was_happy(view: View[Clinic]) -> bool:
    rating = view.data.get("rating")
    return isinstance(rating, int) and rating >= 4


# --- visits -----------------------------------------------------------------------------------

book = Flow(
    "book",
    name="Booking a visit",
    description="Books a visit: what it is for, when, and for whom",
    on=[
        OnMessage(
            "wants to book a visit",
            "wants to see a dentist",
            "needs a check-up",
            "needs a cleaning",
            "wants a whitening",
            "has a toothache",
            "!wants to move a visit",
            "!wants to cancel a visit",
            "!only asks about prices",
            repeat="always",
        )
    ],
    clear_on_start=["service", "day", "time", "agreed"],
    steps=[
        Collect("what", ["service"], prompt="Find out what they need."),
        Collect("when", ["day", "time"], question=_ASK_WHEN, then="complete"),
        Collect("another", ["time"], question=_ASK_OTHER, branches=_OTHER_DAY),
        If("complete", {"known": ["service", "day", "time"]}, else_=ToFlow("person")),
        Do("look", look_up, {"day": "{{data.day}}", "time": "{{data.time}}"}, on_fail="taken"),
        Collect("who", ["name", "phone"], prompt="Find out who is coming."),
        If("reachable", {"known": ["name", "phone"]}, else_=ToFlow("person")),
        Collect("first", ["first_visit"], max_asks=2),
        Collect(
            "confirm",
            ["agreed"],
            max_asks=2,
            question="I have noted a {{data.service}} on {{data.day}} at {{data.time}} for {{data.name}}. Shall I book it?",
            branches=[Branch("wants another day or time", then="again")],
        ),
        If("right", {"equals": {"agreed": True}}, then="book", else_="again"),
        If("again", may_choose_again, then=To("when", clear=["day", "time", "agreed"]), else_=ToFlow("person")),
        Do(
            "book",
            book_visit,
            {
                "patient": "{{data.name}}",
                "phone": "{{data.phone}}",
                "service": "{{data.service}}",
                "day": "{{data.day}}",
                "time": "{{data.time}}",
            },
            on_fail="taken",
        ),
        Say("booked", "It is booked, {{data.name}}: {{data.visit}}. Your code is {{data.appointment}}."),
        If("newcomer", {"equals": {"first_visit": True}}, then="early", else_=ToFlow("reminder")),
        Say("early", "As it is your first visit, please come ten minutes early.", then=ToFlow("reminder")),
        Say("taken", "{{data.slot_note}}"),
        If("other", may_choose_again, else_=ToFlow("person")),
        If("same_day", {"known": ["day"]}, then=To("another", clear=["time"]), else_=To("when", clear=["day", "time"])),
    ],
)

move = Flow(
    "move",
    name="Moving a visit",
    description="Moves a visit that is booked to another day and time",
    on=[OnMessage("wants to move a visit", "wants to reschedule", "wants to change a visit", repeat="always")],
    clear_on_start=["day", "time"],
    steps=[
        If("has", {"known": ["appointment"]}, else_="none"),
        Collect("when", ["day", "time"], question="I can move it. " + _ASK_WHEN, then="complete"),
        Collect("another", ["time"], question=_ASK_OTHER, branches=_OTHER_DAY),
        If("complete", {"known": ["day", "time"]}, else_=ToFlow("person")),
        Do(
            "move",
            move_visit,
            {"code": "{{data.appointment}}", "day": "{{data.day}}", "time": "{{data.time}}"},
            on_fail="taken",
        ),
        Say("moved", "It is moved: {{data.visit}}. See you then!", then="end"),
        Say("taken", "{{data.slot_note}}"),
        If("other", may_choose_again, else_=ToFlow("person")),
        If("same_day", {"known": ["day"]}, then=To("another", clear=["time"]), else_=To("when", clear=["day", "time"])),
        Say("none", "I have no visit of yours here. Shall I book one? Just tell me what you need.", then="end"),
    ],
)

cancel = Flow(
    "cancel",
    name="Cancelling a visit",
    description="Cancels a visit that is booked, after asking once more",
    on=[OnMessage("wants to cancel a visit", repeat="always")],
    clear_on_start=["sure"],
    steps=[
        If("has", {"known": ["appointment"]}, else_="none"),
        Collect("sure", ["sure"], max_asks=2, question="You have a {{data.visit}}. Shall I cancel it?"),
        If("yes", {"equals": {"sure": True}}, else_="kept"),
        Do("cancel", cancel_visit, {"code": "{{data.appointment}}"}),
        Say("cancelled", "It is cancelled. I hope to see you another time.", then="end"),
        Say("kept", "Your visit stays as it is: {{data.visit}}.", then="end"),
        Say("none", "I have no visit of yours here, so there is nothing to cancel.", then="end"),
    ],
)

reminder = Flow(
    "reminder",
    name="The reminder before a visit",
    while_={"known": ["appointment"]},
    steps=[
        Do("until", hold_on),
        Say("remind", "A reminder: you have a {{data.visit}}. If you cannot come, just write to me.", then="end"),
    ],
)

# --- in between -------------------------------------------------------------------------------

welcome = Flow(
    "welcome",
    name="Welcome",
    on=[OnAnyMessage(if_=nothing_is_known)],
    while_={},  # what the first message tells is known before the greeting goes out: that shall not stop it
    steps=[
        Say(
            "hello",
            "Hello, this is Sofia of the Sorriso dental clinic. I can book, move or cancel a visit, and tell you "
            "about prices, opening hours and the way here.",
        )
    ],
)

prices = Flow(
    "prices",
    name="Prices",
    on=[OnMention("asks about prices", "asks how much it costs", repeat="always")],
    steps=[Say("prices", "A check-up is 40 €, a cleaning 60 €, a whitening 180 €, a filling from 75 €.")],
)

hours = Flow(
    "hours",
    name="Opening hours",
    on=[OnMention("asks about opening hours", "asks when the clinic is open", repeat="always")],
    steps=[Say("hours", "We are here Monday to Saturday, from 8 in the morning to 8 in the evening.")],
)

way = Flow(
    "way",
    name="The way here",
    on=[OnMention("asks for the address", "asks where the clinic is", "asks about parking", repeat="always")],
    steps=[
        Say("way", "We are at Rua das Flores 12 in Lisbon, two minutes from the station. You can park in the yard.")
    ],
)

person = Flow(
    "person",
    name="A person of the clinic",
    description="Gets a person when the patient asks for one, or when the assistant cannot help",
    on=[OnMention("asks for a person", "complains", repeat="always")],
    steps=[
        Do("call", call_person, {"about": "a patient needs a person"}, on_fail="later"),
        Say("moment", "I will get somebody from the desk, one moment please.", then="end"),
        Say(
            "later",
            "Nobody is at the desk now. I have left a note, and somebody will call you in the morning.",
            then="end",
        ),
    ],
)

# --- later ------------------------------------------------------------------------------------

nudge = Flow(
    "nudge",
    name="Following up on silence",
    on=[OnSilence("4h", business_hours=True, if_=nothing_is_booked)],
    steps=[
        Prompt("again", "Pick up the open subject lightly, in one short sentence."),
        Wait("pause", "1d", business_hours=True, else_="end"),
        Say("last", "I will leave it at that for now. Write to me whenever you like.", then="end"),
    ],
)

aftercare = Flow(
    "aftercare",
    name="After the visit",
    description="Asks how the visit was",
    on=[OnEvent("visit_done", after="2h", business_hours=True)],
    clear_on_start=["rating", "comment"],
    steps=[
        Collect("rate", ["rating"], max_asks=2, question="How was your visit, from 1 (bad) to 5 (very good)?"),
        If("rated", {"known": ["rating"]}),
        If("happy", was_happy, else_="why"),
        Say("thanks", "Thank you, that is good to hear!", then="end"),
        Collect("why", ["comment"], max_asks=2, question="I am sorry to hear that. What went wrong?"),
        Do("pass_on", call_person, {"about": "a patient was not happy"}),
        Say("sorry", "Thank you for telling me. I have passed it on.", then="end"),
    ],
)

FLOWS = [book, move, cancel, reminder, welcome, prices, hours, way, person, nudge, aftercare]
