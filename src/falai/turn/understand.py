"""Phase 3: what is asked about the customer's message, and whether the call is worth it (T-8)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from falai.flow.definition import Collect, Prompt
from falai.flow.plan import FlowPlan, branches_of
from falai.flow.values import is_known
from falai.model.inputs import BranchQuestion, UnderstandInput
from falai.model.tasks import UnderstandTask
from falai.model.understand import read_judgement, understand_request
from falai.session import keys
from falai.session.inputs import Message
from falai.session.model import Run
from falai.turn.effects import Effect, Understand
from falai.turn.history import compacted_history
from falai.turn.state import Turn
from falai.turn.talk import pending

__all__ = ["Offers", "understand"]


class Offers(msgspec.Struct, frozen=True):
    """Where a message could go, and what may be read from it (T-8.1 to T-8.9)."""

    floor: Run | None = None
    floor_flow: FlowPlan | None = None
    eligible: tuple[FlowPlan, ...] = ()
    catch_all: FlowPlan | None = None
    unscored: bool = False
    """One flow could start, and no score could send the message elsewhere: it starts without one (T-8.4)."""
    mentions: tuple[FlowPlan, ...] = ()
    branches: tuple[BranchQuestion, ...] = ()
    fields: tuple[str, ...] = ()
    correctable: frozenset[str] = frozenset()

    @property
    def scored(self) -> tuple[FlowPlan, ...]:
        """T-8.5."""
        return () if self.floor is None and self.unscored else self.eligible

    @property
    def compared(self) -> tuple[FlowPlan, ...]:
        """The flow on the floor, then the scored ones, each once (T-8.11)."""
        first = () if self.floor_flow is None else (self.floor_flow,)
        return first + tuple(flow for flow in self.scored if flow is not self.floor_flow)

    @property
    def worth_a_call(self) -> bool:
        """T-8.10, T-8.11."""
        if self.mentions or self.branches or self.fields:
            return True
        return len(self.compared) > (0 if self.floor_flow is None else 1)


def understand(turn: Turn, message: Message) -> Generator[Effect, Any, Offers]:
    """Looks at what the message could mean; asks the model if that is worth a call."""
    offers = _offers(turn)
    listens = turn.gate is None or turn.gate.understand
    if listens and offers.worth_a_call:
        yield from _ask(turn, message, offers)
    return offers


def _ask(turn: Turn, message: Message, offers: Offers) -> Generator[Effect, Any, None]:
    history = yield from compacted_history(turn)
    request = understand_request(turn.plan, _given(turn, message, offers, history))
    reply = yield Understand(request)
    turn.spend(1, reply.usage)
    turn.judged = read_judgement(cast(UnderstandTask, request.task), reply)


def _given(turn: Turn, message: Message, offers: Offers, history: Any) -> UnderstandInput:
    return UnderstandInput(
        text=message.text,
        history=history,
        context=turn.given.context,
        data=turn.session.data,
        now_ms=turn.now_ms,
        run=offers.floor,
        flow=offers.floor_flow,
        pending=_floor_pending(turn, offers),
        compared=offers.compared,
        mentions=offers.mentions,
        branches=offers.branches,
        fields=offers.fields,
        correctable=offers.correctable,
    )


def _offers(turn: Turn) -> Offers:
    floor = _run_on_floor(turn)
    flow = None if floor is None else turn.flow_of(floor)
    flows = turn.plan.flows.values()
    eligible = tuple(f for f in flows if _passes(turn, f, f.message))
    catch_all = next((f for f in flows if _passes(turn, f, f.catch_all)), None)
    nowhere_else = turn.plan.idle is None or turn.plan.start_score <= 0
    unscored = len(eligible) == 1 and nowhere_else and catch_all is None
    correctable = frozenset(slug for slug in flow.fields if _is_correctable(turn, slug)) if flow else frozenset[str]()
    offers = Offers(
        floor=floor,
        floor_flow=flow,
        eligible=eligible,
        catch_all=catch_all,
        unscored=unscored,
        mentions=tuple(f for f in flows if _may_be_mentioned(turn, f)),
        branches=_branch_questions(turn, floor, flow),
        fields=_fields(turn, [flow, *eligible] if flow else eligible, correctable),
        correctable=correctable,
    )
    return _with_opening_fields(turn, offers)


def _run_on_floor(turn: Turn) -> Run | None:
    """T-8.1."""
    live = turn.session.runs
    return turn.asking() or next((run for run in live if run.id == turn.floor), None)


def _passes(turn: Turn, flow: FlowPlan, trigger: Any) -> bool:
    """Whether a message trigger could start its flow now (T-8.2, T-8.3)."""
    if trigger is None or flow.id in turn.barred or not turn.may_start(flow, trigger, "message", turn.trigger_key):
        return False
    return trigger.if_ is None or turn.holds(trigger.if_, turn.draft(flow, "message", turn.trigger_key))


def _may_be_mentioned(turn: Turn, flow: FlowPlan) -> bool:
    """T-8.6."""
    trigger = flow.mention
    if trigger is None or not trigger.phrases or flow.id in turn.barred:
        return False
    return turn.may_start(flow, trigger, "mention", turn.trigger_key)


def _branch_questions(turn: Turn, run: Run | None, flow: FlowPlan | None) -> tuple[BranchQuestion, ...]:
    """T-8.7."""
    step = None if run is None or flow is None else flow.step(run.step_id)
    if run is None or not isinstance(step, Collect | Prompt):
        return ()
    return tuple(
        BranchQuestion(keys.branch_id(run.id, step.id, index), branch.when)
        for index, branch in enumerate(branches_of(step))
        if branch.when is not None and turn.holds(branch.if_, run)
    )


def _is_correctable(turn: Turn, slug: str) -> bool:
    """A known field of the flow on the floor that a later message may replace (F-19.1)."""
    declared = turn.plan.fields.get(slug)
    return (
        declared is not None
        and declared.correct
        and declared.mode == "anywhere"
        and is_known(turn.session.data.get(slug))
    )


def _fields(turn: Turn, flows: Iterable[FlowPlan], correctable: frozenset[str]) -> tuple[str, ...]:
    """Fields to judge, each once (T-8.8)."""
    slugs = (slug for flow in flows for slug in flow.fields)
    return tuple(dict.fromkeys(slug for slug in slugs if slug in correctable or _is_open(turn, slug)))


def _is_open(turn: Turn, slug: str) -> bool:
    declared = turn.plan.fields.get(slug)
    return declared is not None and declared.mode == "anywhere" and not is_known(turn.session.data.get(slug))


def _with_opening_fields(turn: Turn, offers: Offers) -> Offers:
    """Adds the catch-all's fields, if reading them here is worth it (T-8.9)."""
    catch_all = offers.catch_all
    if offers.floor is not None or catch_all is None:
        return offers
    opening = _fields(turn, [catch_all], frozenset())
    judged_already = offers.scored or offers.mentions or offers.fields  # without a floor there is no branch
    if not judged_already and not set(opening) - _free(catch_all):
        return offers
    return replace(offers, fields=tuple(dict.fromkeys(offers.fields + opening)))


def _free(flow: FlowPlan) -> set[str]:
    """The fields that the first step's own reply reads."""
    first = flow.steps[0]  # a flow with a trigger has steps
    return set(first.collect) if isinstance(first, Collect) and not first.question else set()


def _floor_pending(turn: Turn, offers: Offers) -> tuple[str, ...]:
    """What the step on the floor still asks for."""
    run, flow = offers.floor, offers.floor_flow
    step = None if run is None or flow is None else flow.step(run.step_id)
    return pending(run, step, turn.session.data) if run and isinstance(step, Collect | Prompt) else ()
