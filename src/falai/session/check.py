"""Whether a parsed blob is a session (B-14, G-1 to G-12).

The checks run in a fixed order; the first that fails is reported with its path, what was found and
what was expected. First comes what both packages check, for the session and each run (B-14.1,
B-14.2), then, for each run, what lies one level down (G-6). What is inside `data`, `metadata`,
`history`, inputs and payloads is taken as it is, and keys that a session does not have are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args

from falai.errors import InvalidSessionError
from falai.session.jsontext import MISSING, copied, is_list, is_object, quoted, show
from falai.session.model import Claim, Run, RunStatus, Session, StepOutcome, TriggerKind, TriggerRef, Waiting

__all__ = ["assert_session", "is_whole"]

T = TypeVar("T", Waiting, StepOutcome)


def assert_session(blob: Any, session_id: str) -> Session:
    """The session that `blob`, a parsed JSON value, is; it shares nothing mutable with the blob.

    Raises `InvalidSessionError` at the first check that fails (B-14.1, G-4 to G-6).
    """
    try:
        _check(blob, _Reporter(session_id))
        return _session(blob)
    except RecursionError:
        raise InvalidSessionError(session_id, "the blob holds itself or is nested too deeply") from None


def is_whole(value: object) -> bool:
    """Whether this is a number of 0 or more without a fraction, and no boolean (G-3)."""
    if isinstance(value, float):
        return value.is_integer() and value >= 0
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class _Kind(NamedTuple):
    words: str
    holds: Callable[[Any], bool]


def _one_of(words: tuple[str, ...]) -> _Kind:
    def holds(value: Any) -> bool:
        return isinstance(value, str) and value in words

    return _Kind("one of " + ", ".join(words), holds)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_four(value: Any) -> bool:
    return is_whole(value) and value == 4


_OBJECT = _Kind("an object", is_object)
_LIST = _Kind("a list", is_list)
_TEXT = _Kind("text", _is_text)
_TEXT_OR_NULL = _Kind("text or null", _is_text_or_null)
_WHOLE = _Kind("a whole number of 0 or more", is_whole)
_FOUR = _Kind("4", _is_four)
_STATUS = _one_of(get_args(RunStatus))
_TRIGGER_KIND = _one_of(get_args(TriggerKind))
_WAITING_KIND = _one_of(("timer", "event"))


class _Reporter(NamedTuple):
    session_id: str

    def need(self, value: Any, path: str, kind: _Kind) -> None:
        if not kind.holds(value):
            self.refuse(value, path, kind.words)

    def member(self, holder: Mapping[str, Any], key: str, kind: _Kind, path: str = "") -> None:
        self.need(holder.get(key, MISSING), f"{path}{key}", kind)

    def if_there(self, holder: Mapping[str, Any], key: str, kind: _Kind, path: str = "") -> None:
        if key in holder:
            self.member(holder, key, kind, path)

    def refuse(self, value: Any, path: str, words: str) -> NoReturn:
        raise InvalidSessionError(self.session_id, f"{path} is {show(value)}, and {words} was expected")


def _check(blob: Any, report: _Reporter) -> None:
    report.need(blob, "the blob", _OBJECT)
    report.member(blob, "v", _FOUR)
    if blob.get("id") != report.session_id:
        report.refuse(blob.get("id", MISSING), "id", quoted(report.session_id))
    report.member(blob, "version", _WHOLE)
    report.member(blob, "data", _OBJECT)
    report.member(blob, "runs", _LIST)
    _check_claims(blob, report)
    _check_inputs(blob, report)
    report.member(blob, "metadata", _OBJECT)
    report.if_there(blob, "history", _LIST)
    report.if_there(blob, "lastUserAt", _TEXT)
    report.if_there(blob, "lastAssistantAt", _TEXT)
    for look in (_check_run, _check_below_run):
        for index, run in enumerate(blob["runs"]):
            look(run, f"runs[{index}]", report)


def _check_claims(blob: Mapping[str, Any], report: _Reporter) -> None:
    report.member(blob, "claims", _OBJECT)
    for key, claim in blob["claims"].items():
        path = f"claims[{quoted(key)}]"
        report.need(claim, path, _OBJECT)
        report.member(claim, "at", _TEXT, f"{path}.")


def _check_inputs(blob: Mapping[str, Any], report: _Reporter) -> None:
    report.member(blob, "inputs", _LIST)
    for index, id in enumerate(blob["inputs"]):
        report.need(id, f"inputs[{index}]", _TEXT)


def _check_run(run: Any, path: str, report: _Reporter) -> None:
    report.need(run, path, _OBJECT)
    path = f"{path}."
    report.member(run, "status", _STATUS, path)
    report.member(run, "stepId", _TEXT_OR_NULL, path)
    report.member(run, "hop", _WHOLE, path)
    report.member(run, "outcomes", _LIST, path)
    report.member(run, "trigger", _OBJECT, path)
    report.member(run["trigger"], "kind", _TEXT, f"{path}trigger.")
    report.member(run["trigger"], "key", _TEXT, f"{path}trigger.")
    report.if_there(run, "waiting", _OBJECT, path)
    for key in ("id", "flowId", "anchor", "dedupeKey", "startedAt"):
        report.member(run, key, _TEXT, path)
    report.member(run, "asked", _OBJECT, path)
    report.member(run, "visits", _OBJECT, path)


def _check_below_run(run: Mapping[str, Any], path: str, report: _Reporter) -> None:
    report.member(run["trigger"], "kind", _TRIGGER_KIND, f"{path}.trigger.")
    if "waiting" in run:
        _check_waiting(run["waiting"], f"{path}.waiting.", report)
    for counts in ("asked", "visits"):
        for name, count in run[counts].items():
            report.need(count, f"{path}.{counts}[{quoted(name)}]", _WHOLE)
    for index, line in enumerate(run["outcomes"]):
        where = f"{path}.outcomes[{index}]"
        report.need(line, where, _OBJECT)
        for key in ("kind", "status", "at"):
            report.member(line, key, _TEXT, f"{where}.")


def _check_waiting(waiting: Mapping[str, Any], path: str, report: _Reporter) -> None:
    report.member(waiting, "kind", _WAITING_KIND, path)
    report.member(waiting, "setAt", _TEXT, path)
    for key in ("key", "until", "event"):
        report.if_there(waiting, key, _TEXT, path)


def _session(blob: Mapping[str, Any]) -> Session:
    return Session(
        id=blob["id"],
        v=4,
        version=int(blob["version"]),
        data=copied(blob["data"]),
        runs=[_run(run) for run in blob["runs"]],
        claims={key: Claim(at=claim["at"]) for key, claim in blob["claims"].items()},
        inputs=list(blob["inputs"]),
        metadata=copied(blob["metadata"]),
        last_user_at=blob.get("lastUserAt"),
        last_assistant_at=blob.get("lastAssistantAt"),
        history=copied(blob.get("history")),
    )


def _run(blob: Mapping[str, Any]) -> Run:
    trigger = blob["trigger"]
    return Run(
        id=blob["id"],
        flow_id=blob["flowId"],
        anchor=blob["anchor"],
        dedupe_key=blob["dedupeKey"],
        step_id=blob["stepId"],
        status=blob["status"],
        trigger=TriggerRef(kind=trigger["kind"], key=trigger["key"], payload=copied(trigger.get("payload"))),
        input=copied(blob.get("input")),
        hop=int(blob["hop"]),
        started_at=blob["startedAt"],
        suspended_at=blob.get("suspendedAt") if isinstance(blob.get("suspendedAt"), str) else None,
        staying=True if blob.get("staying") is True else None,
        waiting=_members(Waiting, blob["waiting"]) if "waiting" in blob else None,
        asked={name: int(count) for name, count in blob["asked"].items()},
        visits={name: int(count) for name, count in blob["visits"].items()},
        outcomes=[_members(StepOutcome, line) for line in blob["outcomes"]],
    )


def _members(kind: type[T], blob: Mapping[str, Any]) -> T:
    """A struct of the members that it knows; what the checks leave open is taken as it is."""
    named = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return kind(**{name: copied(blob[key]) for name, key in named if key in blob})
