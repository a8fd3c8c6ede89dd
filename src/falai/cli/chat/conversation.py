"""One conversation as its host keeps it: load, turn, save, show, arm the timers (B-16.1).

Turns of the session run one at a time, whatever started them. What comes in is written down first
and played in order; a turn that lost against another program is thrown away and played again
(B-17.1). When the model's provider fails, nothing of the turn is kept: the input waits in the file
for another try, and a timer comes back a little later. A talk step that asked for a retry itself
(T-15.14) is no such failure; its turn is kept, and its own timer tries again.
"""

from __future__ import annotations

import asyncio
import copy
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4

from falai.agent import Agent
from falai.cli.chat.clock import ShiftedClock
from falai.cli.chat.file import ChatFile
from falai.cli.chat.records import TurnRecord, record_of
from falai.errors import FalaiError, ProviderError, SessionConflictError, words_of
from falai.session.dates import iso, to_ms
from falai.session.model import Session, StepOutcome
from falai.turn.result import TurnResult
from falai.turn.words import shortened, why_provider_failed

__all__ = ["Conversation", "Screen", "with_model_and_clock"]

_HISTORY_TURNS = 20
_LATER_MS = 60_000
_LOOK_AGAIN_MS = 30_000  # a computer that slept has missed nothing then
_MOST_TIMERS_A_SKIP = 200
_LATEST_MS = to_ms(datetime(9000, 1, 1, tzinfo=UTC))  # what waits from there on still has a date
_AGAIN = "What you typed is kept; an empty line tries again."
_LATER = "The timer goes off again in a minute."


class Screen(Protocol):
    """Where a conversation is shown."""

    async def turn(self, record: TurnRecord) -> None:
        """A turn that is kept: what the assistant said, and what else the person should know."""
        ...

    def trouble(self, text: str) -> None:
        """Something went wrong."""
        ...

    def time(self, at_ms: int) -> None:
        """The clock was moved ahead to this instant."""
        ...


class _NotKeptError(Exception):
    """A turn that is not worth keeping; the text says why, the input waits."""


class Conversation:
    """One session at a time of one agent, from `open` on. `clock` must be the agent's own."""

    def __init__(self, agent: Agent[Any], context: Any, *, clock: ShiftedClock, file: ChatFile, screen: Screen) -> None:
        self._agent = agent
        self._clock = clock
        self._file = file
        self._screen = screen
        self._context = context
        self._one_at_a_time = asyncio.Lock()
        self._timers_changed = asyncio.Event()
        self.session_id = ""

    async def open(self, session_id: str) -> None:
        """Goes over to a session: its clock and its timers, and what was not answered before."""
        async with self._one_at_a_time:
            self.session_id = session_id
            self._clock.ahead_ms = int(self._file.setting("ahead", session_id) or 0)
            try:
                await self._arm()
            except Exception as error:  # noqa: BLE001  a row that is no session, or the author's own code
                self._screen.trouble(_in_words(error))
                return
        await self.play_incoming()

    async def _arm(self) -> None:
        session = await self.session()
        if session is not None:
            wakes = self._agent.pending_wakes(session, context=self._context, silenced=self.silenced)
            self._file.arm(self.session_id, wakes)

    async def session(self) -> Session | None:
        """The session as it is stored."""
        return await self._file.store.load(self.session_id)

    @property
    def silenced(self) -> str | None:
        """Why the assistant may not speak, while the gate is closed."""
        return self._file.setting("silenced", self.session_id)

    @property
    def busy(self) -> bool:
        """Whether a turn is being taken."""
        return self._one_at_a_time.locked()

    # --- what comes in ------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """The person typed this. The id that it gets here stays with it through every try."""
        await self._receive({"message": text, "id": f"line-{uuid4().hex}", "at": iso(self._clock.now_ms)})

    async def report(self, event: str, payload: Any) -> None:
        """The person reports an event."""
        await self._receive({"event": event, "key": f"event-{uuid4().hex}", "payload": payload})

    async def _receive(self, input: Mapping[str, Any]) -> None:
        self._file.receive(self.session_id, input)
        await self.play_incoming()

    async def play_incoming(self) -> None:
        """Plays what has not had its turn, in order, up to the first that fails."""
        async with self._one_at_a_time:
            for incoming in self._file.incoming(self.session_id):
                if not await self._played(incoming.input, incoming.n):
                    break
        self._timers_changed.set()

    # --- timers -------------------------------------------------------------------------------

    async def run_timers(self) -> None:
        """Plays every timer when it is due; runs until it is cancelled."""
        while True:
            self._timers_changed.clear()
            due = self._file.next_due(self.session_id)
            ms = _LOOK_AGAIN_MS if due is None else min(_LOOK_AGAIN_MS, max(0, due.at_ms - self._clock.now_ms))
            try:
                async with asyncio.timeout(ms / 1000):  # wait_for of Python 3.11 can swallow a cancellation
                    await self._timers_changed.wait()
            except TimeoutError:
                await self._play_timers(lambda: self._clock.now_ms)

    async def skip(self, ms: int) -> None:
        """Moves the clock ahead; the timers on the way go off at their times, in order."""
        target = self._clock.now_ms + ms
        if target > _LATEST_MS:
            self._screen.trouble("That is too far: the clock goes to the year 9000.")
            return
        if await self._play_timers(lambda: target):
            self._move_to(target)
        self._screen.time(self._clock.now_ms)
        self._timers_changed.set()

    async def _play_timers(self, until: Callable[[], int]) -> bool:
        """Plays the timers up to an instant; false if one of them failed, or if there was no end of them."""
        async with self._one_at_a_time:
            for _ in range(_MOST_TIMERS_A_SKIP):
                due = self._file.next_due(self.session_id)
                if due is None or due.at_ms > until():
                    return True
                self._move_to(due.at_ms)
                if not await self._played({"wake": due.key}, None):
                    self._file.postpone(self.session_id, due.key, self._clock.now_ms + _LATER_MS)
                    return False
        self._screen.trouble(f"{_MOST_TIMERS_A_SKIP} timers went off in a row; there may be no end of them.")
        return False

    def _move_to(self, at_ms: int) -> None:
        if at_ms > self._clock.now_ms:
            self._clock.move_to(at_ms)
            self._file.set("ahead", str(self._clock.ahead_ms), self.session_id)

    # --- one turn -----------------------------------------------------------------------------

    async def _played(self, input: Mapping[str, Any], incoming: int | None) -> bool:
        """Takes a turn and shows it; false when it failed, and nothing of it was kept."""
        try:
            record = await self._turn(input, incoming)
        except Exception as error:  # noqa: BLE001  whatever it is, the person reads it here and the input waits
            self._screen.trouble(f"{_in_words(error)} {_AGAIN if incoming else _LATER}")
            return False
        if not record.repeated:
            await self._screen.turn(record)
        return True

    async def _turn(self, input: Mapping[str, Any], incoming: int | None) -> TurnRecord:
        while True:
            session = await self.session()
            silenced = self.silenced
            result = await self._agent.turn(
                self.session_id,
                input,
                session=session,
                context=self._context,
                history=self._history(),
                silenced=silenced,
            )
            _refuse_failed(result)
            record = record_of(input, result, iso(to_ms(self._clock())), silenced)
            try:
                await self._file.keep(self.session_id, result, record, incoming)
            except SessionConflictError:
                continue  # another program was faster; nothing of this turn was kept (B-16.1)
            return record

    def _history(self) -> list[Mapping[str, Any]]:
        """What was said so far, without this turn's message (M-14.2)."""
        history: list[Mapping[str, Any]] = []
        for record in self._file.records(self.session_id, _HISTORY_TURNS):
            if record.heard is not None:
                history.append({"role": "user", "content": record.heard})
            history += [{"role": "assistant", "content": sent.text} for sent in record.messages]
        return history


def with_model_and_clock(agent: Agent[Any], model: Any, clock: ShiftedClock) -> Agent[Any]:
    """The same agent on another clock, and on another model if one is given."""
    twin = copy.copy(agent)
    twin.clock = clock
    if model is not None:
        twin.model = model
    return twin


def _in_words(error: Exception) -> str:
    match error:
        case ProviderError():
            return why_provider_failed(error)
        case _NotKeptError() | FalaiError():
            return str(error)
        case sqlite3.Error():
            return f"The chat's file cannot be used: {error}."
        case _:
            return f"The agent's own code raised {type(error).__name__}: {words_of(error)}."


def _refuse_failed(result: TurnResult) -> None:
    """Raises when the reply failed and the turn itself foresees no other try."""
    for line in result.outcomes:
        if _failed_for_good(line) and not _tried_again_and_again(line, result):
            told = next((call.error for call in reversed(result.calls) if call.error), None)
            raise _NotKeptError(f"{line.message} ({shortened(told)})" if told else str(line.message))


def _failed_for_good(line: StepOutcome) -> bool:
    by_provider = line.code is not None and line.code.startswith("provider-")
    return by_provider and (line.status == "failed" or line.kind == "idle")


def _tried_again_and_again(line: StepOutcome, result: TurnResult) -> bool:
    """Whether this is the end of the tries of T-15.14: the run's line before this one is deferred."""
    runs = [end.run for end in result.ended if end.run.id == line.run_id]
    return any(len(run.outcomes) > 1 and run.outcomes[-2].status == "deferred" for run in runs)
