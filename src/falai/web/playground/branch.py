"""A branch: one conversation in a folder of its own, played a bit at a time, with all that happened in it.

One play at a time, whoever asks; so two pages that look at one branch see the same, and neither loses anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from falai.agent import Agent
from falai.host.ledger.port import Gate
from falai.model.port import Model
from falai.session.dates import iso
from falai.session.inputs import Event, Message, Start
from falai.web.playground.clock import LATEST_MS, BranchClock
from falai.web.playground.keeping import keep
from falai.web.playground.playing import Played, Player, Tell
from falai.web.playground.recording import Recorder
from falai.web.playground.staging import stage
from falai.web.playground.turns import SESSION, Happened, Kind, Standing
from falai.web.playground.waits import waits_of

__all__ = ["Branch", "Deployed"]

T = TypeVar("T")
_ENDLESS: Final = "So many timers went off in a row that there may be no end of them; the clock stands at the last."


@dataclass(slots=True)
class Deployed:
    """What all branches play: the agent, as data, and the model. A deploy puts another agent here."""

    agent: Agent[Any]
    model: Model


@dataclass(kw_only=True, eq=False)
class Branch:
    """A conversation. `origin` is the branch and the turn from which it was taken back."""

    id: str
    folder: Path
    deployed: Deployed
    context: Any
    clock: BranchClock
    origin: tuple[str, int] | None = None
    happened: list[Happened] = field(default_factory=list[Happened])
    begun: Standing | None = None
    """How it stood before anything happened."""

    def __post_init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()
        self._recorder = Recorder()
        self._agent = self.deployed.agent
        self._written: str | None = None
        if self.begun is None:
            self.begun = Standing(now_ms=self.clock.now_ms, kept=keep(self.folder))

    @property
    def standing(self) -> Standing:
        """How it stands now."""
        return self.after(len(self.happened))

    @property
    def playing(self) -> str | None:
        """What is being played: the words of the customer, "" for anything else, None for nothing."""
        return (self._written or "") if self._one_at_a_time.locked() else None

    def after(self, turn: int) -> Standing:
        """How it stood behind this turn; turns count from 1, and 0 is the beginning."""
        assert self.begun is not None
        return self.happened[turn - 1].standing if turn else self.begun

    # --- what can happen --------------------------------------------------------------------------

    async def message(self, text: str, id: str | None, tell: Tell) -> None:
        """The customer writes; a message whose id has come before changes nothing. `tell` hears the reply to it, and
        nothing of the timers that were due before. Raises `ValueError` for what is no message."""
        key = ""

        def written(n: int) -> Message:
            nonlocal key
            message = Message(text, id=id or f"message-{n}")
            key = f"message:{message.id}"
            self._written = text
            return message

        await self._receive(written, lambda one: tell(one) if one.key == key else None)

    async def report(self, event: str, payload: Any) -> None:
        """Something happened. Raises `ValueError` for what is no event."""
        await self._receive(lambda n: Event(event, key=f"event-{n}", payload=payload))

    async def start(self, flow: str, input: Any) -> None:
        """A flow is started. Raises `ValueError` for what is no start."""
        await self._receive(lambda n: Start(flow, key=f"start-{n}", input=input))

    async def person(self, text: str, by: str | None) -> None:
        """A person of the team writes, and takes over. Raises `ValueError` for what is no text."""

        async def write(player: Player) -> None:
            await player.host.human_message(SESSION, text, id=f"person-{self._next}", by=by)
            await player.settle()
            await self._note(player, "person", {"text": text, **({"by": by} if by else {})})

        await self._play(write)

    async def gate(self, *, closed: bool, reason: str) -> None:
        """Silences the assistant, or lets it speak again."""

        async def turn(player: Player) -> None:
            await (player.host.hold(SESSION, reason) if closed else player.host.release(SESSION))
            await self._note(player, "gate", {"closed": closed, **({"reason": reason} if closed else {})})

        await self._play(turn)

    async def move_clock(self, ms: int | None) -> None:
        """Moves the clock ahead, by this much or to the next timer; the timers on the way go off at their times.

        Raises `ValueError` when that is too far.
        """

        async def move(player: Player) -> None:
            to_ms = await player.next_wake_ms() if ms is None else self.clock.now_ms + ms
            if to_ms is None:
                raise ValueError("No timer is set: there is nothing to skip to.")
            if to_ms > LATEST_MS:
                raise ValueError("That is too far: the clock goes to the year 9000.")
            done = await player.advance(to_ms)
            if not done or (ms != 0 and not self._happened_now()):
                moved = {} if ms is None else {"ms": ms}
                await self._note(player, "clock", {**moved, "to": self.clock.text}, None if done else _ENDLESS)

        await self._play(move)

    async def catch_up(self) -> None:
        """Plays what has come due meanwhile. While something is played it waits, and the page asks again by then."""
        if self._one_at_a_time.locked():
            return
        due = (wait.at_ms for wait in waits_of(self.standing.look) if wait.at_ms is not None)
        if next(due, self.clock.going_ms + 1) <= self.clock.going_ms:
            await self._play(_nothing_else)

    # --- how it is played -------------------------------------------------------------------------

    async def locked(self, act: Callable[[], T]) -> T:
        """What `act` gives, while nothing is played."""
        async with self._one_at_a_time:
            return act()

    def _happened_now(self) -> bool:
        """Whether the last thing shows already where the clock stands."""
        return bool(self.happened) and self.happened[-1].at == self.clock.text

    @property
    def _next(self) -> int:
        return len(self.happened) + 1

    async def _receive(self, input: Callable[[int], Message | Event | Start], tell: Tell | None = None) -> None:
        async def take(player: Player) -> None:
            await player.host.receive(SESSION, input(self._next))
            await player.settle()

        await self._play(take, tell)

    async def _play(self, act: Callable[[Player], Awaitable[None]], tell: Tell | None = None) -> None:
        """Plays what is due by now, and then `act`."""
        async with self._one_at_a_time:
            self._agent, self._written = self.deployed.agent, None
            agent = stage(self._agent, model=self.deployed.model, clock=self.clock, recorder=self._recorder)
            async with Player.on(
                self.folder,
                agent,
                context=self.context,
                clock=self.clock,
                recorder=self._recorder,
                tell=tell or _unheard,
                played=self._played,
            ) as player:
                await player.advance(self.clock.going_ms)
                await act(player)

    def _played(self, one: Played) -> None:
        """Notes a turn; a timer of which nothing came is not worth it."""
        if one.kind == "wake" and one.result is not None and not one.result.changed:
            return
        self._append(
            _KINDS[one.kind],
            one.input,
            one.standing,
            gate=one.gate,
            result=one.result,
            recorded=one.recorded,
            problem=one.problem,
        )

    async def _note(self, player: Player, kind: Kind, input: Mapping[str, Any], problem: str | None = None) -> None:
        gate = self.standing.gate
        self._append(kind, input, await player.host.standing(), gate=gate, problem=problem)

    def _append(self, kind: Kind, input: Mapping[str, Any], standing: Standing, *, gate: Gate, **more: Any) -> None:
        happened = Happened(
            n=self._next,
            at=iso(standing.now_ms),
            kind=kind,
            input=input,
            agent=self._agent,
            gate=gate,
            standing=standing,
            **more,
        )
        self.happened.append(happened)


_KINDS: Mapping[str, Kind] = {"message": "message", "event": "event", "start": "start", "wake": "wake"}


async def _nothing_else(player: Player) -> None:
    """What is due has been played by then."""


def _unheard(word: object) -> None:
    """Nobody listens to the words."""
