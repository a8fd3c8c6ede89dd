"""Real turns a second with two workers on PostgreSQL, beside a floor. Exit code 1 when under the limit.

Several hundred sessions have six messages each, which wait when two workers begin: the host's, those of the host
on a second dispatcher (a prototype), or the floor's, which plays the same turns and moves the same rows by hand.
They take turns in one run, on one server; what counts is the time until the last message was sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import psycopg

from benchmarks.conversation import MESSAGES, Answers, message_id, sales_desk
from benchmarks.distributed_fifo import FifoHost
from benchmarks.distributed_fleet import Server, quiet, schema, served, workers
from benchmarks.distributed_floor import TABLES, floor
from benchmarks.hosted import Line, Null, tell
from falai.host import Host, Settings
from falai.session.dates import system_now
from falai.session.jsontext import json_text

LIMIT = 4.0
SESSIONS, WORKERS, ROUNDS, AT_ONCE = 150, 2, 3, 20
FILL = """
    INSERT INTO falai_sessions (tenant, agent, session, created_at, updated_at)
    SELECT 'default', 'Ana', 's' || n, 0, 0 FROM generate_series(1, %s) n"""
BRING = """
    INSERT INTO falai_inbox
        (tenant, agent, session, key, kind, body, attachments, received_at, pause_until, not_before)
    SELECT 'default', 'Ana', 's' || n, %s, 'message', %s, '[]', t.now, t.now, t.now
    FROM generate_series(1, %s) n, (SELECT (extract(epoch FROM now()) * 1000)::BIGINT AS now) t"""


def bring(url: str, sessions: int, messages: int) -> None:
    """Messages in each session, which wait from now on."""
    with psycopg.connect(url) as db:
        db.execute(FILL, (sessions,))
        for number in range(messages):
            message = {"text": MESSAGES[number % len(MESSAGES)], "id": message_id(number)}
            db.execute(BRING, (f"message:{message_id(number)}", json_text(message), sessions))


def prepare(kind: str, url: str) -> None:
    """The tables of a side, and what waits in them."""
    asyncio.run(_made(kind, url))
    bring(url, SESSIONS, len(MESSAGES))
    if kind == "floor":
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(TABLES)


async def _made(kind: str, url: str) -> None:
    from falai.host.ledger.postgres import PostgresLedger

    if kind == "floor":
        await (ledger := PostgresLedger(url)).open()
        await ledger.close()
    else:
        async with hosts[kind](url):
            pass


def _host(url: str) -> Host[None]:
    return Host(sales_desk(Answers(), system_now), url, channel=Null(), settings=Settings(at_once=AT_ONCE))


def _fifo(url: str) -> Host[None]:
    return FifoHost(sales_desk(Answers(), system_now), url, channel=Null(), settings=Settings(at_once=AT_ONCE))


hosts: dict[str, Callable[[str], Host[None]]] = {"host": _host, "fifo": _fifo}


def rate(server: Server, kind: str) -> float:
    """Turns a second."""
    url = schema(server, kind)
    prepare(kind, url)
    begun = perf_counter()
    with workers("benchmarks.distributed", WORKERS, kind=kind, url=url):
        started = perf_counter()
        quiet(url)
        ended = perf_counter()
    with psycopg.connect(url) as db:
        ((first,),) = db.execute("SELECT min(at) FROM falai_run_log").fetchall()
        ((turns,),) = db.execute("SELECT count(*) FROM falai_run_log").fetchall()
        ((sent,),) = db.execute("SELECT count(*) FROM falai_outbox WHERE state = 'sent'").fetchall()
    assert turns == sent == SESSIONS * len(MESSAGES), (turns, sent)
    assert first
    assert begun < started
    return turns / (ended - started)


async def work(kind: str, url: str) -> None:
    """A worker, until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    if kind == "floor":
        task = asyncio.create_task(floor(url, sales_desk(Answers(), system_now), AT_ONCE))
        print("ready", flush=True)
        await ended.wait()
        task.cancel()
        return
    async with hosts[kind](url):
        print("ready", flush=True)
        await ended.wait()


def measure() -> list[Line]:
    """The lines of the table."""
    found: dict[str, list[float]] = {"host": [], "floor": [], "fifo": []}
    with served() as server:
        for _ in range(ROUNDS):
            for kind, rates in found.items():
                rates.append(rate(server, kind))
    host, by_hand, fifo = (median(rates) for rates in found.values())
    return [
        Line(
            f"real turns a second with {WORKERS} workers: so many times as many has the floor",
            by_hand / host,
            "times",
            LIMIT,
        ),
        Line("  the host", host, "a s"),
        Line("  the floor", by_hand, "a s"),
        Line("  the host on FIFO groups, a prototype", fifo, "a s"),
    ]


def main() -> int:
    """Prints the table; 1 when the floor has more than four times as many. With an order: a worker."""
    logging.disable(logging.CRITICAL)
    if len(sys.argv) > 1:
        order: dict[str, Any] = json.loads(sys.argv[1])
        asyncio.run(work(order["kind"], order["url"]))
        return 0
    return tell(measure())


if __name__ == "__main__":
    sys.exit(main())
