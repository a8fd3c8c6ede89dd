"""Redis Cluster: two servers of the tests' own that share the keys."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
from redis.asyncio import RedisCluster

from falai.errors import InvalidSessionError
from falai.session.model import Session
from falai.store import RedisStore
from falai.testing.store_contract.races import Races
from falai.testing.store_contract.scans import Scans
from servers import programs
from servers.process import free_port

pytestmark = pytest.mark.servers

HALF = 8191


class Node(programs.Redis):
    """One of them."""

    name = "redis-cluster"

    def __init__(self) -> None:
        super().__init__()
        self.bus = free_port()  # unless told, 10,000 above the other one, where there may be none

    def command(self) -> list[str]:
        return [*super().command(), "--cluster-enabled", "yes", "--cluster-port", str(self.bus)]

    def take(self, first: int, last: int, other: Node) -> None:
        """Becomes the server of these slots, beside another one."""
        with redis.Redis(port=self.port) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, other.bus)

    def is_whole(self) -> bool:
        """Whether it knows who has all the slots."""
        with redis.Redis(port=self.port) as client:
            info: Any = client.execute_command("CLUSTER INFO")
        return info["cluster_state"] == "ok" and info["cluster_known_nodes"] == "2"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    nodes = [Node(), Node()]
    try:
        for node in nodes:
            node.start()
        nodes[0].take(0, HALF, nodes[1])
        nodes[1].take(HALF + 1, 16383, nodes[0])
        for _ in range(900):
            if all(node.is_whole() for node in nodes):
                break
            time.sleep(0.1)
        yield nodes[0].url.removesuffix("/0")
    finally:
        for node in nodes:
            node.remove()


class TestCluster(Races, Scans):
    """What of the contract a cluster could break: a save needs one key only, a scan goes from server to server."""

    ordered = False

    @pytest.fixture
    async def store(self, cluster: str, place: str) -> AsyncIterator[RedisStore]:
        client = await RedisCluster.from_url(cluster).initialize()  # before many tasks use it: else the driver trips
        async with RedisStore(client, key_prefix=place) as store:
            yield store


@pytest.mark.parametrize("texts", [False, True])
async def test_bad_rows_on_a_cluster(cluster: str, place: str, *, texts: bool) -> None:
    """They are told of, with their type, and hide no others."""
    client = RedisCluster.from_url(cluster, decode_responses=texts)
    async with RedisStore(client, key_prefix=place) as store:
        for number in range(20):
            await store.save(Session.fresh(f"s{number}"), 0)
        await client.execute_command("SET", f"{place}session:s3", "{}")
        await client.execute_command("HSET", f"{place}session:s4", "blob", b"\xff")
        page = await store.scan()
        assert {session.id for session in page.sessions} == {f"s{n}" for n in range(20)} - {"s3", "s4"}
        assert {error.session_id for error in page.bad} == {"s3", "s4"}
        for id in ("s3", "s4"):
            with pytest.raises(InvalidSessionError, match=id):
                await store.load(id)
