"""Worker processes on one database, what they did in the order in which they did it, and a way to bring inputs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from falai.host.ledger.looking import counts
from falai.host.ledger.port import Arrival, Kind, Limits, Place
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.taking import take_in
from host.queue.program import Order

TESTS = Path(__file__).parents[2]
_LIMITS = Limits(session=10_000, host=1_000_000)


@dataclass(frozen=True)
class Line:
    """A line of what the processes wrote down."""

    what: str
    worker: str
    session: str
    text: str
    key: str = ""


class Fleet:
    """Workers of a test; those that still run at its end are killed."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.log = folder / "log"
        self.log.touch()
        self.ledger = PostgresLedger(url, connections=4)
        self.workers: dict[str, subprocess.Popen[str]] = {}

    async def start(self, count: int = 1, **how: Any) -> list[str]:
        """So many workers more, which are ready; their names."""
        names = [f"w{len(self.workers) + n}" for n in range(count)]
        for name in names:
            order = Order(self.url, str(self.log), name, **how)
            self.workers[name] = subprocess.Popen(
                [sys.executable, "-m", "host.queue.program", json.dumps(asdict(order))],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
                stdout=subprocess.PIPE,
                text=True,
            )
        for name in names:
            out = self.workers[name].stdout
            assert out is not None
            told = await asyncio.to_thread(out.readline)
            assert told == "ready\n", told
        return names

    def kill(self, name: str) -> None:
        """Ends it as the system ends a process that is out of memory."""
        self.workers[name].send_signal(signal.SIGKILL)
        self.workers[name].wait()

    def pause(self, name: str) -> None:
        """It does nothing until `resume`, as a machine that sleeps."""
        self.workers[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.workers[name].send_signal(signal.SIGCONT)

    async def stop(self, name: str) -> None:
        """Ends it in good order."""
        self.workers[name].send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(self.workers[name].wait, 30) == 0

    def close(self) -> None:
        for worker in self.workers.values():
            worker.kill()
            worker.wait()
            if worker.stdout:
                worker.stdout.close()

    async def bring(self, session: str, *texts: str, kind: Kind = "message") -> int:
        """Messages, each with its text as its id; how many of them were new."""
        arrivals = [_arrival(session, text, kind) for text in texts]
        taken = await self.ledger.run(
            take_in(Place("default", "Ana", session), arrivals, now_ms=_now_ms(), limits=_LIMITS)
        )
        return len(taken.new)

    def lines(self, *whats: str) -> list[Line]:
        """What was written down of these, in order."""
        found = [Line(**json.loads(line)) for line in self.log.read_text().splitlines()]
        return [line for line in found if line.what in whats]

    def said(self, session: str) -> list[str]:
        """What a session heard, in order."""
        return [line.text for line in self.lines("sent") if line.session == session]

    async def until(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Waits for what the workers do."""
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.02)

    async def drained(self, seconds: float = 120) -> None:
        """Waits until nothing is left to be played or sent."""
        async with asyncio.timeout(seconds):
            while True:
                found = await self.ledger.run(counts("Ana", now_ms=_now_ms()))
                if not (found.inputs or found.messages or found.wakes_due):
                    return
                await asyncio.sleep(0.05)


def overlaps(lines: Sequence[Line]) -> list[Line]:
    """Turns that began while another one of their session was not over; a worker that died has no turn any more."""
    busy: set[str] = set()
    found: list[Line] = []
    for line in lines:
        if line.what == "begin":
            found += [line] if line.session in busy else []
            busy.add(line.session)
        else:
            busy.discard(line.session)
    return found


def doubled(texts: Iterable[str]) -> list[str]:
    """Texts that are there more than once."""
    seen: set[str] = set()
    return [text for text in texts if text in seen or seen.add(text)]


def _arrival(session: str, text: str, kind: Kind) -> Arrival:
    if kind == "start":
        return Arrival(f"start:later:{text}", "start", json.dumps({"flow": "later", "key": text}))
    body = json.dumps({"text": f"{session}/{text}", "id": text})
    return Arrival(f"message:{text}", "message", body)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
