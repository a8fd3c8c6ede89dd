"""What a message came to, for whoever sends it and waits, and for whoever sends it again.

A turn of this process tells it as it is committed; only of one that was played elsewhere, or before, the ledger
is asked. An answer is what a customer gets: the messages as they go out, under the keys of their sending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from falai.host.engine import Engine
from falai.host.errors import SetAsideError
from falai.host.ledger.answering import answer_to
from falai.host.ledger.looking import waits
from falai.host.ledger.port import Arrival, Ledger, Letter, Place, SaidRow
from falai.host.receiving import Received
from falai.host.waiting import Told
from falai.turn.result import OutMessage

__all__ = ["Answered", "answered", "asked"]


class Answered(Struct, frozen=True):
    """How far a message is: it waits for its turn (`new`), had it (`done`, and `said` is what it said), or was set
    aside (`dead`). `said` lacks what was withheld since, and what is no longer kept.
    """

    received: Received
    state: Literal["new", "done", "dead"]
    said: Sequence[Letter | SaidRow] = ()


async def answered(engine: Engine, ledger: Ledger, place: Place, arrival: Arrival, seconds: float) -> Answered:
    """Takes a message in, and waits for its turn. Raises as `Host.receive`, and `RuntimeError` when the host ends before."""
    await engine.work.asked(place, arrival.key)
    with engine.waiters.expecting(place, arrival.key) as told:
        received = await engine.take(place, arrival)
        found = Answered(received, "new") if received.new else await _look(ledger, place, received)
        if found.state != "new" or seconds <= 0:
            return found
        turn = await _turn(told, seconds)
    if turn is not None and turn.letters is not None:
        return Answered(received, "done", turn.letters)
    return await _look(ledger, place, received)


async def asked(
    engine: Engine, ledger: Ledger, place: Place, arrival: Arrival, seconds: float
) -> tuple[OutMessage, ...]:
    """Takes an input in, and gives what its turn says. Raises as `Host.ask`."""
    await engine.work.asked(place, arrival.key)
    with engine.waiters.expecting(place, arrival.key) as told:
        received = await engine.take(place, arrival)
        if not received.new and not told.done() and not await ledger.run(waits(place, arrival.key)):
            return told.result().messages if told.done() else ()
        async with asyncio.timeout(seconds):
            return (await told).messages


async def _turn(told: asyncio.Future[Told], seconds: float) -> Told | None:
    with suppress(TimeoutError, SetAsideError):
        async with asyncio.timeout(seconds):
            return await told
    return None


async def _look(ledger: Ledger, place: Place, received: Received) -> Answered:
    answer = await ledger.run(answer_to(place, received.key.removeprefix("message:")))
    return Answered(received, answer.state or "done", answer.said)
