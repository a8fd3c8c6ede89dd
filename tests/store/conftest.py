"""The stand-in for OpenSearch, with what it lacks in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.process import Server
from servers.programs import OpenSearchDouble
from store.opensearch_scripts import ScriptServer


@pytest.fixture(scope="session")
def opensearch_scripts(opensearch_server: Server) -> Iterator[ScriptServer | None]:
    """In front of the stand-in; a real server needs none."""
    if not isinstance(opensearch_server, OpenSearchDouble):
        yield None
        return
    server = ScriptServer(opensearch_server.url)
    yield server
    server.close()


@pytest.fixture(scope="session")
def opensearch_url(opensearch_server: Server, opensearch_scripts: ScriptServer | None) -> str:
    return opensearch_scripts.url if opensearch_scripts else opensearch_server.url
