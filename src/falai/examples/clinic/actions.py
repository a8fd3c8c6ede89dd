"""What flows do with the calendar, and what the model may look up in it.

An action's words reach the model; a text that goes to the patient as it stands is a field, written
by the action: `visit` (what is booked, in words) and `slot_note` (why a time cannot be had).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil
from typing import Protocol
from zoneinfo import ZoneInfo

from falai import ActionContext, ActionResult, ToolContext, ToolResult, action, defer, failed, ok, skipped, tool
from falai.examples.clinic.calendar import Calendar, Visit

__all__ = [
    "ZONE", "Clinic", "Desk", "book_visit", "call_person", "cancel_visit", "free_times", "hold_on", "look_up", "move_visit",
]  # fmt: skip

ZONE = "Europe/Lisbon"
_HERE = ZoneInfo(ZONE)
_DESK_HOURS = range(8, 20)
_ALL_DAY = "24:00"


class Desk(Protocol):
    """The people of the clinic, as far as a conversation can reach them."""

    def tell(self, message: str, *, request: str) -> None:
        """Leaves a note for them; the same `request` leaves one, however often it comes."""
        ...


@dataclass(frozen=True)
class Clinic:
    """The context of every turn: what the flows can do something with."""

    calendar: Calendar
    desk: Desk


@action(name="lookUp")
def look_up(ctx: ActionContext[Clinic], day: date, time: str) -> ActionResult:
    """See whether a day and time are free."""
    why_not = _why_not(ctx, day, time)
    return _refused(ctx, why_not) if why_not else ok("it is free")


@action(name="bookVisit")
def book_visit(
    ctx: ActionContext[Clinic], *, patient: str, phone: str, service: str, day: date, time: str
) -> ActionResult:
    """Book a visit. Done twice for one request, it books once."""
    calendar, request = ctx.context.calendar, f"{ctx.session_id}/{ctx.key}"
    past = time <= _begun(ctx.now, day)
    visit = None if past else calendar.book(patient, phone, service, day, time, request=request)
    return _settled(ctx, visit, day, time)


@action(name="moveVisit")
def move_visit(ctx: ActionContext[Clinic], code: str, day: date, time: str) -> ActionResult:
    """Move a visit to another day and time."""
    past = time <= _begun(ctx.now, day)
    return _settled(ctx, None if past else ctx.context.calendar.move(code, day, time), day, time)


@action(name="cancelVisit")
def cancel_visit(ctx: ActionContext[Clinic], code: str) -> ActionResult:
    """Cancel a visit."""
    ctx.context.calendar.cancel(code)
    ctx.set({"appointment": None, "visit": None})
    return ok("cancelled")


@action(name="holdOn")
def hold_on(ctx: ActionContext[Clinic]) -> ActionResult:
    """Wait until the day before the visit. The visit may be moved or cancelled in the meantime."""
    visit = ctx.context.calendar.visit(str(ctx.data.get("appointment") or ""))
    if visit is None:
        return skipped("there is no visit any more")
    begin = datetime.combine(visit.day, datetime.strptime(visit.time, "%H:%M").time(), _HERE)  # noqa: DTZ007  # a time only
    seconds = ceil((begin - timedelta(days=1) - ctx.now).total_seconds())
    return defer(f"{seconds}s", "until the day before the visit") if seconds > 0 else ok()


@action(name="callPerson")
def call_person(ctx: ActionContext[Clinic], about: str) -> ActionResult:
    """Leave a note for the desk; it fails while nobody is there."""
    name, phone = ctx.data.get("name") or "someone", ctx.data.get("phone") or "no number yet"
    ctx.context.desk.tell(f"{about}: {name}, {phone}", request=f"{ctx.session_id}/{ctx.key}")
    here = ctx.now.astimezone(_HERE)
    return ok("a note is on the desk") if here.hour in _DESK_HOURS else failed("nobody is at the desk now")


@tool(read_only=True)
def free_times(ctx: ToolContext[Clinic], day: date) -> ToolResult:
    """The free times of a day. Look them up before you offer any."""
    return ToolResult({"day": day.isoformat(), "free": list(_free(ctx, day))})


def _settled(ctx: ActionContext[Clinic], visit: Visit | None, day: date, time: str) -> ActionResult:
    """Notes what is booked now, or why it is not; day and time are used up when they are."""
    if visit is None:
        return _refused(ctx, _why_not(ctx, day, time) or "Somebody was faster: that time has just been taken.")
    words = f"{visit.service} on {_in_words(visit.day)} at {visit.time}"
    ctx.set({"appointment": visit.code, "visit": words, "day": None, "time": None, "agreed": None, "slot_note": None})
    return ok(f"{visit.code}: {words}")


def _refused(ctx: ActionContext[Clinic], why: str) -> ActionResult:
    ctx.set({"slot_note": why})
    return failed(why)


def _why_not(ctx: ActionContext[Clinic], day: date, time: str) -> str | None:
    """Why this cannot be had, if so. A day that is of no use is forgotten, so that it is asked for again."""
    free, begun = _free(ctx, day), _begun(ctx.now, day)
    if time in free:
        return None
    if free:
        gone = "over" if time <= begun else "taken"
        return f"{_in_words(day)} at {time} is {gone}; still free that day: {', '.join(free)}."
    ctx.set({"day": None})
    return f"{_in_words(day)} is over." if begun == _ALL_DAY else f"Nothing is free on {_in_words(day)}."


def _free(ctx: ActionContext[Clinic] | ToolContext[Clinic], day: date) -> tuple[str, ...]:
    """The free times that are still to come."""
    begun = _begun(ctx.now, day)
    return tuple(time for time in ctx.context.calendar.free_times(day) if time > begun)


def _begun(now: datetime, day: date) -> str:
    """Up to what time this day has gone by."""
    here = now.astimezone(_HERE)
    return "" if day > here.date() else f"{here:%H:%M}" if day == here.date() else _ALL_DAY


def _in_words(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B}"
