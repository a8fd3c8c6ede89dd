"""Stores for the tests of the commands that work on them: sessions with something in every part."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from subprocess import PIPE

from cli.program import PATIENCE, Finished
from falai.session.model import Claim, Run, Session, TriggerRef, Waiting
from falai.store import SQLiteStore

__all__ = ["EARLY", "LATE", "answered", "filled", "ids", "loaded", "run", "session"]

EARLY, LATE = "2020-01-01T00:00:00.000Z", "2026-09-20T10:00:00.000Z"


def run(flow: str, status: str = "asking", anchor: str = "s1", step: str | None = "ask") -> Run:
    """A run of this flow, anchored there."""
    parked = Waiting(kind="event", key="k", until=LATE, set_at=EARLY, event="paid") if status == "waiting" else None
    return Run(
        id=f"{flow}#m1", flow_id=flow, anchor=anchor, dedupe_key=f"{flow}:{anchor}:", step_id=step,
        status=status,  # type: ignore[arg-type] # one of the four
        trigger=TriggerRef(kind="message", key="m1"), hop=0, started_at=EARLY, waiting=parked,
        asked={"name": 1}, visits={"ask": 1}, outcomes=[],
    )  # fmt: skip


def session(id: str, *runs: Run, said: str | None = LATE, claims: Iterable[str] = ()) -> Session:
    """A session with these runs, their claims and some more, in which something was said last at `said`."""
    made = Session.fresh(id)
    made.data = {"name": "Inês", "size": 3}
    made.runs = list(runs)
    made.claims = {key: Claim(at=EARLY) for key in (*(one.dedupe_key for one in runs), *claims)}
    made.inputs = ["m1"]
    made.last_user_at = said
    return made


def filled(path: Path, *sessions: Session) -> Path:
    """A file that holds these sessions."""

    async def fill() -> None:
        async with SQLiteStore(path) as store:
            for one in sessions:
                await store.save(one, 0)

    asyncio.run(fill())
    return path


def loaded(path: Path, id: str) -> Session | None:
    """What a file holds under an id."""

    async def load() -> Session | None:
        async with SQLiteStore(path) as store:
            return await store.load(id)

    return asyncio.run(load())


def ids(path: Path) -> list[str]:
    """The ids of all sessions of a file."""

    async def scan() -> list[str]:
        async with SQLiteStore(path) as store:
            return [one.id for one in (await store.scan(limit=10_000)).sessions]

    return asyncio.run(scan())


def answered(answer: str, *arguments: str | Path) -> Finished:
    """The program in a terminal in which a question is answered so."""
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "falai.cli", *map(str, arguments)], stdin=theirs, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        os.write(mine, f"{answer}\n".encode())
        out, err = process.communicate(timeout=PATIENCE)
    os.close(mine)
    os.close(theirs)
    return Finished(process.returncode, out, err)
