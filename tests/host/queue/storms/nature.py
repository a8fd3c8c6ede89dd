"""What happens to the workers and their database: the server dies and comes back, a process of it dies, the network goes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

import psycopg

from falai.session.dates import system_now, to_ms
from host.faults.script import Step
from host.queue.storms.crew import CREW, Crew
from host.queue.storms.going import Span
from servers.programs import PostgreSQL
from strategies import Dice

__all__ = ["Nature", "Sturdy"]

_LOOK_S: Final = 0.05
_NOTICED_S: Final = 0.2  # by then it knows that one of its processes is gone


class Sturdy(PostgreSQL):
    """Keeps what it has confirmed though its processes are killed, and has room for many workers.

    Seeds that are played at the same time share it: what is done to it for one happens to all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.restarting = asyncio.Lock()
        self.downs: list[Span] = []
        """When it did not answer, for nobody."""

    @asynccontextmanager
    async def down(self) -> AsyncGenerator[None]:
        """While this goes on, and until it answers, it is down."""
        began = _now_ms()
        yield
        await asyncio.sleep(_NOTICED_S)
        while not await asyncio.to_thread(self.ready):
            await asyncio.sleep(_LOOK_S)
        self.downs.append(Span(began, _now_ms()))

    def command(self) -> list[str]:
        return [*super().command(), "--synchronous_commit=on", "--max_connections=400"]


class Nature:
    """Does what a step says, as the dice fall."""

    def __init__(self, server: Sturdy, crew: Crew, dice: Dice) -> None:
        self._server, self._crew, self._dice = server, crew, dice
        self._cuts: list[Span] = []

    @property
    def faults(self) -> list[Span]:
        """When the server was down, or a line to it."""
        return [*self._server.downs, *self._cuts]

    async def do(self, step: Step) -> None:
        match step.kind:
            case "kill":
                self._crew.kill(self._dice.number(0, CREW - 1))
            case "backend":
                async with self._server.down():
                    await self._to_a_backend(signal.SIGKILL)
            case "terminate":
                await self._to_a_backend(signal.SIGTERM)
            case "server":
                async with self._server.restarting, self._server.down():
                    await asyncio.to_thread(self._server.restart)
            case "deploy":
                await self._crew.deploy()
            case _:
                await self._to_the_network(step)

    async def _to_a_backend(self, how: signal.Signals) -> None:
        """A process of the server that serves somebody."""
        with suppress(psycopg.Error, ProcessLookupError):
            async with await psycopg.AsyncConnection.connect(self._server.url, autocommit=True) as db:
                sql = (
                    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                )
                pids = sorted(row[0] for row in await (await db.execute(sql)).fetchall())
                if pids:
                    os.kill(self._dice.pick(pids), how)

    async def _to_the_network(self, step: Step) -> None:
        proxy, began = self._dice.pick(self._crew.proxies), _now_ms()
        match step.kind:
            case "cut":
                proxy.cut()
            case "dark":
                proxy.close()
                await asyncio.sleep(step.ms / 1000)
                proxy.open()
            case "frozen":
                proxy.freeze()
                await asyncio.sleep(step.ms / 1000)
                proxy.thaw()
            case _:
                await asyncio.sleep(step.ms / 1000)
                return
        self._cuts.append(Span(began, _now_ms()))


def _now_ms() -> int:
    return to_ms(system_now())
