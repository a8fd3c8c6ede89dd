"""Moving 3.x session states to v4, once, where the host deserializes (G-13 to G-36).

A v4 blob passes through `assert_session`. A 3.x blob is first checked as a whole, in a fixed order,
and then read: completed flows, fired signals and the current flow become claims, the current flow
also becomes the one run. Nothing is ever guessed: what cannot be read is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from functools import partial
from math import floor, isfinite
from typing import Any, NamedTuple, NoReturn

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.dates import iso, read_date, system_now, to_ms
from falai.session.jsontext import MISSING, copied, is_list, is_object, parse_json, quoted, show
from falai.session.keys import dedupe_key, is_blank_id, run_id
from falai.session.model import Claim, Run, Session, TriggerRef

__all__ = ["migrate_session", "read_legacy_date"]

_IN_COLLECTED = ("data", "flowHistory", "history", "metadata", "signals")


def migrate_session(
    blob: Any,
    session_id: str,
    *,
    flow_id_of: Callable[[str], str] | None = None,
    now: datetime | None = None,
) -> Session:
    """The v4 session of a stored one, with version 0 when it comes from 3.x (G-13 to G-36).

    `flow_id_of` turns the id of a 3.x flow or signal into that of the flow that took over (the same
    id without it); `now` dates what carries no date (the system's now without it). The blob is
    parsed JSON or the values of a row; it is not changed.

    Raises `InvalidSessionError` when it is neither a v4 nor a 3.x session, and `TypeError` when
    `flow_id_of` gives no id.
    """
    if is_object(blob) and "v" in blob:
        return assert_session(blob, session_id)
    try:
        legacy = _checked(blob, session_id)
        same = partial(_same, session_id)
        return _session(legacy, session_id, flow_id_of or same, iso(to_ms(now or system_now())))
    except RecursionError:
        raise InvalidSessionError(session_id, "the blob holds itself or is nested too deeply") from None


def read_legacy_date(value: object) -> int | None:
    """An instant in epoch milliseconds, `None` when the value is no date (G-28).

    A datetime, a date (midnight), a number of milliseconds, or text by B-2.7; UTC without a zone.
    """
    try:
        ms = _instant(value)
        return ms if ms is None or iso(ms) else None
    except (OverflowError, TypeError, ValueError):
        return None


def _instant(value: object) -> int | None:
    if isinstance(value, datetime):
        return to_ms(value)
    if isinstance(value, date):
        return to_ms(datetime.combine(value, time()))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return floor(value) if isfinite(value) else None
    return read_date(value)


# --- checks -------------------------------------------------------------------------------------


class _Reference(NamedTuple):
    id: str
    entered_at: Any


class _Legacy(NamedTuple):
    data: Mapping[str, Any]
    metadata: Mapping[str, Any]
    history: list[Any] | None
    flows: list[Mapping[str, Any]]
    signals: Mapping[str, Mapping[str, Any]]
    flow: _Reference | None
    step: _Reference | None


class _Reporter(NamedTuple):
    session_id: str

    def refuse(self, value: Any, path: str, expected: str) -> NoReturn:
        raise InvalidSessionError(self.session_id, f"{path} is {show(value)}, and {expected} was expected")

    def mapping(self, value: Any, path: str, expected: str = "an object") -> Mapping[str, Any]:
        return value if is_object(value) else self.refuse(value, path, expected)

    def optional_mapping(self, value: Any, path: str) -> Mapping[str, Any]:
        return {} if value is None else self.mapping(value, path)

    def optional_list(self, value: Any, path: str) -> list[Any] | None:
        if value is None or is_list(value):
            return None if value is None else list(value)
        return self.refuse(value, path, "a list")


def _checked(blob: Any, session_id: str) -> _Legacy:
    """The parts of a 3.x state, checked in the order of G-18."""
    report = _Reporter(session_id)
    state = _with_collected(report.mapping(blob, "the blob"), report)
    data = state.get("data", MISSING)
    if not is_object(data):
        report.refuse(
            data, "data", "an object (it has no v, so it is no v4 session; without data no 3.x session either)"
        )
    metadata = report.optional_mapping(state.get("metadata"), "metadata")
    history = report.optional_list(state.get("history"), "history")
    flows = report.optional_list(state.get("flowHistory"), "flowHistory") or []
    signals = report.optional_mapping(state.get("signals"), "signals")
    triggers = report.optional_mapping(signals.get("triggers"), "signals.triggers")
    for index, entry in enumerate(flows):
        _check_visit(entry, f"flowHistory[{index}]", report)
    for id, state_of_signal in triggers.items():
        report.mapping(state_of_signal, f"signals.triggers.{id}")
    flow = _reference(state.get("currentFlow"), "currentFlow", report)
    step = _reference(state.get("currentStep"), "currentStep", report)
    return _Legacy(data, metadata, history, flows, triggers, flow, step)


def _with_collected(blob: Mapping[str, Any], report: _Reporter) -> Mapping[str, Any]:
    """A row of a 3.x adapter as a state: what the row lacks is taken from `collectedData` (G-31)."""
    if "data" in blob or "collectedData" not in blob:
        return blob
    collected = blob["collectedData"]
    if isinstance(collected, str):
        try:
            collected = parse_json(collected)
        except ValueError:
            report.refuse(collected, "collectedData", "an object or its JSON text")
    inside = report.mapping(collected, "collectedData", "an object or its JSON text")
    report.mapping(inside.get("data", MISSING), "collectedData.data")
    return {**blob, **{key: inside.get(key) for key in _IN_COLLECTED if blob.get(key) is None}}


def _check_visit(entry: Any, path: str, report: _Reporter) -> None:
    id = report.mapping(entry, path).get("flowId", MISSING)
    if is_blank_id(id):
        report.refuse(id, f"{path}.flowId", "the id of a flow")


def _reference(value: Any, path: str, report: _Reporter) -> _Reference | None:
    """A current flow or step: its id, or an object with its id; a blank id is none (G-19)."""
    id, entered_at = (value.get("id"), value.get("enteredAt")) if is_object(value) else (value, None)
    if value is None or (isinstance(id, str) and is_blank_id(id)):
        return None
    if not isinstance(id, str):
        report.refuse(value, path, "an id, or an object with a text id,")
    return _Reference(id, entered_at)


# --- what comes out -----------------------------------------------------------------------------


def _session(legacy: _Legacy, session_id: str, flow_id_of: Callable[[str], str], now: str) -> Session:
    claims = dict(_claims(legacy, session_id, flow_id_of, now))
    runs: list[Run] = []
    if legacy.flow:
        run = _run(legacy.flow, legacy.step, session_id, _new_id(legacy.flow.id, flow_id_of), now)
        claims[run.dedupe_key] = Claim(at=run.started_at)
        runs.append(run)
    return Session(
        id=session_id,
        v=4,
        version=0,
        data=copied(legacy.data),
        runs=runs,
        claims=claims,
        inputs=[],
        metadata=copied(legacy.metadata, _metadata_leaf),
        history=copied(legacy.history),
    )


def _claims(
    legacy: _Legacy,
    session_id: str,
    flow_id_of: Callable[[str], str],
    now: str,
) -> Iterator[tuple[str, Claim]]:
    """The claims of completed flows, then of signals that fired (G-22)."""
    for entry in legacy.flows:
        if entry.get("completed") is True:
            key = dedupe_key(_new_id(entry["flowId"], flow_id_of), session_id, "")
            yield key, Claim(at=_date_text(now, entry.get("exitedAt"), entry.get("enteredAt")))
    for id, fired in legacy.signals.items():
        key = dedupe_key(_new_id(id, flow_id_of), session_id, "")
        yield key, Claim(at=_date_text(now, fired.get("lastTriggeredAt"), fired.get("firstTriggeredAt")))


def _run(flow: _Reference, step: _Reference | None, session_id: str, flow_id: str, now: str) -> Run:
    """The run of the current flow (G-23)."""
    return Run(
        id=run_id(flow_id, "legacy"),
        flow_id=flow_id,
        anchor=session_id,
        dedupe_key=dedupe_key(flow_id, session_id, ""),
        step_id=step.id if step else None,
        status="asking" if step else "running",
        trigger=TriggerRef(kind="message", key="legacy"),
        hop=0,
        started_at=_date_text(now, flow.entered_at),
        asked={},
        visits={},
        outcomes=[],
    )


def _same(session_id: str, id: str) -> str:
    """Nobody was asked for another id, so a blank one is the blob's fault."""
    if is_blank_id(id):
        raise InvalidSessionError(session_id, f"a flow or a signal has the id {show(id)}, which is blank")
    return id


def _new_id(id: str, flow_id_of: Callable[[str], str]) -> str:
    new = flow_id_of(id)
    if is_blank_id(new):
        raise TypeError(f"flow_id_of({quoted(id)}) gave {show(new)}; it must give the id of a flow")
    return new


def _date_text(now: str, *choices: object) -> str:
    """The first of these that is a date, else `now`."""
    instants = (read_legacy_date(choice) for choice in choices)
    return next((iso(ms) for ms in instants if ms is not None), now)


def _metadata_leaf(value: Any) -> Any:
    """Date values become text, one that is no instant becomes null (G-24)."""
    if not isinstance(value, datetime):
        return value.isoformat() if isinstance(value, date) else value
    ms = read_legacy_date(value)
    return None if ms is None else iso(ms)
