"""The shape of a scenario file: which keys there are and what may stand under them.

What the agent or a turn is given is not judged here but for what the runner itself needs: a case
may hold an agent or an input that is to be refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, get_args

from falai.errors import ProviderErrorKind
from falai.session.jsontext import quoted, show
from falai.testing.scenario.grammar import (
    Check,
    Tell,
    anything,
    boolean,
    count,
    date,
    duration,
    expectation,
    listed,
    mapped,
    number,
    object_of,
    one_of,
    shaped,
    text,
)
from falai.testing.scenario.match import is_list, is_object
from falai.testing.scenario.report import FileProblem

__all__ = ["SCHEDULED", "file_problems"]

SCHEDULED = re.compile(r"\$schedule:(\d+):(\d+)")
"""`$schedule:K:N`: the key of entry N of turn K's schedule."""

_SOURCES = ("previous", "none")
_INPUT_KINDS = ("message", "wake", "event", "start")
_INPUT_KEYS = {"message": {"id", "at"}, "wake": set[str](), "event": {"payload", "key", "hop"}, "start": set[str]()}


def file_problems(file: str, content: Any) -> Iterator[FileProblem]:
    """Everything that is wrong in the content of one file."""
    if not is_object(content) or not is_list(content.get("cases")):
        yield FileProblem(file, None, None, "cases", 'an object {"cases": [case, …]} is expected')
        return
    for key in content:
        if key != "cases":
            yield FileProblem(file, None, None, key, "no such key; there is cases")
    for index, case in enumerate(content["cases"]):
        yield from _case_problems(file, index, case)


def _case_problems(file: str, index: int, case: Any) -> list[FileProblem]:
    found: list[FileProblem] = []
    name = case.get("name") if is_object(case) else None
    label = name if isinstance(name, str) else f"#{index}"

    def tell(turn: int | None, path: str, what: str) -> None:
        found.append(FileProblem(file, label, turn, path, what))

    _CASE(case, "", partial(tell, None))
    if is_object(case) and is_list(turns := case.get("turns")):
        for nth, turn in enumerate(turns):
            _check_turn(turn, nth, partial(tell, nth))
        if turns and "buildError" in case:
            tell(None, "turns", "a case with buildError has no turns: []")
    return found


def _check_turn(turn: Any, nth: int, tell: Tell) -> None:
    _TURN(turn, "", tell)
    if not is_object(turn):
        return
    expect = turn.get("expect")
    refused = is_object(expect) and "error" in expect
    if is_object(given := turn.get("input")):
        if not refused:
            _check_input(given, tell)
        _check_scheduled(given.get("wake"), nth, tell)
    if is_object(session := turn.get("session")):
        for key in ("turn", "givenTo"):
            if key in session:
                _check_earlier(session[key], f"session.{key}", nth, tell)
    if is_object(expect) and "sameAs" in expect:
        _check_earlier(expect["sameAs"], "expect.sameAs", nth, tell)


def _check_input(given: Mapping[str, Any], tell: Tell) -> None:
    """The keys of an input that is to be accepted; what stands under them is the turn's matter."""
    kinds = [kind for kind in _INPUT_KINDS if given.get(kind) is not None]
    if len(kinds) != 1:
        tell("input", f"exactly one of {', '.join(_INPUT_KINDS)} is expected, {' and '.join(kinds) or 'none'} is given")
        return
    known = {*_INPUT_KINDS, *_INPUT_KEYS[kinds[0]]}
    for key in given:
        if key not in known:
            tell(f"input.{key}", f"no such key beside {kinds[0]}")
    if kinds[0] == "start":
        shaped({}, dict.fromkeys(("flow", "input", "key", "hop"), anything))(given["start"], "input.start", tell)


def _check_scheduled(wake: Any, nth: int, tell: Tell) -> None:
    if isinstance(wake, str) and wake.startswith("$schedule:"):
        found = SCHEDULED.fullmatch(wake)
        if found is None:
            tell("input.wake", f"{quoted(wake)} is given, $schedule:TURN:ENTRY is expected")
        else:
            _check_earlier(int(found[1]), "input.wake", nth, tell)


def _check_earlier(turn: Any, path: str, nth: int, tell: Tell) -> None:
    if isinstance(turn, bool) or not isinstance(turn, int) or not 0 <= turn < nth:
        tell(path, f"{show(turn)} is no earlier turn; turns count from 0, and this is turn {nth}")


def _session(value: Any, path: str, tell: Tell) -> None:
    if is_object(value):
        if value.keys() & {"turn", "givenTo"} and len(value) > 1:
            tell(path, "turn or givenTo stands alone; a whole session has neither")
    elif value not in _SOURCES:
        tell(path, f"{show(value)} is given, previous, none, {{turn}}, {{givenTo}} or a whole session is expected")


def _reply(value: Any, path: str, tell: Tell) -> None:
    _REPLY(value, path, tell)
    if is_object(value):
        ways = [key for key in ("reply", "text", "error") if key in value]
        if len(ways) > 1 or (not ways and "tools" not in value) or {"error", "tools"} <= value.keys():
            tell(path, "exactly one of reply, text and error is expected, or tools, alone or beside reply or text")


def _condition(value: Any, path: str, tell: Tell) -> None:
    _CONDITION(value, path, tell)
    if is_object(value) and ("path" in value) == ("results" in value):
        tell(path, "exactly one of path and results is expected")


def _requests(value: Any, path: str, tell: Tell) -> None:
    (listed(_REQUEST) if is_list(value) else expectation)(value, path, tell)


_CALL = one_of("understand", "speak", "summary")

_ACTION = shaped({"results": listed(anything, some=True)}, {"parameters": anything, "moves": anything})
_CONDITION = shaped({}, {"path": text, "results": listed(boolean, some=True)})
_TOOL = shaped(
    {"results": listed(anything, some=True)},
    {**dict.fromkeys(("description", "parameters", "moves"), anything), "readOnly": boolean, "destructive": boolean},
)
_HOURS = shaped({"open": text, "close": text}, {"weekdays": listed(number), "tz": text})

_AGENT = shaped(
    {"name": anything},
    {
        **dict.fromkeys(("persona", "goal", "knowledgeBase", "flows", "idle", "events", "instructions"), anything),
        "clock": date,
        "timezone": anything,
        "fields": mapped(object_of),
        "actions": mapped(_ACTION),
        "conditions": mapped(_condition),
        "tools": mapped(_TOOL),
        "businessHours": _HOURS,
        "options": mapped(anything),
    },
)

_REPLY = shaped(
    {"call": _CALL},
    {
        "reply": object_of,
        "text": text,
        "tools": listed(shaped({"name": text}, {"arguments": anything})),
        "error": shaped(
            {"kind": one_of(*get_args(ProviderErrorKind))},
            {"retryAfter": number, "resetAt": date, "shouldRetry": boolean},
        ),
    },
)

_REQUEST = shaped(
    {"call": _CALL},
    {
        "promptIncludes": listed(text),
        "promptExcludes": listed(text),
        "schema": expectation,
        "tools": expectation,
        "historyLength": count,
        "history": expectation,
    },
)

_COMPARED = (
    "changed", "llmCalls", "messages", "schedule", "outcomes", "started", "ended", "skipped", "session", "actionCalls",
    "toolCalls", "pendingWakes", "changes",
)  # fmt: skip

_EXPECT = shaped(
    {},
    {
        **dict.fromkeys(_COMPARED, expectation),
        "error": shaped({"type": text}, {"message": expectation}),
        "sameAs": anything,
        "requests": _requests,
    },
)

_TURN: Check = shaped(
    {"input": object_of},
    {
        **dict.fromkeys(("sessionId", "context", "history", "silenced", "anchors", "claims"), anything),
        "advance": duration,
        "session": _session,
        "model": listed(_reply),
        "expect": _EXPECT,
    },
)

_CASE: Check = shaped(
    {"name": text, "agent": _AGENT, "turns": listed(anything)},
    {"about": text, "buildError": shaped({"type": text}, {"code": text, "message": expectation})},
)
