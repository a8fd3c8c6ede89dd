"""Old rows from an index of OpenSearch, as it is when the reading begins. There is no position to go on from."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast
from urllib.parse import urlsplit

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, OldRow

__all__ = ["OpenSearchRows"]

_PAGE = 100
_KEPT = "5m"  # how long the server keeps a reading for the next page


class OpenSearchRows:
    """The documents of an index; the id of a session is that of its document."""

    def __init__(self, address: Address) -> None:
        from opensearchpy import AsyncOpenSearch

        scheme = "https" if address.url.lower().startswith("opensearchs:") else "http"
        self._client: Any = cast(Any, AsyncOpenSearch)(hosts=[urlsplit(address.url)._replace(scheme=scheme).geturl()])
        self._index = address.table

    async def count(self) -> int | None:
        await self._client.indices.refresh(index=self._index)
        return int((await self._client.count(index=self._index))["count"])

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        if after is not None:
            raise ValueError("rows of OpenSearch are read from the first on: leave --after out")
        body: dict[str, Any] = {"size": _PAGE, "query": {"match_all": {}}}
        found = await self._client.search(index=self._index, body=body, params={"scroll": _KEPT})
        try:
            while hits := found["hits"]["hits"]:
                yield OldPage([OldRow(hit["_id"], hit["_source"]) for hit in hits], None)
                found = await self._client.scroll(body={"scroll_id": found["_scroll_id"], "scroll": _KEPT})
        finally:
            await self._client.clear_scroll(body={"scroll_id": [found["_scroll_id"]]})

    async def close(self) -> None:
        await self._client.close()
