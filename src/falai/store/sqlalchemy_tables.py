"""The five columns of a store, in a table of its own or in one of the host's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    DateTime,
    Dialect,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    Unicode,
    UnicodeText,
    cast,
    func,
    inspect,
    literal,
    type_coerce,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.sql import quoted_name
from sqlalchemy.types import TypeEngine

from falai.session.codec import session_to_wire
from falai.session.dates import from_ms, iso
from falai.session.model import Session
from falai.store.jsonb import LONGEST_ID
from falai.store.row import check_table

__all__ = ["Place", "place_of"]

Type = TypeEngine[Any]
_NAMES = ("id", "version", "blob", "created_at", "updated_at")
_BINARY = "utf8mb4_bin"


class Place(NamedTuple):
    """A table, and which of its columns are the store's."""

    dialect: Dialect
    own: bool
    table: Any
    id: Column[Any]
    version: Column[Any]
    blob: Column[Any]
    created_at: Column[Any]
    updated_at: Column[Any]

    def values(self, fresh: Session, blob: str, now: int) -> dict[Column[Any], Any]:
        """What a row is given."""
        return {
            self.id: fresh.id,
            self.version: fresh.version,
            self.blob: self._blob(fresh, blob),
            self.created_at: self._date(self.created_at, now),
            self.updated_at: self._date(self.updated_at, now),
        }

    def stored_blob(self) -> ColumnElement[Any]:
        """The blob as it is read: as text, which is parsed here, wherever a type of the host's has nothing to say."""
        kind = self._kind(self.blob)
        if self.dialect.name == "sqlite" and isinstance(kind, JSON | String):
            return cast(
                self.blob, LargeBinary
            )  # text that is no UTF-8 is the driver's error, and would hide other rows
        if not isinstance(kind, JSON):
            return self.blob
        return cast(self.blob, Text) if self.dialect.name == "postgresql" else type_coerce(self.blob, Text)

    def _blob(self, fresh: Session, blob: str) -> Any:
        kind = self._kind(self.blob)
        stored = kind.type_engine(self.dialect) if isinstance(kind, TypeDecorator) else kind
        if not isinstance(stored, JSON):
            return blob
        if self.own:
            return cast(literal(blob, Text), self.blob.type)  # past the codec that the host may have set (P-39)
        return session_to_wire(fresh)

    def _date(self, column: Column[Any], now: int) -> Any:
        kind = self._kind(column)
        if isinstance(kind, String):
            return iso(now)
        aware = not isinstance(kind, DateTime) or kind.timezone
        if self.dialect.name == "postgresql" and isinstance(kind, DateTime) and aware:
            return func.now()  # P-28
        return from_ms(now) if aware else from_ms(now).replace(tzinfo=None)

    def _kind(self, column: Column[Any]) -> Type:
        """The type for this dialect, of which a column may have several; a decorator of the host's as it is."""
        return column.type.dialect_impl(self.dialect)


def place_of(table: Any, names: Mapping[str, str], dialect: Dialect) -> Place:
    """Where the rows are. Raises `TypeError` and `ValueError` for what `SQLAlchemyStore` may not be given."""
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise TypeError(f"columns names {', '.join(unknown)}; its keys are {', '.join(_NAMES)}")
    called = [names.get(name, name) for name in _NAMES]
    if isinstance(table, str):
        return _own(check_table(table), called, dialect)
    return _hosts(table, called, dialect)


def _own(name: str, called: list[str], dialect: Dialect) -> Place:
    """The table of P-64. Its name is written unquoted (P-25), so that PostgreSQL's catalogue has it in small letters."""
    schema, _, bare = (name.lower() if dialect.name == "postgresql" else name).rpartition(".")
    id, blob, date = _types(dialect.name)
    now = func.now() if dialect.name == "postgresql" else None
    columns: list[Column[Any]] = [
        Column(called[0], id, primary_key=True),
        Column(called[1], Integer, nullable=False, autoincrement=False),
        Column(called[2], blob, nullable=False),
        Column(called[3], date, nullable=False, server_default=now),
        Column(called[4], date, nullable=False, server_default=now),
    ]
    unquoted = quoted_name(schema, quote=False) if schema else None
    table = Table(quoted_name(bare, quote=False), MetaData(), *columns, schema=unquoted)
    return Place(dialect, True, table, *columns)


def _types(dialect: str) -> tuple[Type, Type, Type]:
    """Of the id, the blob and the dates. Ids that differ by case differ."""
    if dialect == "postgresql":
        return String(LONGEST_ID), postgresql.JSONB(), DateTime(timezone=True)
    if dialect == "sqlite":
        return Text(), Text(), Text()
    if dialect in ("mysql", "mariadb"):
        id = mysql.VARCHAR(LONGEST_ID, charset="utf8mb4", collation=_BINARY)
        return id, mysql.LONGTEXT(charset="utf8mb4", collation=_BINARY), mysql.DATETIME(fsp=6)
    if dialect == "mssql":
        return Unicode(LONGEST_ID, collation="Latin1_General_BIN2"), UnicodeText(), DateTime()
    return String(LONGEST_ID), Text(), DateTime()


def _hosts(table: Any, called: list[str], dialect: Dialect) -> Place:
    """A `Table` or mapped class, with the five columns under their names (P-66)."""
    there: Any = getattr(inspect(table, raiseerr=False), "columns", None)
    if there is None:
        raise TypeError(f"table is {table!r}; it must be a name, a Table or a mapped class of SQLAlchemy")
    found: dict[str, Column[Any]] = {name: column for name, column in there.items() if isinstance(column, Column)}
    missing = [name for name in called if name not in found]
    if missing:
        raise TypeError(
            f"{getattr(table, '__name__', table)} has no column {', '.join(missing)} (it has {', '.join(found)});"
            f' say how yours are called: columns={{"{_NAMES[called.index(missing[0])]}": "…"}}'
        )
    columns = [found[name] for name in called]
    return Place(dialect, False, columns[0].table, *columns)
