"""Sessions in a collection of MongoDB (P-54 to P-57), over PyMongo's asynchronous client; Motor's has the same methods.

The blob is text in the document: keys of a session hold message ids with dots and dollar signs,
which mean something in the names of fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlsplit

from falai.errors import SessionConflictError
from falai.session.dates import from_ms, system_now, to_ms
from falai.session.jsontext import show
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_id, check_scan, read_page, read_row, to_row

if TYPE_CHECKING:
    from pymongo import AsyncMongoClient
    from pymongo.asynchronous.client_session import AsyncClientSession

__all__ = ["MongoStore", "from_url"]

_DUPLICATE = 11000
_DATABASE = re.compile(r'[^\0/\\. "$*<>:|?]{1,63}')
_COLLECTION = re.compile(r"(?!system\.|\.)[^\0$]{1,200}(?<!\.)")
_ROW = {"version": 1, "blob": 1}  # the dates stay there: one that Python cannot hold would hide all other rows


class MongoStore(Store):
    """Sessions in one collection; the id of a document is the session's.

    With a `session` of the driver, what the store does is part of the transaction that the host has
    begun in it; one store serves one such session. MongoDB itself ends a transaction in which a
    first save finds a document: the conflict is told as ever, and the host repeats the whole.

    `clock` dates `createdAt` and `updatedAt`. Raises `ValueError` when a name is none that MongoDB
    allows, and for a client that does not wait for the server's word on a write (`w=0`).
    """

    def __init__(
        self,
        client: AsyncMongoClient[Any],
        *,
        database_name: str,
        collection: str = "agent_sessions",
        session: AsyncClientSession | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        _check_name("database_name", database_name, _DATABASE)
        _check_name("collection", collection, _COLLECTION)
        # PyMongo's client, Motor's and a test's stand-in have the same few methods (P-22).
        self._client = cast(Any, client)
        self._rows = _on_primary(self._client[database_name][collection])
        self._in: dict[str, Any] = {"session": session} if session is not None else {}
        self._clock = clock or system_now

    async def load(self, id: str) -> Session | None:
        id = check_id(id)
        row = await self._rows.find_one({"_id": id}, _ROW, **self._in)
        return read_row(id, row.get("version"), row.get("blob")) if row is not None else None

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, blob = to_row(session, expected_version)
        now = from_ms(to_ms(self._clock()))
        row = {"version": fresh.version, "blob": blob, "updatedAt": now}
        if fresh.version == 1:
            await self._insert({"_id": fresh.id, **row, "createdAt": now})
        else:
            await self._update(fresh.id, fresh.version - 1, row)
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        check_scan(after, limit)
        behind = {"$gte": ""} if after is None else {"$gt": after}  # of texts: another kind of id is none of ours
        found = self._rows.find({"_id": behind}, _ROW, sort=[("_id", 1)], limit=limit, **self._in)
        rows: list[Any] = await found.to_list(limit)
        last = rows[-1]["_id"] if len(rows) == limit else None
        return read_page(((row["_id"], row.get("version"), row.get("blob")) for row in rows), last)

    async def delete(self, id: str) -> bool:
        found = await self._rows.delete_one({"_id": check_id(id)}, **self._in)
        return bool(found.deleted_count)

    async def initialize(self) -> None:
        """Nothing needs to be created (P-54)."""

    async def disconnect(self) -> None:
        closing = self._client.close()
        if isawaitable(closing):  # Motor's is not
            await closing

    async def _insert(self, document: dict[str, Any]) -> None:
        try:
            await self._rows.insert_one(document, **self._in)
        except Exception as error:
            if getattr(error, "code", None) != _DUPLICATE:
                raise
            # The error has ended the transaction, if there was one: the look is outside of it.
            raise await self._conflict(document["_id"], 0, {}) from None

    async def _update(self, id: str, expected: int, row: dict[str, Any]) -> None:
        found = await self._rows.update_one({"_id": id, "version": expected}, {"$set": row}, **self._in)
        if not found.matched_count:
            raise await self._conflict(id, expected, self._in)

    async def _conflict(self, id: str, expected: int, where: dict[str, Any]) -> SessionConflictError:
        found = await self._rows.find_one({"_id": id}, {"version": 1}, **where)
        return SessionConflictError(id, expected, found.get("version") if found is not None else None)


def _check_name(option: str, name: object, form: re.Pattern[str]) -> None:
    if not isinstance(name, str) or not form.fullmatch(name):
        raise ValueError(f"{option} is {show(name)}, which MongoDB does not allow as a name")


def _on_primary(collection: Any) -> Any:
    """Reads there only: what an older copy says would conflict at the save (P-56)."""
    if not hasattr(collection, "with_options"):
        return collection
    from pymongo import ReadPreference  # the driver is an extra

    rows = collection.with_options(read_preference=ReadPreference.PRIMARY)
    if not rows.write_concern.acknowledged:
        raise ValueError("the client's write concern is w=0: nobody would hear of a conflict. Use w=1, or majority")
    return rows


def from_url(address: str, **options: Any) -> MongoStore:
    """The store of `mongodb://host/database` or `mongodb+srv://host/database`.

    Raises `ValueError` for a URL that PyMongo does not take.
    """
    from pymongo import AsyncMongoClient  # the driver is an extra
    from pymongo.errors import ConfigurationError

    database = unquote(urlsplit(address).path.removeprefix("/"))
    if not database and "database_name" not in options:
        raise ValueError("the URL of a MongoDB names the database: mongodb://host/database")
    try:
        client: AsyncMongoClient[Any] = AsyncMongoClient(address)
    except ConfigurationError as error:
        raise ValueError(f"PyMongo does not take the URL: {error}") from error
    named: dict[str, Any] = {"database_name": database, **options}
    return MongoStore(client, **named)
