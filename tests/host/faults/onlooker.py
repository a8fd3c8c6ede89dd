"""Who looks on: a page for each session that shows what is said, is closed and loaded anew, and forgets nothing.

It shows words as they come, and reads the messages that count from where it stopped, whichever life of the host
gives them. What it saw is in the world's lines (`saw`); what should not have come to it too (`wrong`).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from falai.host import Host, SetAside, Turned, Withdrawn, Words
from falai.host.ledger.port import Place
from falai.host.ledger.said import said_after
from host.faults.script import SESSIONS
from host.faults.world import World

__all__ = ["Onlooker"]


class Onlooker:
    """Looks at all sessions of a life."""

    def __init__(self, host: Host[Any], agent: str, world: World) -> None:
        self.host = host
        self.world = world
        self._places = [Place("default", agent, session) for session in SESSIONS]
        self._cursors = {line["session"]: line["cursor"] for line in world.lines("saw")}

    @asynccontextmanager
    async def looking(self) -> AsyncGenerator[None]:
        """While this lasts, it watches."""
        tasks = [asyncio.create_task(self._watch(place)) for place in self._places]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def catch_up(self) -> None:
        """Reads what it has not seen; from here on all of it was."""
        for place in self._places:
            await self._read(place)
        self.world.write("caught_up")

    async def _watch(self, place: Place) -> None:
        page = _Page()
        async with self.host.watch(place.session) as seen:
            async for one in seen:
                for what in page.shows(one):
                    self.world.write("wrong", session=place.session, why=what)
                if not isinstance(one, Words):
                    await self._read(place)

    async def _read(self, place: Place) -> None:
        session = place.session
        try:
            while rows := await self.host.ledger.run(said_after(place, self._cursors.get(session), limit=2)):
                for row in rows:
                    self._cursors[session] = row.cursor
                    self.world.write("saw", session=session, key=row.key, cursor=row.cursor)
        except sqlite3.Error:  # the disk is full: the next look finds it
            return


class _Page:
    """What a page shows of the replies that are being written."""

    def __init__(self) -> None:
        self._words = dict[str, str]()
        self._ended = set[str]()

    def shows(self, one: object) -> list[str]:
        """What is wrong with what comes next."""
        match one:
            case Words(key, text):
                self._words[key] = self._words.get(key, "") + text
                return [f"words for {key}, whose turn is over"] if key in self._ended else []
            case Withdrawn(key):
                return [] if self._words.pop(key, None) else [f"{key} is withdrawn, and was not shown"]
            case SetAside(key, _):
                return [f"{key} is set aside, and its words are still there"] if key in self._words else []
            case Turned(keys):
                return list(self._counts(one, keys))
            case _:
                return []

    def _counts(self, turned: Turned, keys: tuple[str, ...]) -> list[str]:
        said = [message.text for message in turned.messages]
        found = [f"{key} had two turns" for key in keys if key in self._ended and not key.startswith("wake")]
        self._ended.update(key for key in keys if key.startswith("message"))
        words = self._words.pop(keys[0], None)
        return found if words is None or words in said else [*found, f"shown was {words!r}, said is {said!r}"]
