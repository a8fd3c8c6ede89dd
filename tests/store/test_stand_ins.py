"""A client that is none of a driver's: it needs the few methods that a store calls, and nothing is imported for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.model import Session
from falai.store import MongoStore, OpenSearchStore, RedisStore, Store


class FakeRedis:
    """One hash a key; the script is known by what it does, and forgotten before the first call."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[bytes, Any]] = {}
        self.calls: list[str] = []
        self.closed = False

    async def hgetall(self, key: str) -> dict[bytes, Any]:
        return self.rows.get(key, {})

    async def evalsha(self, digest: str, keys: int, *call: str) -> Any:
        assert len(digest) == 40
        self.calls.append("evalsha")
        raise RuntimeError("NOSCRIPT No matching script.")

    async def eval(self, script: str, keys: int, key: str, *values: str) -> Any:
        self.calls.append("eval")
        expected, version, blob, now, ttl = values
        assert keys == 1
        assert all(isinstance(value, str) for value in values)
        stored = self.rows.get(key, {}).get(b"version")
        if stored != (None if expected == "0" else expected.encode()):
            return stored or b"missing"
        self.rows[key] = {b"version": version.encode(), b"blob": blob.encode(), b"createdAt": now, b"ttl": ttl}
        return None

    async def delete(self, key: str) -> int:
        return int(self.rows.pop(key, None) is not None)

    async def aclose(self) -> None:
        self.closed = True


class Found:
    """What a write of PyMongo says."""

    def __init__(self, count: int) -> None:
        self.matched_count = self.deleted_count = count


class DuplicateError(Exception):
    code = 11000


class FakeMongo:
    """A client, a database and a collection in one; it closes as Motor's does."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.closed = False

    def __getitem__(self, name: str) -> FakeMongo:
        return self

    async def find_one(self, query: dict[str, Any], fields: Any = None) -> dict[str, Any] | None:
        return self.rows.get(query["_id"])

    async def insert_one(self, row: dict[str, Any]) -> None:
        if row["_id"] in self.rows:
            raise DuplicateError
        self.rows[row["_id"]] = row

    async def update_one(self, query: dict[str, Any], change: dict[str, Any]) -> Found:
        row = self.rows.get(query["_id"], {})
        if row.get("version") != query["version"]:
            return Found(0)
        row.update(change["$set"])
        return Found(1)

    async def delete_one(self, query: dict[str, Any]) -> Found:
        return Found(int(self.rows.pop(query["_id"], None) is not None))

    def close(self) -> None:
        self.closed = True


class RefusedError(Exception):
    """An error of a client of Elasticsearch."""

    def __init__(self, status_code: int, info: Any) -> None:
        self.status_code = status_code
        self.info = info


class FakeSearch:
    """A client with one index that is there."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.indices = self
        self.closed = False

    async def exists(self, index: str) -> bool:
        return True

    async def get(self, index: str, id: str) -> dict[str, Any]:
        if id not in self.rows:
            raise RefusedError(404, {"_id": id, "found": False})
        return {"_source": self.rows[id]}

    async def index(self, index: str, id: str, body: dict[str, Any], op_type: str, refresh: str) -> None:
        assert op_type == "create"
        if id in self.rows:
            raise RefusedError(409, {})
        self.rows[id] = body

    async def update(self, index: str, id: str, body: dict[str, Any], **options: Any) -> dict[str, Any]:
        params = body["script"]["params"]
        if id not in self.rows:
            raise RefusedError(404, {"error": {"type": "document_missing_exception"}})
        if self.rows[id]["version"] != params["expected"]:
            return {"result": "noop"}
        self.rows[id].update(version=params["version"], blob=params["blob"], updatedAt=params["now"])
        return {"result": "updated"}

    async def delete(self, index: str, id: str, refresh: str) -> None:
        if self.rows.pop(id, None) is None:
            raise RefusedError(404, {"result": "not_found"})

    async def close(self) -> None:
        self.closed = True


def _stores() -> list[tuple[Any, Store]]:
    redis: Any = FakeRedis()
    mongo: Any = FakeMongo()
    search: Any = FakeSearch()
    return [
        (redis, RedisStore(redis)),
        (mongo, MongoStore(mongo, database_name="d")),
        (search, OpenSearchStore(search)),
    ]


@pytest.mark.parametrize(("client", "store"), _stores(), ids=["redis", "mongo", "opensearch"])
async def test_few_methods_are_needed(client: Any, store: Store) -> None:
    """To load, save and delete (P-22), with every kind of conflict, and to close the client (P-24)."""
    async with store:
        assert await store.load("s1") is None
        first = await store.save(Session.fresh("s1"), 0)
        second = await store.save(first, 1)
        assert await store.load("s1") == second
        for id, version, actual in (("s1", 0, 2), ("s1", 1, 2), ("s2", 3, None)):
            with pytest.raises(SessionConflictError) as caught:
                await store.save(Session.fresh(id), version)
            assert caught.value.actual_version == actual
        assert [await store.delete("s1"), await store.delete("s1")] == [True, False]
        assert not client.closed
    assert client.closed


async def test_the_script_is_sent_in_full_to_a_server_that_does_not_know_it() -> None:
    """After the digest, once (P-49)."""
    client: Any = FakeRedis()
    await RedisStore(client).save(Session.fresh("s1"), 0)
    assert client.calls == ["evalsha", "eval"]


async def test_a_mongo_document_without_a_version() -> None:
    """It is an invalid session, as one of 3.x (P-73)."""
    client: Any = FakeMongo()
    client.rows["s1"] = {"_id": "s1"}
    with pytest.raises(InvalidSessionError):
        await MongoStore(client, database_name="d").load("s1")


@pytest.mark.parametrize(
    ("module", "driver"), [("redis", "redis"), ("mongo", "pymongo"), ("opensearch", "opensearchpy")]
)
def test_a_driver_is_not_imported(module: str, driver: str) -> None:
    """Not by the store: the host has it, when it has a client of it (P-22)."""
    code = f"import sys, falai.store.{module}; assert '{driver}' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
