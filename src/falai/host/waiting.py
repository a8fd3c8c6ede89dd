"""Those who wait in this process for the turn of an input (`Host.ask`, `Host.answer`), wherever it is played."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from falai.host.errors import SetAsideError
from falai.host.ledger.committing import letters_of
from falai.host.ledger.port import Done, Job, Letter, Place
from falai.turn.result import OutMessage

__all__ = ["Told", "Waiters"]


class Told(NamedTuple):
    """What a turn said, and the letters in which it goes out: `None` when another process knows them."""

    messages: tuple[OutMessage, ...]
    letters: tuple[Letter, ...] | None


class Waiters:
    """Futures by place and key; nothing is kept for inputs that nobody waits for."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[Place, str], list[asyncio.Future[Told]]] = {}

    @contextmanager
    def expecting(self, place: Place, key: str) -> Generator[asyncio.Future[Told], None, None]:
        """A future of what the turn of this input says."""
        future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        others = self._waiting.setdefault((place, key), [])
        others.append(future)
        try:
            yield future
        finally:
            future.cancel()
            others.remove(future)
            if not others:
                self._waiting.pop((place, key), None)

    def asked(self) -> list[tuple[Place, str]]:
        """The inputs that somebody waits for."""
        return list(self._waiting)

    def hear(self, asked: tuple[Place, str], messages: Sequence[OutMessage], refused: str | None) -> None:
        """What another process has done with one of them."""
        place, key = asked
        for future in (future for future in self._waiting.get(asked, ()) if not future.done()):
            if refused is None:
                future.set_result(Told(tuple(messages), None))
            else:
                future.set_exception(SetAsideError(place.session, key, refused))

    def tell(self, job: Job, done: Done, messages: Sequence[OutMessage]) -> None:
        """The inputs of this job had their turn."""
        if futures := self._of(job):
            told = Told(tuple(messages), letters_of(job, done))
            for future in futures:
                future.set_result(told)

    def refuse(self, job: Job, why: str) -> None:
        """They were set aside."""
        for future in self._of(job):
            future.set_exception(SetAsideError(job.place.session, job.key, why))

    def close(self) -> None:
        """The host ends: nobody is to wait for it any longer."""
        for future in (future for futures in self._waiting.values() for future in futures if not future.done()):
            future.set_exception(RuntimeError("the host has ended; the input is kept, and played when it runs again"))

    def _of(self, job: Job) -> list[asyncio.Future[Told]]:
        found = (self._waiting.get((job.place, row.key), ()) for row in job.inputs)
        return [future for futures in found for future in futures if not future.done()]
