"""What HTTP adds to a turn of a host, beside an empty route; and the weight of the page. Exit code 1 when over a limit.

Three take turns in one run: a message to a session over HTTP, answered in its response; the same request to a
route of the same framework that does nothing; and to one that does nothing but give the same message to the host,
in another session. The host's turn is what the last takes above the second: it comes between requests there too,
where it is dearer than in a loop that leaves it no time to cool. Of each message the least of many counts, since
what else runs on the machine can only add, and of the messages the mean: what HTTP adds is the same for each.
Times are CPU of the server's process, all of its threads; the client is a process of its own.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import NamedTuple

import uvicorn
from fastapi import FastAPI

from benchmarks.conversation import CHAT, MESSAGES, Answers, message_id, sales_desk
from benchmarks.hosted import Line, Null, Watched, tell
from benchmarks.web_client import Client
from falai import Message
from falai.host import Host
from falai.host.ledger.tokens import add_token
from falai.web import WebSettings, create_app
from falai.web.access.tokens import new_token
from falai.web.playground.page import _files  # pyright: ignore[reportPrivateUsage] - as they are sent
from falai.web.serving import bound

LIMIT = 2.0
PAGE_LIMIT = 40.0
TOGETHER, ROUNDS, LATE = 10, 20, 50
NOW = datetime(2026, 9, 20, 10, tzinfo=UTC)


SETTINGS = WebSettings(rate="1000000 in 1m")  # the limit is looked at and never reached


class Spent(NamedTuple):
    """CPU seconds of a message."""

    web: float
    route: float
    """Of a route that gives the message to the host."""
    empty: float

    @property
    def host(self) -> float:
        """The turn alone."""
        return self.route - self.empty


class Sides:
    """The three, over the same messages."""

    def __init__(self, host: Host[None], ledger: Watched, channel: Null, answers: Answers) -> None:
        self.host, self.ledger, self.channel, self.answers = host, ledger, channel, answers
        self.client: Client
        self.bare: Client

    async def message(self, name: str, number: int) -> Spent:
        """CPU of a message in each of some sessions, per session."""
        self.answers.number = number
        text, id = MESSAGES[number] if number < len(MESSAGES) else CHAT, message_id(number)
        begun = process_time()
        await self._web(name, {"text": text, "id": id})
        web = process_time()
        await self.bare.post([(f"/{name}/{n}", {"text": text, "id": id}) for n in range(TOGETHER)], 200)
        route = process_time()
        await self.bare.post([("/", {"text": text, "id": id})] * TOGETHER, 200)
        return Spent((web - begun) / TOGETHER, (route - web) / TOGETHER, (process_time() - route) / TOGETHER)

    async def _web(self, name: str, body: dict[str, str]) -> None:
        sent = self.channel.taken
        await self.client.post([(f"/v1/sessions/web.{name}.{n}/messages", body) for n in range(TOGETHER)], 200)
        await self.ledger.delivered(self.channel, sent + TOGETHER)

    def bare_app(self) -> FastAPI:
        """The least that the framework can be asked to do, and a turn of the host beside it."""

        async def nothing() -> None:
            """Answers."""

        async def turn(name: str, number: int) -> None:
            """Answers when the host has."""
            at, sent = self.answers.number, self.channel.taken
            text = MESSAGES[at] if at < len(MESSAGES) else CHAT
            await self.host.receive(f"host.{name}.{number}", Message(text, id=message_id(at)))
            await self.ledger.delivered(self.channel, sent + 1)

        app = FastAPI(openapi_url=None)
        app.add_api_route("/", nothing, methods=["POST"])
        app.add_api_route("/{name}/{number}", turn, methods=["POST"])
        return app


@asynccontextmanager
async def serving(app: FastAPI, token: str) -> AsyncGenerator[Client]:
    """The app on a free port of the loopback; gives a client of it."""
    place = bound("127.0.0.1", 0)  # as `falai serve` does
    place.listen()  # whoever connects now is answered when the server is up
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    task = asyncio.create_task(server.serve([place]))
    client = await Client.start(place.getsockname()[1], {"Authorization": f"Bearer {token}"})
    yield client
    await client.stop()
    server.should_exit = True
    await task


async def measure() -> Sequence[Spent]:
    """The least of each of the first six messages, and of those from message `LATE` on."""
    answers, channel = Answers(), Null()
    agent = sales_desk(answers, lambda: NOW + timedelta(minutes=answers.number))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Watched(Path(folder) / "host.db")
        async with Host(agent, ledger, channel=channel) as host:
            token, sides = await _token(host), Sides(host, ledger, channel, answers)
            async with (
                serving(create_app(host, settings=SETTINGS), token) as sides.client,
                serving(sides.bare_app(), token) as sides.bare,
            ):
                found = await _rounds(sides)
    return found


async def _token(host: Host[None]) -> str:
    made = new_token(name="bench", tenant="default", scopes=["chat"], now_ms=0)
    await host.ledger.run(add_token(made.row))
    return made.text


async def _rounds(sides: Sides) -> Sequence[Spent]:
    early, after = list[Sequence[Spent]](), list[Spent]()
    for number in range(LATE):
        await sides.message("old", number)
    for turn in range(ROUNDS):
        early.append([await sides.message(f"r{turn}", number) for number in range(len(MESSAGES))])
        after.append(await sides.message("old", LATE + turn))
    return [*map(_least, zip(*early, strict=True)), _least(after)]


def _least(found: Sequence[Spent]) -> Spent:
    web, route, empty = zip(*found, strict=True)
    return Spent(min(web), min(route), min(empty))


def _mean(found: Sequence[Spent]) -> Spent:
    web, route, empty = (sum(side) / len(found) for side in zip(*found, strict=True))
    return Spent(web, route, empty)


def _lines(spent: Spent) -> Iterator[Line]:
    added = (spent.web - spent.host) / spent.empty
    yield Line("what HTTP adds to a turn of the host, beside an empty route", added, "times", LIMIT)
    yield Line("  a message over HTTP", spent.web * 1e6, "µs")
    yield Line("  the turn of the host", spent.host * 1e6, "µs")
    yield Line("  an empty route", spent.empty * 1e6, "µs")


def page_kb() -> float:
    """The page's own files, each compressed as a browser gets it."""
    return sum(len(file.small) for file in _files().values()) / 1000


def main() -> int:
    """Prints the table; 1 when something is over its limit."""
    logging.disable(logging.CRITICAL)
    gc.freeze()
    lines = [
        *_lines(_mean(asyncio.run(measure()))),
        Line("the files of the playground's page", page_kb(), "kB", PAGE_LIMIT),
    ]
    return tell(lines)


if __name__ == "__main__":
    sys.exit(main())
