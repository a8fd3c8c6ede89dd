"""What happens in a conversation, as frames: of one message until its turn counts, or of all that is said.

The host tells what it sees (`Host.watch`); what counts is read from the ledger, so that a frame never says
more than what is kept. Whoever stops to listen stops nothing: the turn goes on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from falai.host import Host, Received
from falai.host.ledger.answering import answer_to
from falai.host.ledger.port import Place, SaidRow
from falai.host.ledger.said import said_after, said_by_turn
from falai.host.watching import Changed, Seen, SetAside, Turned, Withdrawn, Words
from falai.web.api.said import Frame, said
from falai.web.problems import ProblemError, document, problem_of

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


def set_aside() -> ProblemError:
    """A message failed for good; why is the operator's to know."""
    return ProblemError(502, "set-aside", "The input failed again and again and was set aside; the session goes on.")


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
    if last is None:
        async for one in seen:
            if (frame := _words(one, key)) is not None:
                yield frame
            elif _may_end(one, key) and (last := await outcome(host, place, message_id, key)) is not None:
                break
    yield last or problem(ProblemError(503, "not-running", "The host ends; the message is kept, and played later."))


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
    async for frame in at.news():
        yield frame
    async for one in seen:
        match one:
            case Words(key, text):
                yield Frame("delta", {"key": key, "text": text})
            case Withdrawn(key):
                yield Frame("withdrawn", {"key": key})
            case Turned(keys):
                async for frame in at.news():
                    yield frame
                rows = await host.ledger.run(said_by_turn(place, one.revision))
                yield Frame("done", {"keys": list(keys), "messages": [said(row) for row in rows]})
            case SetAside():
                yield problem(set_aside())
            case Changed():
                async for frame in at.news():
                    yield frame


class _Cursor:
    """How far a stream has come."""

    def __init__(self, host: Host[Any], place: Place, cursor: str) -> None:
        self._host = host
        self._place = place
        self._cursor = cursor

    async def news(self) -> AsyncIterator[Frame]:
        """What was said since."""
        while rows := await self._rows():
            for row in rows:
                self._cursor = row.cursor
                yield Frame("message", said(row), row.cursor)

    async def _rows(self) -> Sequence[SaidRow]:
        return await self._host.ledger.run(said_after(self._place, self._cursor, limit=_AT_ONCE))


def _words(one: Seen, key: str) -> Frame | None:
    match one:
        case Words(of, text) if of == key:
            return Frame("delta", {"text": text})
        case Withdrawn(of) if of == key:
            return Frame("withdrawn")
        case _:
            return None


def _may_end(one: Seen, key: str) -> bool:
    match one:
        case Turned(keys):
            return key in keys
        case SetAside(of, _):
            return of == key
        case _:
            return isinstance(one, Changed)
