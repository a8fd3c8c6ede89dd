"""A worker process: a host on PostgreSQL whose model and channel write down what they do, each in one line of a file.

`python -m host.queue.program '{"url": …, "log": …, "name": …}'`; it says `ready`, and ends on SIGTERM in good order.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from falai import Agent, Flow, OnAnyMessage, Prompt, Say, Wait
from falai.channel import Channel, Outgoing, Sent
from falai.host import Host, Settings
from falai.model import ModelReply, ModelRequest
from falai.session.dates import system_now
from falai.testing.scripted import whole_reply

FLOWS = [
    Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.")]),
    Flow("later", steps=[Wait("pause", "1s"), Say("now", "It is time.")]),
]


@dataclass(frozen=True)
class Order:
    """How a worker is to be."""

    url: str
    log: str
    name: str
    model_ms: int = 0
    skew_ms: int = 0
    at_once: int = 20
    send_ms: int = 0
    kill_on: str = ""
    """The text of a message at which it ends as if somebody had killed it."""


class Log:
    """Lines of several processes in one file; each is whole."""

    def __init__(self, order: Order) -> None:
        self._name = order.name
        self._file = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, what: str, session: str, text: str, **more: object) -> None:
        line = {"what": what, "worker": self._name, "session": session, "text": text, **more}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class SlowEcho:
    """Says `re: <what was written>`, after a while."""

    name = "slow-echo"

    def __init__(self, order: Order, log: Log) -> None:
        self._order = order
        self._log = log

    async def complete(self, request: ModelRequest) -> ModelReply:
        task: Any = request.task
        session, _, text = task.text.partition("/")
        self._log.write("begin", session, text)
        if text and text == self._order.kill_on:
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(self._order.model_ms / 1000)
        self._log.write("end", session, text)
        return whole_reply({"message": f"re: {text}"})

    async def stream(self, request: ModelRequest) -> Any:
        raise AssertionError("a host asks for whole replies")
        yield


class FileChannel(Channel):
    """Delivers into the file."""

    name = "file"

    def __init__(self, order: Order, log: Log) -> None:
        self._order = order
        self._log = log

    async def send(self, out: Outgoing) -> Sent:
        self._log.write("sending", out.session, out.text, key=out.idempotency_key)
        await asyncio.sleep(self._order.send_ms / 1000)
        self._log.write("sent", out.session, out.text, key=out.idempotency_key)
        return Sent()


def host_of(order: Order) -> Host[Any]:
    """The host of this process, the same in each."""
    log, skew = Log(order), timedelta(milliseconds=order.skew_ms)

    def skewed() -> datetime:
        return system_now() + skew

    agent = Agent[Any](name="Ana", model=SlowEcho(order, log), flows=FLOWS)
    settings = Settings(at_once=order.at_once, grace="5s")
    return Host(
        agent, order.url, channel=FileChannel(order, log), settings=settings, clock=skewed if order.skew_ms else None
    )


async def main(order: Order) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with host_of(order):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(main(Order(**json.loads(sys.argv[1]))))
