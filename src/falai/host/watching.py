"""Those who watch a session in this process: what happens there, as it happens (`Host.watch`).

Nothing is kept for a session that nobody watches, and its model is not streamed. A watcher has room for
so many things: one that does not take them loses words first, and never holds up a turn. What counts is in
the ledger, so whoever has missed something is told to look there (`Changed`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self

from falai.host.ledger.port import Job, Place
from falai.turn.result import OutMessage, TurnResult

__all__ = ["Changed", "Seen", "SetAside", "Telling", "Turned", "Watcher", "Watchers", "Withdrawn", "Words"]

_ROOM: Final = 64
_LONGEST: Final = 2048  # words that nobody has taken yet become one piece, up to so many characters
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of the reply to the input `key`, as the model writes it. It is provisional (T-20.2): what counts is in
    `Turned`, or taken back by `Withdrawn`. It comes from the process only that plays the turn.
    """

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The words shown for this input do not count: the turn is lost, failed, silenced, or the model begins anew."""

    key: str


@dataclass(frozen=True, slots=True)
class Turned:
    """These inputs had their turn, the commit of this `revision`; `messages` are what it says, whatever the words were.

    `result` is `None` when another process played it, or there was nothing to play. Of another process the
    messages are as they go out: in the pieces that a channel needs, each `key` its idempotency key.
    """

    keys: tuple[str, ...]
    messages: tuple[OutMessage, ...]
    result: TurnResult | None
    revision: int


@dataclass(frozen=True, slots=True)
class SetAside:
    """This input failed for good, and why. Of another process only `Changed` tells it."""

    key: str
    why: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Something of the session is new in the ledger: an input, a person's message, the gate, a message that was sent,
    an erasure; or this watcher was too slow, and missed something. It may come once too often.
    """


Seen = Words | Withdrawn | Turned | SetAside | Changed
"""What a watcher is told, in this order: for an input any number of `Words` and `Withdrawn`, then its `Turned` or
`SetAside`; `Changed` at any time."""


class Watcher:
    """One who watches: an iterator over what it is told, which ends with the host."""

    def __init__(self) -> None:
        self._waiting = deque[Seen]()
        self._lost = set[str]()
        self._open = True
        self._told = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Seen:
        while not self._waiting:
            if not self._open:
                raise StopAsyncIteration
            self._told.clear()
            await self._told.wait()
        return self._waiting.popleft()

    def put(self, one: Seen) -> None:
        """Tells it, as far as there is room."""
        self._told.set()
        match one:
            case Words(key, _):
                if key in self._lost or self._joined(one):
                    return
            case Changed():
                if self._waiting and self._waiting[-1] == one:
                    return
            case _:
                self._lost -= _ended(one)
        self._add(one)

    def close(self) -> None:
        """There is no more than what it has not taken yet."""
        self._open = False
        self._told.set()

    def _joined(self, more: Words) -> bool:
        last = self._waiting[-1] if self._waiting else None
        if not isinstance(last, Words) or last.key != more.key or len(last.text) >= _LONGEST:
            return False
        self._waiting[-1] = Words(last.key, last.text + more.text)
        return True

    def _add(self, one: Seen) -> None:
        if len(self._waiting) >= _ROOM:
            self._lose_words()
            if isinstance(one, Words) and one.key in self._lost:
                return
        if len(self._waiting) >= _ROOM:
            self._waiting.clear()
            self._waiting.append(Changed())
        self._waiting.append(one)

    def _lose_words(self) -> None:
        """All that are not taken yet, and those that are still to come of the same tries."""
        cut, kept = dict[str, None](), list[Seen]()
        for one in self._waiting:
            if isinstance(one, Words):
                cut[one.key] = None
                self._lost.add(one.key)
            else:
                kept.append(one)
                self._lost -= _ended(one)
        self._waiting = deque([*map(Withdrawn, cut), Changed(), *kept])


class Telling:
    """What one try of a turn tells: its words, and that they do not count. It ends with the try, committed or not."""

    def __init__(self, watchers: Watchers, place: Place, key: str) -> None:
        self._watchers = watchers
        self._place = place
        self.key = key
        self.so_far = ""
        self._silent = False

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens, so that the model is worth streaming."""
        return not self._silent and self._watchers.are_at(self._place)

    def words(self, text: str) -> None:
        if not self._silent:
            self.so_far += text
            self._watchers.tell(self._place, Words(self.key, text))

    def withdraw(self) -> None:
        """The words of this try do not count; if there were none, nobody is told."""
        if self.so_far:
            self.so_far = ""
            self._watchers.tell(self._place, Withdrawn(self.key))

    def silence(self) -> None:
        """The gate has closed: the words do not count, and no others come."""
        self._silent = True
        self.withdraw()

    def kept(self) -> None:
        """The turn counts."""
        self.so_far = ""


class Watchers:
    """The watchers of this process, by place."""

    def __init__(self) -> None:
        self._at: dict[Place, list[Watcher]] = {}
        self._turned: dict[Place, deque[tuple[tuple[str, ...], int]]] = {}
        self._telling: dict[Place, Telling] = {}

    @contextmanager
    def watching(self, place: Place) -> Generator[Watcher, None, None]:
        """Someone who is told from now on, and what the model has said so far of a reply that is under way."""
        watcher, others = Watcher(), self._at.setdefault(place, [])
        others.append(watcher)
        if (telling := self._telling.get(place)) and telling.so_far:
            watcher.put(Words(telling.key, telling.so_far))
        try:
            yield watcher
        finally:
            others.remove(watcher)
            if not others:
                self._at.pop(place, None)
                self._turned.pop(place, None)

    @contextmanager
    def telling(self, job: Job) -> Generator[Telling, None, None]:
        """A try of a turn. What it has said is withdrawn at its end, unless the turn counts."""
        telling = self._telling[job.place] = Telling(self, job.place, job.key)
        try:
            yield telling
        finally:
            if self._telling.get(job.place) is telling:
                del self._telling[job.place]
            telling.withdraw()

    def places(self) -> Collection[Place]:
        """Where somebody watches."""
        return self._at.keys()

    def are_at(self, place: Place) -> bool:
        return place in self._at

    def tell(self, place: Place, one: Seen) -> None:
        for watcher in self._at.get(place, ()):
            watcher.put(one)

    def changed(self, places: Iterable[Place]) -> None:
        for place in places:
            self.tell(place, Changed())

    def turned(self, place: Place, one: Turned) -> None:
        """A turn counts; what is told of twice, by this process and by a look at the others, is told once."""
        if place in self._at:
            told = self._turned.setdefault(place, deque(maxlen=_REMEMBERED))
            if (one.keys, one.revision) not in told:
                told.append((one.keys, one.revision))
                self.tell(place, one)

    def is_playing(self, place: Place, key: str) -> bool:
        """Whether this process tries this input now."""
        telling = self._telling.get(place)
        return telling is not None and telling.key == key

    def silence(self, place: Place) -> None:
        """The gate of this place has closed."""
        if telling := self._telling.get(place):
            telling.silence()

    def close(self) -> None:
        """The host ends: there is nothing more to see."""
        for watcher in (watcher for watchers in self._at.values() for watcher in watchers):
            watcher.close()


def _ended(one: Seen) -> set[str]:
    """The inputs whose words are at an end with this."""
    match one:
        case Turned(keys):
            return set(keys)
        case Withdrawn(key) | SetAside(key, _):
            return {key}
        case _:
            return set()
