"""`falai sessions import`: writes sessions from JSON lines, each checked, none over another unless told to.

A session that is new to the store gets the version 1, as with any first save; one that takes the
place of another is saved against the version that stands there.
"""

from __future__ import annotations

from collections import Counter
from typing import BinaryIO, Literal

from falai.cli.store_access import Troubles, note, on_store
from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.codec import session_from_json
from falai.session.model import Session
from falai.store import Store

__all__ = ["run_import"]


def run_import(url: str, lines: BinaryIO, *, replace: bool) -> int:
    """Saves the sessions and says how many; the result is the program's exit code."""
    return on_store(url, lambda store: _import(store, lines, replace=replace), "make")


async def _import(store: Store, lines: BinaryIO, *, replace: bool) -> int:
    troubles, counts = Troubles(), Counter[str]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            counts[await _put(store, session_from_json(line.strip()), replace=replace)] += 1
        except SessionConflictError as error:
            troubles.tell(f"line {number}: {_in_the_way(error, replace=replace)}")
        except (InvalidSessionError, TypeError, ValueError) as error:
            troubles.tell(f"line {number}: {error}")
    refused = f", {troubles.count:,} refused" if troubles.count else ""
    note(f"{counts['new']:,} imported, {counts['replaced']:,} replaced{refused}")
    return troubles.exit_code


async def _put(store: Store, session: Session, *, replace: bool) -> Literal["new", "replaced"]:
    there = await store.load(session.id) if replace else None
    await store.save(session, there.version if there else 0)
    return "replaced" if there else "new"


def _in_the_way(error: SessionConflictError, *, replace: bool) -> str:
    if replace:
        return f"session {error.session_id} was changed while it was to be replaced; import it again"
    return f"session {error.session_id} is there already (version {error.actual_version}); --replace writes over it"
