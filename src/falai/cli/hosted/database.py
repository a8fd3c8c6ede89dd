"""`falai db`: how far the tables of a host are, and what brings them up to date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from falai.cli.loading import LoadError
from falai.cli.store_access import guarded, note
from falai.host.schema import Part, is_postgres, schema_of, upgrade

__all__ = ["AFTER_IS_LEFT", "check_store", "run_status", "run_upgrade"]

AFTER_IS_LEFT = 3
"""The exit code when only what comes after a deploy is left to be run."""


def check_store(store: str, *, must_be_there: bool = True) -> None:
    """Raises `LoadError` for what no host has, and for a file that is not there."""
    if is_postgres(store):
        return
    path = store.removeprefix("sqlite:///")
    if "://" in path:
        raise LoadError("a host keeps everything in a file of SQLite, or behind a postgresql:// URL: name one of these")
    if must_be_there and not Path(path).is_file():
        raise LoadError(f"there is no file {path}")


def run_status(store: str) -> int:
    """Prints how far the tables are; gives the exit code."""
    check_store(store)

    async def look() -> int:
        parts = await schema_of(store)
        for line in _lines(parts):
            print(line)
        return _code(parts)

    return guarded(look, store)


def run_upgrade(store: str, *, after: bool) -> int:
    """Runs what is to be run, and prints it; gives the exit code."""
    check_store(store, must_be_there=False)
    there = is_postgres(store) or Path(store.removeprefix("sqlite:///")).is_file()

    async def act() -> int:
        found = {part.name: part.done for part in await schema_of(store)} if there else {}
        await upgrade(store, after=after or not is_postgres(store))
        parts = await schema_of(store)
        ran = [f"{part.name}: {name}" for part in parts for name in part.names[found.get(part.name, 0) : part.done]]
        print("\n".join(ran) or "nothing was to be run")
        if any(part.after for part in parts):
            note("Once no process of the release before is left, run it with --after.")
        return 0

    return guarded(act, store)


def _code(parts: Sequence[Part]) -> int:
    if any(part.before or part.needs > len(part.names) for part in parts):
        return 1
    return AFTER_IS_LEFT if any(part.after for part in parts) else 0


def _lines(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        yield f"{part.name}: {part.done} of {len(part.names)} migrations{_newer(part)}"
        yield from (f"  before the deploy: {name}" for name in part.before)
        yield from (f"  after the deploy: {name}" for name in part.after)


def _newer(part: Part) -> str:
    if part.needs > len(part.names):
        return f"; this release cannot work on it, since it needs one that knows migration {part.needs}"
    return "; a newer release was here, and this one works on it too" if part.done > len(part.names) else ""
