"""What happened, in plain words: outcome lines, ends, provider failures, times.

The sentences of the codes are those of 05-outcomes (`message` of a line); here are the words for
lines that have no code, and for what people want to know beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from falai.cli.chat.records import Ended, TurnRecord
from falai.errors import ProviderError
from falai.session.dates import from_ms, read_date
from falai.session.jsontext import show
from falai.session.model import Run, StepOutcome

__all__ = ["Words", "shortened", "why_provider_failed"]

_LONGEST = 160

_UNCODED: Mapping[tuple[str, str], str] = {
    ("prompt", "ok"): "The assistant answered from this step.",
    ("collect", "ok"): "Nothing was left to ask in this step.",
    ("say", "ok"): "The step sent its text.",
    ("do", "ok"): "The action did its work.",
    ("wait", "waiting"): "The run is parked on a timer.",
    ("if", "ok"): "The condition was judged.",
    ("idle", "ok"): "No flow had the word, so the assistant answered freely.",
}
_ENDS: Mapping[str, str] = {
    "end": "it came to its end",
    "flow": "it handed over to another flow",
    "reset": "it begins anew",
    "replaced": "a newer start took its place",
    "skipped": "it was cut short",
    "failed": "it failed",
}
_SOURCES: Mapping[str, str] = {
    "understand": "read in the message",
    "speak": "read in the message",
    "tool": "from a tool",
    "action": "from an action",
    "clear": "by the flow",
}
_STATUS: Mapping[str, str] = {
    "running": "moving",
    "asking": "waits for your answer",
    "waiting": "parked",
    "suspended": "set aside; it comes back",
}
_FAILURES: Mapping[str, str] = {
    "aborted": "The call to the model was broken off.",
    "timeout": "The model took too long to answer.",
    "network": "The model could not be reached.",
    "overload": "The model's provider is overloaded or down.",
    "rate": "The model's provider wants fewer calls for a while.",
    "quota": "The allowance at the model's provider is used up.",
    "entitlement": "The plan at the model's provider does not include this.",
    "auth": "The model's provider did not accept the key. Is it set, and right?",
    "model": "The model's provider does not know this model.",
    "context": "The conversation is longer than the model can take.",
    "content": "The model's provider refused the content.",
    "invalid": "The model's provider would not process the request.",
    "unknown": "The call to the model failed.",
}


def why_provider_failed(error: ProviderError) -> str:
    """A failed call, in words; the provider's own text behind them."""
    return f"{_FAILURES[error.kind]} ({shortened(str(error))})"


def shortened(text: str) -> str:
    """The beginning of what a provider or a library says, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


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
        yield from ((_place(line), self._sentence(line)) for line in record.outcomes)
        yield from ((end.flow, f"The flow is over: {_end(end)}.") for end in record.ended)
        yield from ((refused.flow, f"It did not begin: {refused.message}") for refused in record.refused)
        for change in record.changes:
            new = "Forgotten" if change.new is None else f"Now {show(change.new)}"
            yield change.field, f"{new}, {_SOURCES.get(change.source, change.source)}."

    def run(self, run: Run) -> str:
        """How a run is doing."""
        if run.waiting is None:
            return _STATUS[run.status]
        until = f" until {self.date_text(run.waiting.until)}" if run.waiting.until else ""
        event = f", or until {run.waiting.event} is reported" if run.waiting.event else ""
        return f"parked{until}{event}"

    def _sentence(self, line: StepOutcome) -> str:
        talked = "prompt" if line.llm_calls and line.kind == "collect" else line.kind
        parts = [line.message or _UNCODED.get((talked, line.status), f"{line.kind}: {line.status}.")]
        if line.detail:
            parts.append(f"({line.detail})")
        if line.until:
            parts.append(f"Until {self.date_text(line.until)}.")
        if line.next:
            parts.append(f"→ {line.next}")
        return " ".join(parts)


def _place(line: StepOutcome) -> str:
    return " / ".join(part for part in (line.flow_id, line.step_id) if part) or line.kind


def _end(end: Ended) -> str:
    return _ENDS.get(end.reason, end.reason)


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
