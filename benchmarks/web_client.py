"""A client of the HTTP API in a process of its own, so that the server's CPU is the server's.

Each line of its input is a JSON array of requests, `[path, body]`; they are sent one after the other over one
connection, and a line with the answers' statuses is written when all have been read.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from typing import Any

__all__ = ["Client"]


class Client:
    """The other end: what a benchmark asks of that process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._in, self._out = process, process.stdin, process.stdout

    @classmethod
    async def start(cls, port: int, headers: Mapping[str, str]) -> Client:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", __name__, str(port), json.dumps(headers)]
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))

    async def post(self, requests: Sequence[tuple[str, Mapping[str, Any]]], expected: int) -> None:
        """Posts each of them, and returns when the last one is answered.

        Raises:
            AssertionError: one of them was answered with another status.
        """
        self._in.write(json.dumps(requests).encode() + b"\n")
        statuses = json.loads(await self._out.readline())
        assert statuses == [expected] * len(requests), f"answered with {statuses}"

    async def stop(self) -> None:
        self._in.close()
        await self._process.wait()


def main() -> None:
    """Posts what it is told, until there is no more."""
    connection = HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as clients do: else a body waits 40 ms
    headers = {"Content-Type": "application/json", **json.loads(sys.argv[2])}
    for line in sys.stdin:
        print(json.dumps([_post(connection, path, body, headers) for path, body in json.loads(line)]), flush=True)


def _post(connection: HTTPConnection, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> int:
    connection.request("POST", path, json.dumps(body), headers)
    with connection.getresponse() as answer:
        answer.read()
        return answer.status


if __name__ == "__main__":
    main()
