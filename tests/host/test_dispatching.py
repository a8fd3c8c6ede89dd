"""Lanes and the alarm: who is next, with bounded memory; and what is due, at its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.host.dispatching import Lane
from falai.host.ledger.port import Place
from falai.host.timing import Alarm
from falai.host.trouble import Patience
from host.stage import until


def place(name: object) -> Place:
    return Place("t", "a", str(name))


class Work:
    """Counts what is worked on; a ledger of places that have something to do."""

    def __init__(self) -> None:
        self.pending: dict[Place, int] = {}
        self.order: list[str] = []
        self.at_work: set[Place] = set()
        self.most = 0
        self.hold: asyncio.Event | None = None

    async def one(self, place: Place) -> bool:
        assert place not in self.at_work, "a place is worked on twice at once"
        self.at_work.add(place)
        self.most = max(self.most, len(self.at_work))
        try:
            await (asyncio.sleep(0) if self.hold is None else self.hold.wait())
            if self.pending.get(place, 0):
                self.pending[place] -= 1
                self.order.append(place.session)
            return self.pending.get(place, 0) > 0
        finally:
            self.at_work.discard(place)

    async def look(self, limit: int) -> Sequence[Place]:
        return [place for place, count in self.pending.items() if count][:limit]

    def has(self, name: object, count: int = 1) -> Place:
        self.pending[place(name)] = self.pending.get(place(name), 0) + count
        return place(name)


@asynccontextmanager
async def running(lane: Lane) -> AsyncIterator[Lane]:
    task = asyncio.create_task(lane.run())
    try:
        yield lane
    finally:
        await lane.stop(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_who_waits_for_an_answer_goes_first() -> None:
    """Urgent places are begun before the others, and each kind in its order."""
    work = Work()
    lane = Lane(work.one, work.look, at_once=1, queue=100)
    for name in ("timer-1", "timer-2", "timer-3"):
        lane.ready(work.has(name))
    lane.ready(work.has("asks-1"), urgent=True)
    lane.ready(work.has("asks-2"), urgent=True)
    lane.ready(work.has("timer-3"), urgent=True)
    async with running(lane):
        await lane.idle()
    assert work.order[:3] == ["asks-1", "asks-2", "timer-3"]
    assert sorted(work.order[3:]) == ["timer-1", "timer-2", "timer-3"]


async def test_nobody_is_forgotten() -> None:
    """However many wait for an answer, the others have a share."""
    work = Work()
    lane = Lane(work.one, work.look, at_once=1, queue=100)
    lane.ready(work.has("timer"))
    for n in range(50):
        lane.ready(work.has(f"asks-{n}"), urgent=True)
    async with running(lane):
        await lane.idle()
    assert work.order.index("timer") < 10


async def test_urgent_places_find_room_in_a_full_queue() -> None:
    """A queue full of timers refuses no place where somebody waits."""
    work = Work()
    work.hold = asyncio.Event()
    lane = Lane(work.one, work.look, at_once=1, queue=3)
    async with running(lane):
        for n in range(10):
            lane.ready(work.has(f"timer-{n}"))
        await until(lambda: lane.in_flight == 1)
        lane.ready(work.has("timer-10"))
        assert lane.room == 0
        lane.ready(work.has("asks"), urgent=True)
        work.hold.set()
        await lane.idle()
    assert work.order.index("asks") <= 1
    assert len(work.order) == 12


async def test_work_that_fails_is_done_again(caplog: pytest.LogCaptureFixture) -> None:
    """What the work raises is logged, and after a pause it is tried again; the others are not held up."""
    fails = [OSError("no space left on device")]
    done: list[str] = []

    async def one(place: Place) -> bool:
        if place.session == "s1" and fails:
            raise fails.pop()
        done.append(place.session)
        return False

    async def nothing(_: int) -> Sequence[Place]:
        return ()

    async with running(Lane(one, nothing, at_once=5, queue=10)) as lane:
        lane.ready(place("s1"))
        lane.ready(place("s2"))
        await until(lambda: done == ["s2"])
        await lane.idle()
    assert done == ["s2", "s1"]
    assert [vars(record)["action"] for record in caplog.records] == ["host.failed"]


async def test_a_lane_that_stops_gives_back() -> None:
    """Work that does not end within the grace is cancelled, and nothing new is begun."""
    work = Work()
    work.hold = asyncio.Event()
    lane = Lane(work.one, work.look, at_once=2, queue=10)
    async with running(lane):
        for n in range(4):
            lane.ready(work.has(n))
        await until(lambda: lane.in_flight == 2)
        await lane.stop(0)
        assert (lane.in_flight, work.order) == (0, [])


async def test_a_lane_looks_for_others_than_it_knows() -> None:
    """With more at work than a queue has room for, a look finds new places, and none is made in vain."""
    work = Work()
    work.hold = asyncio.Event()
    looks: list[int] = []

    async def look(limit: int) -> Sequence[Place]:
        looks.append(limit)
        return await work.look(limit)

    async with running(Lane(work.one, look, at_once=20, queue=10)) as lane:
        for n in range(100):
            lane.ready(work.has(n), urgent=True)
        await until(lambda: lane.in_flight == 20 and lane.room == 0)
        assert len(looks) <= 2
        work.hold.set()
        await lane.idle()
    assert len(work.order) == 100
    assert len(looks) <= 20


@pytest.mark.property
@given(
    events=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.booleans()), max_size=40),
    at_once=st.integers(1, 3),
    queue=st.integers(2, 4),
)
def test_everything_is_done_once(events: list[tuple[int, int, bool]], at_once: int, queue: int) -> None:
    """However work arrives, all of it is done, no place twice at once, never more than allowed."""

    async def play() -> Work:
        work = Work()
        async with running(Lane(work.one, work.look, at_once=at_once, queue=queue)) as lane:
            for name, count, urgent in events:
                lane.ready(work.has(name, count), urgent=urgent)
                if count == 3:
                    await asyncio.sleep(0)
            async with asyncio.timeout(20):
                await lane.idle()
        return work

    work = asyncio.run(play())
    assert len(work.order) == sum(count for _, count, _ in events)
    assert work.most <= at_once


# --- the alarm -----------------------------------------------------------------------------------


class Seen:
    """A clock and a list of what is due."""

    def __init__(self, *due: int) -> None:
        self.now = 0
        self.due = list(due)
        self.looked: list[int] = []
        self.fails = False

    async def look(self) -> int | None:
        self.looked.append(self.now)
        if self.fails:
            self.fails = False
            raise OSError
        self.due = [at for at in self.due if at > self.now]
        return min(self.due, default=None)


@asynccontextmanager
async def ticking(alarm: Alarm) -> AsyncIterator[None]:
    task = asyncio.create_task(alarm.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_the_alarm_looks_when_something_is_due() -> None:
    """At the start, at each instant that it was told, and never in between; a clock may jump."""
    seen = Seen(1000, 50_000)
    alarm = Alarm(lambda: seen.now, seen.look)
    async with ticking(alarm):
        await until(lambda: seen.looked == [0])
        seen.now = 999
        await asyncio.sleep(0.15)
        assert seen.looked == [0]
        seen.now = 1000
        await until(lambda: seen.looked == [0, 1000])
        alarm.note(2000)
        seen.now = 90_000
        await until(lambda: seen.looked == [0, 1000, 90_000])


async def test_an_alarm_that_could_not_look_looks_again(caplog: pytest.LogCaptureFixture) -> None:
    """A second later, by its clock."""
    seen = Seen()
    seen.fails = True
    alarm = Alarm(lambda: seen.now, seen.look)
    async with ticking(alarm):
        await until(lambda: seen.looked == [0])
        seen.now = 1000
        await until(lambda: seen.looked == [0, 1000])
    assert [vars(record)["action"] for record in caplog.records] == ["host.failed"]


def test_patience() -> None:
    """After a failure, a second; while nothing goes well, longer and longer, up to half a minute."""
    patience, now, pauses = Patience(), 100.0, list[float]()
    for _ in range(8):
        pauses.append(patience.pause_s(now))
        now += pauses[-1]
    assert pauses == [1, 1, 2, 4, 8, 16, 30, 30]
    patience.well()
    assert patience.pause_s(now) == 1
