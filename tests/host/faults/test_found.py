"""What the seeds have found, each as a test of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from falai import Message
from falai.host import Host
from falai.testing import Clock
from host.stage import Wire, echo

pytestmark = pytest.mark.faults


async def test_a_clock_that_is_set_back_before_a_turn(tmp_path: Path) -> None:
    """An input that has come, and is of the future then, is played when the clock is there again."""
    clock, wire = Clock(), Wire()
    async with Host(echo(clock=clock), tmp_path / "falai.db", channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        clock.advance(-60_000)
        async with asyncio.timeout(30):
            await host.drained()
            assert wire.texts == []
            clock.advance(60_001)
            await host.drained()
    assert wire.texts == ["re: hello"]


async def test_such_an_input_is_found_without_help(tmp_path: Path) -> None:
    """Nobody has to ask: the host looks again when its clock was set back."""
    clock, wire = Clock(), Wire()
    async with Host(echo(clock=clock), tmp_path / "falai.db", channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        clock.advance(-60_000)
        await asyncio.sleep(0.3)
        clock.advance(60_001)
        async with asyncio.timeout(30):
            while not wire.texts:
                await asyncio.sleep(0.01)
    assert wire.texts == ["re: hello"]
