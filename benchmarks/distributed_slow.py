"""Two thousand sessions whose model takes two seconds, with two workers on PostgreSQL. Exit code 1 when over the limit.

Each has three messages, which wait when the workers begin. It would take the time of the model, if rows cost nothing,
or the time of the rows, at the rate that the same workers have with a model that answers at once: three times the
larger of these is the limit.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from time import perf_counter

from benchmarks.conversation import Answers, sales_desk
from benchmarks.distributed import bring
from benchmarks.distributed_fleet import Server, quiet, schema, served, workers
from benchmarks.hosted import Line, Null, tell
from falai.host import Host, Settings
from falai.model.port import ModelReply, ModelRequest
from falai.session.dates import system_now

LIMIT = 3.0
SESSIONS, MESSAGES, WORKERS, AT_ONCE = 2_000, 3, 2, 1_000
TURN_S = 2.0
OF_ROWS = 200
CALLS = 2


class Slow(Answers):
    """Takes so long for the two calls of a turn."""

    def __init__(self, turn_s: float) -> None:
        super().__init__()
        self._call_s = turn_s / CALLS

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(self._call_s)
        return await super().complete(request)


def hosted(url: str, turn_s: float) -> Host[None]:
    """A host of this benchmark."""
    return Host(sales_desk(Slow(turn_s), system_now), url, channel=Null(), settings=Settings(at_once=AT_ONCE))


async def made(url: str) -> None:
    """Makes the tables."""
    async with hosted(url, 0):
        pass


def seconds(server: Server, name: str, sessions: int, turn_s: float) -> float:
    """Until the last message was sent."""
    url = schema(server, name)
    asyncio.run(made(url))
    bring(url, sessions, MESSAGES)
    with workers("benchmarks.distributed_slow", WORKERS, url=url, turn_s=turn_s):
        begun = perf_counter()
        quiet(url)
        return perf_counter() - begun


def measure() -> list[Line]:
    """The lines of the table."""
    with served() as server:
        rate = OF_ROWS * MESSAGES / seconds(server, "rows", OF_ROWS, 0)
        took = seconds(server, "slow", SESSIONS, TURN_S)
    least = max(MESSAGES * TURN_S, SESSIONS * MESSAGES / rate)
    return [
        Line(
            f"{SESSIONS} sessions of {MESSAGES} messages, a model of {TURN_S:g} s: beside the larger",
            took / least,
            "times",
            LIMIT,
        ),
        Line("  it takes", took, "s"),
        Line("  the model", MESSAGES * TURN_S, "s"),
        Line("  the rows, at the rate of a model that takes no time", SESSIONS * MESSAGES / rate, "s"),
        Line("  which is", rate, "a s"),
    ]


async def work(url: str, turn_s: float) -> None:
    """A worker, until SIGTERM."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with hosted(url, turn_s):
        print("ready", flush=True)
        await ended.wait()


def main() -> int:
    """Prints the table; 1 when over the limit. With an order: a worker."""
    logging.disable(logging.CRITICAL)
    if len(sys.argv) > 1:
        asyncio.run(work(**json.loads(sys.argv[1])))
        return 0
    return tell(measure())


if __name__ == "__main__":
    sys.exit(main())
