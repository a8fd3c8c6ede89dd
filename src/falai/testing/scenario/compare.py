"""What a turn did, held against what its case says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from falai.errors import words_of
from falai.session.dates import iso, to_ms
from falai.session.jsontext import json_equal, json_text
from falai.testing.scenario.match import Mismatch, is_list, mismatches, shown
from falai.testing.scripted import Call
from falai.turn.result import ScheduledWake, TurnResult

__all__ = [
    "error_mismatches",
    "request_mismatches",
    "result_mismatches",
    "same_mismatches",
    "script_mismatches",
    "wakes",
]

_RESULT = ("changed", "llmCalls", "messages", "schedule", "outcomes", "started", "ended", "skipped", "session")


def result_mismatches(expect: Mapping[str, Any], result: TurnResult) -> Iterator[Mismatch]:
    """The keys of `expect` that speak of the result itself."""
    if "error" in expect:
        yield Mismatch("error", f"the turn raises {expect['error']['type']}", "it returned")
    wire = result.to_wire() | {"changes": _changes(result)}
    for key in (*_RESULT, "changes"):
        if key in expect:
            yield from mismatches(expect[key], wire[key], key)


def same_mismatches(nth: int, other: TurnResult | None, result: TurnResult) -> Iterator[Mismatch]:
    """`sameAs`: the whole result equals that of an earlier turn."""
    if other is None:
        yield Mismatch("sameAs", f"the result of turn {nth}", "that turn raised, so it has none")
        return
    before, now = other.to_wire(), result.to_wire()
    for key in before | now:
        if not json_equal(before.get(key), now.get(key)):
            yield Mismatch(f"sameAs.{key}", shown(before.get(key)), shown(now.get(key)))


def error_mismatches(expected: Mapping[str, Any] | None, error: Exception, what: str) -> Iterator[Mismatch]:
    """What was raised against `{type, code?, message?}`; without it, nothing was to be raised by `what`."""
    name = type(error).__name__
    if expected is None:
        yield Mismatch("error", f"{what} without an error", f"{name}: {words_of(error)}")
        return
    if expected["type"] not in (cls.__name__ for cls in type(error).__mro__):
        yield Mismatch("error.type", expected["type"], f"{name}: {words_of(error)}")
    if "code" in expected:
        yield from mismatches(expected["code"], getattr(error, "code", None), "error.code")
    if "message" in expected:
        yield from mismatches(expected["message"], words_of(error), "error.message")


def script_mismatches(script: Sequence[Mapping[str, Any]], calls: Sequence[Call]) -> Iterator[Mismatch]:
    """The calls that were made against the script: exactly these, in this order."""
    for index, (entry, call) in enumerate(zip(script, calls, strict=False)):
        if entry["call"] != call.schema_name:
            yield Mismatch(f"model[{index}].call", entry["call"], f"a call of {call.schema_name}")
    for index, call in enumerate(calls[len(script) :], len(script)):
        yield Mismatch(
            "model", f"{len(script)} calls", f"call {index + 1}, of {call.schema_name}, which is not in the script"
        )
    for index, entry in enumerate(script[len(calls) :], len(calls)):
        yield Mismatch(f"model[{index}]", f"a call of {entry['call']} that takes this entry", "no such call")


def request_mismatches(expected: Any, calls: Sequence[Call]) -> Iterator[Mismatch]:
    """`requests`: what the provider saw."""
    found = [_request(call) for call in calls]
    if not is_list(expected) or len(expected) != len(found):
        yield from mismatches(expected, [{"call": request["call"]} for request in found], "requests")
        return
    for index, (one, request) in enumerate(zip(expected, found, strict=True)):
        yield from _request_mismatches(one, request, f"requests[{index}]")


def wakes(scheduled: Sequence[ScheduledWake]) -> list[dict[str, Any]]:
    """Wakes in the wire form of T-2.2."""
    entries = ({"key": wake.key, "at": iso(to_ms(wake.at)), "replaces": wake.replaces} for wake in scheduled)
    return [{key: value for key, value in entry.items() if value is not None} for entry in entries]


def _request(call: Call) -> dict[str, Any]:
    history = [dict(item) for item in call.request.history]
    return {
        "call": call.schema_name,
        "prompt": call.text,
        "schema": call.request.schema,
        "tools": [tool.id for tool in call.request.tools],
        "history": history,
        "historyLength": len(history),
    }


def _request_mismatches(expected: Mapping[str, Any], request: Mapping[str, Any], path: str) -> Iterator[Mismatch]:
    for text in expected.get("promptIncludes", []):
        if text not in request["prompt"]:
            yield Mismatch(f"{path}.promptIncludes", f"a prompt with {json_text(text)}", f"\n{request['prompt']}\n")
    for text in expected.get("promptExcludes", []):
        if text in request["prompt"]:
            yield Mismatch(f"{path}.promptExcludes", f"a prompt without {json_text(text)}", f"\n{request['prompt']}\n")
    for key, value in expected.items():
        if key not in {"promptIncludes", "promptExcludes"}:
            yield from mismatches(value, request[key], f"{path}.{key}")


def _changes(result: TurnResult) -> list[dict[str, Any]]:
    entries = (
        {"field": change.field, "old": change.old, "new": change.new, "source": change.source}
        for change in result.changes
    )
    return [{key: value for key, value in entry.items() if value is not None} for entry in entries]
