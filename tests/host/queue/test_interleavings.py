"""Whoever comes in between, and whenever: no input is left without somebody who will play it, and order is kept.

One job waits for a session however many inputs it has, so an input may rely on the job of another. Each step of
those who are at a session at once is put before and behind each step of the others: all orders in the long form,
some of them else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import psycopg
import pytest

from falai.host.ledger.port import Place
from falai.host.ledger.postgres import PostgresLedger
from falai.host.queue.installing import install, queue_migrations
from falai.host.queue.works import find_lost
from host.ledger.ledgers import ask
from host.queue.actors import Actor, holder, interleaved, looker, reaper, retrier, signaller, taker, writer
from strategies import Dice

pytestmark = pytest.mark.servers

SOME, MOST = 8, 800
Cast = Sequence[Callable[[Actor], Actor]]

IDLE = "a job that has nothing to do"
"""In this scene nothing waits at first but a job."""
SCENES: Mapping[str, Cast] = {
    "one comes": [taker, lambda a: writer(a, "m2")],
    IDLE: [taker, lambda a: writer(a, "m2")],
    "one comes, and another is rolled back": [
        taker,
        lambda a: writer(a, "m2"),
        lambda a: writer(a, "m3", kept=False),
    ],
    "what only waits, and one that is urgent": [
        taker,
        lambda a: writer(a, "e2", kind="event"),
        lambda a: writer(a, "m3"),
    ],
    "a worker that is thought dead": [taker, reaper, taker, lambda a: writer(a, "m2")],
    "a turn that fails": [lambda a: taker(a, "later"), looker, lambda a: writer(a, "m2")],
    "one that is set aside and brought back": [
        lambda a: taker(a, "aside"),
        retrier,
        looker,
        lambda a: writer(a, "m2"),
    ],
    "a person takes over": [taker, holder, lambda a: writer(a, "m2")],
}


@pytest.fixture
async def connections(url: str) -> AsyncIterator[Sequence[psycopg.AsyncConnection[Any]]]:
    ledger = PostgresLedger(url, connections=1)
    await ledger.open()
    await ledger.close()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await install(connection)
    made = [await psycopg.AsyncConnection.connect(url) for _ in range(5)]
    yield made
    for connection in made:
        await connection.close()


def orders(lengths: Sequence[int], *, full: bool) -> Sequence[Sequence[int]]:
    """In which order they come, each once: a sample that is the same each time; the long form has most of them."""
    dice = Dice("orders")
    whole = [which for which, length in enumerate(lengths) for _ in range(length)]
    tries = MOST * 4 if full else SOME
    return list(dict.fromkeys(tuple(dice.some(whole, len(whole))) for _ in range(tries)))[:MOST]


@pytest.mark.parametrize("scene", SCENES)
async def test_nobody_is_forgotten(
    scene: str, connections: Sequence[psycopg.AsyncConnection[Any]], *, full: bool
) -> None:
    """When all have done what they do, a job waits for each input that waits, and so all of them are played."""
    lengths = [len(make(Actor(connections[0], Place("t", "a", "s"))).steps) for make in SCENES[scene]]
    for number, order in enumerate(orders(lengths, full=full)):
        place = Place("t", f"agent {number}", "s")
        last = Actor(connections[-1], place)
        await alone(last, signaller if scene == IDLE else lambda actor: writer(actor, "m1"))
        actors = [make(Actor(db, place)) for make, db in zip(SCENES[scene], connections, strict=False)]
        await interleaved(actors, order)
        assert await last.carry_out(find_lost(place.agent)) == 0, f"in the order {order} an input was lost"
        assert await left(last) == [], f"in the order {order} an input was not played"


async def test_a_job_that_nobody_keeps_is_found(url: str, connections: Sequence[psycopg.AsyncConnection[Any]]) -> None:
    """Were the job that an input relies on not locked, some of these orders would lose the input."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(_unlocked().encode())
    with pytest.raises(AssertionError, match="was lost"):
        await test_nobody_is_forgotten(IDLE, connections, full=True)


def _unlocked() -> str:
    (made,) = [script for script in queue_migrations() if "CREATE FUNCTION falai_job" in script]
    body = made[made.index("CREATE FUNCTION falai_job") :].split("CREATE FUNCTION falai_look_at")[0]
    return body.replace("CREATE", "CREATE OR REPLACE").replace("FOR KEY SHARE SKIP LOCKED", "")


async def alone(actor: Actor, make: Callable[[Actor], Actor]) -> None:
    await interleaved([make(Actor(actor.db, actor.place))], [])


async def left(actor: Actor) -> Sequence[Any]:
    """What waits when workers have done all that they find to do."""
    await alone(actor, reaper)  # those that were at work are gone
    for _ in range(6):
        await alone(actor, looker)
        await alone(actor, taker)
    rows = await actor.carry_out(
        ask("SELECT key FROM falai_inbox WHERE agent = ? AND state = 'new'", actor.place.agent)
    )
    await actor.db.rollback()
    return rows
