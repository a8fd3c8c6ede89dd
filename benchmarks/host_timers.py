"""How late timers start among a million that are not due. Exit code 1 when over the limit.

A thousand sessions of a real host wait in a flow, and their timers come due over ten seconds of the
real clock; beside them a file of SQLite has a million timers of other sessions. What counts is from the
instant at which a timer is due to the one in which its flow's action runs.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.conversation import Answers
from benchmarks.hosted import Line, tell
from falai import ActionContext, ActionResult, Agent, Do, Flow, OnMessage, Start, Wait, ok
from falai.host import Host
from falai.session.dates import system_now

LIMIT = 250.0
DUE, WITHIN_S, PENDING, SESSIONS = 1_000, 10.0, 1_000_000, 50_000
HOUR = timedelta(hours=1)
OTHERS = """
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
    INSERT INTO falai_sessions (tenant, agent, session, version, blob, created_at, updated_at)
    SELECT 'default', 'Ana', printf('other-%06d', i), 1, '{}', 0, 0 FROM n"""
TIMERS = """
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
    INSERT INTO falai_wakes (tenant, agent, session, key, due_at)
    SELECT 'default', 'Ana', printf('other-%06d', i / ?), printf('wait:%02d', i % ?), ? + (i * 7919) % 864000000 FROM n"""


class Clock:
    """The real clock, set forward or back by `offset`; or one that stands still."""

    def __init__(self) -> None:
        self.still: datetime | None = None
        self.offset = timedelta(0)

    def __call__(self) -> datetime:
        return self.still or system_now() + self.offset


class Late:
    """What is late, in milliseconds: one figure for each timer."""

    def __init__(self, begin: datetime) -> None:
        self.clock = Clock()
        self.begin = begin
        self.found: list[float] = []
        flow = Flow("later", on=[OnMessage("asks to be called")], steps=[Wait("pause", "1h"), Do("call", self.call)])
        self.agent: Agent[None] = Agent(
            name="Ana", model=Answers(), clock=self.clock, flows=[flow], actions=[self.call]
        )

    def due(self, number: int) -> datetime:
        return self.begin + timedelta(seconds=WITHIN_S * number / DUE)

    async def call(self, ctx: ActionContext[None]) -> ActionResult:
        """Call the customer."""
        late = self.clock() - self.due(int(ctx.session_id.removeprefix("s")))
        self.found.append(late / timedelta(milliseconds=1))
        return ok("called")

    async def set(self, host: Host[None]) -> None:
        """Lets every session wait for an hour, from an hour before its instant."""
        for number in range(DUE):
            self.clock.still = self.due(number) - HOUR
            await host.receive(f"s{number}", Start("later", "k"))
            await host.drained()
        assert not self.found

    async def come(self, host: Host[None]) -> None:
        """Lets the clock go, from a second before the first is due."""
        self.clock.still, self.clock.offset = None, self.begin - timedelta(seconds=1) - system_now()
        await asyncio.sleep(WITHIN_S + 1)
        await host.drained()


async def measure(folder: Path) -> list[float]:
    """How late each timer was, in milliseconds, the least first."""
    late = Late(system_now())
    async with Host(late.agent, folder / "host.db") as host:
        await late.set(host)
    fill(folder / "host.db", int(late.begin.timestamp() * 1000))
    late.clock.still = late.begin - timedelta(seconds=5)
    async with Host(late.agent, folder / "host.db") as host:
        await host.drained()
        await late.come(host)
    assert len(late.found) == DUE
    return sorted(late.found)


def fill(path: Path, begin_ms: int) -> None:
    """A million timers of others, due from an hour later on."""
    db = sqlite3.connect(path)
    with db:
        db.execute(OTHERS, (SESSIONS,))
        each = PENDING // SESSIONS
        db.execute(TIMERS, (PENDING, each, each, begin_ms + 3_600_000))
    assert db.execute("SELECT count(*) FROM falai_wakes").fetchone() == (PENDING + DUE,)
    db.close()


def main() -> int:
    """Prints the figures; 1 when the 99th percentile is over the limit."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(Path(folder)))
    return tell(
        [
            Line(f"from due to start, {DUE} of {PENDING} timers: median", found[DUE // 2], "ms"),
            Line("  99 of 100", found[DUE * 99 // 100], "ms", LIMIT),
            Line("  the latest", found[-1], "ms"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
