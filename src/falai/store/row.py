"""What all stores do alike before they write a row and after they have read one; for a store of your own too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from falai.errors import InvalidSessionError
from falai.session.check import assert_session, is_whole
from falai.session.codec import session_from_json, stamped
from falai.session.jsontext import show, to_plain
from falai.session.keys import is_blank_id
from falai.session.model import Session
from falai.store.contract import Page

__all__ = ["check_id", "check_scan", "check_table", "check_version", "read_page", "read_row", "to_row"]

_MOST_ROWS = 10_000

_TABLE = re.compile(r"[A-Za-z0-9_$]+(\.[A-Za-z0-9_$]+)?")


def check_id(id: object) -> str:
    """The id as it is stored (P-17); raises `TypeError` unless it can be the id of a session (P-11)."""
    if is_blank_id(id):
        raise TypeError(f"the session id is {show(id)}; it must be text that is not blank")
    return cast(str, to_plain(id))


def check_version(expected_version: object) -> int:
    """The version; raises `ValueError` unless it can be a stored one, or 0 for none (P-10)."""
    if not is_whole(expected_version):
        raise ValueError(f"expected_version is {show(expected_version)}; it must be a whole number of 0 or more")
    return int(cast(float, expected_version))


def check_scan(after: object, limit: object) -> None:
    """Raises `TypeError` unless `after` can be a position, and `ValueError` unless `limit` is a number of rows."""
    if after is not None and not isinstance(after, str):
        raise TypeError(f"after is {show(after)}; it must be the `after` of the page before, or None for the first")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= _MOST_ROWS:
        raise ValueError(f"limit is {show(limit)}; it must be a whole number from 1 to {_MOST_ROWS:,}")


def check_table(name: str) -> str:
    """The name of an SQL table, which is written unquoted; raises `ValueError` for any other text (P-25)."""
    if not _TABLE.fullmatch(name):
        raise ValueError(
            f"table is {show(name)}; a table's name has letters, digits, _ and $, and perhaps a schema. in front"
        )
    return name


def to_row(session: Session, expected_version: object) -> tuple[Session, str]:
    """What a save stores and gives back, a copy with the next version; and its blob, as JSON text (P-5, P-9).

    Raises `TypeError` and `ValueError` for what `Store.save` may not be given.
    """
    check_id(session.id)
    return stamped(session, check_version(expected_version) + 1)


def read_row(id: str, version: object, blob: Any) -> Session:
    """The session of a row, from its JSON text or the parsed object (P-19).

    Raises `InvalidSessionError` when the blob is no session of this id, and when the row's version
    and the blob's differ, since such a row could never be saved again (P-20).
    """
    session = session_from_json(blob, id) if isinstance(blob, str | bytes) else assert_session(blob, id)
    if session.version != version:
        raise InvalidSessionError(id, f"the row has the version {show(version)}, the blob {session.version}")
    return session


def read_page(rows: Iterable[tuple[str, object, Any]], after: str | None) -> Page:
    """The page of these rows, each an id, a version and a blob as `read_row` takes them."""
    page = Page([], [], after)
    for id, version, blob in rows:
        try:
            page.sessions.append(read_row(id, version, blob))
        except InvalidSessionError as error:
            page.bad.append(error)
    return page
