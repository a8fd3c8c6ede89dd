"""A conversation as a scenario file: `falai test` plays it again without the model, the program and its world.

What came from outside is written into the file: the model's replies as its script, what actions and tools returned
as their results, and what conditions said as the turn's context. A deploy in the middle begins another case, with
the session as it was. What the format cannot say is refused, never left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from falai.host.ledger.port import Gate
from falai.session.codec import session_to_wire
from falai.session.dates import read_date
from falai.turn.result import TurnResult
from falai.web.playground.branch import Branch
from falai.web.playground.scenario_agent import agent_spec
from falai.web.playground.scenario_answers import answers
from falai.web.playground.scenario_conditions import verdicts
from falai.web.playground.scenario_expect import expected
from falai.web.playground.scenario_reasons import reasons_against
from falai.web.playground.turns import Happened
from falai.web.problems import Found, ProblemError

__all__ = ["scenario_of"]

_HISTORY = 50
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000))


def scenario_of(branch: Branch) -> dict[str, Any]:
    """The content of the file. Raises `ProblemError` with every reason why the format cannot hold the conversation."""
    turns = [one for one in branch.happened if one.result is not None]
    if reasons := [Found("turns", "no-scenario", why) for why in reasons_against(branch, turns)]:
        detail = "The format of scenario files cannot hold this conversation."
        raise ProblemError(422, "invalid", detail, errors=reasons)
    groups = [list(group) for _, group in groupby(turns, key=lambda one: id(one.agent))]
    return {"cases": [_case(branch, group, number) for number, group in enumerate(groups, 1)]}


def _case(branch: Branch, turns: Sequence[Happened], number: int) -> dict[str, Any]:
    first = turns[0]
    return {
        "name": f"playground/{branch.id}" + (f"-{number}" if number > 1 else ""),
        "about": f"A conversation of the playground, from {first.at}.",
        "agent": {**agent_spec(turns), "clock": first.at},
        "turns": list(_turns(branch, turns)),
    }


def _turns(branch: Branch, turns: Sequence[Happened]) -> Iterator[dict[str, Any]]:
    first = turns[0]
    before = branch.after(first.n - 1).session
    given = {} if before is None else {"session": session_to_wire(before)}
    yield {**given, **_turn(branch, first, turns)}
    for earlier, one in pairwise(turns):
        gap = _ms(one) - _ms(earlier)
        yield {**({"advance": _duration(gap)} if gap else {}), **_turn(branch, one, turns)}


def _turn(branch: Branch, one: Happened, turns: Sequence[Happened]) -> dict[str, Any]:
    assert one.result is not None
    plan = one.agent.plan
    given: dict[str, Any] = {"input": _input(one, turns)}
    if (context := verdicts(branch.context, one, turns)) or plan.conditions:
        given["context"] = context
    if (history := _history(branch, one)) and plan.compaction is not None:
        given["history"] = history
    if one.gate.reason is not None:
        given["silenced"] = _silenced(one.gate)
    if script := list(answers(one.recorded, plan)):
        given["model"] = script
    return {**given, "expect": expected(one.result)}


def _input(one: Happened, turns: Sequence[Happened]) -> dict[str, Any]:
    given = one.input
    match one.kind:
        case "message":
            named = {} if given.get("at") == one.at else {"at": given.get("at")}
            return {"message": given["text"], "id": given["id"], **named}
        case "event":
            more = {key: given[key] for key in ("payload", "hop") if key in given}
            return {"event": given["name"], "key": given["key"], **more}
        case "start":
            return {"start": dict(given)}
        case _:
            return {"wake": _scheduled(given["key"], one, turns)}


def _scheduled(key: str, one: Happened, turns: Sequence[Happened]) -> str:
    """Which turn of the case asked for this wake, and which of its own it is; else the key itself."""
    for number, earlier in reversed(list(enumerate(turns))):
        wakes = earlier.result.schedule if earlier.result and earlier.n < one.n else ()
        for entry, wake in enumerate(wakes):
            if wake.key == key:
                return f"$schedule:{number}:{entry}"
    return key


def _silenced(gate: Gate) -> Any:
    flags = {"understand": gate.understand, "skip": gate.skip}
    on = {name: True for name, is_on in flags.items() if is_on}
    return {"reason": gate.reason, **on} if on else gate.reason


def _history(branch: Branch, one: Happened) -> list[Mapping[str, Any]]:
    """What was said before the turn, as the host gives it."""
    said = [item for earlier in branch.happened[: one.n - 1] for item in _said(earlier)]
    return said[-_HISTORY:]


def _said(one: Happened) -> Iterator[Mapping[str, Any]]:
    if one.kind in ("message", "person") and one.input["text"]:
        yield {"role": "user" if one.kind == "message" else "assistant", "content": one.input["text"]}
    result: TurnResult | None = one.result
    for message in result.messages if result else ():
        yield {"role": "assistant", "content": message.text}


def _ms(one: Happened) -> int:
    at = read_date(one.at)
    assert at is not None
    return at


def _duration(ms: int) -> str:
    for unit, size in _UNITS:
        if ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms // 1000}s" if ms % 1000 == 0 else f"{ms // 1000}.{ms % 1000:03}s"
