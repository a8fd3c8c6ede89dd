"""A process that is killed between any two statements leaves all of a transaction, or nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from falai.host.ledger.port import Ledger
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from host.ledger.ledgers import NOW, dump, postgres_url

pytestmark = pytest.mark.faults

# Says "ready" before the transaction, and dies after so many of its statements; without a number it ends it.
DIES = """
import asyncio, os, sys
from falai.host.ledger.committing import commit
from falai.host.ledger.gating import hold
from falai.host.ledger.playing import note_answers
from falai.host.ledger.port import Arrival, Claim, Done, Gate, Limits, LiveRun, Place, Reply, TranscriptLine, WakeWrite
from falai.host.ledger.playing import next_job
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.taking import take_in
from falai.host.ledger.waking import due_wakes

where, what, left, now = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
place = Place("t", "a", "s1")
done = Done("{}", (Claim("k", "x"),), (), (LiveRun("f", "x"),), (), (TranscriptLine("user", "hi", 1),),
            (Reply("x"), Reply("y")), (WakeWrite("w", now, "v"), WakeWrite("x", now)), "[]", Gate(reason="x"), True)

def one_by_one(work):
    global left
    step = next(work)
    while True:
        rows = []
        for statement in step:
            if left == 0:
                os.kill(os.getpid(), 9)
            left -= 1
            rows += yield (statement,)
        try:
            step = work.send(rows)
        except StopIteration as end:
            if left == 0:
                os.kill(os.getpid(), 9)
            return end.value

async def main():
    ledger = PostgresLedger(where, connections=1) if "://" in where else SQLiteLedger(where)
    await ledger.open()
    async def receive(key):
        return take_in(place, [Arrival(key, "message", "{}", customer="c")], now_ms=now, limits=Limits())
    if what == "prepare":
        await ledger.run(await receive("m1"))
        job = await ledger.run(next_job(place, now_ms=now, history_items=5))
        await ledger.run(commit(job, Done("{}", wakes=(WakeWrite("v", now), WakeWrite("u", now)), outbox=(Reply("0"),)), now_ms=now))
        await ledger.run(await receive("m2"))
        return
    job = await ledger.run(next_job(place, now_ms=now, history_items=5))
    works = {
        "take": await receive("m3"), "commit": commit(job, done, now_ms=now), "wake": due_wakes("a", now_ms=now, limit=9),
        "hold": hold(place, Gate(reason="x"), now_ms=now), "note": note_answers(job, {("a", 0): "1", ("b", 0): "2"}),
    }
    await ledger.run(one_by_one(works[what]))
    print("kept", flush=True)
asyncio.run(main())
"""
WORKS = ["take", "commit", "wake", "hold", "note"]


def _run(where: str, what: str, statements: int) -> str:
    arguments = [sys.executable, "-c", DIES, where, what, str(statements), str(NOW)]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode in {0, -9}, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("what", WORKS)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
async def test_nothing_is_half_kept(
    request: pytest.FixtureRequest, tmp_path: Path, place: str, kind: str, what: str, *, full: bool
) -> None:
    """Killed after each of its statements, a transaction has left nothing; the same one can be done then."""
    if kind == "sqlite":
        where = str(tmp_path / "falai.db")
        ledger: Ledger = SQLiteLedger(where, read_only=True)
    else:
        where = postgres_url(request.getfixturevalue("postgres_server"), place)
        ledger = PostgresLedger(where, connections=1)
    _run(where, "prepare", -1)
    await ledger.open()
    before = await dump(ledger)
    statements = 0 if full else 2
    while _run(where, what, statements) != "kept\n":
        assert await dump(ledger) == before
        statements += 1 if full else 6
    assert statements > 2
    assert await dump(ledger) != before
    await ledger.close()
