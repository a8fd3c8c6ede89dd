"""What happened in a branch, as JSON for the page: one entry for each turn, and for whatever else was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from falai.flow.definition import Collect
from falai.flow.plan import AgentPlan
from falai.session.keys import parse_silence_key
from falai.session.model import StepOutcome
from falai.turn.result import ModelCall, OutMessage, TurnResult
from falai.turn.words import outcome_words
from falai.web.playground.turns import SESSION, Happened

__all__ = ["told"]


def told(one: Happened) -> dict[str, Any]:
    """The entry of one turn."""
    entry: dict[str, Any] = {"n": one.n, "at": one.at, "input": _input(one), "silenced": one.gate.reason}
    entry |= _nothing(one) if one.result is None else _turn(one.result, one.agent.plan)
    if one.kind == "person":
        entry["messages"] = [_by_person(one)]
    if one.problem is not None:
        entry["problem"] = {"message": one.problem}
    return entry


def _input(one: Happened) -> dict[str, Any]:
    given = one.input
    names = ("text", "id", "name", "key", "payload", "flow", "input", "by", "closed", "reason", "ms", "to")
    said = {name: given[name] for name in names if name in given}
    return {"kind": one.kind, **said, **(_woken(one) if one.kind == "wake" else {})}


def _woken(one: Happened) -> dict[str, Any]:
    """Whose timer it was: a silence's key names its flow, any other begins with its run (B-9.1)."""
    key, result = one.input["key"], one.result
    if key.startswith("silence:"):
        return {"flow": parse_silence_key(key, SESSION)[0]}
    runs = () if result is None else (*result.session.runs, *(end.run for end in result.ended))
    flow = next((run.flow_id for run in runs if key.startswith(f"{run.id}:")), None)
    return {} if flow is None else {"flow": flow}


def _nothing(one: Happened) -> dict[str, Any]:
    """What came of what was no turn: of one that failed, the model was called all the same."""
    lists = ("messages", "outcomes", "changes", "started", "ended", "skipped", "steps")
    return {**{name: [] for name in lists}, "calls": [_call(answer.call) for answer in one.recorded.answers]}


def _by_person(one: Happened) -> dict[str, Any]:
    given = one.input
    return {
        "id": f"person-{one.n}",
        "text": given["text"],
        "kind": "person",
        "by": given.get("by"),
        "afterMs": 0,
        "flow": None,
        "step": None,
    }


def _turn(result: TurnResult, plan: AgentPlan) -> dict[str, Any]:
    flows = {run.id: run.flow_id for run in (*result.session.runs, *(end.run for end in result.ended))}
    return {
        "messages": [_message(message, flows, plan) for message in result.messages],
        "outcomes": [_outcome(line) for line in result.outcomes],
        "changes": [{"field": c.field, "old": c.old, "new": c.new, "source": c.source} for c in result.changes],
        "started": [{"flow": run.flow_id} for run in result.started],
        "ended": [{"flow": end.run.flow_id, "why": end.reason} for end in result.ended],
        "skipped": [{"flow": start.flow_id, "code": start.code, "words": start.message} for start in result.skipped],
        "calls": [_call(call) for call in result.calls],
        "steps": list(_steps(result)),
    }


def _message(message: OutMessage, flows: Mapping[str, str], plan: AgentPlan) -> dict[str, Any]:
    flow = flows.get(message.run_id or "")
    return {
        "id": message.key,
        "text": message.text,
        "kind": _kind(message, flow, plan),
        "afterMs": message.after_ms,
        "flow": flow,
        "step": message.step_id,
        "media": message.media,
    }


def _kind(message: OutMessage, flow: str | None, plan: AgentPlan) -> str:
    """Who worded it: the model, or the author, as a text or as a question."""
    if message.kind == "ai":
        return "ai"
    known = plan.flows.get(flow or "")
    step = None if known is None else known.step(message.step_id)
    return "question" if isinstance(step, Collect) else "say"


def _outcome(line: StepOutcome) -> dict[str, Any]:
    return {
        "flow": line.flow_id,
        "step": line.step_id,
        "kind": line.kind,
        "status": line.status,
        "code": line.code,
        "words": outcome_words(msgspec.structs.replace(line, detail=None, until=None, next=None), str),
        "detail": line.detail,
        "until": line.until,
        "next": line.next,
    }


def _call(call: ModelCall) -> dict[str, Any]:
    usage = call.usage
    return {
        "name": call.name,
        "model": call.model,
        "prompt": call.prompt,
        "reply": call.reply,
        "promptTokens": None if usage is None else usage.prompt_tokens,
        "completionTokens": None if usage is None else usage.completion_tokens,
        "cachedTokens": None if usage is None else usage.cached_input_tokens,
        "ms": round(call.duration_ms, 1),
        "cost": call.cost,
        "error": call.error,
    }


def _steps(result: TurnResult) -> Iterator[dict[str, Any]]:
    """Where the turn came by, each place once."""
    lines = [(line.flow_id, line.step_id) for line in result.outcomes if line.step_id is not None]
    standing = [(run.flow_id, run.step_id) for run in result.session.runs if run.step_id is not None]
    asked = [place for place in standing if any(message.step_id == place[1] for message in result.messages)]
    yield from ({"flow": flow, "step": step} for flow, step in dict.fromkeys((*lines, *asked)))
