"""Every invariant, V-1 to V-47, after each turn of random conversations with random agents.

A failure names its seed: `FALAI_SEED=4711 pytest tests/turn/test_invariants.py` plays that one
conversation again. `--full` plays 5,000 of them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import get_args

import pytest

from falai.session.model import OutcomeKind, OutcomeStatus, RunStatus, TriggerKind
from falai.session.outcomes import ADDED_MESSAGES, OUTCOME_MESSAGES
from falai.turn.result import EndReason
from turn.conversation import Played, play, replay
from turn.invariants import ledger, record, runs, words
from turn.invariants.registry import INVARIANTS, Check

ROOMS = (runs, words, record, ledger)
SHORT, LONG = 300, 5_000
OF_ERRORS = (30, 46)
"""The invariants that say something of a turn that raised."""


def _seeds(*, full: bool) -> range:
    given = os.environ.get("FALAI_SEED")
    return range(LONG if full else SHORT) if given is None else range(int(given), int(given) + 1)


def _check(played: Played) -> Iterator[tuple[int, AssertionError]]:
    numbers = INVARIANTS if played.error is None else OF_ERRORS
    for number in numbers:
        try:
            INVARIANTS[number](played)
        except AssertionError as broken:
            yield number, broken


def _story(seed: int, number: int, played: Played, broken: dict[int, AssertionError]) -> str:
    told = [f"FALAI_SEED={seed}, turn {number}: " + ", ".join(f"V-{n}" for n in broken)]
    told += [f"V-{n}: {INVARIANTS[n].__doc__} {error}" for n, error in broken.items()]
    told += [f"flow: {flow}" for flow in played.options["flows"]]
    told += [f"given: {played.given}", f"before: {played.before_json}", f"result: {played.result}"]
    return "\n".join(told)


def test_every_invariant_has_its_checker():
    """The table is whole: 47 invariants, each with one checker that says what it promises."""
    assert sorted(INVARIANTS) == list(range(1, 48))
    assert all(check.__doc__ for check in INVARIANTS.values())
    assert {check.__module__ for check in INVARIANTS.values()} == {room.__name__ for room in ROOMS}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture):
    """Random agents are full of what an author is warned of."""
    caplog.set_level(logging.CRITICAL, logger="falai")


@pytest.mark.property
async def test_the_invariants_hold_after_every_turn(full: bool):
    """V-1 to V-47 hold for random agents, inputs, answers, clocks and sessions."""
    for seed in _seeds(full=full):
        number = 0
        async for played in play(seed):
            if played.error is None:
                await replay(played)
            broken = dict(_check(played))
            if broken:
                pytest.fail(_story(seed, number, played, broken))
            number += 1


@pytest.mark.property
async def test_the_conversations_reach_everything():
    """The dice reach every code, kind, status, trigger and end that a turn can write at least once, and
    tools that move a run, start a flow and speak."""
    parts = ("codes", "lines", "ends", "triggers", "runs", "by tools")
    reached: dict[str, set[object]] = {part: set() for part in parts}
    for seed in range(SHORT):
        async for played in play(seed):
            if played.result is not None:
                _note(reached, played)
    assert reached["codes"] >= OUTCOME_MESSAGES.keys() | ADDED_MESSAGES.keys()
    assert reached["lines"] >= set(get_args(OutcomeKind)) | set(get_args(OutcomeStatus))
    assert reached["ends"] == set(get_args(EndReason))
    assert reached["triggers"] == set(get_args(TriggerKind))
    assert reached["by tools"] >= {("collect", True), ("prompt", True), ("idle", True), ("collect", False)}
    assert reached["runs"] >= set(get_args(RunStatus)) - {"running"}


def _note(reached: dict[str, set[object]], played: Played) -> None:
    done = played.done
    reached["codes"] |= {line.code for line in done.outcomes} | {start.code for start in done.skipped}
    reached["lines"] |= {line.kind for line in done.outcomes} | {line.status for line in done.outcomes}
    spoken = [line for line in done.outcomes if line.llm_calls is not None]
    reached["by tools"] |= {(line.kind, line.next is not None) for line in spoken if line.detail is not None}
    reached["ends"] |= {end.reason for end in done.ended}
    ids = {run.run_id for run in done.started}
    alive = [*played.after.runs, *(end.run for end in done.ended)]
    reached["triggers"] |= {run.trigger.kind for run in alive if run.id in ids}
    reached["runs"] |= {run.status for run in played.after.runs}


@pytest.mark.parametrize("check", INVARIANTS.values(), ids=lambda check: check.__name__)
def test_a_checker_is_a_function_of_one_turn(check: Check):
    """Each checker is named by its number and stands alone."""
    assert check.__name__.startswith("v_")
