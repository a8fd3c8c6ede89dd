"""Several processes on one database: nothing is lost, nothing doubled, order is kept, and who dies is replaced."""

from __future__ import annotations

import asyncio

import pytest

from falai.host.ledger.dead import dead
from host.queue.fleet import Fleet, doubled, overlaps
from servers.process import Server

pytestmark = pytest.mark.servers

SESSIONS = [f"s{n}" for n in range(12)]
TEXTS = [f"{n}" for n in range(6)]


def all_is_well(fleet: Fleet) -> None:
    """Each message of each session was answered once, in order, and no two turns of a session overlapped."""
    for session in SESSIONS:
        assert fleet.said(session) == [f"re: {text}" for text in TEXTS], session
    assert overlaps(fleet.lines("begin", "end")) == []
    assert doubled(line.key for line in fleet.lines("sent")) == []


@pytest.mark.parametrize("count", [1, 2, 4])
async def test_order_and_exclusion(fleet: Fleet, count: int) -> None:
    """However many workers there are, a session is played by one at a time, in the order of its messages."""
    await fleet.start(count, model_ms=10)
    for text in TEXTS:
        await asyncio.gather(*(fleet.bring(session, text) for session in SESSIONS))
    await fleet.drained()
    all_is_well(fleet)
    if count > 1:
        assert len({line.worker for line in fleet.lines("end")}) > 1


async def test_a_message_that_is_delivered_to_all(fleet: Fleet) -> None:
    """The same message comes in many times at once, as from several web servers: one is new, and it has one answer."""
    await fleet.start(2)
    new = await asyncio.gather(*(fleet.bring("s0", "hello") for _ in range(20)))
    await fleet.drained()
    assert sum(new) == 1
    assert fleet.said("s0") == ["re: hello"]


@pytest.mark.faults
async def test_a_killed_worker(fleet: Fleet) -> None:
    """What it was at is done by another one, within ten seconds, and what waited behind it too."""
    (first,) = await fleet.start(1, model_ms=60_000)
    await fleet.bring("s0", "1", "2")
    await fleet.until(lambda: len(fleet.lines("begin")) == 1)
    await fleet.start(1)
    fleet.kill(first)
    await fleet.until(lambda: fleet.said("s0") == ["re: 1", "re: 2"], seconds=10)


@pytest.mark.faults
async def test_a_worker_that_was_thought_dead(fleet: Fleet) -> None:
    """It comes back, and its turn does not count: another one has played it. Nor does it end what is another's."""
    (first,) = await fleet.start(1, model_ms=500)
    await fleet.bring("s0", "1", "2")
    await fleet.until(lambda: len(fleet.lines("begin")) == 1)
    fleet.pause(first)
    await fleet.start(1, model_ms=500)
    await fleet.until(lambda: len(fleet.said("s0")) == 2)
    fleet.resume(first)
    await fleet.until(lambda: len(fleet.lines("end")) == 3)
    await fleet.bring("s0", "3")
    await fleet.drained()
    assert fleet.said("s0") == ["re: 1", "re: 2", "re: 3"]


@pytest.mark.faults
async def test_a_worker_that_ends_in_good_order(fleet: Fleet) -> None:
    """It finishes what it can, and gives back the rest at once."""
    (first,) = await fleet.start(1, model_ms=60_000)
    await fleet.bring("s0", "1", "2")
    await fleet.until(lambda: len(fleet.lines("begin")) == 1)
    await fleet.start(1)
    await fleet.stop(first)
    await fleet.until(lambda: fleet.said("s0") == ["re: 1", "re: 2"], seconds=5)


@pytest.mark.faults
async def test_workers_that_are_killed_again_and_again(fleet: Fleet) -> None:
    """Nothing is lost; what reached a customer twice had the same key; order is kept."""
    await fleet.start(3, model_ms=30)
    for text, pause in zip(TEXTS, (0.2, 0.0, 0.05, 0.15, 0.01, 0.1), strict=True):
        await asyncio.gather(*(fleet.bring(session, text) for session in SESSIONS))
        await asyncio.sleep(pause)
        fleet.kill(next(name for name, worker in fleet.workers.items() if worker.poll() is None))
        await fleet.start(1, model_ms=30)
    await fleet.drained()
    for session in SESSIONS:
        assert list(dict.fromkeys(fleet.said(session))) == [f"re: {text}" for text in TEXTS]
    sent = {(line.key, line.session, line.text) for line in fleet.lines("sent")}
    assert len(sent) == len(SESSIONS) * len(TEXTS)


@pytest.mark.faults
async def test_an_input_that_kills_its_workers(fleet: Fleet) -> None:
    """It is set aside, where people see it, and its session goes on. What died beside it each time is not
    set aside for that: after some deaths each is tried alone."""
    beside = [f"s{n}" for n in range(1, 5)]
    for session in beside:
        await fleet.bring(session, "1")
    await fleet.bring("s0", "poison", "2")
    for _ in range(12):
        await fleet.start(1, kill_on="poison", model_ms=1000)
        await fleet.until(lambda: _last_died(fleet) or all(map(fleet.said, ("s0", *beside))))
        if not _last_died(fleet):
            break
    assert [fleet.said(session) for session in ("s0", *beside)] == [["re: 2"], *[["re: 1"]] * len(beside)]
    (row,) = await fleet.ledger.run(dead("Ana", limit=9))
    assert (row.key, row.error) == ("message:poison", "each worker that had it died")


@pytest.mark.faults
async def test_a_server_that_is_restarted(fleet: Fleet, postgres_server: Server) -> None:
    """Workers find their way back by themselves; nothing is lost, nothing doubled."""
    await fleet.start(2, model_ms=20)
    await asyncio.gather(*(fleet.bring(session, *TEXTS[:3]) for session in SESSIONS))
    await fleet.until(lambda: len(fleet.lines("end")) > 5)
    await asyncio.to_thread(postgres_server.restart)
    for session in SESSIONS:
        for _ in range(20):
            try:
                await fleet.bring(session, *TEXTS[3:])
                break
            except Exception:  # noqa: BLE001  # of the driver: the connection is gone
                await asyncio.sleep(0.1)
    await fleet.until(lambda: all(len(set(fleet.said(session))) == len(TEXTS) for session in SESSIONS))
    for session in SESSIONS:
        assert list(dict.fromkeys(fleet.said(session))) == [f"re: {text}" for text in TEXTS]
    sent = {(line.key, line.session, line.text) for line in fleet.lines("sent")}
    assert len(sent) == len(SESSIONS) * len(TEXTS)


@pytest.mark.faults
@pytest.mark.parametrize("skew_ms", [3_000, -3_000])
async def test_clocks_that_differ(fleet: Fleet, skew_ms: int) -> None:
    """Of two workers one goes wrong by seconds: every message is answered once and in order, every timer fires once."""
    await fleet.start(1)
    await fleet.start(1, skew_ms=skew_ms)
    for session in SESSIONS:
        await fleet.bring(session, "k", kind="start")
        await fleet.bring(session, *TEXTS)
    await fleet.until(lambda: all(len(fleet.said(session)) == len(TEXTS) + 1 for session in SESSIONS))
    await fleet.drained()
    for session in SESSIONS:
        assert [text for text in fleet.said(session) if text != "It is time."] == [f"re: {text}" for text in TEXTS]
        assert fleet.said(session).count("It is time.") == 1


def _last_died(fleet: Fleet) -> bool:
    return list(fleet.workers.values())[-1].poll() is not None
