"""Old rows from Redis: a hash, or the JSON text that 3.x kept, at each key `<prefix>session:<id>`.

A position is the cursor of the server's scan. A key may come twice; it is taken over once.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, OldRow, number, row_of

__all__ = ["RedisRows"]

_PAGE = 100


class RedisRows:
    """The values at the keys of a prefix, in no order."""

    def __init__(self, address: Address) -> None:
        from redis.asyncio import Redis

        self._prefix = f"{address.prefix}session:".encode()
        self._redis = cast(Any, Redis).from_url(address.url)

    async def count(self) -> int | None:
        """The server counts all keys, not those of a prefix."""
        return None

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        pattern = re.sub(rb"([*?\[\]\\])", rb"\\\1", self._prefix) + b"*"
        cursor = number(after)
        while True:
            cursor, keys = await self._redis.scan(cursor, match=pattern, count=_PAGE)
            yield OldPage([row for key in keys if (row := await self._row(key))], str(cursor) if cursor else None)
            if not cursor:
                return

    async def close(self) -> None:
        await self._redis.aclose()

    async def _row(self, key: bytes) -> OldRow | None:
        """`None` when it is gone meanwhile."""
        id = key.removeprefix(self._prefix)
        kind = (await self._redis.type(key)).decode()
        if kind == "string":
            text = await self._redis.get(key)
            return None if text is None else row_of(id, cast(bytes, text))
        if kind == "hash":
            fields = cast(Mapping[bytes, bytes], await self._redis.hgetall(key))
            return row_of(id, {name.decode("utf-8", "replace"): value for name, value in fields.items()})
        return (
            None
            if kind == "none"
            else OldRow(id.decode("utf-8", "replace"), "", f"its key holds a {kind}, no hash and no text")
        )
