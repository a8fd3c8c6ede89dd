"""A case, played turn by turn.

Each turn's model calls must be exactly those of its script, in order: one that is not foreseen is a
difference, and so is an entry that nobody took. The session that a turn is given must stay as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from falai.errors import ProviderError
from falai.model.port import ToolCall
from falai.session.check import assert_session
from falai.session.dates import read_date
from falai.session.model import Session
from falai.testing.scenario.compare import (
    error_mismatches,
    request_mismatches,
    result_mismatches,
    same_mismatches,
    script_mismatches,
    wakes,
)
from falai.testing.scenario.match import Mismatch, is_object, mismatches
from falai.testing.scenario.shape import SCHEDULED
from falai.testing.scenario.stage import Stage
from falai.testing.scripted import Scripted, whole_reply
from falai.turn.result import TurnResult

__all__ = ["play"]


async def play(case: Mapping[str, Any]) -> list[tuple[int | None, Mismatch]]:
    """Plays a case; gives what differed, with the turn, or `None` for the agent itself."""
    refusal = case.get("buildError")
    try:
        stage = Stage.build(case["agent"])
    except Exception as error:  # noqa: BLE001  # whatever refuses the agent may be what the case expects
        return [(None, mismatch) for mismatch in error_mismatches(refusal, error, "an agent")]
    if refusal is not None:
        return [(None, Mismatch("buildError", f"building the agent raises {refusal['type']}", "it was built"))]
    run = _Run(stage)
    return [(nth, mismatch) for nth, turn in enumerate(case["turns"]) for mismatch in await run.turn(turn)]


@dataclass
class _Played:
    """One turn that was played. `session` is what it was given."""

    session: Session | None = None
    result: TurnResult | None = None
    error: Exception | None = None


class _Run:
    """The turns of one case so far."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._played: list[_Played] = []
        self._context: Any = None

    async def turn(self, turn: Mapping[str, Any]) -> list[Mismatch]:
        """Plays one turn; gives what differed."""
        stage = self._stage
        stage.clear()
        if "advance" in turn:
            stage.clock.advance(turn["advance"])
        for entry in turn.get("model", []):
            stage.model.feed(entry["call"], _scripted(entry))
        self._context = turn.get("context", self._context)
        played = _Played()
        try:
            played.session = self._session(turn)
        except Exception as error:  # noqa: BLE001  # a row that is no session may be what the case is about
            played.error = error
        before = None if played.session is None else played.session.to_json()
        if played.error is None:
            await self._drive(turn, played)
        found = self._differences(turn, played)
        self._played.append(played)
        if played.session is not None and played.session.to_json() != before:
            found.append(Mismatch("session", "the session that was given is left as it was", "it was changed"))
        return found

    async def _drive(self, turn: Mapping[str, Any], played: _Played) -> None:
        given = {key: turn[key] for key in ("history", "silenced", "anchors", "claims") if key in turn}
        try:
            played.result = await self._stage.agent.turn(
                turn.get("sessionId", "s1"),
                self._input(turn["input"]),
                session=played.session,
                context=self._context,
                **given,
            )
        except Exception as error:  # noqa: BLE001  # any of them may be what the case expects
            played.error = error

    def _session(self, turn: Mapping[str, Any]) -> Session | None:
        source = turn.get("session", "previous")
        if is_object(source):
            return self._named_session(source, turn)
        if source == "none" or not self._played:
            return None
        last = self._played[-1]
        return last.session if last.result is None else last.result.session

    def _named_session(self, source: Mapping[str, Any], turn: Mapping[str, Any]) -> Session | None:
        if "turn" in source:
            return self._result(source["turn"]).session
        if "givenTo" in source:
            nth: int = source["givenTo"]
            return self._played[nth].session
        return assert_session(source, turn.get("sessionId", "s1"))

    def _result(self, nth: int) -> TurnResult:
        result = self._played[nth].result
        if result is None:
            raise LookupError(f"turn {nth} raised, so it returned nothing")
        return result

    def _input(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        wake = given.get("wake")
        found = SCHEDULED.fullmatch(wake) if isinstance(wake, str) else None
        if found is None:
            return given
        nth, entry = int(found[1]), int(found[2])
        schedule = self._result(nth).schedule
        if entry >= len(schedule):
            raise LookupError(f"turn {nth} scheduled {len(schedule)} wakes, so there is no entry {entry}")
        return {**given, "wake": schedule[entry].key}

    def _differences(self, turn: Mapping[str, Any], played: _Played) -> list[Mismatch]:
        expect, stage = turn.get("expect", {}), self._stage
        found = list(script_mismatches(turn.get("model", []), stage.model.calls))
        if played.error is not None:
            found += error_mismatches(expect.get("error"), played.error, "a turn")
        if played.result is not None:
            found += result_mismatches(expect, played.result)
            found += self._asked_afterwards(turn, expect, played.result)
        if "requests" in expect:
            found += request_mismatches(expect["requests"], stage.model.calls)
        for key, seen in (("actionCalls", stage.action_calls), ("toolCalls", stage.tool_calls)):
            if key in expect:
                found += mismatches(expect[key], seen, key)
        return found

    def _asked_afterwards(
        self, turn: Mapping[str, Any], expect: Mapping[str, Any], result: TurnResult
    ) -> list[Mismatch]:
        found: list[Mismatch] = []
        if "sameAs" in expect:
            nth: int = expect["sameAs"]
            found += same_mismatches(nth, self._played[nth].result, result)
        if "pendingWakes" in expect:
            given = {key: turn[key] for key in ("silenced", "anchors", "claims") if key in turn}
            pending = self._stage.agent.pending_wakes(result.session, context=self._context, **given)
            found += mismatches(expect["pendingWakes"], wakes(pending), "pendingWakes")
        return found


def _scripted(entry: Mapping[str, Any]) -> Scripted:
    if "error" in entry:
        return _provider_error(entry["error"])
    said: Scripted = entry["reply"] if "reply" in entry else entry.get("text", "")
    if "tools" not in entry:
        return said
    calls = tuple(ToolCall(call["name"], call.get("arguments")) for call in entry["tools"])
    return replace(whole_reply(said), tool_calls=calls)


def _provider_error(given: Mapping[str, Any]) -> ProviderError:
    wait = given.get("retryAfter")
    return ProviderError(
        f"the script says: {given['kind']}",
        provider="mock",
        kind=given["kind"],
        retry_after_ms=None if wait is None else round(wait * 1000),
        reset_at_ms=read_date(given.get("resetAt")),
        should_retry=given.get("shouldRetry"),
    )
