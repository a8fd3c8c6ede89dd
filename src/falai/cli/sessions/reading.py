"""`falai sessions list`, `show` and `export`: what a store holds. Nothing is changed, nothing is created.

Sessions are printed as they are read, so any number of them takes the same memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from falai.cli.clean import clean
from falai.cli.loading import LoadError
from falai.cli.sessions.customer import traces_line
from falai.cli.sessions.selection import Selection, last_activity, rows, selected
from falai.cli.sessions.words import heading, row_words, session_words
from falai.cli.store_access import Troubles, note, on_store
from falai.session.dates import iso
from falai.session.model import Session
from falai.store import Store

__all__ = ["run_export", "run_list", "run_show"]


def run_list(url: str, selection: Selection, *, as_json: bool) -> int:
    """Prints a line for each session; the result is the program's exit code."""
    return on_store(url, lambda store: _list(store, selection, as_json=as_json))


def run_show(url: str, id: str, *, as_json: bool) -> int:
    """Prints one session: in words, or its blob."""
    return on_store(url, lambda store: _show(store, id, as_json=as_json))


def run_export(url: str, selection: Selection, customers: tuple[str, ...], out: Path | None) -> int:
    """Writes sessions as JSON lines; with `customers`, all that the store holds of them.

    Raises `LoadError` when the file is there already or cannot be written, and for what the store raises.
    """
    with _target(out) as target:
        return on_store(url, lambda store: _export(store, selection, customers, target))


async def _list(store: Store, selection: Selection, *, as_json: bool) -> int:
    troubles, count = Troubles(), 0
    async for session in selected(store, selection, troubles):
        if not as_json and not count:
            print(heading())
        print(json.dumps(_brief(session), ensure_ascii=False) if as_json else row_words(session))
        count += 1
    _summary(f"{_sessions(count)}", troubles)
    return troubles.exit_code


def _brief(session: Session) -> dict[str, Any]:
    at = last_activity(session)
    return {
        "id": session.id,
        "version": session.version,
        "lastActivity": None if at is None else iso(at),
        "lastUserAt": session.last_user_at,
        "lastAssistantAt": session.last_assistant_at,
        "runs": [
            {"id": run.id, "flow": run.flow_id, "step": run.step_id, "status": run.status} for run in session.runs
        ],
        "claims": len(session.claims),
    }


async def _show(store: Store, id: str, *, as_json: bool) -> int:
    troubles = Troubles()
    async for session in selected(store, Selection(ids=(id,)), troubles):
        print(session.to_json() if as_json else "\n".join(clean(line) for line in session_words(session)))
    return troubles.exit_code


# --- export -------------------------------------------------------------------------------------


@contextmanager
def _target(out: Path | None) -> Generator[BinaryIO, None, None]:
    if out is None:
        yield sys.stdout.buffer
        return
    try:
        file = out.open("xb")
    except FileExistsError:
        raise LoadError(f"there is a file {out} already; name a new one") from None
    except OSError as error:
        raise LoadError(f"{out} cannot be written: {error}") from error
    try:
        with file:
            yield file
    except BaseException:
        if not out.stat().st_size:
            out.unlink()  # so that the next try may have the name
        raise


async def _export(store: Store, selection: Selection, customers: tuple[str, ...], target: BinaryIO) -> int:
    troubles, count = Troubles(), 0
    async for line in _customer_lines(store, customers, troubles) if customers else _lines(store, selection, troubles):
        target.write(line.encode() + b"\n")
        count += 1
    _summary(f"{_sessions(count)} exported", troubles)
    return troubles.exit_code


async def _lines(store: Store, selection: Selection, troubles: Troubles) -> AsyncGenerator[str, None]:
    async for session in selected(store, selection, troubles):
        yield session.to_json()


async def _customer_lines(store: Store, customers: tuple[str, ...], troubles: Troubles) -> AsyncGenerator[str, None]:
    """Their sessions, and what is anchored at them in other sessions."""
    async for session in rows(store, troubles):
        if line := session.to_json() if session.id in customers else traces_line(session, customers):
            yield line


def _sessions(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"


def _summary(said: str, troubles: Troubles) -> None:
    sys.stdout.flush()
    note(said + (f"; {troubles.count:,} could not be read, see above" if troubles.count else ""))
