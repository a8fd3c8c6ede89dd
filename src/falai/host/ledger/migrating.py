"""The tables of a database, by numbered migrations: the schema is their sum, and nothing else.

A database knows the number of its last one. A new database runs all of them, an older one those that
it lacks, each in one transaction with its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from falai.host.errors import HostError
from falai.host.ledger.port import Statement, Work

__all__ = ["SchemaError", "migrate", "migrations"]

_STATE = "SELECT value FROM falai_meta WHERE name = 'schema'"
_NOTE = (
    "INSERT INTO falai_meta (name, value) VALUES ('schema', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


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
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return tuple(tuple(_statements(file.read_text(encoding="utf-8"))) for file in found)


def migrate(*, there: bool, upto: int | None = None) -> Work[int]:
    """Brings the tables to the last migration, or to `upto`; gives how many it ran.

    `there` says whether the database has tables already. Raises `SchemaError` when they are newer than this release.
    """
    ((rows,)) = (yield (Statement(_STATE, ()),)) if there else ((),)
    done, known = int(rows[0][0]) if rows else 0, len(migrations())
    if done > known:
        raise SchemaError(done, known)
    for number, statements in enumerate(migrations()[done:upto], done + 1):
        yield tuple(Statement(sql, ()) for sql in statements)
        yield (Statement(_NOTE, (str(number),)),)
    return len(migrations()[done:upto])


def _statements(script: str) -> Iterator[str]:
    lines = (line for line in script.splitlines() if not line.startswith("--"))
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield statement.strip()
