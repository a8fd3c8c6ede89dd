"""A line meets a host that cannot keep it: it waits, and the program goes on."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from falai import Agent
from falai.cli.running.feeds import LONGEST
from falai.cli.running.taking import Taker
from falai.host import Host

MESSAGE = b'{"session": "s1", "id": "m1", "message": "hello"}\n'


class _Full(Host[None]):
    """A host whose disk is full, once."""

    full = True

    async def checkpoint(self, name: str) -> None:
        if self.full:
            self.full = False
            raise sqlite3.OperationalError("database or disk is full")


async def test_a_line_is_tried_until_it_is_kept(tmp_path: Path) -> None:
    """The failure is logged; the line is acknowledged once, whether or not the first try had kept it."""
    told: list[tuple[str, dict[str, Any]]] = []

    async def tell(what: str, said: dict[str, Any]) -> None:
        told.append((what, said))

    agent: Agent[None] = Agent(name="Ana", model="lexical", idle="silent")
    async with _Full(agent, tmp_path / "falai.db") as host:
        assert await Taker(host, (), tell).take(MESSAGE) is None
    assert [what for what, _ in told] == ["received"]
    assert told[0][1]["key"] == "message:m1"


async def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """Whatever is in it; its end does not count."""
    agent: Agent[None] = Agent(name="Ana", model="lexical", idle="silent")
    async with Host(agent, tmp_path / "falai.db") as host:
        assert await Taker(host, ()).take(MESSAGE.strip().ljust(LONGEST) + b"\n") is None
        why = await Taker(host, ()).take(b" " * (LONGEST + 1))
    assert why == f"it is longer than {LONGEST} bytes"


async def test_nobody_who_reads_is_no_reason_to_stop_taking(tmp_path: Path) -> None:
    """What standard output has lost is not the line's matter."""

    async def tell(what: str, said: dict[str, Any]) -> None:
        raise BrokenPipeError

    agent: Agent[None] = Agent(name="Ana", model="lexical", idle="silent")
    async with Host(agent, tmp_path / "falai.db") as host:
        assert await Taker(host, (), tell).take(MESSAGE) is None
