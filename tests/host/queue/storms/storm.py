"""One seed: a script of what customers, people and nature do, over workers that share a database, to the verdict.

Time is real here, so timers and pauses are short. The process of the test is a host too, as a web server is
that takes in messages; the others only work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

from falai.host.ledger.looking import counts
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.waking import next_due
from falai.session.dates import system_now, to_ms
from host.faults.death import Death, MortalHost
from host.faults.outside import do
from host.faults.script import Kind, Step, draw_script
from host.faults.verdict import judge
from host.faults.world import World
from host.queue.storms.crew import Crew
from host.queue.storms.going import SEEING, Evidence, goes_on
from host.queue.storms.nature import Nature, Sturdy
from host.queue.storms.pace import Pace
from host.queue.storms.plants import NO_END, SCRIPTS
from host.queue.storms.worker import CALM, Role, desk_of, host_of
from strategies import Dice

__all__ = ["storm"]

SESSIONS: Final = ("s1", "s2", "s3", "s4", "s5")
WEIGHTS: Final[Mapping[Kind, float]] = {
    "message": 10, "again": 3, "twice": 3, "quick": 3, "takeover": 2, "booked": 3, "paid": 2, "start": 2, "hold": 1,
    "release": 2, "person": 1, "wait": 2,
    "kill": 4, "backend": 0.7, "terminate": 2, "server": 0.5, "cut": 1, "dark": 0.7, "frozen": 0.7, "deploy": 0.5,
}  # fmt: skip
NATURE: Final = ("wait", "kill", "backend", "terminate", "server", "cut", "dark", "frozen", "deploy")
_TRIES: Final = 80
_AGAIN_S: Final = 0.25
_LOOK_S: Final = 0.1
_LATEST_S: Final = (
    50  # far more than what is left takes, and less than a minute, when the host would look for what was lost
)
_HORIZON_MS: Final = 5_000


async def storm(seed: int, server: Sturdy, folder: Path, plant: str = "") -> list[str]:
    """What speaks against the promises after this seed; with a `plant` the workers have a fault."""
    folder.mkdir(parents=True)
    played = _Storm(seed, server, folder, plant)
    try:
        return await played.play()
    finally:
        played.close()


def script_of(seed: int) -> Sequence[Step]:
    """Twice as much as one host is given: the first half ends before the second begins. At last a session gets a timer
    and nothing else, which would make up for it.
    """
    drawn = [
        step for part in (0, 1) for step in _named(part, draw_script(Dice(("storm", seed, part)), WEIGHTS, SESSIONS))
    ]
    return [*drawn, Step("booked", "s6", "last")]


def _named(part: int, steps: Sequence[Step]) -> Sequence[Step]:
    return [Step(step.kind, step.session, f"{step.name}p{part}", step.ms, min(step.pause_ms, 700)) for step in steps]


class _Storm:
    def __init__(self, seed: int, server: Sturdy, folder: Path, plant: str) -> None:
        self._server, self._folder, self._plant = server, folder, plant
        self._schema = f"storm_{seed}"
        self._url = f"{server.url}?options=-csearch_path%3D{self._schema}"
        self._world = World(folder / "world.jsonl", durable=False)
        self._crew = Crew(seed, self._url, folder, plant)
        role = Role(seed, -1, self._url, folder)
        self._desk = desk_of(role, Death(None, real=False), self._world)
        self._host: MortalHost = host_of(role, self._desk)
        self._ledger = PostgresLedger(self._url, connections=1)
        self._steps = script_of(seed)
        self._pace = Pace()
        self._nature = Nature(server, self._crew, Dice(("nature", seed)))

    def close(self) -> None:
        self._crew.close()
        self._world.close()

    async def play(self) -> list[str]:
        async with AsyncExitStack() as stack:  # another seed may have ended the server just now
            await self._surely(self._empty)
            await self._surely(lambda: stack.enter_async_context(self._host))
            await self._surely(self._ledger.open)
            await self._surely(self._planted)
            self._crew.start()
            beside = [asyncio.create_task(self._crew.tend()), asyncio.create_task(self._pace.measure())]
            try:
                for step in self._steps:
                    await self._done(step)
                await self._settle()
            except TimeoutError:
                return [*await self._surely(self._gone_on), f"{NO_END}: {await self._left()}"]
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)
                await self._ledger.close()
            await self._crew.end()
        return [*self._crew.odd, *await self._surely(self._judged), *await self._surely(self._gone_on)]

    # --- the script ---------------------------------------------------------------------------------

    async def _done(self, step: Step) -> None:
        if step.kind in NATURE:
            await self._nature.do(step)
        else:
            await self._surely(lambda: do(self._host, self._world, step))
        self._world.write("done", now=_now_ms())
        await asyncio.sleep(step.pause_ms / 1000)

    async def _surely(self, do: Callable[[], Awaitable[Any]]) -> Any:
        """Again and again, as a vendor does."""
        for _ in range(_TRIES):
            try:
                return await do()
            except psycopg.Error:
                await asyncio.sleep(_AGAIN_S)
        return await do()

    async def _empty(self) -> None:
        async with await self._connected() as db:
            await db.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE".encode())
            await db.execute(f"CREATE SCHEMA {self._schema}".encode())

    async def _planted(self) -> None:
        with suppress(psycopg.errors.DuplicateTable):  # it was done, and the answer was lost
            async with await psycopg.AsyncConnection.connect(self._url) as db:
                await db.execute(SEEING.encode())
                await db.execute(SCRIPTS.get(self._plant, "").encode())

    # --- the end: nothing fails any more, and all that is left to do is done ---------------------------

    async def _settle(self) -> None:
        self._desk.faults = False
        self._crew.mortal = False
        (self._folder / CALM).touch()
        for session in SESSIONS:
            self._world.write("releasing", session=session)
            await self._surely(lambda session=session: self._host.release(session))
        await self._until_quiet()
        for row in await self._surely(self._host.dead):
            self._world.write("retried", key=row.key)
            await self._surely(lambda row=row: self._host.retry(row))
        await self._until_quiet()
        self._world.write("settled", now=_now_ms())

    async def _until_quiet(self) -> None:
        """Until nothing waits, and no timer is near."""
        async with asyncio.timeout(_LATEST_S):
            while await self._surely(self._is_anything_left):
                await asyncio.sleep(_LOOK_S)

    async def _is_anything_left(self) -> bool:
        name, now = self._desk.agent.plan.name, _now_ms()
        found = await self._ledger.run(counts(name, now_ms=now))
        due = await self._ledger.run(next_due(name))
        return bool(found.inputs or found.messages or (due and due < now + _HORIZON_MS) or await self._jobs())

    # --- looking -----------------------------------------------------------------------------------

    async def _left(self) -> str:
        inputs = "SELECT key, kind, state, attempts, error FROM falai_inbox WHERE state = 'new' LIMIT 5"
        async with await self._connected() as db:
            return repr([*await (await db.execute(inputs.encode())).fetchall(), *await self._jobs()])

    async def _jobs(self) -> Sequence[Any]:
        async with await self._connected() as db:
            return await (
                await db.execute(b"SELECT queue_name, status, attempts, args FROM procrastinate_jobs")
            ).fetchall()

    async def _judged(self) -> list[str]:
        with psycopg.connect(self._url) as db:
            cursor = db.cursor(row_factory=dict_row)
            return judge(
                lambda sql: cursor.execute(sql.encode()).fetchall(), self._world, self._steps, self._desk.agent
            )

    async def _gone_on(self) -> list[str]:
        with psycopg.connect(self._url) as db:
            cursor = db.cursor(row_factory=dict_row)
            seen = cursor.execute("SELECT * FROM storm_seen ORDER BY at, number").fetchall()
        return goes_on(seen, Evidence(self._crew.died, self._nature.faults, self._pace.slowness))

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        return await psycopg.AsyncConnection.connect(self._url, autocommit=True)


def _now_ms() -> int:
    return to_ms(system_now())
