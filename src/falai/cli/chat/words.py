"""What happened, in plain words: turns, and times in the agent's zone. The words of lines are those of `turn.words`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from falai.cli.chat.records import Ended, TurnRecord
from falai.session.dates import from_ms, read_date
from falai.session.jsontext import show
from falai.session.model import Run
from falai.turn.words import END_WORDS, SOURCE_WORDS, STATUS_WORDS, outcome_words, place_words

__all__ = ["Words"]


class Words:
    """Words that depend on the zone in which the agent lives."""

    def __init__(self, timezone: str | None) -> None:
        self._zone = ZoneInfo(timezone) if timezone else None

    def time(self, at_ms: int) -> str:
        """An instant, in the agent's zone, else in the computer's; with the year if it is another one."""
        at = from_ms(at_ms).astimezone(self._zone)
        same_year = at.year == datetime.now(self._zone).year
        return at.strftime("%a %d %b, %H:%M" if same_year else "%a %d %b %Y, %H:%M")

    def date_text(self, text: str | None) -> str:
        """The same for date text of a session; one that cannot be read stays as it is."""
        at_ms = read_date(text)
        return str(text) if at_ms is None else self.time(at_ms)

    def occasion(self, record: TurnRecord) -> str:
        """When a turn was taken, what for, and what it cost."""
        silenced = "" if record.silenced is None else f" The assistant was silenced ({record.silenced})."
        return f"{self.date_text(record.at)}: {_cause(record)}; {_calls(record.model_calls)}.{silenced}"

    def why(self, record: TurnRecord) -> Iterator[tuple[str, str]]:
        """A turn line by line: the place, and what happened there."""
        yield from ((flow, "The flow began.") for flow in record.started)
        yield from ((place_words(line), outcome_words(line, self.date_text)) for line in record.outcomes)
        yield from ((end.flow, f"The flow is over: {_end(end)}.") for end in record.ended)
        yield from ((refused.flow, f"It did not begin: {refused.message}") for refused in record.refused)
        for change in record.changes:
            new = "Forgotten" if change.new is None else f"Now {show(change.new)}"
            yield change.field, f"{new}, {SOURCE_WORDS.get(change.source, change.source)}."

    def run(self, run: Run) -> str:
        """How a run is doing."""
        if run.waiting is None:
            return STATUS_WORDS[run.status]
        until = f" until {self.date_text(run.waiting.until)}" if run.waiting.until else ""
        event = f", or until {run.waiting.event} is reported" if run.waiting.event else ""
        return f"parked{until}{event}"


def _end(end: Ended) -> str:
    return END_WORDS.get(end.reason, end.reason)


def _cause(record: TurnRecord) -> str:
    match record.input:
        case {"message": text}:
            return f"you wrote {show(text)}"
        case {"event": name}:
            return f"the event {name} was reported"
        case {"wake": _}:
            return "a timer went off"
        case _:
            return "a flow was started"


def _calls(count: int) -> str:
    return (
        "no call to the model"
        if count == 0
        else "one call to the model"
        if count == 1
        else f"{count} calls to the model"
    )
