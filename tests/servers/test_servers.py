from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from opensearchpy import OpenSearch
from pymongo import MongoClient
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from servers.process import Server, free_port
from servers.programs import Redis
from servers.proxy import Proxy, Side

pytestmark = pytest.mark.servers


def test_postgres(postgres_server: Server) -> None:
    """It answers, and after a restart it has what it had."""
    with psycopg.connect(postgres_server.url) as db:
        db.execute("CREATE TABLE IF NOT EXISTS kept (x int)")
    postgres_server.restart()
    with psycopg.connect(postgres_server.url) as db:
        assert db.execute("SELECT count(*) FROM kept").fetchone() == (0,)
        db.execute("DROP TABLE kept")


def test_redis(redis_server: Server, place: str) -> None:
    """It answers, and keeps what it has after a crash."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.set(place, "1")
    redis_server.kill()
    redis_server.start()
    with redis.Redis.from_url(redis_server.url) as client:
        assert client.get(place) == b"1"


async def test_mariadb(mariadb_server: Server) -> None:
    """It answers."""
    engine = create_async_engine(mariadb_server.url.replace("mariadb://", "mariadb+asyncmy://"))
    async with engine.begin() as db:
        assert (await db.execute(text("SELECT 1"))).scalar() == 1
    await engine.dispose()


def test_mongo(mongo_server: Server, place: str) -> None:
    """It answers."""
    with MongoClient[dict[str, Any]](mongo_server.url) as client:
        client.falai[place].insert_one({"_id": "a", "x": 1})
        assert client.falai[place].find_one({"_id": "a"}) == {"_id": "a", "x": 1}


def test_opensearch(opensearch_server: Server, place: str) -> None:
    """It answers."""
    with OpenSearch(opensearch_server.url.replace("opensearch", "http", 1)) as client:
        client.index(index=place, body={"x": 1}, id="a")
        assert client.get(index=place, id="a")["_source"] == {"x": 1}


# --- the end of a server ------------------------------------------------------------------------

DIES = """
import os
from servers.programs import Redis
server = Redis()
server.start()
print(server.port, server.folder, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_server_dies_with_its_test_run() -> None:
    """However the run ends: here nothing of it has a chance to clean up."""
    tests = Path(__file__).parents[1]
    dead = subprocess.run([sys.executable, "-c", DIES], cwd=tests, capture_output=True, text=True, check=False)
    port, folder = dead.stdout.split()
    assert dead.returncode == -9
    for _ in range(500):
        if not _listens(int(port)):
            break
        time.sleep(0.02)
    assert not _listens(int(port))
    shutil.rmtree(folder)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_leaves_nothing() -> None:
    """Its folder is gone with it."""
    server = Redis()
    server.start()
    server.start()  # a server that runs is left alone
    server.remove()
    assert not server.folder.exists()
    assert not _listens(server.port)


def test_a_server_that_does_not_start_says_why() -> None:
    """The error has the end of its log."""
    server = Redis()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server.port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match="Address already in use"):
            server.start()
    server.remove()


# --- the proxy ----------------------------------------------------------------------------------


@pytest.fixture
def behind(redis_server: Server, proxy_to: Callable[[str], Proxy]) -> Proxy:
    return proxy_to(redis_server.url)


@pytest.fixture
def client(behind: Proxy) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(behind.url, retry=Retry(NoBackoff(), 0), single_connection_client=True) as client:
        yield client


def test_a_line_that_is_cut(behind: Proxy, client: redis.Redis, place: str) -> None:
    """The client hears of it, and may connect again."""
    client.set(place, "1")
    behind.cut()
    with pytest.raises(redis.ConnectionError):
        client.get(place)
    assert client.get(place) == b"1"


def test_a_server_that_is_gone(behind: Proxy, client: redis.Redis, place: str) -> None:
    """Nobody answers until the proxy opens again, at the same place."""
    client.set(place, "1")
    behind.close()
    for _ in range(2):
        with pytest.raises(redis.ConnectionError):
            client.get(place)
    behind.open()
    assert client.get(place) == b"1"


@pytest.mark.parametrize(("side", "left"), [("before", b"1"), ("after", b"2")])
def test_a_line_that_is_cut_in_the_middle(
    behind: Proxy, client: redis.Redis, place: str, side: Side, left: bytes
) -> None:
    """Cut before the server knows, or after it has done it."""
    client.set(place, "1")
    behind.cut_on(b"SET", side)
    with pytest.raises(redis.ConnectionError):
        client.set(place, "2")
    assert client.get(place) == left


def test_a_line_to_a_server_that_is_down() -> None:
    """Who connects meanwhile is told at once, and the next one as well."""
    behind = Proxy(f"redis://127.0.0.1:{free_port()}")
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", urlsplit(behind.url).port or 0), 5) as client:
            client.settimeout(5)
            assert client.recv(1) == b""
    behind.close()
