"""One life of a host: from the opening of its file to its death, or to the end of its script.

What was done is in the world's lines, so that the next life goes on from there: a step that was not
acknowledged is done again, as a vendor delivers again what nobody has answered.
"""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falai.host import Keep, Settings
from falai.host.ledger.port import Ledger, Statement, Work
from falai.host.ledger.ready import next_delivery, next_not_before
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.waking import next_due
from host.faults.death import Death, InlineLedger, Killed, MortalHost, MortalLedger, Rewrite
from host.faults.desk import Desk, JumpingClock
from host.faults.loop import JumpingLoop
from host.faults.onlooker import Onlooker
from host.faults.outside import PEOPLE, do
from host.faults.script import SESSIONS, Step, draw_script
from host.faults.world import World
from strategies import Dice

__all__ = ["SETTINGS", "Life", "live"]

_START_MS = 1_789_898_400_000
_NEVER_FULL = 1_000_000
_NO_LIMIT = resource.RLIM_INFINITY
_NOTES = 20_000
_HORIZON_MS = 8 * 3_600_000
_FOREVER = Keep(inputs="forever", messages="forever", transcript="forever", log="forever", dead="forever")
SETTINGS = Settings(
    turn_limit="5s",
    send_limit="4s",
    max_late="1d",
    retries=("1s", "5s", "30s", "2m"),
    send_retries=("1s", "5s", "30s"),
    grace="2s",
    keep=_FOREVER,
)


@dataclass(frozen=True)
class Life:
    """The `number`-th life of a seed, in the folder of the seed. It dies at the `after`-th point, or lives on;
    `between` transactions, or anywhere.

    `real`: this is a process of its own. `rewrite` plants a fault in the ledger's works.
    """

    seed: int
    number: int
    folder: Path
    after: int | None
    between: bool = False
    real: bool = False
    rewrite: Rewrite | None = None


def live(life: Life) -> bool:
    """Whether it came to the end of its script."""
    death = Death(life.after, real=life.real, between=life.between)
    world = World(life.folder / "world.jsonl", durable=life.real)
    loop = JumpingLoop()
    loop.set_exception_handler(lambda _loop, _context: None)  # tasks that died are no news
    ledgers = list[InlineLedger | SQLiteLedger]()
    try:
        loop.run_until_complete(_Living(life, world, death, ledgers).go())
    except (Killed, RuntimeError):  # the latter is the loop's word for a stop
        if not death.dead:
            raise
        return False
    else:
        return True
    finally:
        death.dead = True
        _bury(loop, ledgers)
        world.close()


def _bury(loop: JumpingLoop, ledgers: list[Any]) -> None:
    """Nothing of a dead host goes on; its file is closed as the system closes it."""
    loop.rounds = 0
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    for ledger in ledgers:
        loop.run_until_complete(ledger.close())
    loop.close()


class _Living:
    def __init__(self, life: Life, world: World, death: Death, ledgers: list[Any]) -> None:
        self.life = life
        seed, number = life.seed, life.number
        lines = list(world.lines("done", "clock"))
        self.steps = draw_script(Dice(("script", seed)))
        self.watched = Dice(("watched", seed, number)).chance(0.5)
        self.done = sum(line["what"] == "done" for line in lines)
        self.clock = JumpingClock(lines[-1]["now"] if lines else _START_MS)
        self.world = world
        self.desk = Desk(world, death, Dice(("life", seed, number)), self.clock)
        inner = SQLiteLedger(life.folder / "host.db") if life.real else InlineLedger(life.folder / "host.db")
        ledgers.append(inner)
        self.ledger: Ledger = MortalLedger(inner, death, life.rewrite)
        self.host = self._made()

    def _made(self) -> MortalHost:
        host = MortalHost(
            self.desk.agent,
            self.ledger,
            channel=self.desk.channel,
            context=self.desk.context,
            settings=_settings(Dice(("settings", self.life.seed))),
            clock=self.clock,
        )
        host.death = self.desk.death
        return host

    async def go(self) -> None:
        """The rest of the script. A restart ends a host as it should end, and another goes on."""
        while True:
            async with self.host:
                onlooker = Onlooker(self.host, self.desk.agent.plan.name, self.world)
                async with onlooker.looking() if self.watched else nullcontext():
                    if await self._plays_on():
                        await self._settle()
                        return await onlooker.catch_up()
            self.host = self._made()

    async def _plays_on(self) -> bool:
        """Whether the script is at its end; else this host is."""
        for step in self.steps[self.done :]:
            await self._surely(step)
            self.world.write("done", now=self.clock.now_ms())
            self.done += 1
            await asyncio.sleep(step.pause_ms / 1000)
            if step.kind == "restart":
                await self._make_room()  # on a full disk no host begins
                return False
        return True

    async def _surely(self, step: Step) -> None:
        """Again and again, as a vendor does; somebody makes room on the disk meanwhile."""
        for _ in range(3):
            try:
                await self._do(step)
            except sqlite3.Error:
                await asyncio.sleep(1)
            else:
                return
        await self._make_room()
        await self._do(step)

    async def _do(self, step: Step) -> None:
        if step.kind in PEOPLE:
            await do(self.host, self.world, step)
        else:
            await self._nature(step)

    async def _nature(self, step: Step) -> None:
        match step.kind:
            case "clock":
                self.clock.ms += step.ms
                self.world.write("clock", now=self.clock.now_ms())
            case "disk":
                await self._fill_disk(step.ms)
            case _:
                await asyncio.sleep(step.ms / 1000)

    async def _fill_disk(self, pages: int) -> None:
        """No room but for so many pages: by the database's own limit, and by the system's where it is a process's own."""
        await self.ledger.run(_pages(pages))
        if self.life.real:
            log, world = (self.life.folder / name for name in ("host.db-wal", "world.jsonl"))
            room = max(log.stat().st_size + 4096 * pages, world.stat().st_size + _NOTES)  # the outside has its own disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, _NO_LIMIT))

    async def _make_room(self) -> None:
        if self.life.real:
            resource.setrlimit(resource.RLIMIT_FSIZE, (_NO_LIMIT, _NO_LIMIT))
        await self.ledger.run(_pages(None))

    # --- the end: nothing fails any more, and all that is left to do is done ---------------------------

    async def _settle(self) -> None:
        self.desk.faults = False
        await self._make_room()
        for session in SESSIONS:
            self.world.write("releasing", session=session)
            await self.host.release(session)
        end = self.clock.now_ms() + _HORIZON_MS
        await self._until(end)
        for row in await self.host.dead():
            self.world.write("retried", key=row.key)
            await self.host.retry(row)
        await self._until(end + _HORIZON_MS)
        self.world.write("settled", now=self.clock.now_ms())

    async def _until(self, end: int) -> None:
        """Plays all that is due until then."""
        for _ in range(500):
            await self.host.drained()
            due = await self.ledger.run(_next(self.desk.agent.plan.name, self.clock.now_ms()))
            if due is None or due > end:
                return
            self.clock.ms += max(0, due - self.clock.now_ms())
        raise AssertionError("there is no end of it: a storm")


def _settings(dice: Dice) -> Settings:
    return SETTINGS if dice.chance(0.6) else _with_bursts()


def _with_bursts() -> Settings:
    given = {
        name: getattr(SETTINGS, name) for name in ("turn_limit", "send_limit", "max_late", "retries", "send_retries")
    }
    return Settings(burst="0.4s", grace="2s", keep=_FOREVER, **given)


def _pages(more: int | None) -> Work[None]:
    """The database may grow by so many pages, and by no more."""
    ((count,),) = (yield (Statement("PRAGMA page_count", ()),))[0]
    yield (Statement(f"PRAGMA max_page_count = {_NEVER_FULL if more is None else count + more}", ()),)


def _next(agent: str, now_ms: int) -> Work[int | None]:
    found = [
        (yield from next_not_before(agent, now_ms=now_ms)),
        (yield from next_delivery(agent, now_ms=now_ms)),
        (yield from next_due(agent)),
    ]
    return min((at for at in found if at is not None), default=None)
