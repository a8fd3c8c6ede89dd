"""The few words in which the databases differ. They stand in braces in the SQL of works and migrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from falai.session.jsontext import to_plain

__all__ = ["POSTGRES", "SQLITE", "in_dialect", "storable"]

SQLITE: Final = {
    "{id}": "INTEGER PRIMARY KEY AUTOINCREMENT",  # a number that came twice would hide its row from a sweep
    "{text}": "TEXT",
    "{clustered}": "WITHOUT ROWID",
    "{larger}": "max",
    "{unlocked}": "",
    "{locked}": "",
    "{has_tables}": "count(*) FROM sqlite_master WHERE name = 'falai_meta'",
}
POSTGRES: Final = {
    "{id}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "{text}": 'TEXT COLLATE "C"',  # the order of bytes, as in SQLite, whatever the database's own is
    "{clustered}": "",
    "{larger}": "greatest",
    "{unlocked}": "FOR UPDATE SKIP LOCKED",
    "{locked}": "FOR UPDATE",
    "{has_tables}": "to_regclass('falai_meta') IS NOT NULL",
}


def in_dialect(sql: str, words: Mapping[str, str]) -> str:
    """The SQL for the database of these words."""
    for word, meaning in words.items():
        sql = sql.replace(word, meaning)
    return sql


def storable(params: Sequence[Any]) -> list[Any]:
    """The parameters without what no text of a database can hold: U+0000, and halves of surrogate pairs."""
    return [to_plain(value).replace("\0", "") if isinstance(value, str) else value for value in params]
