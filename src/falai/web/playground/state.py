"""How a branch stands, as JSON for the page: the agent, the clock, the turns, fields, runs and waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from falai.flow.definition import Collect
from falai.flow.plan import FieldPlan, FlowPlan
from falai.flow.values import is_known
from falai.session.codec import session_to_wire
from falai.session.dates import iso
from falai.session.model import Run, Session
from falai.turn.words import STATUS_WORDS
from falai.web.playground.branch import Branch
from falai.web.playground.sandbox import Sandbox
from falai.web.playground.specs import is_editable
from falai.web.playground.telling import told
from falai.web.playground.turns import Happened
from falai.web.playground.waits import Wait, waits_of

__all__ = ["state_of"]


def state_of(sandbox: Sandbox, branch: Branch) -> dict[str, Any]:
    """Everything that the page shows of this branch."""
    standing = branch.standing
    session, waits = standing.session, waits_of(standing.look)
    return {
        "agent": _agent(sandbox),
        "clock": _clock(branch, waits),
        "branches": [_branch(sandbox, one) for one in sandbox.branches.values()],
        "branch": branch.id,
        "playing": branch.playing,
        "gate": {"closed": standing.gate.reason is not None, "reason": standing.gate.reason},
        "turns": [told(one) for one in branch.happened],
        "fields": _fields(sandbox, branch, session),
        "runs": [] if session is None else [_run(sandbox, session, run) for run in session.runs],
        "waits": [_wait(wait) for wait in waits],
        "session": None if session is None else session_to_wire(session),
    }


def _agent(sandbox: Sandbox) -> dict[str, Any]:
    plan, models = sandbox.agent.plan, sandbox.models
    return {
        "name": plan.name,
        "language": plan.language,
        "timezone": plan.timezone,
        "model": models.id,
        "models": [choice._asdict() for choice in models.choices()],
        "queued": models.queued,
        "flows": [{"id": flow.id, "name": flow.name} for flow in plan.flows.values()],
        "events": list(plan.events),
        "editable": is_editable(sandbox.agent),
    }


def _clock(branch: Branch, waits: Sequence[Wait]) -> dict[str, Any]:
    upcoming = next((wait for wait in waits if wait.at_ms is not None), None)
    next_wake = None if upcoming is None else {key: _wait(upcoming)[key] for key in ("at", "flow", "step", "words")}
    return {"now": iso(branch.clock.going_ms), "aheadMs": branch.clock.ahead_ms, "nextWake": next_wake}


def _branch(sandbox: Sandbox, branch: Branch) -> dict[str, Any]:
    from_id, turn = branch.origin or (None, None)
    number = list(sandbox.branches).index(branch.id) + 1
    return {
        "id": branch.id,
        "title": f"Conversation {number}",
        "from": from_id,
        "turn": turn,
        "turns": len(branch.happened),
    }


def _fields(sandbox: Sandbox, branch: Branch, session: Session | None) -> list[dict[str, Any]]:
    plan = sandbox.agent.plan
    data = {} if session is None else session.data
    asked = _asked(branch.happened)
    pending = _pending(plan.flows, session)
    return [
        {
            "name": field.slug,
            "description": field.description or field.label,
            "type": _type(field),
            "known": is_known(data.get(field.slug)),
            "value": data.get(field.slug),
            "pending": field.slug in pending and not is_known(data.get(field.slug)),
            "asked": asked[field.slug],
            "source": _source(branch.happened, field.slug),
        }
        for field in plan.fields.values()
    ]


def _type(field: FieldPlan) -> str:
    if field.enum is not None:
        return " | ".join(map(str, field.enum))
    return field.format or field.kind


def _asked(happened: Sequence[Happened]) -> Counter[str]:
    """How often each field was asked for in all; a run forgets its own count when the field becomes known."""
    before, counts = dict[tuple[str, str], int](), Counter[str]()
    for result in (one.result for one in happened if one.result):
        runs = (*result.session.runs, *(end.run for end in result.ended))
        now = {(run.id, slug): times for run in runs for slug, times in run.asked.items()}
        for (run, slug), times in now.items():
            counts[slug] += max(0, times - before.get((run, slug), 0))
        before = now
    return counts


def _pending(flows: Mapping[str, FlowPlan], session: Session | None) -> frozenset[str]:
    """What the asker wants to know now."""
    run = _asker(session)
    flow = None if run is None else flows.get(run.flow_id)
    step = None if run is None or flow is None else flow.step(run.step_id)
    return frozenset(step.collect) if isinstance(step, Collect) else frozenset()


def _asker(session: Session | None) -> Run | None:
    """Who holds the floor: the first run that asks (B-5.1)."""
    return next((run for run in session.runs if run.status == "asking"), None) if session else None


def _source(happened: Sequence[Happened], slug: str) -> dict[str, Any] | None:
    """The turn that changed the field last, and how."""
    for one in reversed(happened):
        for change in reversed(one.result.changes if one.result else ()):
            if change.field == slug:
                return {"turn": one.n, "how": change.source}
    return None


def _run(sandbox: Sandbox, session: Session, run: Run) -> dict[str, Any]:
    flow = sandbox.agent.plan.flows.get(run.flow_id)
    return {
        "id": run.id,
        "flow": run.flow_id,
        "name": run.flow_id if flow is None else flow.name,
        "step": run.step_id,
        "status": run.status,
        "words": STATUS_WORDS[run.status],
        "floor": run is _asker(session),
    }


def _wait(wait: Wait) -> dict[str, Any]:
    return {
        "key": wait.key,
        "at": None if wait.at_ms is None else iso(wait.at_ms),
        "flow": wait.flow,
        "step": wait.step,
        "event": wait.event,
        "words": wait.words,
    }
