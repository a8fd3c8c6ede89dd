"""What happens in a conversation, as frames: of one message until its turn counts, or of all that is said.

The host tells what it sees (`Host.watch`); what counts is read from the ledger, so that a frame never says
more than what is kept. Whoever stops to listen stops nothing: the turn goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

from falai.host import Host, Received
from falai.host.ledger.answering import answer_to
from falai.host.ledger.port import Place
from falai.host.ledger.said import said_after, said_by_turn
from falai.host.watching import Changed, Seen, SetAside, Turned, Withdrawn, Words
from falai.web.api.said import Frame, said
from falai.web.problems import ProblemError, document, problem_of, set_aside

__all__ = ["outcome", "problem", "reply", "safely", "session"]

_AT_ONCE = 100


async def outcome(host: Host[Any], place: Place, message_id: str, key: str) -> Frame | None:
    """The last frame of a message: `done`, or `problem` when it was set aside; `None` while it waits for its turn."""
    answer = await host.ledger.run(answer_to(place, message_id))
    if answer.state == "new":
        return None
    if answer.state == "dead":
        return problem(set_aside())
    return Frame("done", {"keys": [key], "messages": [said(row) for row in answer.said]})


def problem(error: ProblemError) -> Frame:
    """A problem document as a frame."""
    return Frame("problem", document(error))


async def reply(
    host: Host[Any], place: Place, message_id: str, received: Received, seen: AsyncIterator[Seen]
) -> AsyncGenerator[Frame, None]:
    """What happens with one message: `accepted`, its words, and `outcome` when its turn is over."""
    key = received.key
    yield Frame("accepted", {"key": key, "new": received.new})
    last = None if received.new else await outcome(host, place, message_id, key)
    while last is None:
        told = await _told(seen)
        if any(_may_end(one, key) for one in told):
            last = await outcome(host, place, message_id, key)
        elif not told:
            last = problem(ProblemError(503, "not-running", "The host ends; the message is kept, and played later."))
        if last is not None:  # the words that led to it are told by now
            told = [*told, *await _queued(seen)]
        for one in told:
            if isinstance(one, Words | Withdrawn) and one.key == key:
                yield _word(one)
    yield last


async def safely(frames: AsyncGenerator[Frame, None]) -> AsyncGenerator[Frame, None]:
    """The frames; what fails meanwhile is the last one, a problem."""
    try:
        async for frame in frames:
            yield frame
    except Exception as error:  # noqa: BLE001  # the answer has begun: nobody behind it could say so
        yield problem(problem_of(error))
    finally:
        await frames.aclose()


async def session(host: Host[Any], place: Place, cursor: str, seen: AsyncIterator[Seen]) -> AsyncGenerator[Frame, None]:
    """Everything that is said in a session behind a cursor. Raises `ValueError` for what is none."""
    at = _Cursor(host, place, cursor)
    yield Frame("ready", {"cursor": cursor}, cursor)
    async for frame in at.rest(await at.page()):
        yield frame
    told = list[Seen]()
    while told or (told := await _told(seen)):
        one = told.pop(0)
        match one:
            case Words() | Withdrawn():
                yield _word(one, one.key)
            case SetAside():
                yield problem(set_aside())
            case Turned() | Changed():
                async for frame in _news(at, told, seen):
                    yield frame
                if isinstance(one, Turned):
                    rows = await host.ledger.run(said_by_turn(place, one.revision))
                    yield Frame("done", {"keys": list(one.keys), "messages": [said(row) for row in rows]})


async def _news(at: _Cursor, told: list[Seen], seen: AsyncIterator[Seen]) -> AsyncIterator[Frame]:
    """What was said since, behind the words that led to it: those are told by now."""
    page = await at.page()
    told += await _queued(seen)
    for word in _taken_words(told):
        yield _word(word, word.key)
    async for frame in at.rest(page):
        yield frame


def _taken_words(told: list[Seen]) -> list[Words | Withdrawn]:
    """Takes the words out of what is told, up to the end of the next turn."""
    ends = next((at for at, one in enumerate(told) if isinstance(one, Turned | SetAside)), len(told))
    words = [one for one in told[:ends] if isinstance(one, Words | Withdrawn)]
    told[:ends] = [one for one in told[:ends] if not isinstance(one, Words | Withdrawn)]
    return words


async def _told(seen: AsyncIterator[Seen]) -> list[Seen]:
    """What there is to tell by now, at least one thing; nothing when the host ends."""
    try:
        return [await anext(seen), *await _queued(seen)]
    except StopAsyncIteration:
        return []


async def _queued(seen: AsyncIterator[Seen]) -> list[Seen]:
    """What is there to tell already."""
    told = list[Seen]()
    with suppress(StopAsyncIteration, TimeoutError):
        async with asyncio.timeout(0):  # what is there needs no waiting
            while True:
                told.append(await anext(seen))
    return told


def _word(one: Words | Withdrawn, key: str | None = None) -> Frame:
    """With the key of its input, where a stream is of more than one."""
    data = {} if key is None else {"key": key}
    return Frame("delta", {**data, "text": one.text}) if isinstance(one, Words) else Frame("withdrawn", data)


class _Cursor:
    """How far a stream has come."""

    def __init__(self, host: Host[Any], place: Place, cursor: str) -> None:
        self._host = host
        self._place = place
        self._cursor = cursor

    async def page(self) -> Sequence[Frame]:
        """Some of what was said since; nothing when that is all."""
        rows = await self._host.ledger.run(said_after(self._place, self._cursor, limit=_AT_ONCE))
        self._cursor = rows[-1].cursor if rows else self._cursor
        return [Frame("message", said(row), row.cursor) for row in rows]

    async def rest(self, page: Sequence[Frame]) -> AsyncIterator[Frame]:
        """This page, and those behind it."""
        while page:
            for frame in page:
                yield frame
            page = await self.page()


def _may_end(one: Seen, key: str) -> bool:
    match one:
        case Turned(keys):
            return key in keys
        case SetAside(of, _):
            return of == key
        case _:
            return isinstance(one, Changed)
