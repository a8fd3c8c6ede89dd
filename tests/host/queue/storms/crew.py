"""Four workers at least, each a process; two of them are behind a line that can be cut. Who died is replaced."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from falai.session.dates import system_now, to_ms
from host.queue.storms.worker import Role, work
from servers.proxy import Proxy
from strategies import Dice

__all__ = ["CREW", "Crew"]

CREW: Final = 4
_LIVES: Final = 8
_POINTS: Final = 150
_SKEW_MS: Final = 5_000
_LOOK_S: Final = 0.1
_END_S: Final = 40.0

_START: Final = multiprocessing.get_context("forkserver")
_START.set_forkserver_preload(["host.queue.storms.worker"])


@dataclass
class _Place:
    """Of a worker: how it reaches the database, how wrong its clock is, and the process."""

    url: str
    skew_ms: int
    proxy: Proxy | None
    process: Any = None
    name: str = ""


class Crew:
    """The workers of a seed. While `mortal`, some die at a moment that the seed chooses."""

    def __init__(self, seed: int, url: str, folder: Path, plant: str) -> None:
        self._seed, self._folder, self._plant = seed, folder, plant
        self._dice = Dice(("crew", seed))
        self._number = 0
        self._changed = False
        self._ending = False
        self.mortal = True
        self.died: dict[str, int] = {}
        """Workers that were killed, by their names for the database, and when that was seen."""
        self.odd: list[str] = []
        """Workers that ended as none should."""
        self.proxies = [Proxy(url), Proxy(url)]
        lines: Sequence[Proxy | None] = [*self.proxies, None, None]
        self._places = [
            _Place(line.url if line else url, self._dice.number(-_SKEW_MS, _SKEW_MS), line) for line in lines
        ]

    def start(self) -> None:
        for place in self._places:
            self._begin(place)

    async def tend(self) -> None:
        """Starts another one in the place of each that died, until it is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            for place in self._places:
                if not place.process.is_alive():
                    self._buried(place)
                    self._begin(place)

    def kill(self, which: int) -> None:
        """Ends one as the system ends a process that is out of memory."""
        self._places[which].process.kill()

    async def deploy(self) -> None:
        """Another release, whose flows have changed: one worker after the other ends in good order, and is replaced."""
        self._changed = True
        for place in self._places:
            process = place.process
            process.terminate()
            await self._gone(process)

    async def end(self) -> None:
        """All of them end in good order."""
        for place in self._places:
            place.process.terminate()
        for place in self._places:
            await self._gone(place.process)
            self._buried(place)

    def close(self) -> None:
        for place in self._places:
            if place.process is not None:
                place.process.kill()
                place.process.join()
        for proxy in self.proxies:
            proxy.close()

    def _begin(self, place: _Place) -> None:
        after = self._dice.number(1, _POINTS) if self._dice.chance(0.5) and self._number < _LIVES else None
        place.name = f"w{self._number}"
        role = Role(
            seed=self._seed,
            number=self._number,
            url=f"{place.url}&application_name={place.name}",
            folder=self._folder,
            after=after if self.mortal else None,
            skew_ms=place.skew_ms,
            changed=self._changed,
            plant=self._plant,
        )
        self._number += 1
        place.process = _START.Process(target=work, args=(role,))
        place.process.start()

    def _buried(self, place: _Place) -> None:
        code = place.process.exitcode
        if code == -signal.SIGKILL:
            self.died[place.name] = to_ms(system_now())
        if code not in {0, -signal.SIGKILL, -signal.SIGTERM}:  # the last: before it had begun
            self.odd.append(f"a worker ended with {code}")

    async def _gone(self, process: Any) -> None:
        try:
            async with asyncio.timeout(_END_S):
                while process.is_alive():
                    await asyncio.sleep(_LOOK_S / 5)
        except TimeoutError:
            self.odd.append("a worker did not end on SIGTERM")
            process.kill()
