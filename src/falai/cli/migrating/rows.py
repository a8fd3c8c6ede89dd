"""A row of an old place as `migrate_session` takes it: what a host would do with its own columns (G-31).

A row is a mapping of its columns, or JSON text. A column `blob` or `state` holds the whole session, v4
or 3.x. Otherwise the columns are those of the 3.x adapters, in any of the ways in which databases
spell them (`collectedData`, `collected_data`, `collecteddata`), lists and objects perhaps as JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from falai.errors import InvalidSessionError
from falai.session.jsontext import is_object, parse_json, show

__all__ = ["OldPage", "OldRow", "blob_of", "id_column", "number", "row_of", "rows_without_id"]

_WHOLE = ("blob", "state", "sessionState")
_JSON = ("data", "flowHistory", "signals", "history", "metadata", "currentFlow", "currentStep")
_IDS = ("id", "sessionId", "_id")
_NAMES = {name.lower().replace("_", ""): name for name in (*_WHOLE, *_JSON, "collectedData", "sessionId", "version")}


class OldRow(NamedTuple):
    """The id of the session, and the columns or the JSON text; or why it is no session."""

    id: str
    values: Mapping[str, Any] | str | bytes
    problem: str = ""


class OldPage(NamedTuple):
    """Some rows, and where the next ones begin: a position for a later run, `None` behind the last row."""

    rows: list[OldRow]
    after: str | None


def number(after: str | None) -> int:
    """A position that is a number, 0 without one. Raises `ValueError` for any other text."""
    if after is not None and not (after.isascii() and after.isdigit()):
        raise ValueError(f"{show(after)} is no position of this place, which is a number as an earlier run named it")
    return int(after or 0)


def id_column(columns: list[str], place: str) -> str:
    """The column that holds the session's id. Raises `ValueError` when there is none."""
    for wanted in _IDS:
        for column in columns:
            if column == wanted or _NAMES.get(_folded(column)) == wanted:
                return column
    raise ValueError(f"{place} has no column id or session_id; it has {', '.join(columns) or 'no columns'}")


def row_of(id: Any, values: Mapping[str, Any] | bytes) -> OldRow:
    """A row with its id as the database gives it. What is no id must not be made one: two rows could share it."""
    id = _text(id)
    if id is None or isinstance(id, bytes | bool | float | list | dict):
        shown = id.decode("utf-8", "replace") if isinstance(id, bytes) else show(id)
        return OldRow(shown, "", "its id is no text in UTF-8")
    return OldRow(str(id), values)


def rows_without_id(count: int) -> OldRow:
    """Stands for rows that are read by their ids, and so not at all."""
    return OldRow("", "", f"rows that have no text as their id are not moved; there are {count:,} of them")


def blob_of(row: OldRow) -> Any:
    """What `migrate_session` is given. Raises `InvalidSessionError` for a row that is no session or whose text no JSON."""
    if row.problem:
        raise InvalidSessionError(row.id, row.problem)
    if not is_object(row.values):
        return _parsed(row.id, "the row", row.values)
    columns = {_NAMES.get(_folded(name), name): _text(value) for name, value in row.values.items()}
    for name in _WHOLE:
        if columns.get(name) is not None:
            blob = _parsed(row.id, name, columns[name])
            _check_version(row.id, columns.get("version"), blob)
            return blob
    if columns.get("data") is None and "collectedData" in columns:
        columns.pop("data", None)
    return columns | {name: _structure(columns[name]) for name in _JSON if name in columns}


def _folded(name: str) -> str:
    return name.lower().replace("_", "")


def _text(value: Any) -> Any:
    """Text that a database holds as bytes; what is no UTF-8 stays bytes, and is refused where text is needed."""
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _parsed(id: str, name: str, value: Any) -> Any:
    if not isinstance(value, str | bytes):
        return value
    try:
        return parse_json(value)
    except ValueError as error:
        text = value if isinstance(value, str) else value.decode(errors="replace")
        raise InvalidSessionError(id, f"{name} is {show(text)}, which is no JSON text ({error})") from None


def _structure(value: Any) -> Any:
    """A list or an object that a database holds as JSON text; any other text is itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return None if value == "null" else value


def _check_version(id: str, version: Any, blob: Any) -> None:
    """A v4 row says its version twice; two that differ are a damaged row (P-20)."""
    if is_object(blob) and "v" in blob and version is not None and str(version) != str(blob.get("version")):
        raise InvalidSessionError(id, f"the row has the version {show(version)}, the blob {show(blob.get('version'))}")
