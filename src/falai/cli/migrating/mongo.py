"""Old rows from a collection of MongoDB. A position is the `_id` of the last document, as extended JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, OldRow, id_column, row_of

__all__ = ["MongoRows"]

_PAGE = 100


class MongoRows:
    """The documents of a collection, in the order of their `_id`, read from the primary."""

    def __init__(self, address: Address) -> None:
        from pymongo import AsyncMongoClient

        database = urlsplit(address.url).path.strip("/")
        if not database:
            raise ValueError("the URL of a collection of MongoDB names the database: mongodb://host/database")
        self._client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(address.url)
        self._documents = self._client[database][address.table]

    async def count(self) -> int | None:
        return await self._documents.estimated_document_count()

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        from bson.json_util import dumps, loads  # of the driver, an extra

        behind = {} if after is None else _behind(loads(after))
        rows: list[OldRow] = []
        async with self._documents.find(behind).sort("_id", 1).batch_size(_PAGE) as cursor:
            async for document in cursor:
                rows.append(row_of(document[id_column(list(document), "a document")], document))
                if len(rows) == _PAGE:
                    yield OldPage(rows, dumps(document["_id"]))
                    rows = []
        yield OldPage(rows, None)

    async def close(self) -> None:
        await self._client.close()


def _behind(last: Any) -> dict[str, Any]:
    """Larger ids of the same type; and behind all texts stand the ids that the database makes itself."""
    larger = {"_id": {"$gt": last}}
    return {"$or": [larger, {"_id": {"$type": "objectId"}}]} if isinstance(last, str) else larger
