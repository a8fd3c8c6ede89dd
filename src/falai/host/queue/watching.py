"""What other processes do with the sessions that are watched in this one: one query for all of them, twice a second.

A session's state is a few values, which are compared with those of the look before. Its turns are in its run log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from falai.channel.port import Outgoing
from falai.host.ledger.port import Place, Row, Statement, Work
from falai.host.setup import Setup
from falai.host.watching import Turned, Watchers
from falai.turn.result import OutMessage

__all__ = ["Elsewhere"]

# LIMIT: by its key for each place, since a plan for all of them would read every session that there is.
_STATES = """
    SELECT w.tenant, w.session, coalesce(s.revision, 0), s.gate_reason, s.epoch, s.created_at, s.updated_at, s.customer,
        s.channel,
        (SELECT string_agg(concat(m.state, m.status), ' ') FROM (
            SELECT o.state, o.status FROM falai_outbox o
            WHERE o.tenant = s.tenant AND o.agent = s.agent AND o.session = s.session
            ORDER BY o.revision DESC, o.position DESC LIMIT 10) m),
        coalesce((SELECT max(l.seq) FROM falai_run_log l
            WHERE l.tenant = s.tenant AND l.agent = s.agent AND l.session = s.session), 0)
    FROM unnest(?::TEXT[], ?::TEXT[]) AS w(tenant, session) LEFT JOIN LATERAL (
        SELECT * FROM falai_sessions f
        WHERE f.tenant = w.tenant COLLATE "C" AND f.agent = ? AND f.session = w.session COLLATE "C" LIMIT 1) s ON TRUE"""
_TURNS = """
    SELECT key, log FROM falai_run_log
    WHERE tenant = ? AND agent = ? AND session = ? AND seq > ? ORDER BY seq LIMIT 100"""
_SAID = """
    SELECT revision, key, body, after_ms FROM falai_outbox
    WHERE tenant = ? AND agent = ? AND session = ? AND revision > ? ORDER BY revision, position LIMIT 1000"""


class _State(NamedTuple):
    """How a session stood: its commits, whether its gate is closed, the last of its run log, and all that is compared."""

    revision: int
    held: bool
    log: int
    all: Row


class _Log(msgspec.Struct, rename="camel"):
    """What of a line of the run log says whose it is. A release before wrote no revision."""

    revision: int = 0
    keys: tuple[str, ...] = ()


class _News(NamedTuple):
    """What happened at a place since it stood as `before`, and how it stands."""

    place: Place
    before: _State | None
    now: _State
    turns: Sequence[Row]
    said: Sequence[Row]


class Elsewhere:
    """Tells the watchers of this process what others have done."""

    def __init__(self, setup: Setup, watchers: Watchers) -> None:
        self._setup = setup
        self._watchers = watchers
        self._states: dict[Place, _State] = {}

    async def begin(self, place: Place) -> None:
        """Remembers how the place stands, so that nothing is missed from here on."""
        if place not in self._states:
            states = await self._setup.ledger.run(_stand(self._setup.name, [place]))
            self._states.setdefault(place, states[place])

    async def look(self) -> None:
        """Tells what is new."""
        places = list(self._watchers.places())
        self._states = {place: state for place in places if (state := self._states.get(place))}
        if places:
            for news in await self._setup.ledger.run(_look(self._setup.name, places, dict(self._states))):
                self._tell(news)

    def _tell(self, news: _News) -> None:
        place, now = news.place, news.now
        if any(self._watchers.is_playing(place, key) for key, _ in news.turns):
            return  # it tells it itself, if its commit is the one; else the next look does
        self._states[place] = now
        if now.held:
            self._watchers.silence(place)
        for key, text in news.turns:
            self._watchers.turned(place, _turned(key, text, news.said))
        self._watchers.changed([place])


def _stand(agent: str, places: Sequence[Place]) -> Work[dict[Place, _State]]:
    tenants, sessions = [place.tenant for place in places], [place.session for place in places]
    (rows,) = yield (Statement(_STATES, (tenants, sessions, agent)),)
    return {Place(row[0], agent, row[1]): _State(row[2], row[3] is not None, row[-1], row[2:]) for row in rows}


def _look(agent: str, places: Sequence[Place], before: dict[Place, _State]) -> Work[Sequence[_News]]:
    states = yield from _stand(agent, places)
    moved = [(place, before.get(place), now) for place, now in states.items() if _differs(before.get(place), now)]
    found: Sequence[Sequence[Any]] = yield tuple(_of(moved))
    turns, said = found[::2], found[1::2]
    return [_News(*one, turns[at], said[at]) for at, one in enumerate(moved)]


def _differs(before: _State | None, now: _State) -> bool:
    return before is None or before.all != now.all or before.log != now.log


def _of(moved: Sequence[tuple[Place, _State | None, _State]]) -> Iterator[Statement]:
    for place, before, now in moved:
        who, known = (place.tenant, place.agent, place.session), before or now
        yield Statement(_TURNS, (*who, known.log))
        yield Statement(_SAID, (*who, known.revision if known.revision <= now.revision else 0))


def _turned(key: str, text: str, said: Sequence[Row]) -> Turned:
    log = msgspec.json.decode(text, type=_Log)
    messages = (_message(*row[1:]) for row in said if row[0] == log.revision)
    return Turned(log.keys or (key,), tuple(messages), None, log.revision)


def _message(key: str, body: str, after_ms: int) -> OutMessage:
    letter = msgspec.json.decode(body, type=Outgoing)
    media = {"slug": letter.media} if isinstance(letter.media, str) else None
    return OutMessage(letter.text, "ai" if letter.kind == "ai" else "verbatim", after_ms, key, media=media)
