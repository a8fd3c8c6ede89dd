"""How late timers start among a million that are not due, with two workers on PostgreSQL. Exit code 1 when over the limit.

Some hundred sessions wait in a flow, and their timers come due over ten seconds; beside them a million timers of
other sessions wait. What counts is from the instant at which a timer is due to the one in which its flow's action runs.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import psycopg

from benchmarks.conversation import Answers
from benchmarks.distributed_fleet import Server, quiet, schema, served, workers
from benchmarks.hosted import Line, tell
from falai import ActionContext, ActionResult, Agent, Do, Flow, OnMessage, Start, Wait, ok
from falai.host import Host
from falai.session.dates import system_now, to_ms

LIMIT = 500.0
DUE, WITHIN_S, PENDING, SESSIONS, WORKERS = 500, 10.0, 1_000_000, 50_000, 2
AHEAD_S = 8.0  # until the workers have begun
OTHERS = """
    INSERT INTO falai_sessions (tenant, agent, session, version, blob, created_at, updated_at)
    SELECT 'default', 'Ana', 'other-' || n, 1, '{}', 0, 0 FROM generate_series(1, %s) n"""
TIMERS = """
    INSERT INTO falai_wakes (tenant, agent, session, key, due_at)
    SELECT 'default', 'Ana', 'other-' || (1 + n / %s), 'wait:' || (n %% %s), %s + (n * 7919::BIGINT) %% 864000000
    FROM generate_series(0, %s) n"""
SPREAD = "UPDATE falai_wakes SET due_at = %s + (substr(session, 2)::INT * %s)::BIGINT WHERE session LIKE 's%%'"


class Late:
    """What is late, in milliseconds: one figure for each timer, which are due from `begin_ms` on."""

    def __init__(self, begin_ms: int, clock: Callable[[], datetime] = system_now) -> None:
        self.begin_ms = begin_ms
        self.found: list[float] = []
        flow = Flow("later", on=[OnMessage("asks to be called")], steps=[Wait("pause", "1h"), Do("call", self.call)])
        self.agent: Agent[None] = Agent(name="Ana", model=Answers(), clock=clock, flows=[flow], actions=[self.call])

    async def call(self, ctx: ActionContext[None]) -> ActionResult:
        """Call the customer."""
        due = self.begin_ms + int(ctx.session_id.removeprefix("s")) * WITHIN_S * 1000 / DUE
        self.found.append(to_ms(system_now()) - due)
        return ok("called")


async def fill(url: str) -> None:
    """Sessions that have waited for an hour, and others, whose timers are due in an hour or later."""
    before = system_now() - timedelta(hours=1)
    async with Host(Late(0, lambda: before).agent, url) as host:
        for number in range(DUE):
            await host.receive(f"s{number}", Start("later", "k"))
        await host.drained()
    far, each = to_ms(system_now() + timedelta(hours=1)), PENDING // SESSIONS
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(OTHERS, (SESSIONS,))
        db.execute(TIMERS, (each, each, far, PENDING - 1))
        db.execute("ANALYZE")


def measure(server: Server) -> list[float]:
    """How late each timer was, in milliseconds, the least first."""
    url = schema(server, "timers")
    asyncio.run(fill(url))
    begin = time.time_ns() // 1_000_000 + int(AHEAD_S * 1000)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(SPREAD, (begin, WITHIN_S * 1000 / DUE))
        assert db.execute("SELECT count(*) FROM falai_wakes").fetchone() == (PENDING + DUE,)
    found: list[float] = []
    with workers("benchmarks.distributed_timers", WORKERS, url=url, begin_ms=begin) as started:
        time.sleep(max(0, begin / 1000 - time.time()) + WITHIN_S + 1)
        quiet(url)
        for worker in started:
            worker.send_signal(signal.SIGUSR1)
            assert worker.stdout is not None
            found += json.loads(worker.stdout.readline())
    assert len(found) == DUE, len(found)
    return sorted(found)


async def work(url: str, begin_ms: int) -> None:
    """A worker, until SIGTERM; on SIGUSR1 it says what it has found."""
    late, ended = Late(begin_ms), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: print(json.dumps(late.found), flush=True))
    async with Host(late.agent, url):
        print("ready", flush=True)
        await ended.wait()


def main() -> int:
    """Prints the figures; 1 when the 99th percentile is over the limit. With an order: a worker."""
    logging.disable(logging.CRITICAL)
    if len(sys.argv) > 1:
        order: dict[str, Any] = json.loads(sys.argv[1])
        asyncio.run(work(order["url"], order["begin_ms"]))
        return 0
    with served() as server:
        found = measure(server)
    return tell(
        [
            Line(f"from due to start, {DUE} of {PENDING} timers, {WORKERS} workers: median", found[DUE // 2], "ms"),
            Line("  99 of 100", found[DUE * 99 // 100], "ms", LIMIT),
            Line("  the latest", found[-1], "ms"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
