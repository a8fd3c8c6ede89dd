"""One play of a branch: a host on its ledger, from the first timer that is due to the last thing that is done.

The host runs only meanwhile. Between two plays nothing happens in a branch, whatever the time is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from falai.agent import Agent
from falai.host import Host, Settings
from falai.host.ledger.port import Gate, InputRow
from falai.host.watching import Seen, SetAside, Turned, Withdrawn, Words
from falai.session.jsontext import parse_json
from falai.turn.result import TurnResult
from falai.web.playground.clock import BranchClock
from falai.web.playground.keeping import LEDGER, keep
from falai.web.playground.recording import Recorded, Recorder
from falai.web.playground.turns import SESSION, Standing
from falai.web.playground.waits import waits_of

__all__ = ["Played", "Player", "Tell"]

_MOST_WAKES: Final = 200  # so many timers go off in one move of the clock; more of them have no end
_SETTINGS: Final = Settings(retries=(), grace="1s")  # whoever plays sees a failure at once, and can try again

Tell = Callable[[Words | Withdrawn], None]
"""Is told of the words of a reply as they come, and that they do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An input that had its turn, or was set aside. `input` is in wire form; `gate` is that of its turn."""

    kind: str
    input: Mapping[str, Any]
    gate: Gate
    standing: Standing
    recorded: Recorded
    result: TurnResult | None = None
    problem: str | None = None


class _Taken(NamedTuple):
    row: InputRow
    gate: Gate


class _SandboxHost(Host[Any]):
    """A host that keeps how things stand behind each turn, before the next one begins."""

    def __init__(self, agent: Agent[Any], folder: Path, clock: BranchClock, recorder: Recorder, context: Any) -> None:
        self._folder = folder
        self._stands = clock
        self.recorder = recorder
        self._at = ""
        self.taken: dict[str, _Taken] = {}
        """What is being played, by its key."""
        self.kept: dict[str, tuple[Standing, Recorded]] = {}
        super().__init__(agent, folder / LEDGER, context=lambda _: context, settings=_SETTINGS, clock=clock)

    async def checkpoint(self, name: str) -> None:
        if name == "taken":
            await self._take()
        elif name == "committed":
            self.kept[self._at] = (await self.standing(), self.recorder.take(self._at))

    async def standing(self) -> Standing:
        """How the branch stands now."""
        look = await self.look(SESSION, limit=1)
        return Standing(now_ms=self._stands.now_ms, kept=await asyncio.to_thread(keep, self._folder), look=look)

    async def _take(self) -> None:
        look = await self.look(SESSION, limit=1)
        if look is not None and look.waiting:
            row = look.waiting[0]
            self._at = row.key
            self.taken[row.key] = _Taken(row, look.row.gate)
            self.recorder.begin(row.key)


class Player:
    """Plays in one folder. `tell` hears the words, `played` each input that is through, in order."""

    def __init__(self, host: _SandboxHost, clock: BranchClock, tell: Tell, played: Callable[[Played], None]) -> None:
        self.host = host
        self._clock = clock
        self._tell = tell
        self._played = played
        self._told = asyncio.Event()
        self._hearing: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def on(
        cls,
        folder: Path,
        agent: Agent[Any],
        *,
        context: Any,
        clock: BranchClock,
        recorder: Recorder,
        tell: Tell,
        played: Callable[[Played], None],
    ) -> AsyncGenerator[Player, None]:
        """A player whose host runs meanwhile."""
        host = _SandboxHost(agent, folder, clock, recorder, context)
        async with host, host.watch(SESSION) as seen:
            player = cls(host, clock, tell, played)
            player._hearing = asyncio.create_task(player._hear(seen))
            player._hearing.add_done_callback(lambda _: player._told.set())
            try:
                yield player
            finally:
                player._hearing.cancel()
                await asyncio.gather(player._hearing, return_exceptions=True)

    async def settle(self) -> None:
        """Returns when all that is to be done at the clock's now is done, and was told."""
        await self.host.drained()
        while self.host.taken:
            if self._hearing is not None and self._hearing.done():
                self._hearing.result()
                raise RuntimeError("the host ended while it played")
            self._told.clear()
            await self._told.wait()

    async def advance(self, to_ms: int) -> bool:
        """Moves the clock ahead, from timer to timer, each at its own time; False when there is no end of them."""
        await self.settle()
        for _ in range(_MOST_WAKES):
            look = await self.host.look(SESSION, limit=1)
            due = look.wakes[0].due_at if look and look.wakes else None
            if due is None or due > to_ms:
                self._clock.move_to(to_ms)
                await self.settle()
                return True
            self._clock.move_to(due)
            await self.settle()
        return False

    async def next_wake_ms(self) -> int | None:
        """When the next timer goes off that counts; those that nobody waits for any more change nothing."""
        look = await self.host.look(SESSION, limit=1)
        return next((wait.at_ms for wait in waits_of(look) if wait.at_ms is not None), None)

    async def _hear(self, seen: AsyncIterator[Seen]) -> None:
        async for one in seen:
            match one:
                case Words() | Withdrawn():
                    self._tell(one)
                case Turned():
                    self._through(one)
                case SetAside():
                    await self._failed(one)
                case _:
                    continue
            self._told.set()

    def _through(self, turned: Turned) -> None:
        key = turned.keys[0]
        standing, recorded = self.host.kept.pop(key)
        self._played(
            Played(**_what(self.host.taken.pop(key)), standing=standing, recorded=recorded, result=turned.result)
        )

    async def _failed(self, failed: SetAside) -> None:
        standing = await self.host.standing()
        what = _what(self.host.taken.pop(failed.key))
        recorded = self.host.recorder.take(failed.key)
        self._played(Played(**what, standing=standing, recorded=recorded, problem=failed.why))


def _what(taken: _Taken) -> dict[str, Any]:
    return {"kind": taken.row.kind, "input": parse_json(taken.row.body), "gate": taken.gate}
