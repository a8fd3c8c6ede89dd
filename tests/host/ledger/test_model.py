"""Whatever is done in whatever order, a ledger and plain lists say the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from falai.host.ledger.committing import commit
from falai.host.ledger.dead import dead, drop_dead, retry_dead
from falai.host.ledger.erasing import erase
from falai.host.ledger.gating import hold, release
from falai.host.ledger.looking import counts, waiting, wakes
from falai.host.ledger.playing import next_job, put_off, set_aside, try_later
from falai.host.ledger.port import Done, Gate, Job, Ledger, Place, Reply, WakeWrite, Work
from falai.host.ledger.ready import places_to_deliver, ready_places
from falai.host.ledger.sending import next_message, send_failed, send_later, sent
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.taking import take_in
from falai.host.ledger.waking import due_wakes
from host.ledger.ledgers import MANY, arrival, postgres_ledger
from host.ledger.plain import Conversation, Input, Message, Seen

pytestmark = pytest.mark.property

NAMES = st.sampled_from(["s1", "s2"])
KEYS = st.integers(0, 9).map("k{}".format)
KINDS = st.sampled_from(["message", "message", "event", "start", "human"])
PAUSES = st.sampled_from([0, 0, 5, 30])
AGENTS = count(1)


class Machine(RuleBasedStateMachine):
    """Has to be given a ledger that is open, and the event loop in which it is."""

    ledger: Ledger
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.agent = f"a{next(AGENTS)}"
        self.now = 1000
        self.plain = {"s1": Conversation(), "s2": Conversation()}
        self.names: dict[str, Message] = {}
        self.taken: tuple[str, Job, list[Input], Seen] | None = None

    def run(self, work: Work[Any]) -> Any:
        return self.runner.run(self.ledger.run(work))

    def place(self, name: str) -> Place:
        return Place("t", self.agent, name)

    @rule(by=st.sampled_from([1, 7, 40]))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule(name=NAMES, key=KEYS, kind=KINDS, pause=PAUSES)
    def receives(self, name: str, key: str, kind: str, pause: int) -> None:
        taken = self.run(
            take_in(self.place(name), [arrival(key, kind, not_before=self.now + pause)], now_ms=self.now, limits=MANY)
        )
        assert bool(taken.new) == self.plain[name].receive(key, kind, self.now, pause)

    @rule(name=NAMES)
    def takes_a_job(self, name: str) -> None:
        job = self.run(next_job(self.place(name), now_ms=self.now, history_items=2))
        expected = self.plain[name].job(self.now)
        assert ([row.key for row in job.inputs] if job else []) == [row.key for row in expected]
        if job is not None:
            assert (job.revision, job.gate.epoch) == self.plain[name].seen
            assert job.attempts == expected[0].attempts
            self.taken = (name, job, expected, self.plain[name].seen)

    @precondition(lambda self: self.taken is not None)
    @rule(
        replies=st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from([0, 20])), max_size=2),
        timers=st.lists(st.tuples(st.sampled_from("uvw"), st.integers(1, 60)), max_size=2, unique_by=lambda w: w[0]),
        person=st.booleans(),
    )
    def commits_it(self, replies: list[tuple[str, int]], timers: list[tuple[str, int]], person: bool) -> None:
        assert self.taken is not None
        name, job, rows, seen = self.taken
        done = Done(
            blob="{}",
            outbox=tuple(Reply(body, after, person) for body, after in replies),
            wakes=tuple(WakeWrite(key, self.now + after) for key, after in timers),
        )
        end = self.run(commit(job, done, now_ms=self.now))
        assert end.conflict == self.plain[name].commit(rows, seen, self.now, replies, person)
        if end.conflict is None:
            self.plain[name].wakes |= {key: self.now + after for key, after in timers}

    @precondition(lambda self: self.taken is not None)
    @rule(what=st.sampled_from(["later", "off", "aside"]), by=st.sampled_from([0, 10, 50]))
    def does_not_play_it(self, what: str, by: int) -> None:
        assert self.taken is not None
        name, job, rows, _ = self.taken
        mine = [row for row in (self.plain[name].find(row.key) for row in rows) if row is not None]
        if what == "aside":
            alive, done = bool(mine), self.run(set_aside(job, "no", now_ms=self.now))
            for row in mine:
                row.state, row.attempts = "dead", row.attempts + 1
        else:
            work = try_later(job, "no", self.now + by) if what == "later" else put_off(job, self.now + by)
            first = self.plain[name].find(rows[0].key)
            alive, done = first is not None, self.run(work)
            if first is not None:
                first.not_before = self.now + by
                first.attempts += what == "later"
        assert done == alive

    @rule(again=st.booleans())
    def takes_up_what_was_set_aside(self, again: bool) -> None:
        for row in self.run(dead(self.agent, limit=1)):
            assert self.run(retry_dead(row, now_ms=self.now) if again else drop_dead(row, now_ms=self.now))
            mine = self.plain[row.place.session]
            if row.what == "input":
                found = next(one for one in mine.inputs if one.key == row.key)
                found.state, found.attempts, found.not_before = ("new", 0, self.now) if again else ("done", 0, 0)
            else:
                one = self.names[row.key]
                one.state, one.attempts, one.due = ("new", 0, self.now) if again else ("gone", 0, 0)

    @rule(limit=st.integers(1, 3))
    def looks_at_timers(self, limit: int) -> None:
        due = sorted(
            (at, name, key) for name, mine in self.plain.items() for key, at in mine.wakes.items() if at <= self.now
        )
        before = {name: len(self.run(waiting(self.place(name)))) for name in self.plain}
        self.run(due_wakes(self.agent, now_ms=self.now, limit=limit))
        for name, mine in self.plain.items():
            kept = {wake.key for wake in self.run(wakes(self.place(name)))}
            fired = sorted((at, key) for key, at in mine.wakes.items() if key not in kept)
            new = [row.key for row in self.run(waiting(self.place(name)))][before[name] :]
            for _, key in sorted(
                fired, key=lambda one: next((n for n, k in enumerate(new) if k.endswith(f":{one[1]}")), 9)
            ):
                mine.fire(key, self.now)
        left = sum(at <= self.now for mine in self.plain.values() for at in mine.wakes.values())
        assert left == max(0, len(due) - limit)

    @rule(name=NAMES)
    def holds(self, name: str) -> None:
        assert self.run(hold(self.place(name), Gate(reason="x"), now_ms=self.now)) == self.plain[name].hold()

    @rule(name=NAMES)
    def releases(self, name: str) -> None:
        assert self.run(release(self.place(name))) == self.plain[name].release()

    @rule(name=NAMES, what=st.sampled_from(["sent", "sent", "later", "failed"]), by=st.sampled_from([0, 10]))
    def delivers(self, name: str, what: str, by: int) -> None:
        message = self.run(next_message(self.place(name)))
        expected = next(iter(self.plain[name].unsent), None)
        if message is None or expected is None:
            assert message is expected
            return
        assert (message.body, message.due_at, message.attempts) == (expected.body, expected.due, expected.attempts)
        if what == "sent":
            assert self.run(sent(message, now_ms=self.now, provider_id=None))
            self.plain[name].sent(expected, self.now)
        elif what == "later":
            assert self.run(send_later(message, "no", self.now + by))
            expected.due, expected.attempts = self.now + by, expected.attempts + 1
        else:
            assert self.run(send_failed(message, "no", now_ms=self.now))
            self.names[message.key] = expected
            expected.state = "dead"

    @rule(name=NAMES, sure=st.sampled_from([False, False, True]))
    def erases(self, name: str, sure: bool) -> None:
        if sure:
            assert self.run(erase(self.place(name))) == self.plain[name].exists
            self.plain[name] = Conversation()

    @invariant()
    def both_say_the_same(self) -> None:
        for name, mine in self.plain.items():
            assert [row.key for row in self.run(waiting(self.place(name)))] == [row.key for row in mine.waiting]
        ready = {place.session for place in self.run(ready_places(self.agent, now_ms=self.now, limit=9))}
        first = {name: next(iter(mine.candidates(self.now)), None) for name, mine in self.plain.items()}
        assert ready == {name for name, row in first.items() if row is not None and row.not_before <= self.now}
        out = {place.session for place in self.run(places_to_deliver(self.agent, now_ms=self.now, limit=9))}
        heads = {name: next(iter(mine.unsent), None) for name, mine in self.plain.items()}
        assert out == {name for name, row in heads.items() if row is not None and row.due <= self.now}
        found = self.run(counts(self.agent, now_ms=self.now))
        assert found.inputs == sum(len(mine.waiting) for mine in self.plain.values())
        assert found.messages == sum(len(mine.unsent) for mine in self.plain.values())


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def _check(runner: asyncio.Runner, ledger: Ledger, examples: int | None) -> None:
    machine = type("LedgerMachine", (Machine,), {"ledger": ledger, "runner": runner})
    runner.run(ledger.open())
    try:
        run_state_machine_as_test(machine, settings=settings(max_examples=examples) if examples else None)
    finally:
        runner.run(ledger.close())


def test_sqlite(runner: asyncio.Runner) -> None:
    """No sequence of works makes SQLite and the lists differ."""
    _check(runner, SQLiteLedger(":memory:"), None)


@pytest.mark.servers
def test_postgres(runner: asyncio.Runner, request: pytest.FixtureRequest, place: str, *, full: bool) -> None:
    """Nor PostgreSQL."""
    _check(runner, postgres_ledger(request.getfixturevalue("postgres_server"), place), None if full else 5)
