"""`falai migrate`: moves the rows of an old place into a new one, each once (P-72 to P-74).

A row is read, migrated, and inserted: a session that is in the new place already is left alone. So a
run may be broken off, repeated, and go on beside a system that works on the new place. Rows that are
no session are told of and stop nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from falai.cli.clean import clean
from falai.cli.loading import LoadError
from falai.cli.migrating.flow_ids import FlowIds
from falai.cli.migrating.places import OldPlace, old_place, same_place
from falai.cli.migrating.progress import Progress
from falai.cli.migrating.rows import OldRow, blob_of
from falai.cli.store_access import Troubles, guarded, note
from falai.cli.stored import must_be_there
from falai.cli.urls import hidden
from falai.errors import InvalidSessionError, SessionConflictError, words_of
from falai.session.jsontext import is_object, quoted
from falai.session.migrate import migrate_session
from falai.session.model import Session
from falai.store import Store, store_from_url
from falai.store.row import to_row

__all__ = ["MigrateOptions", "run_migrate"]

_AT_ONCE = 8
INTERRUPTED = 130

Kind = Literal["v4", "3.x, a flow under way", "3.x, at rest", "there already", "no session"]


@dataclass(frozen=True, slots=True)
class MigrateOptions:
    """What was asked for."""

    source: str
    target: str
    flow_ids: Path | None = None
    dry_run: bool = False
    after: str | None = None


@dataclass(slots=True)
class _Run:
    """What a run needs, and what has come of it."""

    target: str
    flow_ids: FlowIds
    dry_run: bool
    after: str | None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    """Dates what has no date of its own."""
    counts: Counter[Kind] = field(default_factory=Counter[Kind])
    troubles: Troubles = field(default_factory=Troubles)
    blind: bool = False
    """The new place cannot be looked at in a dry run: it is not made yet, or not reached."""


def run_migrate(options: MigrateOptions) -> int:
    """Moves the rows, or says what would happen; the result is the program's exit code.

    Raises `LoadError`, without the passwords of the URLs, when a place or the map cannot be used.
    """
    if same_place(options.source, options.target):
        raise LoadError("both URLs name the same place; a migration needs two (another table, prefix, file, ...)")
    run = _Run(options.target, FlowIds.read(options.flow_ids), options.dry_run, options.after)
    try:
        code = guarded(lambda: _migrate(options, run), options.source, options.target)
    except KeyboardInterrupt:
        _stopped(run)
        return INTERRUPTED
    except LoadError:
        _stopped(run)
        raise
    _finished(run)
    return code


async def _migrate(options: MigrateOptions, run: _Run) -> int:
    source = old_place(options.source)
    try:
        store = store_from_url(options.target)
        try:
            total = await source.count()  # which also shows that it can be read, before anything is made
            if options.dry_run:
                _look_whether_it_is_there(run)
            else:
                await store.initialize()
            await _move_all(source, store, run, Progress(None if run.after else total))
        finally:
            await store.disconnect()
    finally:
        await source.close()
    return run.troubles.exit_code


async def _move_all(source: OldPlace, store: Store, run: _Run, progress: Progress) -> None:
    try:
        async for page in source.pages(run.after):
            for begin in range(0, len(page.rows), _AT_ONCE):
                await _all(_move(row, store, run) for row in page.rows[begin : begin + _AT_ONCE])
            run.after = page.after
            progress.show(run.counts.total())
    finally:
        progress.end()


async def _all(moves: Iterable[Coroutine[None, None, None]]) -> None:
    """Lets all of them come to their end, and raises the first error."""
    for outcome in await asyncio.gather(*moves, return_exceptions=True):
        if outcome is not None:
            raise outcome


async def _move(row: OldRow, store: Store, run: _Run) -> None:
    try:
        kind, session = _migrated(row, run)
        there = await (_is_there(store, session, run) if run.dry_run else _was_there(store, session))
    except (InvalidSessionError, TypeError, ValueError) as error:
        run.counts["no session"] += 1
        run.troubles.tell(
            str(error) if isinstance(error, InvalidSessionError) else f"session {quoted(row.id)}: {error}"
        )
    else:
        run.counts["there already" if there else kind] += 1


def _migrated(row: OldRow, run: _Run) -> tuple[Kind, Session]:
    blob: Any = blob_of(row)
    session = migrate_session(blob, row.id, flow_id_of=run.flow_ids, now=run.now)
    if is_object(blob) and "v" in blob:
        return "v4", session
    return ("3.x, a flow under way" if session.runs else "3.x, at rest"), session


async def _was_there(store: Store, session: Session) -> bool:
    """Saves the session unless there is one; the new system may have touched that."""
    try:
        await store.save(session, 0)
    except SessionConflictError:
        return True
    return False


# --- without writing ----------------------------------------------------------------------------


def _look_whether_it_is_there(run: _Run) -> None:
    try:
        must_be_there(run.target)
    except LoadError:
        run.blind = True  # nothing can be there already


async def _is_there(store: Store, session: Session, run: _Run) -> bool:
    to_row(session, 0)  # raises what a save would raise
    if run.blind:
        return False
    try:
        return await store.load(session.id) is not None
    except InvalidSessionError:
        return True
    except (TypeError, ValueError):
        raise  # an id that the store would not take
    except Exception as error:  # noqa: BLE001 - of whichever driver, and it is told
        if not run.blind:  # of several rows at once the first one tells
            why = hidden(words_of(error), run.target)
            note(f"The new place cannot be looked at ({why}), so what is there already is not counted.")
        run.blind = True
        return False


# --- what came of it ----------------------------------------------------------------------------


def _finished(run: _Run) -> None:
    print("What would happen, nothing was written:" if run.dry_run else "Done:")
    _counts(run)
    if run.dry_run:
        for line in run.flow_ids.words():
            print(clean(line))


def _counts(run: _Run) -> None:
    for kind, count in sorted(run.counts.items()):
        print(f"  {count:>10,}  {kind}")
    print(f"  {run.counts.total():>10,}  rows")


def _stopped(run: _Run) -> None:
    """Tells where it stopped; what was moved stays moved."""
    if run.counts:
        print("Stopped:")
        _counts(run)
        again = "Run it again: what is there already is left alone"
        note(
            f"{again}."
            if run.after is None
            else f"{again}. Quicker: --after {quote(run.after)} leaves out what was read."
        )
