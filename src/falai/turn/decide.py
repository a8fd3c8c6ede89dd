"""Phase 4: the judgement is applied: route, mentions, fields, branches (T-9)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Literal, NamedTuple

from falai.flow.definition import Branch, Collect, Prompt, To, Trigger
from falai.flow.plan import FlowPlan, branches_of, target_of
from falai.flow.values import coerce_field, is_known
from falai.model.tasks import Corrected, Refused
from falai.session.jsontext import json_equal
from falai.session.keys import branch_id
from falai.session.model import Run
from falai.turn.effects import Effect, Reached
from falai.turn.follow import follow
from falai.turn.lines import key_of, kind_of, label, run_line, turn_line
from falai.turn.start import start_run
from falai.turn.state import Turn
from falai.turn.understand import Offers

__all__ = ["decide", "decide_heard", "fire_branch", "write_values"]


class _Route(NamedTuple):
    flow: FlowPlan
    trigger: Trigger | None


def decide(turn: Turn, offers: Offers) -> None:
    """Applies what was judged, in the order of M-6.4. Nothing is executed here."""
    turn.phase = "decide"
    asker = turn.asking()
    _send(turn, offers, asker)
    write_values(turn, turn.judged.fields, "understand", offers.correctable)
    _try_branches(turn, asker)


def decide_heard(turn: Turn, offers: Offers) -> Generator[Effect, Any, None]:
    """The same with a listener (D-95): the values come first, and it says whether the message goes anywhere."""
    turn.phase = "decide"
    write_values(turn, turn.judged.fields, "understand", offers.correctable)
    if (yield Reached("judged", turn)):
        asker = turn.asking()
        _send(turn, offers, asker)
        _try_branches(turn, asker)


def _send(turn: Turn, offers: Offers, asker: Run | None) -> None:
    """Sends the message to its flow, and starts what it mentions."""
    route = None if turn.floor_taken else _route(turn, offers, asker)
    _start_mentions(turn)
    if route is not None:
        _apply(turn, route)
    elif asker is not None and not turn.floor_taken:
        turn.floor = asker.id


# --- where the message goes ---------------------------------------------------------------------


def _route(turn: Turn, offers: Offers, asker: Run | None) -> _Route | None:
    """T-9.3."""
    if asker is not None:
        return _switch(turn, offers, asker)
    if offers.unscored:
        return _by_message(offers.eligible[0])
    best = _best(turn, offers.eligible)
    if best is not None and _score(turn, best.id) >= turn.plan.start_score:
        return _by_message(best)
    return None if offers.catch_all is None else _Route(offers.catch_all, offers.catch_all.catch_all)


def _switch(turn: Turn, offers: Offers, asker: Run) -> _Route | None:
    """Another flow takes the message from the asker only with a clear lead."""
    best = _best(turn, tuple(flow for flow in offers.eligible if flow.id != asker.flow_id))
    if best is None:
        return None
    score, kept = _score(turn, best.id), _score(turn, asker.flow_id)
    leads = score >= turn.plan.start_score and score > kept and score >= kept + turn.plan.switch_margin
    return _by_message(best) if leads else None


def _by_message(flow: FlowPlan) -> _Route:
    return _Route(flow, flow.message)


def _best(turn: Turn, flows: tuple[FlowPlan, ...]) -> FlowPlan | None:
    return max(flows, key=lambda flow: _score(turn, flow.id), default=None)


def _score(turn: Turn, flow_id: str) -> float:
    return turn.judged.flows.get(flow_id, 0)


def _apply(turn: Turn, route: _Route) -> None:
    """T-9.6."""
    runs = turn.session.runs
    parked = next((run for run in runs if run.flow_id == route.flow.id and run.status == "suspended"), None)
    if parked is not None:
        parked.status, parked.suspended_at = "running", None
        turn.floor = parked.id
        return
    run = start_run(turn, route.flow, "message", turn.trigger_key, trigger=route.trigger)
    turn.floor = run.id if run else turn.floor


def _start_mentions(turn: Turn) -> None:
    """Runs beside the conversation (T-9.4)."""
    for flow in turn.plan.flows.values():
        trigger = flow.mention
        if trigger is None or (trigger.phrases and not turn.judged.mentions.get(flow.id)):
            continue
        if flow.id in turn.plan.driven:
            continue
        values = turn.judged.extract.get(flow.id) if trigger.phrases else None
        payload = dict(values) if values else None
        start_run(turn, flow, "mention", turn.trigger_key, trigger=trigger, payload=payload)


# --- values -------------------------------------------------------------------------------------


def write_values(
    turn: Turn,
    values: Mapping[str, Any],
    source: Literal["understand", "speak"],
    correctable: frozenset[str] = frozenset(),
) -> None:
    """Coerces raw values and stores them (T-9.8, T-15.4). A judged one never replaces a known
    value, unless the field was offered for correction (F-19.1); a spoken one does."""
    for slug, raw in values.items():
        if raw is None:
            continue
        if slug not in turn.plan.fields:
            turn_line(turn, "collect", "skipped", "unknown-field", detail=slug)
        elif source == "speak" or _may_be_read(turn, slug, correctable):
            _write(turn, slug, raw, source)


def _may_be_read(turn: Turn, slug: str, correctable: frozenset[str]) -> bool:
    field = turn.plan.fields[slug]
    if field.mode == "asked":
        return False
    return slug in correctable or not is_known(turn.session.data.get(slug))


def _write(turn: Turn, slug: str, raw: Any, source: Literal["understand", "speak"]) -> None:
    read = coerce_field(turn.plan.fields[slug], raw)
    if read.code is not None:
        turn_line(turn, "collect", "skipped", read.code, detail=slug)
        if read.reason is not None:
            turn.refused.append(Refused(slug, read.reason))
        return
    old = turn.session.data.get(slug)
    if source == "understand" and is_known(old):
        if json_equal(old, read.value):
            return
        turn_line(turn, "collect", "ok", "corrected", detail=slug)
        turn.corrected.append(Corrected(slug, old, read.value))
    turn.write(slug, read.value, source)


# --- branches -----------------------------------------------------------------------------------


def _try_branches(turn: Turn, asker: Run | None) -> None:
    """T-9.10."""
    if asker is not None and turn.is_live(asker) and asker.status == "asking":
        fire_branch(turn, asker, turn.judged.branches)


def fire_branch(turn: Turn, run: Run, judged: Mapping[str, bool]) -> None:
    """The first branch of the run's talk step that hits moves the run (T-9.11)."""
    flow = turn.flow_of(run)
    step = None if flow is None else flow.step(run.step_id)
    if flow is None or not isinstance(step, Collect | Prompt) or flow.id in turn.plan.driven:
        return
    for index, branch in enumerate(branches_of(step)):
        answer = judged.get(branch_id(run.id, step.id, index))
        if _hits(turn, run, branch, answer):
            target = target_of(branch.then)
            run_line(turn, run, kind_of(step), "ok", "branch", key=key_of(run), next=label(target))
            run.status = "running"
            follow(turn, run, flow, step, target)
            return


def _hits(turn: Turn, run: Run, branch: Branch, answer: bool | None) -> bool:
    """Whether every test that the branch has comes out true; the one of code is judged first."""
    if branch.when is None and run.staying and _leads_back(run, branch):
        return False
    return turn.holds(branch.if_, run) and (branch.when is None or answer is True)


def _leads_back(run: Run, branch: Branch) -> bool:
    """Whether a staying run would go where it has been; a `{flow}` target never does."""
    target = target_of(branch.then)
    step_id = target.step if isinstance(target, To) else target
    return step_id == "end" or (isinstance(step_id, str) and run.visits.get(step_id, 0) > 0)
