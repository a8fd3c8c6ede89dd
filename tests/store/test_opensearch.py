"""Against a stand-in that speaks OpenSearch's protocol, or a real server: `FALAI_TEST_OPENSEARCH_URL=opensearch://…`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import AsyncOpenSearch, AsyncTransport
from opensearchpy.exceptions import ConnectionError as Lost
from opensearchpy.exceptions import NotFoundError, TransportError

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.codec import session_to_wire
from falai.session.model import Session
from falai.store import OpenSearchStore, Store, store_from_url
from falai.testing.store_contract import FailureContract, RowContract, SharedContract, StoreContract, full_session
from servers.proxy import Proxy
from store.opensearch_scripts import ScriptServer, connect

pytestmark = pytest.mark.servers

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"


@pytest.mark.filterwarnings("ignore:Sending a large body")  # the driver's own way with 5 MB
class TestOpenSearch(StoreContract, RowContract, SharedContract, FailureContract):
    """The contract."""

    longest_id = 512  # bytes of UTF-8
    keeps_order = False  # a later save goes through a map of the server

    @pytest.fixture
    async def store(self, opensearch_url: str, place: str, proxy_to: Callable[[str], Proxy]) -> AsyncIterator[Store]:
        self.url, self.place, self.proxy = opensearch_url, place, proxy_to(opensearch_url)
        async with OpenSearchStore(connect(self.proxy.url), index=place) as store:
            yield store
        async with connect(opensearch_url) as client:
            await client.indices.delete(index=place)

    def another(self) -> Store:
        return OpenSearchStore(connect(self.url), index=self.place)

    async def put_row(self, store: Any, id: str, version: int, blob: str) -> None:
        try:
            value = json.loads(blob)
        except ValueError:
            value = None
        row = {"id": id, "version": version, "blob": value if isinstance(value, dict) else blob}
        async with connect(self.url) as client:
            await client.index(index=self.place, id=id, body=row)

    @asynccontextmanager
    async def outage(self, store: Any) -> AsyncIterator[type[Exception]]:
        self.proxy.close()
        yield Lost
        self.proxy.open()


class Recording(AsyncTransport):
    """Remembers what was sent."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sent: list[tuple[str, str, Any, Any]] = []

    async def perform_request(self, method: str, url: str, params: Any = None, body: Any = None, **rest: Any) -> Any:
        self.sent.append((method, url, dict(params or {}), body))
        return await super().perform_request(method, url, params=params, body=body, **rest)


@pytest.fixture
async def client(opensearch_url: str, place: str) -> AsyncIterator[AsyncOpenSearch]:
    async with connect(opensearch_url, transport_class=Recording) as client:
        yield client
        await client.indices.delete(index=place, ignore_unavailable=True)


@pytest.fixture
async def store(client: AsyncOpenSearch, place: str) -> OpenSearchStore:
    store = OpenSearchStore(client, index=place)
    await store.initialize()
    client.transport.sent.clear()
    return store


def sent(store: OpenSearchStore) -> list[tuple[str, str, Any, Any]]:
    """What was sent since the last look."""
    found: list[tuple[str, str, Any, Any]] = store._client.transport.sent[:]
    store._client.transport.sent.clear()
    return found


# --- what is stored -----------------------------------------------------------------------------


async def test_the_document(client: AsyncOpenSearch, place: str) -> None:
    """It is that of P-58; the dates come from the clock, and `createdAt` is written once (P-28, P-61)."""
    times = iter([datetime(2026, 9, 20, 10), datetime(2026, 9, 20, 10, 5, tzinfo=timezone(timedelta(hours=2)))])
    store = OpenSearchStore(client=client, index=place, clock=lambda: next(times))
    await store.initialize()
    saved = await store.save(await store.save(full_session(), 0), 1)
    assert (await client.get(index=place, id="s1"))["_source"] == {
        "id": "s1",
        "version": 2,
        "blob": session_to_wire(saved),
        "createdAt": "2026-09-20T10:00:00.000Z",
        "updatedAt": "2026-09-20T08:05:00.000Z",
    }


async def test_the_index(store: OpenSearchStore, client: AsyncOpenSearch, place: str) -> None:
    """Its mapping is that of P-58: nothing of a blob is indexed."""
    mappings = (await client.indices.get_mapping(index=place))[place]["mappings"]["properties"]
    assert {name: field["type"] for name, field in mappings.items()} == {
        "id": "keyword",
        "version": "integer",
        "blob": "object",
        "createdAt": "date",
        "updatedAt": "date",
    }
    assert mappings["blob"]["enabled"] is False
    await store.save(full_session(), 0)
    assert set((await client.indices.get_mapping(index=place))[place]["mappings"]["properties"]) == set(mappings)


async def test_the_other_packages_row(store: OpenSearchStore, client: AsyncOpenSearch, place: str) -> None:
    """The blob of the TypeScript store loads, and what is saved of it loads there (C-22)."""
    blob = json.loads((FIXTURES / "v4-session.json").read_text(encoding="utf-8"))
    then = "2020-01-01T00:00:00.000Z"
    row = {"id": "conv-9", "version": 6, "blob": blob, "createdAt": then, "updatedAt": then}
    await client.index(index=place, id="conv-9", body=row)
    session = await store.load("conv-9")
    assert session is not None
    await store.save(session, 6)
    found = (await client.get(index=place, id="conv-9"))["_source"]
    assert found["blob"] == {**blob, "version": 7}
    assert (found["version"], found["createdAt"]) == (7, then)


@pytest.mark.parametrize("row", [{}, {"version": 1}, {"version": 1, "blob": None}, {"collectedData": {}}])
async def test_a_document_that_is_no_row(
    store: OpenSearchStore, client: AsyncOpenSearch, place: str, row: dict[str, Any]
) -> None:
    """One without a blob, as of 3.x, is an invalid session, alone and in a scan (P-19, P-73)."""
    await client.index(index=place, id="s1", body={"id": "s1", **row})
    with pytest.raises(InvalidSessionError, match='"s1"'):
        await store.load("s1")
    page = await store.scan()
    assert ([error.session_id for error in page.bad], page.sessions) == (["s1"], [])


@pytest.mark.parametrize("id", [".", "..", "a,b", "*", "_all", "+", "a%2Fb", "?q", "é" * 256])
async def test_ids_that_mean_something_in_a_path(store: OpenSearchStore, id: str) -> None:
    """They are ids and nothing else."""
    saved = await store.save(await store.save(Session.fresh(id), 0), 1)
    assert await store.load(id) == saved
    assert (await store.scan()).sessions == [saved]
    assert [await store.delete(id), await store.delete(id)] == [True, False]


# --- what is sent -------------------------------------------------------------------------------


async def test_one_request_checks_and_writes(
    store: OpenSearchStore, place: str, opensearch_scripts: ScriptServer | None
) -> None:
    """A save is one request; the script never changes, values travel beside it (P-6, P-61)."""
    await store.save(await store.save(await store.save(full_session(), 0), 1), 2)
    first, second, third = sent(store)
    assert first[:3] == ("PUT", f"/{place}/_doc/s1", {"op_type": b"create", "refresh": b"false"})
    for expected, (method, url, params, body) in ((1, second), (2, third)):
        assert (method, url) == ("POST", f"/{place}/_update/s1")
        assert params == {"refresh": b"false", "retry_on_conflict": "3"}
        assert set(body) == {"script"}
        assert body["script"]["params"]["expected"] == expected
        assert body["script"]["source"] == second[3]["script"]["source"]
    if opensearch_scripts:
        assert len(set(opensearch_scripts.scripts)) == 1


async def test_one_further_read_tells_of_a_conflict(store: OpenSearchStore) -> None:
    """After a first save over a row, a late save, and a save of a row that is gone (P-7, P-61)."""
    await store.save(Session.fresh("s1"), 0)
    sent(store)
    for id, version, actual in (("s1", 0, 1), ("s1", 7, 1), ("s2", 7, None)):
        with pytest.raises(SessionConflictError) as caught:
            await store.save(Session.fresh(id), version)
        assert caught.value.actual_version == actual
        assert [method for method, *_ in sent(store)] == ["PUT" if version == 0 else "POST", "GET"]


@pytest.mark.parametrize(
    ("refresh", "told"),
    [(True, b"true"), ("true", b"true"), (False, b"false"), ("false", b"false"), ("wait_for", b"wait_for")],
)
async def test_refresh_goes_with_every_write(store: OpenSearchStore, place: str, refresh: Any, told: bytes) -> None:
    """With each, and with no read (P-62)."""
    other = OpenSearchStore(store._client, index=place, refresh=refresh)
    await other.load("s1")
    await other.save(await other.save(Session.fresh("s1"), 0), 1)
    await other.delete("s1")
    assert [params.get("refresh") for _, _, params, _ in sent(other)] == [None, told, told, told]


@pytest.mark.parametrize("refresh", ["", "True", 1.5, None, "waitfor", 2])
async def test_what_is_no_refresh(client: AsyncOpenSearch, refresh: Any) -> None:
    """Anything else is refused at construction."""
    with pytest.raises(ValueError, match="refresh is"):
        OpenSearchStore(client, refresh=refresh)


@pytest.mark.parametrize(
    ("id", "version", "value"), [("", 0, 1), ({"$ne": None}, 0, 1), ("s1", True, 1), ("s1", -1, 1), ("s1", 0, {1})]
)
async def test_bad_arguments_never_reach_the_server(store: OpenSearchStore, id: Any, version: Any, value: Any) -> None:
    """They are refused before anything is sent (P-10, P-11, P-16, C-15)."""
    session = Session.fresh("s1")
    session.id, session.data = id, {"v": value}
    with pytest.raises((TypeError, ValueError)):
        await store.save(session, version)
    assert sent(store) == []


@pytest.mark.parametrize(
    "name",
    ["", "A", "_a", "-a", "+a", "a b", "a,b", "a/b", "a*", "a?", "a#", "a:b", 'a"', "<a>", ".", "..", "a" * 256, None],
)
async def test_what_is_no_index(client: AsyncOpenSearch, name: Any) -> None:
    """What OpenSearch does not allow is refused at construction (P-25)."""
    with pytest.raises(ValueError, match="index is"):
        OpenSearchStore(client, index=name)


@pytest.mark.parametrize("name", ["a", "agent_sessions", "a-b.c", ".hidden", "0", "ação"])
async def test_what_is_an_index(client: AsyncOpenSearch, name: str) -> None:
    """What it allows is taken."""
    OpenSearchStore(client, index=name)


# --- the index ----------------------------------------------------------------------------------


async def test_an_index_that_is_missing(client: AsyncOpenSearch, place: str) -> None:
    """A load, a scan and a delete from it are the client's error, and none makes it (P-60)."""
    store = OpenSearchStore(client, index=place)
    for call in (store.load, store.delete):
        with pytest.raises(NotFoundError, match="index"):
            await call("s1")
    with pytest.raises(NotFoundError, match="index"):
        await store.scan()
    assert not await client.indices.exists(index=place)


async def test_a_404_of_something_else(store: OpenSearchStore) -> None:
    """What is no word on the document is no word that there is none: a proxy on the way, say (P-60)."""

    class Elsewhere(AsyncOpenSearch):
        async def get(self, *args: Any, **options: Any) -> Any:
            raise NotFoundError(404, "not here", "<html>")

    async with Elsewhere() as client:
        with pytest.raises(NotFoundError):
            await OpenSearchStore(client).load("s1")


async def test_an_index_is_not_made_when_the_host_says_so(client: AsyncOpenSearch, place: str) -> None:
    """`auto_create_indices=False` asks for nothing (P-59)."""
    await OpenSearchStore(client, index=place, auto_create_indices=False).initialize()
    assert client.transport.sent == []


async def test_an_index_that_another_process_makes_first(store: OpenSearchStore, place: str) -> None:
    """That it is there already counts as done (P-59)."""
    saved = await store.save(Session.fresh("s1"), 0)
    client = store._client

    async def blind(**options: Any) -> bool:
        return False

    client.indices.exists = blind
    await OpenSearchStore(client, index=place).initialize()
    assert await store.load("s1") == saved


async def test_an_index_that_cannot_be_made(client: AsyncOpenSearch) -> None:
    """Any other refusal passes through."""
    with pytest.raises(TransportError):
        await OpenSearchStore(client, index="ok" + "é" * 200).initialize()


# --- by its URL ---------------------------------------------------------------------------------


async def test_by_its_url(opensearch_url: str, place: str) -> None:
    """The index and how writes are refreshed may stand behind the `?`."""
    async with store_from_url(f"{opensearch_url}?index={place}&refresh=wait_for") as store:
        assert isinstance(store, OpenSearchStore)
        await store.save(await store.save(Session.fresh("s1"), 0), 1)
    async with store_from_url(opensearch_url, index=place) as store:
        assert await store.load("s1") is not None
        assert await store.delete("s1") is True


@pytest.mark.parametrize("end", ["", "host:9200?x=1", "?index=a"])
def test_what_is_no_url(end: str) -> None:
    """It says what would be one."""
    with pytest.raises(ValueError, match="opensearch://host:9200"):
        store_from_url(f"opensearch://{end}")


async def test_a_url_with_tls() -> None:
    """One letter more asks for it."""
    store = store_from_url("opensearchs://ana:geheim@search.example/prefix")
    assert isinstance(store, OpenSearchStore)
    assert store._client.transport.hosts[0]["use_ssl"] is True
    await store.disconnect()
