"""Values, sessions and blobs for the tests of this room: drawn by hypothesis, or one of each kind."""

from __future__ import annotations

import copy
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from falai.session.model import Claim, Run, Session, StepOutcome, TriggerRef, Waiting

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
NOW = "2026-09-20T10:00:00.000Z"


class Colour(Enum):
    RED = "red"


class Rank(IntEnum):
    FIRST = 1


texts = st.text(st.characters(), max_size=8)  # lone surrogates too
clean_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
whole = st.integers(0, 60) | st.integers(0, 10**30)
numbers = st.integers() | st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False)


def trees(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """JSON-like values of these leaves."""
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4))


json_values = trees(st.none() | st.booleans() | numbers | clean_texts, clean_texts)
zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes() | st.datetimes(timezones=zones)
host_values = trees(
    st.none()
    | st.booleans()
    | st.floats()
    | numbers
    | texts
    | moments
    | st.dates()
    | st.sampled_from([Colour.RED, Rank.FIRST, b"x", {1, 2}, object(), 1j, (1, "a"), {1: 2}, timedelta(1)]),
    texts,
)

outcomes = st.builds(
    StepOutcome,
    run_id=st.none() | clean_texts,
    flow_id=st.none() | clean_texts,
    step_id=st.none() | clean_texts,
    key=st.none() | clean_texts,
    kind=st.sampled_from(["prompt", "collect", "say", "do", "wait", "if", "idle"]),
    status=st.sampled_from(["ok", "skipped", "failed", "waiting", "deferred"]),
    code=st.none() | clean_texts,
    message=st.none() | clean_texts,
    detail=st.none() | clean_texts,
    next=st.none() | clean_texts,
    until=st.none() | clean_texts,
    at=clean_texts,
    llm_calls=st.none() | st.integers(0, 9),
)
waits = st.builds(
    Waiting,
    kind=st.sampled_from(["timer", "event"]),
    key=st.none() | clean_texts,
    until=st.none() | clean_texts,
    set_at=clean_texts,
    event=st.none() | clean_texts,
)
triggers = st.builds(
    TriggerRef,
    kind=st.sampled_from(["message", "mention", "silence", "event", "start", "flow"]),
    key=clean_texts,
    payload=json_values,
)
runs = st.builds(
    Run,
    id=clean_texts,
    flow_id=clean_texts,
    anchor=clean_texts,
    dedupe_key=clean_texts,
    step_id=st.none() | clean_texts,
    status=st.sampled_from(["running", "asking", "waiting", "suspended"]),
    trigger=triggers,
    input=json_values,
    hop=whole,
    started_at=clean_texts,
    suspended_at=st.none() | clean_texts,
    staying=st.sampled_from([None, True]),
    waiting=st.none() | waits,
    asked=st.dictionaries(clean_texts, whole, max_size=3),
    visits=st.dictionaries(clean_texts, whole, max_size=3),
    outcomes=st.lists(outcomes, max_size=3),
)
sessions = st.builds(
    Session,
    id=clean_texts,
    v=st.just(4),
    version=whole,
    data=st.dictionaries(clean_texts, json_values, max_size=4),
    runs=st.lists(runs, max_size=3),
    claims=st.dictionaries(clean_texts, st.builds(Claim, at=clean_texts), max_size=3),
    inputs=st.lists(clean_texts, max_size=3),
    metadata=st.dictionaries(clean_texts, json_values, max_size=3),
    last_user_at=st.none() | clean_texts,
    last_assistant_at=st.none() | clean_texts,
    history=st.none() | st.lists(json_values, max_size=3),
)


def run(**changes: Any) -> Run:
    """A plain run of the flow `lead`, asking."""
    made = Run(
        id="lead#m1",
        flow_id="lead",
        anchor="s1",
        dedupe_key="lead:s1:",
        step_id="ask",
        status="asking",
        trigger=TriggerRef(kind="message", key="m1"),
        hop=0,
        started_at=NOW,
        asked={"name": 1},
        visits={"ask": 1},
        outcomes=[],
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def full_blob() -> dict[str, Any]:
    """A blob in which every optional key is set somewhere."""
    line = {"kind": "say", "status": "ok", "at": NOW, "code": "replied", "llmCalls": 1}
    waiting = {"kind": "event", "key": "k", "until": NOW, "setAt": NOW, "event": "paid"}
    common = {"flowId": "f", "anchor": "s1", "hop": 0, "startedAt": NOW, "asked": {"a": 1}, "visits": {"x": 2}}
    trigger = {"kind": "event", "key": "e", "payload": {"n": [1, None]}}
    return {
        "id": "s1",
        "v": 4,
        "version": 3,
        "data": {"name": "Inês", "tags": ["a", None]},
        "runs": [
            {**common, "id": "f#1", "dedupeKey": "f:s1:1", "stepId": None, "status": "waiting", "trigger": trigger,
             "input": {"n": [1, None]}, "waiting": waiting, "outcomes": [line]},
            {**common, "id": "f#2", "dedupeKey": "f:s1:2", "stepId": "x", "status": "suspended",
             "trigger": {"kind": "start", "key": "2"}, "suspendedAt": NOW, "staying": True, "outcomes": []},
        ],
        "claims": {"f:s1:1": {"at": NOW}},
        "inputs": ["m1"],
        "metadata": {"channel": {"kind": "web"}},
        "lastUserAt": NOW,
        "lastAssistantAt": NOW,
        "history": [{"role": "user", "content": "oi"}],
    }  # fmt: skip


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value, itself included."""
    here = [at]
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in members:
        here += paths(item, (*at, key))
    return here


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value at `path`; `...` deletes it."""
    if not path:
        return new
    fresh = copy.deepcopy(value)
    holder = fresh
    for key in path[:-1]:
        holder = holder[key]
    if new is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return fresh


broken_blobs = st.builds(
    replaced,
    st.just(full_blob()),
    st.sampled_from(paths(full_blob())[1:]),
    st.just(...) | st.sampled_from([None, True, 4.0, -1, 1.5, "", "x", [], {}]) | json_values,
)

A_DAY = date(2026, 9, 20)
A_MOMENT = datetime(2026, 9, 20, 10, 0, 0, 123456, tzinfo=UTC)
