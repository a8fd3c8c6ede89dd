"""What happened in a turn, in plain words, for whoever shows conversations to people.

The sentences of the codes are those of 05-outcomes (`message` of a line); here are the words for lines that have
no code, and for what people want to know beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from falai.errors import ProviderError
from falai.session.model import StepOutcome

__all__ = [
    "END_WORDS", "SOURCE_WORDS", "STATUS_WORDS", "outcome_words", "place_words", "shortened", "why_provider_failed",
]  # fmt: skip

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
END_WORDS: Mapping[str, str] = {
    "end": "it came to its end",
    "flow": "it handed over to another flow",
    "reset": "it begins anew",
    "replaced": "a newer start took its place",
    "skipped": "it was cut short",
    "failed": "it failed",
}
"""Why a run ended."""
SOURCE_WORDS: Mapping[str, str] = {
    "understand": "read in the message",
    "speak": "read in the message",
    "tool": "from a tool",
    "action": "from an action",
    "clear": "by the flow",
}
"""Where the value of a field came from."""
STATUS_WORDS: Mapping[str, str] = {
    "running": "moving",
    "asking": "waits for your answer",
    "waiting": "parked",
    "suspended": "set aside; it comes back",
}
"""How a run is doing."""
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


def outcome_words(line: StepOutcome, date_text: Callable[[str], str]) -> str:
    """A line in words; `date_text` says how its date text is shown."""
    talked = "prompt" if line.llm_calls and line.kind == "collect" else line.kind
    parts = [line.message or _UNCODED.get((talked, line.status), f"{line.kind}: {line.status}.")]
    if line.detail:
        parts.append(f"({line.detail})")
    if line.until:
        parts.append(f"Until {date_text(line.until)}.")
    if line.next:
        parts.append(f"→ {line.next}")
    return " ".join(parts)


def place_words(line: StepOutcome) -> str:
    """Where it happened: flow and step, else what kind of line it is."""
    return " / ".join(part for part in (line.flow_id, line.step_id) if part) or line.kind


def why_provider_failed(error: ProviderError) -> str:
    """A failed call, in words; the provider's own text behind them."""
    return f"{_FAILURES[error.kind]} ({shortened(str(error))})"


def shortened(text: str) -> str:
    """The beginning of what a provider or a library says, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
