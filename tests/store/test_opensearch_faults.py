"""What a server refuses, a line that is cut, a server that is gone: the driver's error passes through."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from opensearchpy import AsyncOpenSearch
from opensearchpy.exceptions import ConflictError, RequestError, TransportError
from opensearchpy.exceptions import ConnectionError as Lost

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import OpenSearchStore
from falai.testing.store_contract import full_session
from servers.process import Server
from servers.proxy import Proxy, Side
from store.opensearch_scripts import connect

pytestmark = [pytest.mark.servers, pytest.mark.faults]


@pytest.fixture
async def store(opensearch_url: str, place: str) -> AsyncIterator[OpenSearchStore]:
    async with connect(opensearch_url) as client:
        store = OpenSearchStore(client, index=place)
        await store.initialize()
        yield store
        await client.indices.delete(index=place)


class Refusing(AsyncOpenSearch):
    """A client whose writes meet one error."""

    error: Exception

    async def update(self, *args: Any, **options: Any) -> Any:
        raise self.error

    async def index(self, *args: Any, **options: Any) -> Any:
        raise self.error


@pytest.mark.parametrize("version", [0, 1])
async def test_a_clash_is_a_conflict(store: OpenSearchStore, opensearch_url: str, place: str, version: int) -> None:
    """When the server gives up on a document that others write again and again (P-61)."""
    await store.save(Session.fresh("s1"), 0)
    async with Refusing(opensearch_url.replace("opensearch", "http", 1)) as client:
        client.error = ConflictError(409, "version_conflict_engine_exception", {})
        with pytest.raises(SessionConflictError) as caught:
            await OpenSearchStore(client, index=place).save(Session.fresh("s1"), version)
        assert caught.value.actual_version == 1


@pytest.mark.parametrize("error", [RequestError(400, "script_exception", {}), TransportError(503, "busy", {})])
async def test_other_errors_pass_through(opensearch_url: str, place: str, error: Exception) -> None:
    """Unchanged (P-12)."""
    async with Refusing(opensearch_url.replace("opensearch", "http", 1)) as client:
        client.error = error
        for version in (0, 1):
            with pytest.raises(TransportError) as caught:
                await OpenSearchStore(client, index=place).save(Session.fresh("s1"), version)
            assert caught.value is error


@pytest.fixture
def proxy(opensearch_url: str, proxy_to: Callable[[str], Proxy]) -> Proxy:
    return proxy_to(opensearch_url)


@pytest.mark.parametrize(("side", "version"), [("before", 1), ("after", 2)])
async def test_a_save_whose_line_is_cut(
    store: OpenSearchStore, proxy: Proxy, place: str, side: Side, version: int
) -> None:
    """The next load shows whether it was applied (P-13), and the next call works."""
    async with OpenSearchStore(connect(proxy.url), index=place) as behind:
        saved = await behind.save(full_session(), 0)
        proxy.cut_on(b"_update", side)
        with pytest.raises(Lost):
            await behind.save(saved, 1)
        loaded = await behind.load("s1")
        assert loaded is not None
        if side == "before":
            assert loaded.version == version
        assert (await behind.save(loaded, loaded.version)).version == loaded.version + 1


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_first_save_whose_line_is_cut(store: OpenSearchStore, proxy: Proxy, place: str, side: Side) -> None:
    """Aiohttp sends it a second time by itself: it is never written twice, and a lost answer is told as a conflict."""
    async with OpenSearchStore(connect(proxy.url), index=place) as behind:
        proxy.cut_on(b"op_type", side)
        if side == "before":
            assert (await behind.save(full_session(), 0)).version == 1
        else:
            with pytest.raises(SessionConflictError):
                await behind.save(full_session(), 0)
        loaded = await behind.load("s1")
        assert loaded is not None
        assert (await behind.save(loaded, 1)).version == 2


async def test_a_server_that_starts_again(opensearch_server: Server, place: str) -> None:
    """The same store goes on. The stand-in forgets its index, which `initialize` makes again."""
    async with OpenSearchStore(connect(opensearch_server.url), index=place) as store:
        await store.save(full_session(), 0)
        opensearch_server.stop()
        for _ in range(2):
            with pytest.raises(Lost):
                await store.load("s1")
        opensearch_server.start()
        await store.initialize()
        if not opensearch_server.keeps:
            assert await store.load("s1") is None
            assert (await store.save(full_session(), 0)).version == 1
        assert await store.load("s1") is not None
