"""One asker (V-1 to V-4), a false premise moves nothing (V-5 to V-7), the shape of runs (V-8 to V-15),
bystanders (V-16, V-17)."""

from __future__ import annotations

from falai import Event, Start, Wake
from falai.flow.definition import Collect, Prompt, Wait
from falai.session.model import Run
from strategies import fixed_truth
from turn.conversation import Played
from turn.invariants.registry import by_id, invariant, last_states, lines_of, reborn, survivors

# --- one asker ----------------------------------------------------------------------------------


@invariant
def v_1(played: Played) -> None:
    """After any turn at most one run is asking."""
    assert sum(run.status == "asking" for run in played.after.runs) <= 1


@invariant
def v_2(played: Played) -> None:
    """If a run is suspended after a turn that was not ignored, some run is asking."""
    statuses = {run.status for run in played.after.runs}
    assert played.ignored or "suspended" not in statuses or "asking" in statuses


@invariant
def v_3(played: Played) -> None:
    """After a turn that was not ignored, no run is running."""
    assert played.ignored or all(run.status != "running" for run in played.after.runs)


@invariant
def v_4(played: Played) -> None:
    """Up to Speak: when a talk step is chosen to speak, its run is the only one that asks."""
    assert played.watched is not None
    for asking, step_id in played.watched.speakers:
        assert asking == [step_id]


# --- a false premise moves nothing --------------------------------------------------------------


def _false_premise(played: Played, run: Run) -> bool:
    """Whether the run's flow has a `while` that is false all through this turn."""
    flow = played.agent.plan.flows.get(run.flow_id)
    if flow is None or flow.flow.while_ is None:
        return False
    closed = played.given.silenced is not None
    return fixed_truth(flow.flow.while_, played.given.context, silenced=closed) is False


def _has_branches(played: Played, run: Run) -> bool:
    flow = played.agent.plan.flows.get(run.flow_id)
    step = flow and flow.step(run.step_id)
    return isinstance(step, Collect | Prompt | Wait) and bool(step.branches)


def _stopped(played: Played) -> list[Run]:
    """The runs of V-5: not parked before, a false premise, no branches where they stand."""
    return [
        run
        for run in played.before.runs
        if run.status != "waiting" and _false_premise(played, run) and not _has_branches(played, run)
    ]


@invariant
def v_5(played: Played) -> None:
    """Such a run did not move and wrote no line, or it ended `skipped` with the line `premise-changed`."""
    after = by_id(played.after)
    for run in [] if played.ignored else _stopped(played):
        lines = [line.code for line in lines_of(played, run.id)]
        if run.id in after:
            assert (after[run.id].step_id, after[run.id].visits, lines) == (run.step_id, run.visits, [])
        else:
            assert [end.reason for end in played.done.ended if end.run.id == run.id] == ["skipped"]
            assert lines == ["premise-changed"] or (run.trigger.kind == "silence" and lines == ["customer-replied"])


def _does_nothing(played: Played, run: Run) -> None:
    assert all(act.run != run.id for act in played.acted)
    assert all(message.run_id != run.id for message in played.done.messages)


@invariant
def v_6(played: Played) -> None:
    """In both cases no action ran for it and no message carries its run id."""
    for run in _stopped(played):
        _does_nothing(played, run)


@invariant
def v_7(played: Played) -> None:
    """A run that was waiting, with a false `while`: no action ran for it, no message carries its id."""
    for run in played.before.runs:
        if run.status == "waiting" and _false_premise(played, run):
            _does_nothing(played, run)


# --- the shape of runs --------------------------------------------------------------------------


@invariant
def v_8(played: Played) -> None:
    """`waiting` is there exactly on waiting runs, and whole; `suspendedAt` exactly on suspended ones."""
    for run in played.after.runs:
        assert (run.waiting is not None) == (run.status == "waiting")
        assert (run.suspended_at is not None) == (run.status == "suspended")
        if run.waiting is not None:
            assert run.waiting.kind in ("timer", "event")
            assert run.waiting.key
            assert run.waiting.until
            assert run.waiting.set_at


@invariant
def v_9(played: Played) -> None:
    """`staying` is there only on runs that ask, are suspended, or wait for a retry."""
    for run in played.after.runs:
        if run.staying is not None:
            retried = run.waiting is not None and ":retry:" in (run.waiting.key or "")
            assert run.staying is True
            assert run.status in ("asking", "suspended") or retried


@invariant
def v_10(played: Played) -> None:
    """`stepId` is null only on a run that waits for its delayed start."""
    for run in played.after.runs:
        delayed = run.waiting is not None and (run.waiting.key or "").startswith(f"{run.id}:start:")
        assert run.step_id is not None or delayed


@invariant
def v_11(played: Played) -> None:
    """No two live runs share an id, or share flow and anchor."""
    runs = played.after.runs
    assert len({run.id for run in runs}) == len(runs)
    assert len({(run.flow_id, run.anchor) for run in runs}) == len(runs)


@invariant
def v_12(played: Played) -> None:
    """`hop` is below 5; a count in `asked` is at most the flow's largest `maxAsks` for the field."""
    for run in played.after.runs:
        assert run.hop < 5
        for field, count in run.asked.items():
            assert count <= _most_asks(played, run, field)


def _most_asks(played: Played, run: Run, field: str) -> int:
    """Over the flow as it is and as it was before an edit: a run may have been asked under either."""
    flows = [agent.plan.flows.get(run.flow_id) for agent in played.world.agents]
    steps = [step for flow in flows if flow for step in flow.steps if isinstance(step, Collect)]
    return max([step.max_asks or 3 for step in steps if field in step.collect], default=3)


@invariant
def v_13(played: Played) -> None:
    """What a run was made of never changes; a count in `visits` never falls."""
    for before, after in survivors(played):
        for name in ("flow_id", "anchor", "dedupe_key", "trigger", "input", "hop", "started_at"):
            assert getattr(before, name) == getattr(after, name), name
        assert all(after.visits.get(step, 0) >= count for step, count in before.visits.items())


@invariant
def v_14(played: Played) -> None:
    """Runs of *before* and of `started` are in *after* or in `ended`; none of `ended` is in *after*."""
    live, ended = set(by_id(played.after)), {end.run.id for end in played.done.ended}
    assert {run.id for run in played.before.runs} <= live | ended
    assert {run.run_id for run in played.done.started} <= live | ended
    assert not (live & ended) - reborn(played)


@invariant
def v_15(played: Played) -> None:
    """A run's newest lines are its lines of this turn, in the same order (the last 50)."""
    for run in last_states(played):
        lines = lines_of(played, run.id)[-50:]
        if run.id not in reborn(played):
            assert run.outcomes[len(run.outcomes) - len(lines) :] == lines


# --- bystanders ---------------------------------------------------------------------------------


@invariant
def v_16(played: Played) -> None:
    """A wake or a start leaves the other runs that were not running where they are."""
    match played.given.input:
        case Wake(key=key):
            _stand_by(played, [run for run in played.before.runs if not (run.waiting and run.waiting.key == key)])
        case Start():
            _stand_by(played, played.before.runs)
        case _:
            pass


@invariant
def v_17(played: Played) -> None:
    """An event without direction leaves alone who does not wait for it and was not running."""
    match played.given.input:
        case Event(name=name) if name not in ("in", "out"):
            awaited = [run for run in played.before.runs if run.waiting and run.waiting.event == name]
            _stand_by(played, [run for run in played.before.runs if run not in awaited])
        case _:
            pass


def _stand_by(played: Played, runs: list[Run]) -> None:
    after = by_id(played.after)
    for run in runs:
        if run.status == "running":
            continue
        if run.id not in after:
            reasons = [end.reason for end in played.done.ended if end.run.id == run.id]
            assert reasons == ["replaced"]
            continue
        now = after[run.id]
        for name in ("step_id", "visits", "asked", "waiting", "staying", "outcomes"):
            assert getattr(now, name) == getattr(run, name), name
        assert now.status == run.status or {now.status, run.status} == {"asking", "suspended"}
