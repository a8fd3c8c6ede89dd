"""`falai sessions delete`: removes sessions, or everything that the store holds of a customer.

At a terminal it says how much there is and asks. What a session became in the meantime counts: the
filters are applied again when it is deleted, and what stands in the session of another is taken out
against the version that was read.
"""

from __future__ import annotations

import signal
import sys

import click

from falai.cli.loading import LoadError
from falai.cli.sessions.customer import traces, without
from falai.cli.sessions.selection import Selection, rows, selected
from falai.cli.store_access import Troubles, note, on_store
from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import Store

__all__ = ["run_delete"]

_TRIES = 5


def run_delete(url: str, selection: Selection, customers: tuple[str, ...], *, yes: bool) -> int:
    """Deletes and says how much; the result is the program's exit code.

    Raises `LoadError` when nobody can be asked and `yes` was not said, and for what the store raises.
    """
    if not yes and not sys.stdin.isatty():
        raise LoadError("nobody can be asked here; say --yes when it is to be deleted without a question")
    if customers:
        return on_store(url, lambda store: _erase(store, customers, yes=yes), "change")
    if selection.ids and not selection.filters:
        return on_store(url, lambda store: _delete_named(store, selection.ids, yes=yes), "change")
    return on_store(url, lambda store: _delete_selected(store, selection, yes=yes), "change")


async def _delete_named(store: Store, ids: tuple[str, ...], *, yes: bool) -> int:
    """Removes rows whatever they hold."""
    ids, troubles, count = tuple(dict.fromkeys(ids)), Troubles(), 0
    _ask(f"Delete {_sessions(len(ids))}?", yes=yes)
    for id in ids:
        if await store.delete(id):
            count += 1
        else:
            troubles.tell(f"there is no session {id}")
    note(f"{_sessions(count)} deleted")
    return troubles.exit_code


async def _delete_selected(store: Store, selection: Selection, *, yes: bool) -> int:
    if not yes:
        found = 0
        async for _ in selected(store, selection, Troubles()):
            found += 1
        _ask(f"Delete {_sessions(found)}?", yes=not found)
    troubles, count = Troubles(), 0
    async for session in selected(store, selection, troubles):
        count += await store.delete(session.id)
    note(f"{_sessions(count)} deleted")
    return troubles.exit_code


# --- a customer ---------------------------------------------------------------------------------


async def _erase(store: Store, customers: tuple[str, ...], *, yes: bool) -> int:
    if not yes:
        await _say_what_there_is(store, customers)
        _ask("Erase all of this?", yes=yes)
    troubles, own, elsewhere = Troubles(), 0, 0
    for id in dict.fromkeys(customers):
        own += await store.delete(id)
    async for session in rows(store, troubles):
        if session.id not in customers:  # or it came back just now: that is a new contact
            elsewhere += await _take_out(store, session, customers, troubles)
    note(f"{_sessions(own)} deleted; runs and claims of theirs taken out of {_sessions(elsewhere)} of others")
    return troubles.exit_code


async def _say_what_there_is(store: Store, customers: tuple[str, ...]) -> None:
    async for session in rows(store, Troubles()):
        if session.id in customers:
            note(f"session {session.id}, {len(session.data)} fields, {len(session.runs)} runs")
            continue
        found = traces(session, customers)
        for thing in (*(f"the run {run.id}" for run in found.runs), *(f"the claim {key}" for key in found.claims)):
            note(f"in session {session.id}: {thing}")


async def _take_out(store: Store, session: Session, customers: tuple[str, ...], troubles: Troubles) -> bool:
    """Saves a session of another without what is anchored at the customers; whether there was anything."""
    current: Session | None = session
    for _ in range(_TRIES):
        if current is None or not any(traces(current, customers)):
            return False
        try:
            await store.save(without(current, customers), current.version)
        except SessionConflictError:
            current = await store.load(session.id)
        else:
            return True
    troubles.tell(f"session {session.id} changes all the time; what it holds of them is still there. Try again")
    return False


def _ask(question: str, *, yes: bool) -> None:
    if yes:
        return
    of_the_loop = signal.signal(signal.SIGINT, signal.default_int_handler)  # which would wait for the answer
    try:
        click.confirm(question, abort=True, err=True)
    finally:
        signal.signal(signal.SIGINT, of_the_loop)


def _sessions(count: int) -> str:
    return f"{count:,} session{'' if count == 1 else 's'}"
