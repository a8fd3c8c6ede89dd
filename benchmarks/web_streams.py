"""Five hundred open streams in one process: what memory they take, and how soon all of them have what is said.

The streams are server-sent events over HTTP, all of one session, whose reply is streamed; the clients are in a
process of their own. Exit code 1 when over a limit. Memory is the resident set (Linux tells), with the streams
open and after a reply has gone to all of them, less what it was after a first stream. Times are from the message
that is taken in to the last stream's `done`, the least of some messages: CPU of the server's process, all of its
threads, and of the clock. Beside it stands a single stream, which has the turn in it too.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

import uvicorn

from benchmarks.host_crowd import megabytes
from benchmarks.hosted import Line, tell
from falai import Agent, Flow, Message, OnAnyMessage, Prompt
from falai.host import Host
from falai.host.ledger.tokens import add_token
from falai.testing import Pieces, ScriptedModel
from falai.web import WebSettings, create_app
from falai.web.access.tokens import new_token

LIMIT = 50.0
CPU_LIMIT = 1.0
STREAMS, MESSAGES = 500, 5
FILES = 4096
REPLY = [f"word {number} " for number in range(100)]


class Took(NamedTuple):
    """Seconds until the last stream has a reply."""

    cpu: float
    clock: float


class Found(NamedTuple):
    """With one stream, with all of them, and megabytes."""

    one: Took
    all: Took
    memory: float


class Crowd:
    """A process that reads so many streams of the session `s`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout

    @classmethod
    async def open(cls, port: int, token: str, count: int) -> Crowd:
        """When all of them are open."""
        command = [sys.executable, "-m", "benchmarks.web_streams", str(port), token, str(count)]
        pipe = asyncio.subprocess.PIPE
        crowd = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))
        await crowd.at()
        return crowd

    async def at(self) -> float:
        """The instant at which the last stream had the next thing that all wait for."""
        return float(await self._out.readline())

    async def close(self) -> None:
        self._in.close()
        await self._process.wait()


async def read_streams(port: int, token: str, count: int) -> None:
    """Opens so many, and tells when all are ready, and whenever all have a `done` more; ends with its input."""
    streams = [await _opened(port, token) for _ in range(count)]
    for event in (b"ready", *[b"done"] * 1000):
        await asyncio.gather(*(_until(reader, event) for reader, _ in streams))
        print(monotonic(), flush=True)


async def _opened(port: int, token: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET /v1/sessions/s/stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    return reader, writer


async def _until(reader: asyncio.StreamReader, event: bytes) -> None:
    while line := await reader.readline():
        if line == b"event: " + event + b"\n":
            return
    raise EOFError("the stream ended")


@asynccontextmanager
async def serving(host: Host[None]) -> AsyncGenerator[tuple[int, str]]:
    """The host over HTTP on a free port; gives it, and a token."""
    made = new_token(name="bench", tenant="default", scopes=["chat"], now_ms=0)
    await host.ledger.run(add_token(made.row))
    place = socket.create_server(("127.0.0.1", 0), backlog=STREAMS)
    app = create_app(host, settings=WebSettings(rate="1000000 in 1m"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([place]))
    yield place.getsockname()[1], made.text
    server.should_exit = True
    await task


async def measure() -> Found:
    """With one stream, then with all."""
    model = ScriptedModel({"speak": [Pieces(REPLY)] * (2 * MESSAGES)})
    flow = Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")])
    agent: Agent[None] = Agent(name="Ana", model=model, flows=[flow])
    with tempfile.TemporaryDirectory() as folder:
        async with Host(agent, Path(folder) / "host.db") as host, serving(host) as (port, token):
            one = await Crowd.open(port, token, 1)
            single = await _delivered(host, one, "one")
            await one.close()
            gc.collect()
            before = megabytes("VmRSS")
            crowd = await Crowd.open(port, token, STREAMS)
            every = await _delivered(host, crowd, "all")
            memory = megabytes("VmRSS") - before
            await crowd.close()
    return Found(single, every, memory)


async def _delivered(host: Host[None], crowd: Crowd, name: str) -> Took:
    """The least of some messages."""
    cpu, clock = list[float](), list[float]()
    for number in range(MESSAGES):
        spent, begun = process_time(), monotonic()
        await host.receive("s", Message("hello", id=f"{name}.{number}"))
        clock.append(await crowd.at() - begun)
        cpu.append(process_time() - spent)
    return Took(min(cpu), min(clock))


def lines(found: Found) -> Sequence[Line]:
    """The table."""
    return [
        Line(f"memory of {STREAMS} open streams", found.memory, "MB", LIMIT),
        Line(f"a reply of {len(REPLY)} pieces to {STREAMS} streams, CPU", found.all.cpu, "s", CPU_LIMIT),
        Line("  until the last of them has it", found.all.clock, "s"),
        Line("  to a single stream, CPU", found.one.cpu, "s"),
    ]


def main() -> int:
    """Prints the table; 1 when a line is over its limit. With a port, a token and a number: the clients."""
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    if len(sys.argv) > 1:
        port, token, count = sys.argv[1:]
        _read(int(port), token, int(count))
        return 0
    return tell(lines(asyncio.run(measure())))


def _read(port: int, token: str, count: int) -> None:
    """Until its input ends."""

    async def both() -> None:
        reading = asyncio.create_task(read_streams(port, token, count))
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        reading.cancel()

    asyncio.run(both())


if __name__ == "__main__":
    sys.exit(main())
