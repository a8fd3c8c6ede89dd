"""Who goes first: people, then timers and events, then the starts of campaigns."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from falai import Agent, Event, Message
from falai.host import Host, Settings
from falai.host.inputs import arrival_body
from falai.host.ledger.campaigning import PlannedStart, begin_campaign, plan_starts
from falai.host.ledger.looking import counts
from falai.host.ledger.port import Arrival, Limits, Place
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.taking import take_in
from falai.host.queue.installing import install
from falai.host.queue.works import job_ended, look_for_due, queue_of
from host.ledger.ledgers import ask
from host.stage import FLOWS, Echo, Wire

pytestmark = pytest.mark.servers
NOW, ROOM = 1_000_000, 10
LIMITS = Limits(None, None)


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[PostgresLedger]:
    """Five starts of a campaign are due in it."""
    ledger = PostgresLedger(url, connections=2)
    await ledger.open()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await install(connection)
    await ledger.run(begin_campaign("Ana", tenant="t", campaign="c", begins_at=NOW))
    starts = [PlannedStart(f"s{n}", "start:f:c", "{}", NOW) for n in range(5)]
    await ledger.run(plan_starts("Ana", starts, tenant="t", campaign="c"))
    yield ledger
    await ledger.close()


async def come(ledger: PostgresLedger, kind: str, *sessions: str) -> None:
    for session in sessions:
        given = Message("hello", id=session) if kind == "message" else Event("rung", session)
        arrival = Arrival(f"{kind}:{session}", "message" if kind == "message" else "event", arrival_body(given))
        await ledger.run(take_in(Place("t", "Ana", session), [arrival], now_ms=NOW, limits=LIMITS))


async def planned(ledger: PostgresLedger) -> int:
    """How many starts are planned still, after a look."""
    queue = await ledger.run(queue_of("turn", "Ana"))
    await ledger.run(look_for_due("Ana", queue, now_ms=NOW, max_late=10**9, room=ROOM))
    return (await ledger.run(counts("Ana", now_ms=NOW))).starts


async def test_a_campaign_waits_while_others_do(ledger: PostgresLedger) -> None:
    """Its starts come only into a queue that is nearly empty, and no more than it takes."""
    await come(ledger, "message", "a", "b")
    assert await planned(ledger) == 5
    await ledger.run(
        ask("DELETE FROM procrastinate_jobs WHERE lock = falai_lock('turn', 't', 'Ana', 'a') RETURNING id")
    )
    assert await planned(ledger) == 4
    assert await planned(ledger) == 4


async def test_who_waits_for_an_answer_is_first(ledger: PostgresLedger) -> None:
    """Whoever came before."""
    await planned(ledger)
    await come(ledger, "event", "e1")
    await come(ledger, "message", "m1")
    jobs = await ledger.run(ask("SELECT args ->> 'session' FROM procrastinate_jobs ORDER BY priority DESC, id"))
    assert [row[0] for row in jobs][:1] == ["m1"]
    assert len(jobs) == 4


async def test_endless_messages_do_not_starve_the_others(ledger: PostgresLedger, url: str) -> None:
    """However many people wait, every eighth turn is of those for whom nobody does."""
    wire = Wire()
    for n in range(30):
        await come(ledger, "message", f"m{n}")
    await come(ledger, "event", "e1")
    agent = Agent[None](name="Ana", model=Echo(), flows=FLOWS, events={"rung": {"direction": "outbound"}})
    async with Host(agent, url, channel=wire, settings=Settings(at_once=1)) as host:
        await host.drained()
    played = await ledger.run(ask("SELECT session FROM falai_run_log ORDER BY seq"))
    assert [row[0] for row in played].index("e1") < 8
    assert [row[0] for row in played][:7] == [f"m{n}" for n in range(7)]


async def test_what_a_person_waits_for_stays_urgent(ledger: PostgresLedger) -> None:
    """Though a timer of the same session waits too, with a job of its own that would do for both."""
    await come(ledger, "event", "a")
    await come(ledger, "message", "a")
    (taken,) = await ledger.run(
        ask("UPDATE procrastinate_jobs SET status = 'doing' WHERE priority = 10 RETURNING id, worker_id")
    )
    assert await ledger.run(
        job_ended("turn", Place("t", "Ana", "a"), job=taken[0], worker=None, priority=10, more=True, begun_ms=NOW)
    )
    jobs = await ledger.run(ask("SELECT priority FROM procrastinate_jobs ORDER BY priority DESC"))
    assert [row[0] for row in jobs] == [10, 0]
