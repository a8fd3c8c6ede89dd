"""The tables of a database, by numbered migrations: the schema is their sum, and nothing else.

A database knows the number of its last one. A new database runs all of them, an older one those that
it lacks, each in one transaction with its number.

While a release replaces another, both work on the same tables. So there are two kinds. Most migrations
run before a deploy, and only add what the release before does not miss. What takes something away runs
after it (`NNN_name.after.sql`), when no process of the release before is left; from then on the database
`needs` a release that knows it. A host by itself runs no more than what comes before its own deploy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from falai.host.errors import HostError
from falai.host.ledger.port import Statement, Work

__all__ = ["SchemaError", "before_deploy", "is_after", "meta", "migrate", "migration_names", "migrations"]

_STATE = "SELECT name, value FROM falai_meta"
_NOTE = "INSERT INTO falai_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_AFTER = re.compile(r"\.after\.sql$|_post_")  # ours, and those of Procrastinate


class SchemaError(HostError):
    """The tables were made by a newer release, which may keep things that this one would lose."""

    def __init__(self, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"[SchemaError] the database has the tables of migration {found}, and this release knows {known}. "
            "Run the release that made it, or a newer one."
        )


@cache
def migrations() -> tuple[tuple[str, ...], ...]:
    """The statements of each migration, the first first."""
    folder = files("falai.host.ledger") / "migrations"
    return tuple(tuple(_statements((folder / name).read_text(encoding="utf-8"))) for name in migration_names())


@cache
def migration_names() -> tuple[str, ...]:
    """The names of their files."""
    folder = files("falai.host.ledger") / "migrations"
    return tuple(sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql")))


def is_after(name: str) -> bool:
    """Whether a migration of this name runs after a deploy."""
    return _AFTER.search(name) is not None


def before_deploy(names: Sequence[str]) -> int:
    """How many of these run before the deploy of this release: all but the last ones that are for after it.

    Those for after an older deploy have others behind them, and run too: nothing of that release is left.
    """
    count = len(names)
    while count and is_after(names[count - 1]):
        count -= 1
    return count


def meta() -> Work[Mapping[str, str]]:
    """What the database says of itself; nothing when it has no tables."""
    (there,) = yield (Statement("SELECT {has_tables}", ()),)
    if not there[0][0]:
        return {}
    (rows,) = yield (Statement(_STATE, ()),)
    return {name: value for name, value in rows}  # noqa: C416 - rows are sequences, of no fixed length


def migrate(*, after: bool = False, upto: int | None = None) -> Work[int]:
    """Brings the tables up to date, or to `upto`; gives how many it ran. With `after`, those for after the deploy too.

    A new database gets all of them. Raises `SchemaError` when the tables need a newer release.
    """
    found = yield from meta()
    done, needs, known = int(found.get("schema", 0)), int(found.get("needs", 0)), len(migrations())
    if needs > known:
        raise SchemaError(needs, known)
    last = known if after or not found else before_deploy(migration_names())
    for number, statements in enumerate(migrations()[done : last if upto is None else upto], done + 1):
        yield tuple(Statement(sql, ()) for sql in statements)
        needs = number if is_after(migration_names()[number - 1]) else needs
        yield (Statement(_NOTE, ("schema", str(number))), Statement(_NOTE, ("needs", str(needs))))
    return len(migrations()[done : last if upto is None else upto])


def _statements(script: str) -> Iterator[str]:
    lines = (line for line in script.splitlines() if not line.startswith("--"))
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement.strip()
