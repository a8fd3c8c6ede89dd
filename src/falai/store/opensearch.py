"""Sessions in an index of OpenSearch (P-58 to P-63), over opensearch-py's asynchronous client.

`load` and `save` go by the document's id, which is always current. A search knows of a write only
when the index has been refreshed: a scan asks for that before each of its pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from falai.errors import SessionConflictError
from falai.session.codec import session_to_wire
from falai.session.dates import iso, system_now, to_ms
from falai.session.jsontext import is_object, show
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_id, check_scan, read_page, read_row, to_row

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

__all__ = ["OpenSearchStore", "from_url"]

Refresh = Literal["true", "false", "wait_for"]

_INDEX = re.compile(r"(?!\.{1,2}$)[^A-Z_+\-\\/*?\"<>| ,#:\0\s][^A-Z\\/*?\"<>| ,#:\0\s]{0,254}")
_MAPPINGS = {
    "properties": {
        "id": {"type": "keyword"},
        "version": {"type": "integer"},
        "blob": {"type": "object", "enabled": False},
        "createdAt": {"type": "date"},
        "updatedAt": {"type": "date"},
    }
}
# The text never changes, so the server compiles it once.
_SAVE = (
    "if (ctx._source.version != params.expected) { ctx.op = 'noop'; }"
    " else { ctx._source.version = params.version; ctx._source.blob = params.blob; ctx._source.updatedAt = params.now; }"
)
_CLASH, _MISSING = 409, 404


class OpenSearchStore(Store):
    """Sessions in one index; the id of a document is the session's, and the server takes up to 512 bytes of it.

    `initialize` creates the index unless `auto_create_indices` is false. Without its mapping every
    part of every blob would be indexed, so a load from an index that is missing is the client's
    error. `refresh` goes with every write; it matters for searches of the host, not for this store.

    `clock` dates `createdAt` and `updatedAt`. Raises `ValueError` for a name that OpenSearch does
    not allow, and for another `refresh`.
    """

    def __init__(
        self,
        client: AsyncOpenSearch,
        *,
        index: str = "agent_sessions",
        auto_create_indices: bool = True,
        refresh: bool | Refresh = False,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        if not isinstance(index, str) or not _INDEX.fullmatch(index):  # pyright: ignore[reportUnnecessaryIsInstance] - hosts need not type-check
            raise ValueError(f"index is {show(index)}; OpenSearch allows small letters, digits, - and _ inside")
        if refresh not in (True, False, "true", "false", "wait_for"):
            raise ValueError(f"refresh is {show(refresh)}; it must be true, false or wait_for")
        # A client of Elasticsearch 7 and a test's stand-in have the same few methods (P-22, P-63).
        self._client = cast(Any, client)
        self._index = index
        self._creates = auto_create_indices
        self._refresh = refresh if isinstance(refresh, str) else str(refresh).lower()
        self._clock = clock or system_now

    async def load(self, id: str) -> Session | None:
        id = check_id(id)
        row = await self._get(id)
        return read_row(id, row.get("version"), row.get("blob")) if row is not None else None

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, _ = to_row(session, expected_version)
        blob, now = session_to_wire(fresh), iso(to_ms(self._clock()))
        expected = fresh.version - 1
        saved = await (self._update(fresh, blob, now) if expected else self._create(fresh, blob, now))
        if not saved:
            row = await self._get(fresh.id)
            raise SessionConflictError(fresh.id, expected, row.get("version") if row is not None else None)
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        """As `Store.scan`. It asks for a refresh of the index first, so every session that was saved is found."""
        check_scan(after, limit)
        await self._client.indices.refresh(index=self._index)
        body: dict[str, Any] = {
            "size": limit,
            "query": {"exists": {"field": "id"}},
            "sort": [{"id": "asc"}],
        }
        if after is not None:
            body["search_after"] = [after]
        # Else the rows of a part of the index that cannot be reached would be left out in silence.
        found = await self._client.search(index=self._index, body=body, allow_partial_search_results=False)
        hits: list[dict[str, Any]] = found["hits"]["hits"]
        rows: list[tuple[str, dict[str, Any]]] = [(hit["_id"], hit.get("_source") or {}) for hit in hits]
        return read_page(
            ((id, row.get("version"), row.get("blob")) for id, row in rows),
            hits[-1]["sort"][0] if len(hits) == limit else None,
        )

    async def delete(self, id: str) -> bool:
        id = check_id(id)
        try:
            await self._client.delete(index=self._index, id=id, refresh=self._refresh)
        except Exception as error:
            if _info(error).get("result") == "not_found":
                return False
            raise
        return True

    async def initialize(self) -> None:
        if not self._creates or await self._client.indices.exists(index=self._index):
            return
        try:
            await self._client.indices.create(index=self._index, body={"mappings": _MAPPINGS})
        except Exception as error:
            if "already_exists" not in str(error):  # another process was faster (P-59)
                raise

    async def disconnect(self) -> None:
        await self._client.close()

    async def _get(self, id: str) -> dict[str, Any] | None:
        """The document, whole: a server that leaves out members may take the dots in a key for a path."""
        try:
            found = await self._client.get(index=self._index, id=id)
        except Exception as error:
            if _info(error).get("found") is False:  # any other 404 is of the index, or of something on the way (P-60)
                return None
            raise
        return cast(dict[str, Any], found.get("_source") or {})

    async def _create(self, fresh: Session, blob: Any, now: str) -> bool:
        row = {"id": fresh.id, "version": fresh.version, "blob": blob, "createdAt": now, "updatedAt": now}
        try:
            await self._client.index(index=self._index, id=fresh.id, body=row, op_type="create", refresh=self._refresh)
        except Exception as error:
            if _status(error) == _CLASH:
                return False
            raise
        return True

    async def _update(self, fresh: Session, blob: Any, now: str) -> bool:
        params = {"expected": fresh.version - 1, "version": fresh.version, "blob": blob, "now": now}
        body = {"script": {"lang": "painless", "source": _SAVE, "params": params}}
        try:
            done = await self._client.update(
                index=self._index, id=fresh.id, body=body, retry_on_conflict=3, refresh=self._refresh
            )
        except Exception as error:
            if _status(error) in (_CLASH, _MISSING):
                return False
            raise
        return bool(done["result"] != "noop")


def _status(error: Exception) -> object:
    return getattr(error, "status_code", None)


def _info(error: Exception) -> dict[str, Any]:
    """What the server said of a document that is not there; nothing for any other error."""
    info = getattr(error, "info", None)
    return dict(info) if _status(error) == _MISSING and is_object(info) else {}


def from_url(address: str, **options: Any) -> OpenSearchStore:
    """The store of `opensearch://host:9200`, or of `opensearchs://host:9200` over TLS.

    What fails is not tried again by the driver: a write whose answer was lost would run a second
    time, and take its own first run for another writer's.
    """
    from opensearchpy import AsyncOpenSearch  # the driver is an extra

    parts = urlsplit(address)
    if parts.query or not parts.hostname:
        raise ValueError(
            "the URL of an OpenSearch is opensearch://host:9200, or opensearchs:// over TLS,"
            " and its only options are ?index= and ?refresh="
        )
    scheme = "https" if parts.scheme == "opensearchs" else "http"
    client = cast(Any, AsyncOpenSearch)(hosts=[parts._replace(scheme=scheme).geturl()], max_retries=0)
    return OpenSearchStore(client, **options)
