"""Sessions in words, for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from falai.cli.clean import clean
from falai.cli.sessions.selection import last_activity
from falai.session.dates import iso
from falai.session.jsontext import json_text
from falai.session.model import Run, Session

__all__ = ["heading", "row_words", "session_words"]

_LONGEST = 200  # of a value; the blob has all of it


def heading() -> str:
    """Stands over the lines of a list."""
    return _columns("session", "last activity (UTC)", "runs")


def row_words(session: Session) -> str:
    """A session in one line."""
    at = last_activity(session)
    runs = ", ".join(f"{run.flow_id}/{run.step_id or '-'} {run.status}" for run in session.runs)
    line = _columns(session.id, "-" if at is None else iso(at)[:19].replace("T", " "), runs or "-")
    return clean(line).replace("\n", " ")


def _columns(id: str, at: str, runs: str) -> str:
    return f"{id:<36}  {at:<19}  {runs}"


def session_words(session: Session) -> Iterator[str]:
    """Everything that a session holds, line by line; long values are cut."""
    yield f"session {session.id}, version {session.version}"
    yield from _table("last said", {"customer": session.last_user_at, "assistant": session.last_assistant_at})
    yield from _table("fields", {name: _value(value) for name, value in session.data.items()})
    yield f"runs: {len(session.runs) or 'none'}"
    for run in session.runs:
        yield from _run(run)
    yield from _table("claims", {key: claim.at for key, claim in session.claims.items()})
    yield f"messages seen: {', '.join(session.inputs[-5:]) or 'none'}{_rest(len(session.inputs) - 5)}"
    yield from _table("metadata", {name: _value(value) for name, value in session.metadata.items()})
    if session.history is not None:
        yield f"history: {len(session.history)} entries"


def _rest(count: int) -> str:
    return f" and {count} before" if count > 0 else ""


def _table(title: str, members: Mapping[str, str | None]) -> Iterator[str]:
    yield f"{title}:" if members else f"{title}: none"
    width = max(map(len, members), default=0)
    for name, value in members.items():
        yield f"  {name:<{width}}  {'-' if value is None else value}"


def _value(value: Any) -> str:
    text = json_text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def _run(run: Run) -> Iterator[str]:
    yield f"  {run.id}: flow {run.flow_id}, step {run.step_id or '(not begun)'}, {run.status}"
    yield f"    started {run.started_at} by {run.trigger.kind} {run.trigger.key}, anchored at {run.anchor}"
    if run.waiting:
        what = f"the event {run.waiting.event}" if run.waiting.kind == "event" else "a timer"
        yield f"    waits for {what} until {run.waiting.until or '-'} under the key {run.waiting.key or '-'}"
    if run.asked:
        yield f"    asked: {', '.join(f'{name} {count}x' for name, count in run.asked.items())}"
    if run.input is not None:
        yield f"    input: {_value(run.input)}"
    for line in run.outcomes[-3:]:
        yield f"    {line.at} {line.step_id or '-'} {line.kind} {line.status} {line.message or ''}".rstrip()
