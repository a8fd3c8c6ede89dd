"""One server of each kind for the whole run, started by the first test that asks for it.

`FALAI_TEST_POSTGRES_URL`, `…_REDIS_URL`, `…_MARIADB_URL`, `…_MONGO_URL` and `…_OPENSEARCH_URL` name
servers that run already, in place of these; a test that has to stop its server is skipped then.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from servers.process import Server
from servers.programs import MariaDB, MongoDouble, OpenSearchDouble, PostgreSQL, Redis
from servers.proxy import Proxy

_NUMBERS = itertools.count(1)


class Given:
    """A server that runs already. It has the names of `Server`, and is left alone."""

    keeps = True

    def __init__(self, url: str) -> None:
        self.url = url

    def _leave(self) -> None:
        pytest.skip("the server is not ours to stop")

    start = stop = kill = restart = _leave


def _server(kind: type[Server], variable: str) -> Iterator[Server | Given]:
    given = os.environ.get(variable)
    if given:
        yield Given(given)
        return
    server = kind()
    try:
        server.prepare()
        server.start()
        yield server
    finally:
        server.stop()
        server.remove()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server | Given]:
    yield from _server(PostgreSQL, "FALAI_TEST_POSTGRES_URL")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server | Given]:
    yield from _server(Redis, "FALAI_TEST_REDIS_URL")


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Server | Given]:
    yield from _server(MariaDB, "FALAI_TEST_MARIADB_URL")


@pytest.fixture(scope="session")
def mongo_server() -> Iterator[Server | Given]:
    yield from _server(MongoDouble, "FALAI_TEST_MONGO_URL")


@pytest.fixture(scope="session")
def opensearch_server() -> Iterator[Server | Given]:
    yield from _server(OpenSearchDouble, "FALAI_TEST_OPENSEARCH_URL")


@pytest.fixture
def place() -> str:
    """A name that nobody has used: for a table, a collection, an index, a prefix of keys."""
    return f"falai_test_{os.getpid()}_{next(_NUMBERS)}"


@pytest.fixture
def proxy_to() -> Iterator[Callable[[str], Proxy]]:
    """`proxy_to(url)` stands in front of that server; it is closed at the test's end."""
    made: list[Proxy] = []

    def make(url: str) -> Proxy:
        made.append(Proxy(url))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close()
