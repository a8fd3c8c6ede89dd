"""What the benchmarks of several workers share: a server of PostgreSQL, an empty schema, processes that say they are ready."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # its servers start themselves, and are gone at the end

from servers.programs import PostgreSQL

__all__ = ["Server", "quiet", "schema", "served", "workers"]

LOOK_S = 0.05
LEFT = """
    SELECT EXISTS (SELECT 1 FROM falai_inbox WHERE agent = 'Ana' AND state = 'new')
        OR EXISTS (SELECT 1 FROM falai_outbox WHERE agent = 'Ana' AND state = 'new')"""


class Server(PostgreSQL):
    """As it comes from the box: each commit waits for the disk."""

    def command(self) -> list[str]:
        settings = (
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "shared_buffers=256MB",
            "max_wal_size=4GB",
        )
        return [*super().command(), *(f"--{setting}" for setting in (*settings, "max_connections=100"))]


@contextmanager
def served() -> Iterator[Server]:
    """A server of its own."""
    server = Server()
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.remove()


def schema(server: Server, name: str) -> str:
    """The URL of an empty schema."""
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())
        db.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server.url}?options=-csearch_path%3D{name}"


@contextmanager
def workers(module: str, count: int, **order: Any) -> Iterator[Sequence[subprocess.Popen[str]]]:
    """Processes of a benchmark, which are ready; at the end they end in good order."""
    command = [sys.executable, "-m", module, json.dumps(order)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        for worker in started:
            assert worker.stdout is not None
            told = worker.stdout.readline()
            assert told == "ready\n", told
        yield started
    finally:
        for worker in started:
            worker.terminate()
        for worker in started:
            worker.communicate(timeout=60)


def quiet(url: str, *, limit_s: float = 600) -> None:
    """Returns when nothing waits to be played or sent."""
    end = time.monotonic() + limit_s
    with psycopg.connect(url, autocommit=True) as db:
        while (row := db.execute(LEFT).fetchone()) and row[0]:
            assert time.monotonic() < end, "it comes to no end"
            time.sleep(LOOK_S)
