"""Keys: every one is made from what the host or an earlier run supplied, so a replay makes the same (B-9).

The wake and silence keys hold instants as whole milliseconds (B-2.5). Ids may contain `:`, so no
key is ever taken apart except a silence's, which is cut at the session id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from falai.session.inputs import Anchor

__all__ = [
    "anchor_key", "branch_id", "dedupe_key", "default_repeat", "idle_key", "is_blank_id", "message_trigger_key",
    "nonce", "parse_silence_key", "retry_wake_key", "run_id", "say_claim_key", "silence_key", "start_wake_key",
    "step_key", "wake_key",
]  # fmt: skip

_SILENCE = "silence:"


def is_blank_id(value: object) -> bool:
    """Whether an id counts as missing: not text, or empty, or blank (F-1.12)."""
    return not isinstance(value, str) or not value.strip()


def run_id(flow_id: str, trigger_key: str) -> str:
    """The id of the run that this trigger starts (B-9.1, B-9.6)."""
    return f"{flow_id}#{trigger_key}"


def step_key(run_id: str, step_id: str, visit: int) -> str:
    """The key of what a step does at one visit: its message, its action (B-9.1, B-9.4)."""
    return f"{run_id}:{step_id}:{visit}"


def wake_key(run_id: str, step_id: str, at_ms: int) -> str:
    """The wake of a timer wait, of an event wait's deadline, of a deferred action."""
    return f"{run_id}:{step_id}:{at_ms}"


def start_wake_key(run_id: str, at_ms: int) -> str:
    """The wake of a delayed start."""
    return f"{run_id}:start:{at_ms}"


def retry_wake_key(run_id: str, step_id: str, visit: int, at_ms: int) -> str:
    """The wake of another try after a failed speak call."""
    return f"{run_id}:{step_id}:{visit}:retry:{at_ms}"


def silence_key(flow_id: str, session_id: str, ms: int) -> str:
    """The wake of a silence that began when the assistant spoke last, at `ms`."""
    return f"{_SILENCE}{flow_id}:{session_id}:{ms}"


def parse_silence_key(key: str, session_id: str) -> tuple[str, str]:
    """The flow id and the milliseconds' text of a key that begins with `silence:` (T-5.7)."""
    rest = key.removeprefix(_SILENCE)
    cut = rest.rfind(f":{session_id}:")
    flow_id = rest[:cut] if cut >= 0 else rest.partition(":")[0]
    return flow_id, key.rpartition(":")[2]


def idle_key(trigger_key: str) -> str:
    """The key of the idle speaker's message."""
    return f"idle:{trigger_key}"


def dedupe_key(flow_id: str, anchor: str, nonce: str) -> str:
    """The key of the claim that a start writes (B-10.1)."""
    return f"{flow_id}:{anchor}:{nonce}"


def say_claim_key(flow_id: str, step_id: str, session_id: str) -> str:
    """The claim of a `say` that goes out once (B-10.7)."""
    return f"{flow_id}:{step_id}:{session_id}"


def branch_id(run_id: str, step_id: str, index: int) -> str:
    """The id of a branch question (T-8.7)."""
    return f"{run_id}/{step_id}/{index}"


def message_trigger_key(id: str | None, at: str | None, now_text: str) -> str:
    """What a message is called as a trigger: its id, else its `at` as given, else now (B-9.2, B-9.3)."""
    if id is not None and not is_blank_id(id):
        return id
    return now_text if at is None else at


def default_repeat(kind: str) -> Literal["once", "always"]:
    """The `repeat` of a trigger that has none of its own (B-10.2)."""
    return "once" if kind in ("message", "mention", "silence") else "always"


def nonce(repeat: object, trigger_key: str) -> str:
    """The part of a claim's key that tells starts apart: empty unless `repeat` is `always` (B-10.1)."""
    return trigger_key if repeat == "always" else ""


def anchor_key(flow_anchor: str | None, session_id: str, anchors: Mapping[str, Anchor] | None) -> str:
    """What a run belongs to: the key of its flow's anchor in this turn, else the session (B-12.1)."""
    if flow_anchor is None or flow_anchor == "session":
        return session_id
    found = (anchors or {}).get(flow_anchor)
    return session_id if found is None else found.key
